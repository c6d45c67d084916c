"""Arrow columns of node ids: integers or text, and their rows, without Python objects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph.validation import TEXT
from graphgate.io.columns import decoded, is_number, is_text, one_piece
from graphgate.io.tables import Table

_SMALL = 1 << 30  # bytes of text that can be addressed with 32 bits, also if two are joined
_ROWS = 1 << 16  # ids that are Python objects at the same time


def id_column(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as int64 or text, none missing; UUIDs become text.

    Where a value was missing, pandas stores integers as floats; they become integers again.
    """
    if pa.types.is_dictionary(column.type):
        column = decoded(table, name, column)
    if column.null_count:
        table.refuse_first(column.is_null().to_numpy(), name, "is not an id; give every row an id")
    if is_text(column.type):
        small = pa.types.is_string(column.type) and column.nbytes < _SMALL
        return column if small else column.cast(pa.large_string())
    if str(column.type) == "extension<arrow.uuid>":
        return pa.chunked_array([pa.array(map(str, column.to_pylist()), pa.large_string())])
    if is_number(column.type) or pa.types.is_null(column.type):  # null: no rows
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            if pa.types.is_integer(column.type):
                raise InputError(
                    f"{table.what}, column {name!r}: an id does not fit in 64 bits; use text"
                ) from None
    raise InputError(
        f"{table.what}, column {name!r}: ids of type {column.type} cannot be used; "
        "use integers or text"
    )


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Text that spells integers as `str` does, as integers; None if any of it does not."""
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    same = pc.equal(integers.cast(column.type), column)  # "07" is text
    return integers if pc.all(same, min_count=0).as_py() else None


def spelled_ids(table: Table, *columns: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The ids of a text file: integers if every id in every column is one."""
    return (_all_integers(columns) if table.spelled else None) or list(columns)


def same_type(*columns: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Ids with one type: unchanged, integers where all of the text spells integers, or text."""
    if len({column.type for column in columns}) == 1:
        return list(columns)
    integers = None if all(is_text(column.type) for column in columns) else _all_integers(columns)
    return integers or [column.cast(pa.large_string()) for column in columns]


def _all_integers(columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray] | None:
    found = [as_integers(each) if is_text(each.type) else each for each in columns]
    return None if any(column is None for column in found) else found


def rows_of(ids: pa.ChunkedArray, cells: pa.ChunkedArray) -> np.ndarray:
    """(E,) int32 positions of the cells' ids among those of the nodes, -1 where there is none.

    An integer matches text with the same digits.
    """
    ids, cells = same_type(ids, cells if len(cells) else ids.slice(0, 0))
    return _joined(pc.index_in(cells, value_set=one_piece(ids)))


def _joined(chunks: pa.ChunkedArray) -> np.ndarray:
    """Positions as one array, -1 where they are null."""
    rows = np.empty(len(chunks), dtype=np.int32)
    at = 0
    for chunk in chunks.chunks:
        rows[at : at + len(chunk)] = chunk.fill_null(-1)
        at += len(chunk)
    return rows


def id_values(ids: pa.ChunkedArray) -> np.ndarray:
    """(N,) int64 or `TEXT`."""
    if not is_text(ids.type):
        return ids.to_numpy()
    values = np.empty(len(ids), dtype=TEXT)
    for start in range(0, len(ids), _ROWS):
        values[start : start + _ROWS] = ids.slice(start, _ROWS).to_numpy()
    return values


def check_distinct(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    """Refuse an id that is given twice, also if only white space tells the two apart."""
    _refuse_repeated(table, name, ids, "is also the id on")
    if is_text(ids.type):
        trimmed = pc.utf8_trim_whitespace(ids)
        if pc.any(pc.not_equal(trimmed, ids)).as_py():
            _refuse_repeated(table, name, trimmed, "differs only in white space from the id on")


def _refuse_repeated(table: Table, name: str, ids: pa.ChunkedArray, problem: str) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[Any, int] = {}
    places = enumerate(ids.to_pylist())
    row, value = next(found for found in places if first.setdefault(found[1], found[0]) != found[0])
    table.refuse_cell(row, name, f"{problem} {table.place(first[value])}; ids must be unique")


def appearing(columns: list[pa.ChunkedArray]) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Distinct ids in order of first appearance, row by row, and each cell's position, (E, k)."""
    k = len(columns)
    chunks = [chunk for column in columns for chunk in column.chunks]
    together = pa.chunked_array(chunks, columns[0].type)
    coded = together.dictionary_encode()
    ids = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], together.type)
    codes = _joined(pa.chunked_array([chunk.indices for chunk in coded.chunks], pa.int32()))
    codes = codes.reshape(k, -1)
    first = np.full(len(ids), codes.size)  # the earliest cell of each id, counted row by row
    for at, column in enumerate(codes):
        np.minimum.at(first, column, np.arange(at, codes.size, k))
    order = np.argsort(first)
    rank = np.empty(len(ids), dtype=np.int32)
    rank[order] = np.arange(len(ids), dtype=np.int32)
    return pa.chunked_array([ids.take(pa.array(order))]), rank[codes].T
