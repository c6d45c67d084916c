"""What nodes can be coloured by: one value a node, as categories, numbers or plain text."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgate.errors import InputError, InputWarning
from graphgate.graph.attributes import Column as Attribute
from graphgate.graph.graph import Graph
from graphgate.preprocessing.structural import ROLES, structural_attributes

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


def attribute_columns(graph: Graph, most: int) -> Iterator[Column]:
    """What a user said of the nodes, as it was said: numbers not scaled, categories by name.

    Words are many per node and no color. Of a graph with edges only, structural roles are shown.
    Of more than `most` columns the first are shown, with a warning.
    """
    table, roles = graph.attributes, graph.attributes is None
    if table is None:
        if graph.x is not None:
            return
        table = structural_attributes(graph.adjacency, graph.ids)
    shown = [name for name in table.names if table.column(name).kind != "words"]
    shown = [name for name in shown if name in ROLES] if roles else shown
    if len(shown) > most:
        warnings.warn(
            f"the page shows the first {most:,} of {len(shown):,} columns of the nodes; let those "
            "to be seen stand first",
            InputWarning,
            stacklevel=5,
        )
    for name in shown[:most]:
        yield _attribute(name, table.column(name))


def _attribute(name: str, given: Attribute) -> Column:
    if given.kind == "number":
        return Column(name, "number", given.values.astype(np.float32))
    if given.kind == "boolean":
        return categories(name, np.where(given.missing, -1, given.values), ("false", "true"))
    # Of a part of a graph, only the values that occur there.
    present, codes = np.unique(given.values[~given.missing], return_inverse=True)
    found = np.full(len(given), -1)
    found[~given.missing] = codes
    return categories(name, found, [given.vocabulary[code] for code in present.tolist()])


def _many(numbers: np.ndarray) -> bool:
    return len(np.unique(numbers)) > FEW_NUMBERS


def _numbers_first(word: Any) -> tuple[bool, float, str]:
    number = isinstance(word, (int, float))
    return not number, word if number else 0.0, str(word)


def _missing(word: Any) -> bool:
    return word is None or word != word or word == ""
