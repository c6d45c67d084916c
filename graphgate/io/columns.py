"""Arrow columns -> attribute columns and node ids, without a loop over cells."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph import column_kinds
from graphgate.graph.column_kinds import Column, Kind
from graphgate.io.tables import Table

_DAY = 86_400_000_000  # microseconds


def attribute_column(table: Table, name: str, column: pa.ChunkedArray, kind: Kind | None) -> Column:
    """An attribute column of the given kind, or of the kind that its type suggests.

    Booleans, numbers and text become boolean, number and category; an Arrow dictionary or pandas
    categorical is a category whatever its type. Lists of text and maps of text to numbers are
    words. Dates and times are numbers, in days since 1970.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
        kind = kind or "category"
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)))
        column = pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), float(_DAY))
    if is_text(column.type):
        column = column.cast(pa.large_string())
    kind = kind or next((guess for fits, guess in _GUESSES if fits(column.type)), None)
    if kind is None:
        raise unfit(table, name, column.type, "numbers, booleans, text, or lists of words")
    if kind in ("category", "words"):
        return (_categories if kind == "category" else _words)(table, name, column)
    return _numbers(table, name, column, kind)


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def one_piece(column: pa.ChunkedArray) -> pa.Array:
    """The values as one array, without a copy if the column has a single chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def unfit(table: Table, name: str, kind: pa.DataType, wanted: str) -> InputError:
    return InputError(
        f"{table.what}, column {name!r}: values of type {kind} cannot be used here; "
        f"use {wanted}, or drop the column"
    )


def is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


_GUESSES: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_boolean, "boolean"),
    (is_number, "number"),
    (pa.types.is_null, "number"),
    (is_text, "category"),
    (is_list, "words"),
    (pa.types.is_map, "words"),
)


# --- numbers and booleans ------------------------------------------------------------------------


def _numbers(table: Table, name: str, column: pa.ChunkedArray, kind: Kind) -> Column:
    values = floats(table, name, column)
    table.refuse_first(np.isinf(values), name, "is not finite; fill or drop infinite values")
    if kind == "number":
        # A copy: pandas may change its memory, and Parquet's reader over-allocates its own.
        return column_kinds.number_column(name, values.copy())
    odd = ~np.isnan(values) & (values != 0) & (values != 1)
    table.refuse_first(odd, name, "is neither true nor false")
    return column_kinds.boolean_column(values)


def floats(table: Table, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """(N,) floats, NaN where missing; a view of Arrow's memory if that is one chunk of floats."""
    kind = column.type
    if is_text(kind):
        column = _parsed(table, name, column)
    elif pa.types.is_null(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8()).cast(pa.float32())
    elif not is_number(kind):
        raise unfit(table, name, kind, "numbers")
    return one_piece(column).to_numpy(zero_copy_only=False)


def _parsed(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        for row, value in enumerate(trimmed.to_pylist()):
            try:
                pa.scalar(value, pa.string()).cast(pa.float64())
            except pa.ArrowInvalid:
                table.refuse_cell(row, name, "is not a number; fix it or drop the column")
        raise


# --- categories and words ------------------------------------------------------------------------


def _categories(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (is_text(kind) or is_number(kind) or pa.types.is_boolean(kind)):
        raise unfit(table, name, kind, "text, numbers or booleans")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    coded = one_piece(column).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return column_kinds.category_column(codes, coded.dictionary.to_pylist())


def _words(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    if is_text(column.type):
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        # Splitting "" would give a word.
        column = pc.utf8_split_whitespace(pc.if_else(pc.equal(trimmed, ""), None, trimmed))
    elif pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.string()))
    lengths, words, counts = _word_parts(table, name, one_piece(column))
    with np.errstate(over="ignore"):
        stored = counts.astype(np.float32)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    for wrong, problem in [
        (words.is_null().to_numpy(zero_copy_only=False), "contains a missing word; leave it out"),
        (~np.isfinite(stored), "contains a count that is not a finite float32 number"),
    ]:
        if wrong.any():
            table.refuse_cell(int(rows[np.argmax(wrong)]), name, problem)
    coded = words.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return column_kinds.words_column(starts, codes, stored, coded.dictionary.to_pylist())


def _word_parts(
    table: Table, name: str, chunk: pa.Array
) -> tuple[np.ndarray, pa.Array, np.ndarray]:
    """Number of words per row, all words in order, and the count of each."""
    kind = chunk.type
    if pa.types.is_map(kind):
        pair = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        chunk = chunk.cast(pa.list_(pair))  # the keys of a map ignore slices
    keys = chunk.flatten() if is_list(chunk.type) else pa.nulls(0)
    items = None
    if pa.types.is_struct(keys.type) and keys.type.num_fields == 2:  # how Polars represents a map
        keys, items = keys.flatten()
    if not is_text(keys.type) or not (items is None or is_number(items.type)):
        raise unfit(table, name, kind, "text, lists of text, or maps from text to numbers")
    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    items = pa.array(np.ones(len(keys))) if items is None else items.cast(pa.float64(), safe=False)
    return lengths, keys.cast(pa.large_string()), items.to_numpy(zero_copy_only=False)


# --- node ids: integers or text ------------------------------------------------------------------


def id_column(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids as int64 or text, none missing; UUIDs become text.

    Where a value was missing, pandas stores integers as floats; they become integers again.
    """
    table.refuse_first(column.is_null().to_numpy(), name, "is not an id; give every row an id")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        return column.cast(pa.large_string())
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
    return _all_integers(columns) or [column.cast(pa.large_string()) for column in columns]


def _all_integers(columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray] | None:
    found = [as_integers(each) if is_text(each.type) else each for each in columns]
    return None if any(column is None for column in found) else found


def rows_of(ids: pa.ChunkedArray, cells: pa.ChunkedArray) -> np.ndarray:
    """(E,) positions of the cells' ids among the ids of the nodes, -1 where there is none.

    An integer matches text with the same digits.
    """
    ids, cells = same_type(ids, cells if len(cells) else ids.slice(0, 0))
    found = pc.index_in(cells, value_set=one_piece(ids))
    return pc.fill_null(found, -1).to_numpy().astype(np.int64)


def check_distinct(table: Table, name: str, ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[Any, int] = {}
    for row, value in enumerate(ids.to_pylist()):
        if first.setdefault(value, row) != row:
            problem = f"is also the id on {table.place(first[value])}; ids must be unique"
            table.refuse_cell(row, name, problem)


def appearing(columns: list[pa.ChunkedArray]) -> tuple[pa.ChunkedArray, np.ndarray]:
    """Distinct ids in order of first appearance, row by row, and each cell's position, (E, k)."""
    row_by_row = np.arange(len(columns) * len(columns[0])).reshape(len(columns), -1).T.ravel()
    together = pa.concat_arrays([one_piece(column) for column in columns])
    coded = together.take(pa.array(row_by_row)).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return pa.chunked_array([coded.dictionary]), codes.reshape(-1, len(columns))
