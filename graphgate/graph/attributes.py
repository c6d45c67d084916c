"""Node attributes: a table of named columns, before they are encoded as features.

A column has one of four kinds. "number": quantities, NaN where missing. "boolean": true, false or
missing. "category": one of a few values, or missing. "words": the count of each word of a
vocabulary; a node without words has an empty row.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.graph.validation import plain, sorted_values

Kind: TypeAlias = Literal["number", "boolean", "category", "words"]
KINDS: tuple[Kind, ...] = ("number", "boolean", "category", "words")


@dataclass(frozen=True, eq=False)
class Column:
    """N values of one kind, made by the functions below and by `Attributes.from_columns`.

    values : number: (N,) float32 or float64, NaN where missing. boolean: (N,) float32 of 0 and 1,
        NaN where missing. category: (N,) int32, positions in `vocabulary`, -1 where missing.
        words: (N, V) CSR array of float32, the count of each word of `vocabulary`.
    vocabulary : the distinct categories or words, sorted; empty for the other kinds.
    """

    kind: Kind
    values: Any
    vocabulary: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        values = self.values
        parts = (values.data, values.indices, values.indptr) if sp.issparse(values) else (values,)
        for array in parts:
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.kind, self.values, self.vocabulary)  # read-only again

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def missing(self) -> np.ndarray:
        """(N,) boolean mask; rows of words are never missing, but may be empty."""
        if self.kind == "words":
            return np.zeros(len(self), dtype=bool)
        return self.values < 0 if self.kind == "category" else np.isnan(self.values)

    def take(self, rows: np.ndarray) -> Column:
        return Column(self.kind, self.values[rows], self.vocabulary)

    def padded(self, more: int) -> Column:
        """The column with this many missing values appended."""
        if self.kind == "words":
            empty = sp.csr_array((more, self.values.shape[1]), dtype=np.float32)
            return Column(self.kind, sp.vstack([self.values, empty]).tocsr(), self.vocabulary)
        gone = -1 if self.kind == "category" else np.nan
        tail = np.full(more, gone, dtype=self.values.dtype)
        return Column(self.kind, np.concatenate([self.values, tail]), self.vocabulary)

    def tolist(self) -> list[Any]:
        """Plain Python values, None where missing; words as mappings of word to count."""
        if self.kind == "words":
            matrix = self.values
            bounds = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
            words = [self.vocabulary[at] for at in matrix.indices.tolist()]
            counts = matrix.data.tolist()
            return [dict(zip(words[a:b], counts[a:b], strict=True)) for a, b in bounds]
        if self.kind == "category":
            return [None if code < 0 else self.vocabulary[code] for code in self.values.tolist()]
        form = bool if self.kind == "boolean" else float
        return [None if value != value else form(value) for value in self.values.tolist()]


class Attributes:
    """An immutable table of N rows, one per node, and named columns in a fixed order.

    Parameters
    ----------
    columns : name -> `Column`, all of the same length.

    >>> table = Attributes.from_columns({"age": [31, None], "town": ["Ulm", "Bern"]})
    >>> table
    Attributes(2 rows: age number, town category)
    >>> table.column("town").tolist()
    ['Ulm', 'Bern']
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        if not columns:
            raise InputError("attributes need at least one column")
        first = next(iter(columns))
        for name, column in columns.items():
            if not isinstance(name, str):
                raise InputError(f"column names must be text, got {name!r}")
            if len(column) != len(columns[first]):
                raise InputError(
                    f"the column {name!r} has {len(column):,} rows, but {first!r} has "
                    f"{len(columns[first]):,}; give every column one value per node"
                )
        self._columns = MappingProxyType(dict(columns))

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Any], *, kinds: Mapping[str, str] | None = None
    ) -> Attributes:
        """From lists or arrays by name, None or NaN where a value is missing.

        Booleans become "boolean", numbers "number", text "category", and lists of words or
        mappings of words to counts "words", unless `kinds` says otherwise. Text of kind "words" is
        split at white space. Integers of up to 16 bits are stored as float32, which represents
        them exactly, larger ones as float64.
        """
        if not isinstance(columns, Mapping):
            raise InputError(f"columns must map names to values, got {type(columns).__name__}")
        for name, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise InputError(
                    f"the column {name!r} cannot be of kind {kind!r}; use one of {', '.join(KINDS)}"
                )
            if name not in columns:
                raise InputError(f"kinds names the column {name!r}, which does not exist")
        wanted = cast("Mapping[str, Kind]", kinds or {})
        return cls(
            {name: _column(name, values, wanted.get(name)) for name, values in columns.items()}
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        return {name: column.kind for name, column in self._columns.items()}

    def column(self, name: str) -> Column:
        if name not in self._columns:
            raise InputError(f"there is no column {name!r}; there are {listing(self.names)}")
        return self._columns[name]

    def __getitem__(self, name: str) -> Column:
        return self.column(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values())))

    def take(self, rows: np.ndarray) -> Attributes:
        """The table of these rows (numbers or a mask), in the order given."""
        return Attributes({name: column.take(rows) for name, column in self._columns.items()})

    def padded(self, more: int) -> Attributes:
        """The table with this many rows of missing values appended."""
        return Attributes({name: column.padded(more) for name, column in self._columns.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Attributes, (dict(self._columns),)

    def __repr__(self) -> str:
        shown = [f"{name} {column.kind}" for name, column in self._columns.items()]
        return f"Attributes({len(self):,} rows: {listing(shown)})"


# --- columns of each kind ------------------------------------------------------------------------


def number_column(name: str, values: np.ndarray) -> Column:
    """From an array of numbers, NaN where missing; floats are kept, not copied."""
    kind = np.result_type(values.dtype, np.float32)  # integers of more than 16 bits: float64
    if kind.itemsize > 8:
        kind = np.dtype(np.float64)
    array = values.astype(kind, copy=False)
    if np.isinf(array).any():
        row = int(np.argmax(np.isinf(array)))
        raise InputError(
            f"the column {name!r} is {array[row]} in row {row}; fill or drop infinite values"
        )
    return Column("number", array)


def boolean_column(values: np.ndarray) -> Column:
    """From an array of 0, 1 and NaN, or of booleans."""
    return Column("boolean", values.astype(np.float32))


def category_column(codes: np.ndarray, values: Sequence[Hashable]) -> Column:
    """From positions in the list of distinct values, -1 where missing."""
    order = sorted_values(values)
    rank = np.full(len(values) + 1, -1, dtype=np.int32)  # the last is that of code -1
    rank[order] = np.arange(len(values))
    return Column("category", rank[codes], tuple(values[at] for at in order))


def words_column(
    indptr: np.ndarray, codes: np.ndarray, counts: np.ndarray | None, words: Sequence[str]
) -> Column:
    """From CSR parts over a list of distinct words; a word may occur repeatedly in a row."""
    order = sorted_values(words)
    rank = np.empty(len(words), dtype=np.int32)
    rank[order] = np.arange(len(words))
    data = np.ones(len(codes), dtype=np.float32) if counts is None else counts.astype(np.float32)
    matrix = sp.csr_array((data, rank[codes], indptr), shape=(len(indptr) - 1, len(words)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Column("words", matrix, tuple(words[at] for at in order))


# --- values of any kind --------------------------------------------------------------------------


def _column(name: str, values: Any, kind: Kind | None) -> Column:
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise InputError(f"the column {name!r} must have one dimension, got shape {array.shape}")
    if array is not None and array.dtype.kind == "b" and kind in (None, "boolean"):
        return boolean_column(array)
    if array is not None and array.dtype.kind in "iuf" and kind in (None, "number"):
        return number_column(name, array.copy())
    items = _items(name, values)
    kind = kind or _guessed(items)
    if kind == "category":
        return _categories(name, items)
    if kind == "words":
        return _words(name, items)
    floats = np.array([_number(name, row, item) for row, item in enumerate(items)], np.float64)
    if kind == "number":
        return number_column(name, floats)
    if (odd := ~np.isnan(floats) & (floats != 0) & (floats != 1)).any():
        row = int(np.argmax(odd))
        raise InputError(
            f"the boolean column {name!r} has the value {items[row]!r} in row {row}; "
            "use true and false, or 1 and 0"
        )
    return boolean_column(floats)


def _items(name: str, values: Any) -> list[Any]:
    """Plain values, None where missing."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"the column {name!r} must be a list of values, got {values!r}")
    read = getattr(values, "to_pylist", None) or getattr(values, "tolist", None)
    items = read() if read else list(values)
    return [None if is_missing(item) else plain(item) for item in items]


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas writes for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _guessed(items: list[Any]) -> Kind:
    types = {type(item) for item in items if item is not None}
    if types and types <= {bool}:
        return "boolean"
    if all(issubclass(kind, numbers.Real) for kind in types):  # also if all are missing
        return "number"
    if all(issubclass(kind, (Mapping, list, tuple, Set, np.ndarray)) for kind in types):
        return "words"
    return "category"


def _number(name: str, row: int, item: Any) -> float:
    if item is None:
        return math.nan
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"the number column {name!r} has the value {item!r} in row {row}; "
            "fix the value, or give the column as a category"
        ) from None


def _categories(name: str, items: list[Any]) -> Column:
    code: dict[Any, int] = {None: -1}
    codes = np.empty(len(items), dtype=np.int64)
    for row, item in enumerate(items):
        if item is not None and not isinstance(item, (str, bool, int, float)):
            raise InputError(
                f"the category column {name!r} has the value {item!r} in row {row}; "
                "use text, numbers or booleans"
            )
        codes[row] = code.setdefault(item, len(code) - 1)
    return category_column(codes, list(code)[1:])


def _words(name: str, items: list[Any]) -> Column:
    code: dict[str, int] = {}
    indptr, codes, counts = [0], list[int](), list[float]()
    for row, item in enumerate(items):
        for word, count in _counted(name, row, item):
            if not isinstance(word, str):
                raise InputError(
                    f"the column {name!r} has the word {word!r} in row {row}; use text"
                )
            codes.append(code.setdefault(word, len(code)))
            counts.append(count)
        indptr.append(len(codes))
    return words_column(
        np.array(indptr), np.array(codes, dtype=np.int64), np.array(counts), list(code)
    )


def _counted(name: str, row: int, item: Any) -> Iterable[tuple[Any, float]]:
    if item is None:
        return ()
    if isinstance(item, str):
        item = item.split()
    elif not isinstance(item, Iterable):
        raise InputError(
            f"the words column {name!r} has the value {item!r} in row {row}; use a list of words, "
            "a mapping of words to counts, or text"
        )
    if not isinstance(item, Mapping):
        return Counter(item).items()
    for word, count in item.items():
        if not isinstance(plain(count), numbers.Real) or not abs(count) < 1e38:
            raise InputError(
                f"the column {name!r} has the count {count!r} of {word!r} in row {row}; "
                "use finite numbers"
            )
    return item.items()
