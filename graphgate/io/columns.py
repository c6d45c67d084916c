"""Arrow columns -> attribute columns, without a loop over cells."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning
from graphgate.graph import column_kinds
from graphgate.graph.column_kinds import KINDS, Column, Kind
from graphgate.graph.text_words import words_of_texts
from graphgate.io.cell_parts import (
    MARKS,
    email_parts,
    items_at,
    json_items,
    parsed_json,
    url_parts,
)
from graphgate.io.limits import check_claim
from graphgate.io.spellings import boolean, days, hours, number
from graphgate.io.tables import Table

# What a column may be read as, beyond the kinds of attributes.
TEMPORAL = (None, "number", "date", "day-first date", "time")
WORDS_OF: dict[str, Callable[[str], list[str]]] = {
    "list": json_items,
    **{f"list at {mark}": partial(items_at, mark=mark) for mark in MARKS},
    "url": url_parts,
    "email": email_parts,
}
_SPELLED: dict[str, Callable[[str], float | None]] = {
    "number": number,
    "comma number": partial(number, comma=True),
    "date": days,
    "day-first date": partial(days, day_first=True),
    "time": hours,
    "boolean": boolean,
    "latitude": number,
    "longitude": number,
}
READINGS = (
    *KINDS,
    *(kind for kind in (*_SPELLED, *WORDS_OF) if kind not in KINDS),
    "object",
    "drop",
)
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_VECTOR = pa.list_(pa.float64())
_ROWS = 1 << 16  # whose words are text at the same time


def attribute_column(
    table: Table, name: str, column: pa.ChunkedArray, kind: str | None = None
) -> Column:
    """An attribute column read as a kind of `READINGS`, or as its type suggests.

    Booleans, numbers and text become boolean, number and category; an Arrow dictionary or pandas
    categorical is a category whatever its type. Lists of text and maps of text to numbers are
    words, lists of numbers vectors. Dates and times are numbers, in days since 1970.
    """
    if pa.types.is_dictionary(column.type):
        kind = kind or "category"
        if kind == "category" and is_category(column.type.value_type):
            return _coded_categories(column)
        column = decoded(table, name, column)
    if pa.types.is_temporal(column.type):
        if kind in TEMPORAL:
            numbers = _numbers(table, name, _as_days(column), "number")
            return replace(numbers, dates=not _is_duration(column.type))
        column = column.cast(pa.string()) if kind == "category" else _as_days(column)
    if is_text(column.type):
        column = column.cast(pa.large_string())
    kind = kind or next((guess for fits, guess in _GUESSES if fits(column.type)), None)
    if kind is None:
        raise unfit(table, name, column.type, "numbers, booleans, text, or lists of words")
    if kind in WORDS_OF and is_text(column.type):
        return _parts(column, WORDS_OF[kind])
    if kind in WORDS_OF or kind in ("words", "text"):
        return _words(table, name, column, "text" if kind == "text" else "words")
    if kind == "category":
        return _categories(table, name, column)
    if kind == "vector":
        return _vectors(table, name, column)
    return _numbers(table, name, column, kind)


def _is_duration(kind: pa.DataType) -> bool:
    return bool(pa.types.is_duration(kind) or pa.types.is_time(kind))


def _as_days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days since 1970; of a time, hours since midnight; of a duration, days."""
    if pa.types.is_time(column.type):
        wide = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        return pc.divide(wide.cast(pa.float64()), _DAY[column.type.unit] / 24)
    return _days(column)


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


def _is_vector(kind: pa.DataType) -> bool:
    return is_list(kind) and is_number(kind.value_type)


_GUESSES: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_boolean, "boolean"),
    (is_number, "number"),
    (pa.types.is_null, "number"),
    (is_text, "category"),
    (_is_vector, "vector"),
    (is_list, "words"),
    (pa.types.is_map, "words"),
)


# --- numbers and booleans ------------------------------------------------------------------------


def _numbers(table: Table, name: str, column: pa.ChunkedArray, kind: str) -> Column:
    values = floats(table, name, column, kind)
    table.refuse_first(np.isinf(values), name, "is not finite; fill or drop infinite values")
    if kind == "boolean":
        odd = ~np.isnan(values) & (values != 0) & (values != 1)
        table.refuse_first(odd, name, "is neither true nor false")
        return column_kinds.boolean_column(values)
    # A copy: pandas may change its memory, and Parquet's reader over-allocates its own.
    numbers = column_kinds.number_column(name, values.copy())
    return replace(numbers, dates=kind in ("date", "day-first date"))


def floats(table: Table, name: str, column: pa.ChunkedArray, kind: str = "number") -> np.ndarray:
    """(N,) floats, NaN where missing; a view of Arrow's memory if that is one chunk of floats."""
    if pa.types.is_dictionary(column.type):
        column = decoded(table, name, column)
    if is_text(column.type):
        return _parsed(table, name, column.cast(pa.large_string()), kind)
    if pa.types.is_null(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8()).cast(pa.float32())
    elif not is_number(column.type):
        raise unfit(table, name, column.type, "numbers")
    return one_piece(column).to_numpy(zero_copy_only=False)


def _parsed(table: Table, name: str, column: pa.ChunkedArray, kind: str) -> np.ndarray:
    """The numbers that text spells; what spells none counts as missing, with a warning.

    Text that mostly spells none is refused.
    """
    if kind == "number":
        with suppress(pa.ArrowInvalid):
            return one_piece(pc.utf8_trim_whitespace(column).cast(pa.float64())).to_numpy(
                zero_copy_only=False
            )
    coded = one_piece(column).dictionary_encode()
    spelled = _SPELLED[kind]
    values = np.full(len(coded.dictionary) + 1, np.nan)  # the last is that of code -1
    wrong = np.zeros(len(values), dtype=bool)
    for start in range(0, len(coded.dictionary), _ROWS):
        for at, text in enumerate(coded.dictionary.slice(start, _ROWS).to_pylist(), start):
            value = spelled(text)
            wrong[at] = value is None
            values[at] = np.nan if value is None else value
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    bad = wrong[codes]
    if (count := int(bad.sum())) and 2 * count > (codes >= 0).sum():
        table.refuse_first(bad, name, f"is not a {kind}; fix it or drop the column")
    if count:
        row = int(np.argmax(bad))
        warnings.warn(
            f"{table.what}, column {name!r}: {count:,} of its cells are no {kind} and count as "
            f"missing, such as {table.cell(row, name)} ({table.place(row)})",
            InputWarning,
            stacklevel=2,
        )
    return values[codes]


def _vectors(table: Table, name: str, column: pa.ChunkedArray) -> Column:
    """Lists of numbers of one length, or JSON arrays of them."""
    if is_text(column.type):
        column = pa.chunked_array([pa.array(map(_vector_of, column.to_pylist()), _VECTOR)])
    if pa.types.is_null(column.type):
        column = column.cast(_VECTOR)
    if not is_list(column.type) or not is_number(column.type.value_type):
        raise unfit(table, name, column.type, "lists of numbers of one length")
    lists = one_piece(column)
    lengths = pc.list_value_length(lists)
    size = pc.max(lengths).as_py() or 0
    given = pc.is_valid(lists).to_numpy(zero_copy_only=False)
    odd = given & (pc.fill_null(lengths, size).to_numpy(zero_copy_only=False) != size)
    table.refuse_first(odd, name, f"does not have {size} numbers like the others; fix the vector")
    values = np.full((len(lists), max(size, 1)), np.nan)
    flat = lists.drop_null().flatten().cast(pa.float64())
    if size:
        values[given] = flat.to_numpy(zero_copy_only=False).reshape(-1, size)
    return column_kinds.vector_column(name, values)


def _vector_of(text: str | None) -> list[float] | None:
    value = None if text is None else parsed_json(text)
    return value if isinstance(value, list) and value else None


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


def _parts(column: pa.ChunkedArray, words_of: Callable[[str], list[str]]) -> Column:
    """The words that each distinct text consists of."""
    coded = one_piece(column).dictionary_encode()
    place: dict[str, int] = {}
    found: list[int] = []
    ends = [0]
    for start in range(0, len(coded.dictionary), _ROWS):
        for text in coded.dictionary.slice(start, _ROWS).to_pylist():
            found += [place.setdefault(word, len(place)) for word in words_of(text)]
            ends.append(len(found))
    indptr, indices = np.array([*ends, ends[-1]]), np.array(found, dtype=np.int64)
    ones = np.ones(len(indices), dtype=np.float32)
    parts = sp.csr_array((ones, indices, indptr), shape=(len(ends), max(len(place), 1)))
    codes = pc.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    rows = parts[codes]
    return column_kinds.words_column(rows.indptr, rows.indices, rows.data, list(place))


def _words(table: Table, name: str, column: pa.ChunkedArray, kind: Kind = "words") -> Column:
    if pa.types.is_null(column.type):
        column = column.cast(pa.list_(pa.string()))
    pieces, start = [], 0
    for piece in _pieces(column):
        if kind == "text" and is_text(piece.type):
            piece = words_of_texts(piece)
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
        kind,
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
    if is_list(kind) and is_number(kind.value_type):
        chunk = chunk.cast(pa.list_(pa.string()))
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
