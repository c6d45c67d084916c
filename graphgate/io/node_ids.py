"""Node ids in tables: integers or text, and the row of each."""

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.io.columns import is_text, one_piece
from graphgate.io.tables import Table


def id_column(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as int64 or text, none missing; UUIDs become text.

    Where a value was missing, pandas stores integers as floats; they become integers again.
    """
    if column.null_count:
        row = column.is_null().index(True).as_py()
        table.refuse_cell(row, name, "is not an id; give every row an id")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):  # no rows
        return column.cast(pa.int64())
    if is_text(column.type):
        return column.cast(pa.large_string())
    if str(column.type) == "extension<arrow.uuid>":
        return pa.chunked_array([pa.array(map(str, column.to_pylist()), pa.large_string())])
    if pa.types.is_floating(column.type):
        with suppress(pa.ArrowInvalid):  # refused below
            return column.cast(pa.int64())
    if pa.types.is_integer(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputError(
                f"{table.what}, column {name!r}: an id does not fit into 64 bits; use text"
            ) from None
    raise InputError(
        f"{table.what}, column {name!r}: ids of type {column.type} cannot be used; "
        "use integers or text"
    )


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Text that spells integers, as `str` writes them, as integers; None if any of it does not."""
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    same = pc.equal(integers.cast(column.type), column)  # "07" is text
    return integers if pc.all(same, min_count=0).as_py() else None


def spelled_ids(table: Table, *columns: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The ids of a text file: integers if every id in every column is one."""
    if not table.spelled:
        return list(columns)
    integers = [as_integers(column) if is_text(column.type) else column for column in columns]
    found = [column for column in integers if column is not None]
    return found if len(found) == len(columns) else list(columns)


def same_type(*columns: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Ids with one type: unchanged, integers where all of the text spells integers, or text."""
    if len({column.type for column in columns}) == 1:
        return list(columns)
    integers = [as_integers(each) if is_text(each.type) else each for each in columns]
    found = [column for column in integers if column is not None]
    if len(found) == len(columns):
        return found
    return [column.cast(pa.large_string()) for column in columns]


def rows_of(ids: pa.ChunkedArray, cells: pa.ChunkedArray) -> np.ndarray:
    """(E,) positions of the cells' ids among the ids of the nodes, -1 where there is none.

    An integer matches text with the same digits.
    """
    ids, cells = same_type(ids, cells if len(cells) else ids.slice(0, 0))
    found = pc.index_in(cells, value_set=one_piece(ids))
    rows: np.ndarray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    return rows


def check_distinct(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[Any, int] = {}
    for row, value in enumerate(ids.to_pylist()):
        if first.setdefault(value, row) != row:
            place = table.place(first[value])
            table.refuse_cell(row, name, f"is also the id on {place}; ids must be distinct")


def appearing(columns: list[pa.ChunkedArray]) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Distinct ids in order of first appearance, row by row, and each cell's position, (E, k)."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    together = pa.chunked_array(chunks, columns[0].type)
    coded = one_piece(together).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).reshape(len(columns), -1).T
    _, first = np.unique(codes.ravel(), return_index=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return pa.chunked_array([coded.dictionary.take(pa.array(order))]), rank[codes]
