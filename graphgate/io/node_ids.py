"""Ids of nodes in tables: whole numbers or text, and where each stands."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.io.columns import is_text, one_piece
from graphgate.io.table import Table

# As `str` writes whole numbers; "07" is text.
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"


def id_column(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as int64 or text, none missing; UUIDs as their text.

    A missing value makes pandas write whole numbers as 1.0, and so do tables joined to others.
    """
    if column.null_count:
        row = column.is_null().index(True).as_py()
        table.refuse_cell(row, name, "names no node; give an id")
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
                f"{table.what}, column {name!r}: an id does not fit into 64 bits; give text"
            ) from None
    raise InputError(
        f"{table.what}, column {name!r}: ids of type {column.type} cannot be used; "
        "give whole numbers or text"
    )


def as_whole(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Text as the whole numbers that it spells, or None if it spells others things, too."""
    if not pc.all(pc.match_substring_regex(column, _WHOLE), min_count=0).as_py():
        return None
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:  # more than 64 bits
        return None


def spelled_ids(table: Table, *columns: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Where spelling is all there is: whole numbers, if every id of every column is one."""
    if not table.spelled:
        return list(columns)
    whole = [as_whole(column) if is_text(column.type) else column for column in columns]
    found = [column for column in whole if column is not None]
    return found if len(found) == len(columns) else list(columns)


def rows_of(
    ids: pa.ChunkedArray, nodes: Table, cells: pa.ChunkedArray, edges: Table, name: str
) -> np.ndarray:
    """(E,) rows of the ids that cells of an edge table name, -1 where there is none.

    Whole numbers and text are the same where they are spelled alike, but only if one of the two
    tables is a text file, or if all of the text spells whole numbers.
    """
    if len(cells) and ids.type != cells.type:
        if nodes.spelled or edges.spelled:
            ids, cells = ids.cast(pa.large_string()), cells.cast(pa.large_string())
        elif is_text(ids.type):
            ids = _required_whole(ids, nodes, cells, edges, name)
        else:
            cells = _required_whole(cells, nodes, cells, edges, name)
    found = pc.index_in(cells if len(cells) else ids.slice(0, 0), value_set=one_piece(ids))
    rows: np.ndarray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    return rows


def _required_whole(
    text: pa.ChunkedArray, nodes: Table, cells: pa.ChunkedArray, edges: Table, name: str
) -> pa.ChunkedArray:
    whole = as_whole(text)
    if whole is not None:
        return whole
    kinds = ("text", "whole numbers") if is_text(cells.type) else ("whole numbers", "text")
    raise InputError(
        f"{edges.what}, column {name!r} names nodes by {kinds[0]}, but their ids in {nodes.what} "
        f"are {kinds[1]}; give both in the same kind"
    )


def alike(ids: pa.ChunkedArray, others: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Both in the same kind: whole numbers if the others spell such, else text."""
    if ids.type == others.type:
        return ids, others
    whole = as_whole(others) if is_text(others.type) else None
    if whole is not None:
        return ids, whole
    return ids.cast(pa.large_string()), others.cast(pa.large_string())


def check_distinct(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[Any, int] = {}
    for row, value in enumerate(ids.to_pylist()):
        if first.setdefault(value, row) != row:
            place = table.place(first[value])
            table.refuse_cell(row, name, f"is on {place} already; ids must be distinct")


def appearing(columns: list[pa.ChunkedArray]) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Distinct ids in order of first appearance, row by row, and where each cell's is, (E, k)."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    together = pa.chunked_array(chunks, columns[0].type)
    coded = one_piece(together).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).reshape(len(columns), -1).T
    _, first = np.unique(codes.ravel(), return_index=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return pa.chunked_array([coded.dictionary.take(pa.array(order))]), rank[codes]
