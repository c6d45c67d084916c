"""How a column of each kind becomes features.

number : centered, and divided by the standard deviation. A column in which more than half of the
    values are zero keeps its zeros: it is only divided by the root mean square of the other
    values, so that columns of 0 and 1 remain unchanged and sparse. A constant column becomes zeros.
    A missing value becomes the mean (in a column that keeps its zeros: zero); where values were
    missing in fit, a second feature `name=missing` is 1 for missing values.
boolean : 0 or 1; missing values become 0, with a second feature as above.
category : one feature `name=value` per value seen in fit, in sorted order; a missing or unknown
    value has none of them.
words : one feature `name=word` per word seen in fit, its count; other words are ignored.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.graph.column_kinds import Column, Kind
from graphgate.io.files import Schema, check_fields

MOST_CATEGORIES = 1000
ALWAYS_CATEGORIES = 20  # this many distinct values are fine in a column of any length

Entries: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, features, values


@dataclass(frozen=True)
class Rule(ABC):
    """How one column becomes features."""

    kind: ClassVar[Kind]
    schema: ClassVar[Schema]
    name: str

    @classmethod
    @abstractmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self: ...

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]: ...

    @abstractmethod
    def most_entries(self, column: Column) -> int:
        """An upper bound on the values of the column's features that are not zero."""

    def unknown(self, column: Column) -> str | None:
        """A sentence about values that were not seen in fit."""
        return None

    def translated(self, column: Column) -> Column:
        """The column in terms of the vocabulary that was learned."""
        return column

    def vectors(self, column: Column, rows: slice) -> np.ndarray:
        """(features, rows), dense."""
        row, feature, value = self.entries(column, rows)
        count = len(range(*rows.indices(len(column))))
        block = np.zeros((len(self.feature_names), count), dtype=np.float32)
        block[feature, row] = value
        return block

    def entries(self, column: Column, rows: slice) -> Entries:
        """The values that are not zero: row within the block, feature of the rule, value."""
        block = self.vectors(column, rows)
        feature, row = np.nonzero(block)
        return row, feature, block[feature, row]

    def to_dict(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind} | {
            name: list(v) if isinstance(v, tuple) else v for name, v in values.items()
        }


@dataclass(frozen=True)
class NumberRule(Rule):
    """(value - center) / divisor; zeros without a divisor. `fill` replaces missing values."""

    kind: ClassVar[Kind] = "number"
    schema: ClassVar[Schema] = {
        "center": (float, int),
        "divisor": (float, int, type(None)),
        "fill": (float, int),
        "missing": bool,
    }
    center: float
    divisor: float | None
    fill: float
    missing: bool

    def __post_init__(self) -> None:
        divisor = 1.0 if self.divisor is None else self.divisor
        if not all(map(math.isfinite, (self.center, divisor, self.fill))) or divisor <= 0:
            raise InputError(f"the center and divisor of {self.name!r} must be finite")

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        gone = column.missing
        known = column.values[~gone].astype(np.float64)
        keeps_zeros = 2 * np.count_nonzero(known) < len(known)
        mean, deviation = _mean_and_deviation(known)
        fill = 0.0 if keeps_zeros else mean
        center, divisor = (0.0, _root_mean_square(known)) if keeps_zeros else (mean, deviation)
        if not scale:
            center, divisor = 0.0, 1.0
        return cls(name, center, divisor or None, fill, bool(gone.any()))

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}=missing") if self.missing else (self.name,)

    def most_entries(self, column: Column) -> int:
        gone = int(column.missing.sum())
        keeps_zeros = self.center == 0 and (self.fill == 0 or gone == 0)
        known = np.count_nonzero(column.values) if keeps_zeros else len(column)
        return (int(known) if self.divisor is not None else 0) + gone * self.missing

    def vectors(self, column: Column, rows: slice) -> np.ndarray:
        values = column.values[rows].astype(np.float64)
        gone = np.isnan(values)
        block = np.zeros((len(self.feature_names), len(values)), dtype=np.float32)
        if self.divisor is not None:
            values[gone] = self.fill
            with np.errstate(over="ignore"):  # refused just below
                block[0] = (values - self.center) / self.divisor
        if not np.isfinite(block[0]).all():
            at = int(np.argmin(np.isfinite(block[0])))
            row = range(*rows.indices(len(column)))[at]
            raise InputError(
                f"the column {self.name!r} has the value {column.values[row]} in row {row}, which "
                "overflows float32; fix the value, or rescale the column"
            )
        if self.missing:
            block[1] = gone
        return block


@dataclass(frozen=True)
class BooleanRule(NumberRule):
    """0 or 1, as they are."""

    kind: ClassVar[Kind] = "boolean"

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        return cls(name, center=0.0, divisor=1.0, fill=0.0, missing=bool(column.missing.any()))


@dataclass(frozen=True)
class VocabularyRule(Rule):
    """One feature per entry of the vocabulary that was seen in fit."""

    schema: ClassVar[Schema] = {"vocabulary": list}
    types: ClassVar[tuple[type, ...]]
    vocabulary: tuple[Any, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in self.vocabulary)

    def __post_init__(self) -> None:
        plain = all(isinstance(value, self.types) for value in self.vocabulary)
        finite = plain and all(isinstance(v, str) or abs(v) < math.inf for v in self.vocabulary)
        if not finite or len(set(self.vocabulary)) < len(self.vocabulary):
            raise InputError(
                f"the vocabulary of {self.name!r} ({self.kind}) must be distinct plain values"
            )

    @staticmethod
    def _seen(column: Column, codes: np.ndarray) -> tuple[Any, ...]:
        return tuple(column.vocabulary[code] for code in np.unique(codes).tolist())


@dataclass(frozen=True)
class CategoryRule(VocabularyRule):
    """One feature per value."""

    kind: ClassVar[Kind] = "category"
    types: ClassVar[tuple[type, ...]] = (str, bool, int, float)

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        given = column.values[column.values >= 0]
        seen, n = cls._seen(column, given), len(given)
        if len(seen) > MOST_CATEGORIES or (len(seen) > ALWAYS_CATEGORIES and len(seen) > n / 2):
            where = f"{n:,} rows" + " that have one" * (n < len(column))
            raise InputError(
                f"the column {name!r} has {len(seen):,} distinct values in {where}, too many for "
                "categories; drop it, or pass it as words"
            )
        return cls(name, seen)

    def most_entries(self, column: Column) -> int:
        return int((column.values >= 0).sum())

    def unknown(self, column: Column) -> str | None:
        codes = column.values[column.values >= 0]
        codes = codes[_places(column, self.vocabulary)[codes] < 0]
        if not len(codes):
            return None
        seen = [repr(value) for value in self._seen(column, codes)]
        return (
            f"{len(codes):,} node(s) have values in the column {self.name!r} that were not seen in "
            f"fit and count as missing: {listing(seen, 3)}"
        )

    def translated(self, column: Column) -> Column:
        places = _places(column, self.vocabulary)
        return Column("category", places[column.values], self.vocabulary)

    def entries(self, column: Column, rows: slice) -> Entries:
        feature = column.values[rows]
        row = np.flatnonzero(feature >= 0)
        return row, feature[row], np.ones(len(row), dtype=np.float32)


@dataclass(frozen=True)
class WordsRule(VocabularyRule):
    """One feature per word."""

    kind: ClassVar[Kind] = "words"
    types: ClassVar[tuple[type, ...]] = (str,)

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        return cls(name, cls._seen(column, column.values.indices))

    def most_entries(self, column: Column) -> int:
        return int(column.values.nnz)

    def translated(self, column: Column) -> Column:
        if column.vocabulary == self.vocabulary:
            return column
        counts = column.values
        place = _places(column, self.vocabulary)[counts.indices]
        known = place >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
        shape = (len(column), len(self.vocabulary))
        kept = sp.csr_array((counts.data[known], place[known], indptr), shape=shape)
        return Column("words", kept, self.vocabulary)

    def entries(self, column: Column, rows: slice) -> Entries:
        block = column.values[rows]
        row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        return row, block.indices, block.data


RULES: dict[str, type[Rule]] = {
    rule.kind: rule for rule in (NumberRule, BooleanRule, CategoryRule, WordsRule)
}


def rule_from_dict(body: Any, what: str) -> Rule:
    """The rule that `to_dict` described; an `InputError` about anything else starts with `what`."""
    kind = body.get("kind") if isinstance(body, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        raise InputError(f"{what}: its encoder has a column of kind {kind!r}")
    check_fields(body, {"kind": str, "name": str} | dict(RULES[kind].schema), what, "encoder")
    values: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in body.items()}
    del values["kind"]
    try:
        return RULES[kind](**values)
    except (InputError, OverflowError) as error:
        raise InputError(f"{what}: {error}") from None


def _places(column: Column, learned: Sequence[Any]) -> np.ndarray:
    """Position of each entry of the column's vocabulary in the learned one, or -1; last: -1."""
    known = {value: at for at, value in enumerate(learned)}
    return np.array([*(known.get(value, -1) for value in column.vocabulary), -1], dtype=np.int32)


def _mean_and_deviation(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (0 for equal numbers), without overflow in float64."""
    top = float(np.abs(values).max(initial=0.0))
    if top == 0 or values.min() == values.max():
        return (float(values[0]) if len(values) else 0.0), 0.0
    fraction = values / top  # neither its sum nor its squares can overflow
    mean = float(fraction.mean())
    return mean * top, (_root_mean_square(fraction - mean) * top)


def _root_mean_square(values: np.ndarray) -> float:
    """Root mean square of the values that are not zero; 0 if there are none."""
    known = values[values != 0]
    if not len(known):
        return 0.0
    top = float(np.abs(known).max())
    return top * math.sqrt(float(np.square(known / top).mean()))
