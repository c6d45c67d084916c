"""Node attributes: a table of named columns, before they are encoded as features."""

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from decimal import Decimal
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, listing
from graphgate.graph.column_kinds import (
    KINDS,
    Column,
    Kind,
    as_moments,
    boolean_column,
    category_column,
    date_column,
    join_columns,
    number_column,
    vector_column,
    words_column,
)
from graphgate.graph.text_words import words_of_texts
from graphgate.graph.validation import plain


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
            if not name.strip():
                raise InputError(f"the name of a column is {name!r}; give it one that can be seen")
            if len(column) != len(columns[first]):
                raise InputError(
                    f"the column {name!r} has {len(column):,} rows, but {first!r} has "
                    f"{len(columns[first]):,}; give every column one value per node"
                )
        self._columns = dict(columns)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Any], *, kinds: Mapping[str, str] | None = None
    ) -> Self:
        """From lists or arrays by name, None or NaN where a value is missing.

        Booleans become "boolean", numbers and dates "number", text "category", lists of words or
        mappings of words to counts "words", and lists of numbers of one length "vector", unless
        `kinds` says otherwise. Text of kind "words" is split at white space; of kind "text", it is
        also put into lower case, without punctuation. Integers of up to 16 bits are stored as
        float32, which represents them exactly, larger ones as float64.
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
            raise InputError(f"there is no column {name!r}; the columns are {listing(self.names)}")
        return self._columns[name]

    __getitem__ = column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values())))

    def take(self, rows: np.ndarray) -> Self:
        """The table of these rows (numbers or a mask), in the order given."""
        return type(self)({name: column.take(rows) for name, column in self._columns.items()})

    @classmethod
    def joined(cls, tables: Sequence[Self]) -> Self:
        """Tables with the same columns, one below the other."""
        names = tables[0].names
        return cls({name: join_columns([table[name] for table in tables]) for name in names})

    def padded(self, more: int) -> Self:
        """The table with this many rows of missing values appended."""
        return type(self)({name: column.padded(more) for name, column in self._columns.items()})

    def __repr__(self) -> str:
        shown = [f"{name} {column.kind}" for name, column in self._columns.items()]
        return f"Attributes({len(self):,} rows: {listing(shown)})"


# --- values of any kind --------------------------------------------------------------------------


def _column(name: str, values: Any, kind: Kind | None) -> Column:
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 2 and kind == "vector":
        return vector_column(name, array)
    if array is not None and array.ndim != 1:
        raise InputError(f"the column {name!r} must have one dimension, got shape {array.shape}")
    if array is not None and array.dtype.kind == "b" and kind in (None, "boolean"):
        return boolean_column(array)
    if array is not None and array.dtype.kind in "iuf" and kind in (None, "number"):
        return number_column(name, array.copy())
    if array is not None and array.dtype.kind == "M" and kind in (None, "number"):
        return date_column(array)
    items = _items(name, values)
    if kind in (None, "number") and _are_dates(items):
        return date_column(as_moments(items))
    kind = kind or _guessed(items)
    if kind == "category":
        return _categories(name, items)
    if kind in ("words", "text"):
        return _words(name, items, kind)
    if kind == "vector":
        return _vectors(name, items)
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
    """Whether a value is None, NaN, or one of pandas' missing values."""
    absent = value is None or type(value).__name__ in ("NAType", "NaTType")
    return absent or (isinstance(value, (float, np.floating)) and bool(value != value))


def _are_dates(items: list[Any]) -> bool:
    known = [item for item in items if item is not None]
    return bool(known) and all(isinstance(item, date) for item in known)


def _guessed(items: list[Any]) -> Kind:
    types = {type(item) for item in items if item is not None}
    if types and types <= {bool}:
        return "boolean"
    if all(issubclass(kind, (numbers.Real, Decimal)) for kind in types):  # also if all are missing
        return "number"
    if all(issubclass(kind, (Mapping, list, tuple, Set, np.ndarray)) for kind in types):
        return "vector" if _are_vectors([item for item in items if item is not None]) else "words"
    return "category"


def _number(name: str, row: int, item: Any) -> float:
    if item is None:
        return math.nan
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"the number column {name!r} has the value {item!r} in row {row}; "
            "fix the value, or pass the column as a category"
        ) from None


def _categories(name: str, items: list[Any]) -> Column:
    for row, item in enumerate(items):
        if item is not None and not isinstance(item, (str, bool, int, float)):
            raise InputError(
                f"the category column {name!r} has the value {item!r} in row {row}; "
                "use text, numbers or booleans"
            )
    code: dict[Any, int] = {None: -1}
    codes = [code.setdefault(item, len(code) - 1) for item in items]
    return category_column(np.array(codes, dtype=np.int64), list(code)[1:])


def _are_vectors(items: list[Any]) -> bool:
    lists = all(isinstance(item, (list, tuple, np.ndarray)) for item in items)
    numeric = lists and all(isinstance(plain(v), numbers.Real) for item in items for v in item)
    return numeric and len({len(item) for item in items}) == 1 and len(items[0]) > 0


def _vectors(name: str, items: list[Any]) -> Column:
    given = [item for item in items if item is not None]
    if not given or not _are_vectors(given):
        raise InputError(
            f"the vector column {name!r} must have lists of numbers of one length, or None"
        )
    blank = [math.nan] * len(given[0])
    rows = [blank if item is None else item for item in items]
    return vector_column(name, np.array(rows, dtype=np.float64))


def _words(name: str, items: list[Any], kind: Kind = "words") -> Column:
    if kind == "text" and all(item is None or isinstance(item, str) for item in items):
        items = words_of_texts(pa.array(items, pa.large_string())).to_pylist()
    counted = [_counted(name, row, item) for row, item in enumerate(items)]
    vocabulary = list(dict.fromkeys(word for words in counted for word in words))
    code = {word: at for at, word in enumerate(vocabulary)}
    codes = [code[word] for words in counted for word in words]
    return words_column(
        np.cumsum([0, *map(len, counted)]),
        np.array(codes, dtype=np.int64),
        np.array([count for words in counted for count in words.values()]),
        vocabulary,
        kind,
    )


def _counted(name: str, row: int, item: Any) -> Mapping[str, float]:
    """Word -> count."""
    words = item.split() if isinstance(item, str) else () if item is None else item
    if not isinstance(words, Iterable):
        raise InputError(
            f"the words column {name!r} has the value {item!r} in row {row}; use a list of words, "
            "a mapping of words to counts, or text"
        )
    counts = words if isinstance(words, Mapping) else Counter(words)
    for word, count in counts.items():
        if not isinstance(word, str):
            raise InputError(f"the column {name!r} has the word {word!r} in row {row}; use text")
        if not isinstance(plain(count), numbers.Real) or not abs(count) < 1e38:
            raise InputError(
                f"the column {name!r} has the count {count!r} of {word!r} in row {row}; "
                "use finite numbers"
            )
    return counts
