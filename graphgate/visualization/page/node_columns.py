"""Columns to color nodes by and to read: one value per node, categorical, numeric or text."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgate.errors import InputWarning
from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column as AttributeColumn
from graphgate.graph.graph import Graph
from graphgate.preprocessing.structural import ROLES, structural_attributes

MOST_CATEGORIES = 32_767  # codes are sent as integers of 16 bits
FEW_CATEGORIES = 256  # more are categories only if values repeat


@dataclass(frozen=True)
class NodeColumn:
    """A named value per node.

    kind : "category" (values are positions in `names`, -1 if missing), "number" (NaN if missing),
        "date" (days since 1970, NaN if missing) or "text" (strings, empty if missing).
    """

    name: str
    kind: Literal["category", "number", "date", "text"]
    values: np.ndarray
    names: tuple[str, ...] = ()


def category_column(name: str, codes: np.ndarray, names: Sequence[Any]) -> NodeColumn:
    """A column of categories, or of text if most values occur once."""
    words = tuple(map(str, names))
    if len(words) <= max(FEW_CATEGORIES, min(MOST_CATEGORIES, len(codes) // 2)):
        return NodeColumn(name, "category", np.asarray(codes, dtype=np.int32), words)
    text = np.array([words[code] if code >= 0 else "" for code in codes], dtype=object)
    return NodeColumn(name, "text", text)


def attribute_columns(graph: Graph, most: int) -> list[NodeColumn]:
    """The attributes of a graph; of edges only, the structural roles of its nodes.

    Of more than `most` columns the first are returned, with a warning.
    """
    columns = shown_columns(graph.attributes) if graph.attributes is not None else []
    if graph.attributes is None and graph.x is None:
        structural = shown_columns(structural_attributes(graph.adjacency, graph.ids))
        columns = [column for column in structural if column.name in ROLES]
    if len(columns) > most:
        warnings.warn(
            f"the page shows the first {most:,} of {len(columns):,} node columns; reorder columns "
            "to show others",
            InputWarning,
            stacklevel=5,
        )
    return columns[:most]


def shown_columns(table: Attributes) -> list[NodeColumn]:
    """Attributes as they were given: numbers unscaled, categories by name; words have no color."""
    named = [(name, table.column(name)) for name in table.names]
    return [_node_column(name, column) for name, column in named if column.values.ndim == 1]


def _node_column(name: str, given: AttributeColumn) -> NodeColumn:
    if given.kind == "number":
        return NodeColumn(name, "date" if given.dates else "number", given.values)
    if given.kind == "boolean":
        return category_column(name, np.where(given.missing, -1, given.values), ("false", "true"))
    # A part of a graph shows only the values that occur there.
    present, positions = np.unique(given.values[~given.missing], return_inverse=True)
    codes = np.full(len(given), -1)
    codes[~given.missing] = positions
    return category_column(name, codes, [given.vocabulary[code] for code in present.tolist()])
