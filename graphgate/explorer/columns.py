"""What nodes can be coloured by: one value a node, as categories, numbers or plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgate.errors import InputError

MOST_CATEGORIES = 256  # more are no legend any more, so they are only shown as text
FEW_NUMBERS = 12  # whole numbers with at most so many different values are categories


@dataclass(frozen=True)
class Column:
    """A named value a node.

    kind : "category" (values are positions in `names`, -1: none), "number" (NaN: none) or
        "text" (values are strings, empty: none).
    """

    name: str
    kind: Literal["category", "number", "text"]
    values: np.ndarray
    names: tuple[str, ...] = ()


def categories(name: str, codes: np.ndarray, names: Sequence[Any]) -> Column:
    """A column of categories, or of text where they are too many for a legend."""
    words = tuple(map(str, names))
    if len(words) <= MOST_CATEGORIES:
        return Column(name, "category", np.asarray(codes, dtype=np.int32), words)
    text = np.array([words[code] if code >= 0 else "" for code in codes], dtype=object)
    return Column(name, "text", text)


def column(name: str, values: Any, n: int) -> Column:
    """The kind of column that these N values are best shown as."""
    given = np.asarray(values)
    if given.shape != (n,):
        raise InputError(
            f"the column {name!r} has the shape {given.shape}, but the graph has {n:,} nodes; "
            "give one value a node"
        )
    if given.dtype.kind == "f" or (given.dtype.kind in "iu" and _many(given)):
        numbers = given.astype(np.float32)
        return Column(name, "number", np.where(np.isfinite(numbers), numbers, np.nan))
    words: list[Any] = given.tolist()
    present = {word for word in words if not _missing(word)}
    order = sorted(present, key=_numbers_first)
    position = {word: code for code, word in enumerate(order)}
    codes = np.array([-1 if _missing(word) else position[word] for word in words])
    return categories(name, codes, order)


def _many(numbers: np.ndarray) -> bool:
    return len(np.unique(numbers)) > FEW_NUMBERS


def _numbers_first(word: Any) -> tuple[bool, float, str]:
    number = isinstance(word, (int, float))
    return not number, word if number else 0.0, str(word)


def _missing(word: Any) -> bool:
    return word is None or word != word or word == ""
