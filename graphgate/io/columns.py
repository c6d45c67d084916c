"""Arrow columns -> attribute columns, without a loop over cells."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph import column_kinds
from graphgate.graph.column_kinds import Column, Kind
from graphgate.io.limits import check_claim
from graphgate.io.tables import Table

_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_ROWS = 1 << 16  # whose words are text at the same time


def attribute_column(table: Table, name: str, column: pa.ChunkedArray, kind: Kind | None) -> Column:
    """An attribute column of the given kind, or of the kind that its type suggests.

    Booleans, numbers and text become boolean, number and category; an Arrow dictionary or pandas
    categorical is a category whatever its type. Lists of text and maps of text to numbers are
    words. Dates and times are numbers, in days since 1970.
    """
    if pa.types.is_dictionary(column.type):
        kind = kind or "category"
        if kind == "category" and is_category(column.type.value_type):
            return _coded_categories(column)
        column = decoded(table, name, column)
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        column = _days(column)
        if kind in (None, "number"):
            return replace(_numbers(table, name, column, "number"), dates=True)
    if is_text(column.type):
        column = column.cast(pa.large_string())
    kind = kind or next((guess for fits, guess in _GUESSES if fits(column.type)), None)
    if kind is None:
        raise unfit(table, name, column.type, "numbers, booleans, text, or lists of words")
    if kind in ("category", "words"):
        return (_categories if kind == "category" else _words)(table, name, column)
    return _numbers(table, name, column, kind)


def _days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days since 1970; nothing is converted to another unit, which might overflow."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.float64())
    unit = "ms" if pa.types.is_date64(column.type) else column.type.unit
    return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), float(_DAY[unit]))


def decoded(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a dictionary column; text may then take more than 2 GB."""
    kind = column.type.value_type
    if not (is_category(kind) or pa.types.is_temporal(kind)):
        raise unfit(table, name, column.type, "numbers or text")
    parts = []
    for chunk in column.chunks:
        values = chunk.dictionary.cast(pa.large_string()) if is_text(kind) else chunk.dictionary
        if table.size is not None and is_text(kind):
            length = pc.sum(pc.binary_length(values).take(chunk.indices)).as_py() or 0
            check_claim(f"{table.what}, column {name!r},", "values", length, table.size, "bytes")
        parts.append(values.take(chunk.indices))
    return pa.chunked_array(parts, pa.large_string() if is_text(kind) else kind)


def is_category(kind: pa.DataType) -> bool:
    known = is_text(kind) or is_number(kind) or pa.types.is_boolean(kind)
    return known or bool(pa.types.is_null(kind))


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
    if pa.types.is_dictionary(column.type):
        column = decoded(table, name, column)
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
        wrong = (row for row, value in enumerate(trimmed) if not _spells_number(value))
        table.refuse_cell(next(wrong), name, "is not a number; fix it or drop the column")


def _spells_number(text: pa.Scalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


# --- categories and words ------------------------------------------------------------------------


def _categories(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not is_category(kind):
        raise unfit(table, name, kind, "text, numbers or booleans")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    coded = one_piece(column).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return column_kinds.category_column(codes, coded.dictionary.to_pylist())


def _coded_categories(column: pa.ChunkedArray) -> Column:
    """From codes, without writing each value out; those that do not occur are left out."""
    codes = np.full(len(column), -1, dtype=np.int64)
    place: dict[Any, int] = {}
    start = 0
    for chunk in column.chunks:
        indices = pc.fill_null(chunk.indices.cast(pa.int64()), -1).to_numpy()
        used = np.unique(indices[indices >= 0])
        rank = np.full(len(chunk.dictionary) + 1, -1)  # the last is that of code -1
        for at, value in zip(used, chunk.dictionary.take(pa.array(used)).to_pylist(), strict=True):
            value = float(value) if isinstance(value, Decimal) else value
            if value is not None and value == value:
                rank[at] = place.setdefault(value, len(place))
        codes[start : start + len(chunk)] = rank[indices]
        start += len(chunk)
    return column_kinds.category_column(codes, list(place))


class _Words(NamedTuple):
    """Some rows: the number of words in each, all words coded in order, and their counts."""

    lengths: np.ndarray
    codes: np.ndarray
    words: list[str]
    counts: np.ndarray | None


def _words(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    if pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.string()))
    pieces, start = [], 0
    for piece in _pieces(column):
        pieces.append(_coded(table, name, piece, start))
        start += len(piece)
    words = sorted({word for piece in pieces for word in piece.words})
    place = {word: at for at, word in enumerate(words)}
    codes = np.empty(sum(len(piece.codes) for piece in pieces), dtype=np.int32)
    at = 0
    for piece in pieces:
        places = np.array([place[word] for word in piece.words], dtype=np.int32)
        codes[at : at + len(piece.codes)] = places[piece.codes]
        at += len(piece.codes)
    # All pieces have counts or none has: the type of the column decides.
    counts = [piece.counts for piece in pieces if piece.counts is not None]
    return column_kinds.words_column(
        np.concatenate([[0], np.cumsum(np.concatenate([piece.lengths for piece in pieces]))]),
        codes,
        np.concatenate(counts) if counts else None,
        words,
    )


def _pieces(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Rows to be coded together: few, because of text, unless they are coded already."""
    for chunk in column.chunks or [pa.array([], column.type)]:
        coded = is_list(chunk.type) and pa.types.is_dictionary(chunk.type.value_type)
        step = max(1, len(chunk)) if coded else _ROWS
        for start in range(0, max(1, len(chunk)), step):
            yield chunk.slice(start, step)


def _coded(table: Table, name: str, rows: pa.Array, start: int) -> _Words:
    """The words of the rows of a column from `start` on."""
    if is_text(rows.type):
        trimmed = pc.utf8_trim_whitespace(rows.cast(pa.large_string()))
        # Splitting "" would give a word.
        rows = pc.utf8_split_whitespace(pc.if_else(pc.equal(trimmed, ""), None, trimmed))
    lengths, words, items = _word_parts(table, name, rows)
    counts = None
    wrong = [(words.is_null(), "contains a missing word; leave it out")] if words.null_count else []
    if items is not None:
        with np.errstate(over="ignore"):
            counts = items.to_numpy(zero_copy_only=False).astype(np.float32)
        if not np.isfinite(counts).all():
            wrong.append(
                (~np.isfinite(counts), "contains a count that is not a finite float32 number")
            )
    for mask, problem in wrong:
        row = np.repeat(np.arange(len(lengths)), lengths)[np.argmax(mask)]
        table.refuse_cell(start + int(row), name, problem)
    coded = words if pa.types.is_dictionary(words.type) else words.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    used = np.zeros(len(coded.dictionary), dtype=bool)
    used[codes] = True
    place = np.cumsum(used, dtype=np.int32) - 1
    return _Words(
        lengths,
        codes if used.all() else place[codes],
        coded.dictionary.filter(pa.array(used)).to_pylist(),
        counts,
    )


def _word_parts(
    table: Table, name: str, chunk: pa.Array
) -> tuple[np.ndarray, pa.Array, pa.Array | None]:
    """Number of words per row, all words in order, and the count of each, if there are counts."""
    kind = chunk.type
    if pa.types.is_map(kind):
        pair = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        chunk = chunk.cast(pa.list_(pair))  # the keys of a map ignore slices
    keys = chunk.flatten() if is_list(chunk.type) else pa.nulls(0)
    items = None
    if pa.types.is_struct(keys.type) and keys.type.num_fields == 2:  # how Polars represents a map
        keys, items = keys.flatten()
    coded = pa.types.is_dictionary(keys.type)
    text = is_text(keys.type.value_type if coded else keys.type)
    if not text or not (items is None or is_number(items.type)):
        raise unfit(table, name, kind, "text, lists of text, or maps from text to numbers")
    if coded and keys.dictionary.null_count:  # a missing word may be one of them
        keys = keys.dictionary_decode()
    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
    return lengths, keys, None if items is None else items.cast(pa.float64(), safe=False)
