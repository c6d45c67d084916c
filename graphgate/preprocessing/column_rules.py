"""How a column of each kind becomes features.

number : centered, and divided by the standard deviation. A column in which more than half of the
    values are zero keeps its zeros: it is only divided by the root mean square of the other
    values, so that columns of 0 and 1 remain unchanged and sparse. A constant column becomes zeros.
    A missing value becomes the mean (in a column that keeps its zeros: zero); where values were
    missing in fit, a second feature `name=missing` is 1 for missing values.
boolean : 0 or 1; missing values become 0, with a second feature as above.
vector : the numbers are centered, and all divided by one number, their standard deviation.

Those of categories, words and text are in `vocabulary_rules`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from graphgate.errors import InputError
from graphgate.graph.column_kinds import Column, Kind
from graphgate.io.files import Schema

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
class VectorRule(Rule):
    """k numbers, centered one by one and divided by one number; zeros where missing."""

    kind: ClassVar[Kind] = "vector"
    schema: ClassVar[Schema] = {"center": list, "divisor": (float, int), "missing": bool}
    center: tuple[float, ...]
    divisor: float
    missing: bool

    def __post_init__(self) -> None:
        plain = all(type(c) in (float, int) and math.isfinite(c) for c in self.center)
        if not plain or not self.center or not 0 < self.divisor < math.inf:
            raise InputError(f"the center and divisor of {self.name!r} must be finite")

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        known = column.values[~column.missing].astype(np.float64)
        center, divisor = np.zeros(column.values.shape[1]), 1.0
        if scale and len(known):
            center = known.mean(axis=0)
            divisor = _root_mean_square(known - center) or 1.0
        return cls(name, tuple(center.tolist()), divisor, bool(column.missing.any()))

    @property
    def feature_names(self) -> tuple[str, ...]:
        names = tuple(f"{self.name}[{at}]" for at in range(len(self.center)))
        return (*names, f"{self.name}=missing") if self.missing else names

    def most_entries(self, column: Column) -> int:
        return len(column) * len(self.feature_names)

    def translated(self, column: Column) -> Column:
        if column.values.shape[1] != len(self.center):
            raise InputError(
                f"the vectors of the column {self.name!r} have {column.values.shape[1]} numbers, "
                f"but had {len(self.center)} in fit; pass vectors of the same model"
            )
        return column

    def vectors(self, column: Column, rows: slice) -> np.ndarray:
        values = (column.values[rows].astype(np.float64) - self.center) / self.divisor
        gone = np.isnan(values).any(axis=1)
        values[gone] = 0
        parts = [values.T, gone[None]] if self.missing else [values.T]
        return np.concatenate(parts).astype(np.float32)


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
