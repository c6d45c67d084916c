"""Columns to color nodes by and to read: one value per node, categorical, numeric or text."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgate.errors import InputError, InputWarning
from graphgate.graph.attributes import Column as AttributeColumn
from graphgate.graph.graph import Graph
from graphgate.preprocessing.structural import ROLES, structural_attributes

MOST_CATEGORIES = 256  # more do not fit a legend and are shown as text
MOST_INTEGER_CATEGORIES = 12  # integers with more distinct values are numbers


@dataclass(frozen=True)
class NodeColumn:
    """A named value per node.

    kind : "category" (values are positions in `names`, -1 if missing), "number" (NaN if missing)
        or "text" (strings, empty if missing).
    """

    name: str
    kind: Literal["category", "number", "text"]
    values: np.ndarray
    names: tuple[str, ...] = ()


def category_column(name: str, codes: np.ndarray, names: Sequence[Any]) -> NodeColumn:
    """A column of categories, or of text if they do not fit a legend."""
    words = tuple(map(str, names))
    if len(words) <= MOST_CATEGORIES:
        return NodeColumn(name, "category", np.asarray(codes, dtype=np.int32), words)
    text = np.array([words[code] if code >= 0 else "" for code in codes], dtype=object)
    return NodeColumn(name, "text", text)


def guessed_column(name: str, values: Any, n: int) -> NodeColumn:
    """The kind of column that suits these N values."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"the column {name!r} has shape {array.shape}, but the graph has {n:,} nodes; give one "
            "value per node"
        )
    kind = array.dtype.kind
    if kind == "f" or (kind in "iu" and len(np.unique(array)) > MOST_INTEGER_CATEGORIES):
        numbers = array.astype(np.float32)
        return NodeColumn(name, "number", np.where(np.isfinite(numbers), numbers, np.nan))
    words = [None if _missing(word) else word for word in array.tolist()]
    order = sorted({word for word in words if word is not None}, key=_numbers_first)
    position = {None: -1} | {word: code for code, word in enumerate(order)}
    return category_column(name, np.array([position[word] for word in words]), order)


def attribute_columns(graph: Graph, most: int) -> Iterator[NodeColumn]:
    """The attributes of the nodes as they were given: numbers unscaled, categories by name.

    Sets of words have no color. A graph with edges only shows its structural roles. Of more than
    `most` columns the first are shown, with a warning.
    """
    table = graph.attributes
    if table is not None:
        shown = [name for name in table.names if table.column(name).kind != "words"]
    elif graph.x is None:
        table = structural_attributes(graph.adjacency, graph.ids)
        shown = [name for name in table.names if name in ROLES]
    else:
        return
    if len(shown) > most:
        warnings.warn(
            f"the page shows the first {most:,} of {len(shown):,} node columns; reorder columns to "
            "show others",
            InputWarning,
            stacklevel=5,
        )
    for name in shown[:most]:
        yield _attribute_column(name, table.column(name))


def _attribute_column(name: str, given: AttributeColumn) -> NodeColumn:
    if given.kind == "number":
        return NodeColumn(name, "number", given.values.astype(np.float32))
    if given.kind == "boolean":
        return category_column(name, np.where(given.missing, -1, given.values), ("false", "true"))
    # A part of a graph shows only the values that occur there.
    present, positions = np.unique(given.values[~given.missing], return_inverse=True)
    codes = np.full(len(given), -1)
    codes[~given.missing] = positions
    return category_column(name, codes, [given.vocabulary[code] for code in present.tolist()])


def _numbers_first(word: Any) -> tuple[bool, float, str]:
    number = isinstance(word, (int, float))
    return not number, word if number else 0.0, str(word)


def _missing(word: Any) -> bool:
    return word is None or word != word or word == ""
