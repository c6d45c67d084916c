"""How much a file may claim: limits that are checked before memory is allocated.

A few bytes can stand for gigabytes: compressed files, headers that state a size, tables of equal
values. What a file may grow to is therefore limited in proportion to its size, where a file of less
than 100 kB counts as one of 100 kB, so that no such file needs more than 1 GB or ten seconds. Only
Parquet, which Arrow decompresses, may take more before it is refused.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

from graphgate.errors import InputError

VARIABLE = "GRAPHGATE_LIMITS"
_SMALLEST = 100_000  # bytes


@dataclass(frozen=True)
class Limits:
    """The limits in force.

    text : bytes, or values of node attributes, per byte of a graph in a text format (GraphML, GML,
        Pajek, …), which becomes Python objects.
    values : bytes or cells per byte of a table or an array: decompressed text, arrays in an
        archive, values in Parquet.
    nodes : nodes per byte of a file that states their number without listing them.
    columns : columns of a table.
    epochs : epochs that the record of a run may ask for.
    """

    text: float = 50
    values: float = 250
    nodes: float = 1
    columns: float = 40_000
    epochs: float = 1_000_000


_CURRENT: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def limits(**changed: float) -> Iterator[None]:
    """Read files under other limits, such as those of a trusted source.

    The names are those of `Limits` (text, values, nodes, columns, epochs); `math.inf` removes one.
    The environment variable `GRAPHGATE_LIMITS` changes them for a whole process, as in
    `GRAPHGATE_LIMITS="values=2000 columns=100000"`; `none` removes them all.

    >>> with limits(columns=10):
    ...     current_limits().columns
    10
    """
    unchanged = _CURRENT.set(_changed(current_limits(), changed, "limits"))
    try:
        yield
    finally:
        _CURRENT.reset(unchanged)


def current_limits() -> Limits:
    return _CURRENT.get() or _from_environment(os.environ.get(VARIABLE, ""))


def _from_environment(text: str) -> Limits:
    if text.strip().lower() == "none":
        return Limits(*[inf] * len(fields(Limits)))
    pairs = [part.partition("=") for part in text.replace(",", " ").split()]
    try:
        changed = {name: float(value) for name, _, value in pairs}
    except ValueError:
        raise InputError(
            f"{VARIABLE} is {text!r}; write name=number, as in 'values=2000 nodes=10', or none"
        ) from None
    return _changed(Limits(), changed, VARIABLE)


def _changed(limits: Limits, changed: dict[str, Any], what: str) -> Limits:
    known = [field.name for field in fields(Limits)]
    for name, value in changed.items():
        if name not in known:
            raise InputError(f"{what}: there is no limit {name!r}; use one of {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise InputError(f"{what}: {name} must be a positive number, got {value!r}")
    return replace(limits, **changed)


def allowed(limit: str, size: int) -> float:
    """What a file of this many bytes may grow to, by the limit text, values or nodes."""
    return float(getattr(current_limits(), limit) * max(size, _SMALLEST))


def check_claim(what: str, limit: str, claimed: float, size: int, unit: str) -> None:
    """Refuse a file of `size` bytes that claims more than allowed by text, values or nodes."""
    if claimed > (most := allowed(limit, size)):
        raise InputError(
            f"{what} has {size:,} bytes but claims {claimed:,} {unit}, more than the {most:,.0f} "
            f"allowed for its size; {remedy(limit)}"
        )


def check_columns(what: str, n: int) -> None:
    """Refuse a table with too many columns."""
    if n > (most := current_limits().columns):
        raise InputError(
            f"{what} has {n:,} columns, more than the {most:,.0f} allowed; {remedy('columns')}"
        )


def remedy(limit: str) -> str:
    """How the user raises a limit."""
    return f"if you trust the file, raise the limit {limit!r} with {VARIABLE} or limits()"
