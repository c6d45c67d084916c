"""Arrow columns -> attribute columns, without a loop over cells; Python values -> Arrow."""

import numbers
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph.attributes import (
    Column,
    Kind,
    boolean_column,
    category_column,
    number_column,
    words_column,
)
from graphgate.graph.validation import plain
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
        column = _days(column)
    if is_text(column.type):
        column = column.cast(pa.large_string())
    kind = kind or _guessed(table, name, column.type)
    if kind == "category":
        return _categories(table, name, column)
    if kind == "words":
        return _words(table, name, column)
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


def _days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)))
    return pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), float(_DAY))


def _guessed(table: Table, name: str, kind: pa.DataType) -> Kind:
    if pa.types.is_boolean(kind):
        return "boolean"
    if is_number(kind) or pa.types.is_null(kind):
        return "number"
    if is_text(kind):
        return "category"
    if is_list(kind) or pa.types.is_map(kind):
        return "words"
    raise unfit(table, name, kind, "numbers, booleans, text, or lists of words")


def unfit(table: Table, name: str, kind: pa.DataType, wanted: str) -> InputError:
    return InputError(
        f"{table.what}, column {name!r}: values of type {kind} cannot be used here; "
        f"use {wanted}, or drop the column"
    )


def is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


# --- numbers and booleans ------------------------------------------------------------------------


def _numbers(table: Table, name: str, column: pa.ChunkedArray, kind: Kind) -> Column:
    values = floats(table, name, column)
    if (infinite := np.isinf(values)).any():
        row = int(np.argmax(infinite))
        table.refuse_cell(row, name, "is not finite; fill or drop infinite values")
    if kind == "number":
        # A copy: pandas may change its memory, and Parquet's reader over-allocates its own.
        return number_column(name, values.copy())
    odd = ~np.isnan(values) & (values != 0) & (values != 1)
    if odd.any():
        table.refuse_cell(int(np.argmax(odd)), name, "is neither true nor false")
    return boolean_column(values)


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
    if column.null_count and not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    values = one_piece(column).to_numpy(zero_copy_only=False)
    return values.astype(np.float32) if values.dtype == np.float16 else values


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
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (is_text(kind) or is_number(kind) or pa.types.is_boolean(kind)):
        if not pa.types.is_null(kind):
            raise unfit(table, name, kind, "text, numbers or booleans")
        return Column("category", np.full(len(column), -1, dtype=np.int32))
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    coded = one_piece(column).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return category_column(codes, coded.dictionary.to_pylist())


def _words(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    if is_text(column.type):
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        given = pc.if_else(pc.equal(trimmed, ""), None, trimmed)  # splitting "" would give a word
        column = pc.utf8_split_whitespace(given)
    elif pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.string()))
    pieces = [_word_parts(table, name, chunk) for chunk in column.chunks]
    starts = np.cumsum(np.concatenate([[0], *(lengths for lengths, _, _ in pieces)]))
    words = pa.chunked_array([words for _, words, _ in pieces], pa.large_string())
    counts = np.concatenate([np.empty(0), *(counts for _, _, counts in pieces)])
    with np.errstate(over="ignore"):
        stored = counts.astype(np.float32)
    for wrong, problem in [
        (words.is_null().to_numpy(), "contains a missing word; leave it out"),
        (~np.isfinite(stored), "contains a count that is not a finite float32 number"),
    ]:
        if wrong.any():
            row = int(np.searchsorted(starts, int(np.argmax(wrong)), "right")) - 1
            table.refuse_cell(row, name, problem)
    coded = one_piece(words).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return words_column(starts, codes, stored, coded.dictionary.to_pylist())


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
    if items is None:
        return lengths, keys.cast(pa.large_string()), np.ones(len(keys))
    counts = items.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return lengths, keys.cast(pa.large_string()), counts


# --- Python values -------------------------------------------------------------------------------


def is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "buif"
    )


def python_column(values: list[Any]) -> pa.Array | None:
    """Python values, None where missing, as an Arrow array; None if they are nested.

    Sequences of text become lists, mappings from text to numbers become maps, and values of
    several types become text.
    """
    items = [plain(value) for value in values]
    given = [item for item in items if item is not None]
    if given and all(isinstance(item, Mapping) for item in given):
        if not all(isinstance(k, str) and is_real(v) for item in given for k, v in item.items()):
            return None
        pairs = [None if i is None else [(k, float(v)) for k, v in i.items()] for i in items]
        return pa.array(pairs, pa.map_(pa.string(), pa.float64()))
    if given and all(isinstance(item, (list, tuple, Set)) for item in given):
        if not all(isinstance(word, str) for item in given for word in item):
            return None
        return pa.array([None if i is None else list(i) for i in items], pa.list_(pa.string()))
    if not all(isinstance(item, (str, numbers.Real)) for item in given):
        return None
    try:
        return pa.array(items, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        if all(isinstance(item, numbers.Real) for item in given):
            return pa.array([None if i is None else float(i) for i in items], pa.float64())
        return pa.array([None if i is None else str(i) for i in items], pa.string())
