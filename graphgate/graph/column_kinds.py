"""One column of node attributes, of one of six kinds.

"number": quantities, NaN where missing. "boolean": true, false or missing. "category": one of any
number of values, or missing. "words": the count of each word of a vocabulary; a node without words
has an empty row. "text": the same of free text, whose frequent words say little. "vector": several
numbers that belong together, NaN where all are missing.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.validation import arrays_of, index_type, sorted_values

Kind: TypeAlias = Literal["number", "boolean", "category", "words", "text", "vector"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_DAY = 86_400_000_000  # microseconds
# Days since 1970 in the years that Python's dates have.
_FIRST_DAY, _LAST_DAY = (
    day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max)
)


@dataclass(frozen=True, eq=False)
class Column:
    """N values of one kind, made by the functions below and by `Attributes.from_columns`.

    values : number: (N,) float32 or float64, NaN where missing. boolean: (N,) float32 of 0 and 1,
        NaN where missing. category: (N,) int32, positions in `vocabulary`, -1 where missing.
        words, text: (N, V) CSR array of float32, the count of each word of `vocabulary`.
        vector: (N, k) float32, NaN where missing.
    vocabulary : the distinct categories or words, sorted; empty for the other kinds.
    dates : whether numbers are days since 1970, to be shown as dates.
    """

    kind: Kind
    values: Any
    vocabulary: tuple[Any, ...] = ()
    dates: bool = False

    def __post_init__(self) -> None:
        for array in arrays_of(self.values):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.kind, self.values, self.vocabulary, self.dates)  # read-only again

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def missing(self) -> np.ndarray:
        """(N,) boolean mask; rows of words are never missing, but may be empty."""
        if self.is_counts:
            return np.zeros(len(self), dtype=bool)
        if self.kind == "vector":
            return np.isnan(self.values).any(axis=1)
        return self.values < 0 if self.kind == "category" else np.isnan(self.values)

    @property
    def is_counts(self) -> bool:
        """Whether values are a sparse matrix of the counts of words."""
        return self.kind in ("words", "text")

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, values=self.values[rows])

    def padded(self, more: int) -> Self:
        """The column with this many missing values appended."""
        if self.is_counts:
            empty = sp.csr_array((more, self.values.shape[1]), dtype=np.float32)
            return replace(self, values=sp.vstack([self.values, empty], format="csr"))
        gone = -1 if self.kind == "category" else np.nan
        rows = ((0, more), *[(0, 0)] * (self.values.ndim - 1))
        return replace(self, values=np.pad(self.values, rows, constant_values=gone))

    def tolist(self) -> list[Any]:
        """Plain Python values, None where missing; words as mappings of word to count."""
        if self.kind == "vector":
            gone = self.missing.tolist()
            return [None if g else v for v, g in zip(self.values.tolist(), gone, strict=True)]
        if self.is_counts:
            matrix = self.values
            bounds = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
            words = [self.vocabulary[at] for at in matrix.indices.tolist()]
            counts = matrix.data.tolist()
            return [dict(zip(words[a:b], counts[a:b], strict=True)) for a, b in bounds]
        if self.kind == "category":
            return [None if code < 0 else self.vocabulary[code] for code in self.values.tolist()]
        form = bool if self.kind == "boolean" else float
        return [None if value != value else form(value) for value in self.values.tolist()]


def number_column(name: str, values: np.ndarray) -> Column:
    """From an array of numbers, NaN where missing; floats are kept, not copied."""
    exact = np.can_cast(values.dtype, np.float32)  # not integers of more than 16 bits
    array = values.astype(np.float32 if exact else np.float64, copy=False)
    if np.isinf(array).any():
        row = int(np.argmax(np.isinf(array)))
        raise InputError(
            f"the column {name!r} is {array[row]} in row {row}; fill or drop infinite values"
        )
    return Column("number", array)


def as_moments(values: Sequence[Any]) -> np.ndarray:
    """(N,) `datetime64[us]` of dates, None where missing; with a time zone, in UTC."""
    moments = np.full(len(values), "NaT", dtype="datetime64[us]")
    for row, value in enumerate(values):
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        if value is not None:
            moments[row] = value
    return moments


def moments_of(column: Column) -> np.ndarray | None:
    """(N,) `datetime64[us]` of a column of dates; None if it has numbers, or other years."""
    days, given = column.values.astype(np.float64), ~column.missing
    if not column.dates or ((days < _FIRST_DAY) | (days > _LAST_DAY)).any():
        return None
    moments = np.full(len(column), "NaT", dtype="datetime64[us]")
    moments[given] = np.round(days[given] * _DAY).astype("datetime64[us]")
    return moments


def date_column(moments: np.ndarray) -> Column:
    """From an array of `datetime64`, NaT where missing."""
    microseconds = moments.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    days = np.where(np.isnat(moments), np.nan, microseconds / _DAY)
    return Column("number", days, dates=True)


def boolean_column(values: np.ndarray) -> Column:
    """From an array of 0, 1 and NaN, or of booleans."""
    return Column("boolean", values.astype(np.float32))


def category_column(codes: np.ndarray, values: Sequence[Hashable]) -> Column:
    """From positions in the list of distinct values, -1 where missing."""
    order = sorted_values(values)
    rank = np.full(len(values) + 1, -1, dtype=np.int32)  # the last is that of code -1
    rank[order] = np.arange(len(values))
    return Column("category", rank[codes], tuple(values[at] for at in order))


def vector_column(name: str, values: np.ndarray) -> Column:
    """From (N, k) numbers, NaN where missing."""
    with np.errstate(over="ignore"):  # refused just below
        array = values.astype(np.float32)
    if (odd := np.isinf(array).any(axis=1)).any():
        raise InputError(
            f"the column {name!r} has a number in row {int(np.argmax(odd))} that is not finite in "
            "float32; fix the vector"
        )
    array[np.isnan(array).any(axis=1)] = np.nan
    return Column("vector", array)


def words_column(
    indptr: np.ndarray,
    codes: np.ndarray,
    counts: np.ndarray | None,
    words: Sequence[str],
    kind: Kind = "words",
) -> Column:
    """From CSR parts over a list of distinct words; a word may occur repeatedly in a row.

    Codes of 32 bits are used as they are if the words are sorted.
    """
    order = sorted_values(words)
    rank = np.empty(len(words), dtype=index_type(max(len(codes), len(words))))
    rank[order] = np.arange(len(words))
    data = np.ones(len(codes), dtype=np.float32) if counts is None else counts.astype(np.float32)
    indices = codes if order == [*range(len(words))] and codes.dtype == rank.dtype else rank[codes]
    parts = (data, indices, indptr.astype(rank.dtype, copy=False))
    matrix = sp.csr_array(parts, shape=(len(indptr) - 1, len(words)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Column(kind, matrix, tuple(words[at] for at in order))


def join_columns(columns: Sequence[Column]) -> Column:
    """Columns of one kind, one below the other."""
    kind = columns[0].kind
    if kind == "vector":
        return Column(kind, np.concatenate([column.values for column in columns]))
    if kind in ("number", "boolean"):
        dates = all(column.dates for column in columns)
        return Column(kind, np.concatenate([column.values for column in columns]), dates=dates)
    place: dict[Any, int] = {}
    for column in columns:
        for value in column.vocabulary:
            place.setdefault(value, len(place))
    where = [np.array([place[v] for v in column.vocabulary] + [-1]) for column in columns]
    if kind == "category":
        codes = [at[column.values] for at, column in zip(where, columns, strict=True)]
        return category_column(np.concatenate(codes), list(place))
    rows = [column.values for column in columns]
    lengths = np.concatenate([np.diff(each.indptr) for each in rows])
    return words_column(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([at[each.indices] for at, each in zip(where, rows, strict=True)]),
        np.concatenate([each.data for each in rows]),
        list(place),
        kind,
    )
