"""NetworkX's graphs <-> `Graph`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.network import Network, warn_of_merged_edges


def from_networkx(
    g: Any,
    *,
    attributes: Iterable[str] | str | None = None,
    label: str | None = None,
    weight: str | None = "weight",
    split: str | None = None,
) -> Graph:
    """The `Graph` of a NetworkX graph, directed if that is.

    Parameters
    ----------
    g : Graph, DiGraph, MultiGraph or MultiDiGraph; any node that NetworkX takes is an id.
    attributes : names of node attributes: numbers, booleans, text, lists of words, or one vector
        of numbers. None takes all that are neither label nor split; [] takes none, and the
        graph has only edges.
    label, split : node attributes that hold the classes, and "train", "val" or "test".
    weight : the edge attribute with the weights. As in NetworkX, an edge without it counts 1; if
        no edge has it, or with None, the graph is unweighted.

    Parallel edges add their weights, or are one edge in an unweighted graph, with an
    `InputWarning`. Self-loops are dropped, as in every `Graph`.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph(), attributes=[], label="club").classes
    ('Mr. Hi', 'Officer')
    """
    network = network_from_networkx(g, weight=weight)
    warn_of_merged_edges(network)
    return network.graph(attributes=attributes, label=label, split=split)


def network_from_networkx(g: Any, *, weight: str | None = "weight") -> Network:
    """What a NetworkX graph says, before it is checked."""
    if not hasattr(g, "is_multigraph") or not hasattr(g, "nodes"):
        raise InputError(f"a NetworkX graph is needed, got {type(g).__name__}")
    row = {node: at for at, node in enumerate(g)}
    found = list(g.edges(data=weight) if weight is not None else g.edges(data=False))
    pairs = [(row[edge[0]], row[edge[1]]) for edge in found]
    weights = None
    if weight is not None and any(edge[2] is not None for edge in found):
        weights = [1.0 if edge[2] is None else edge[2] for edge in found]
    kinds = g.graph.get("attribute_kinds") or {}
    columns: dict[str, list[Any]] = {name: [None] * len(row) for name in kinds}
    for at, (_, data) in enumerate(g.nodes(data=True)):
        for name, value in data.items():
            columns.setdefault(str(name), [None] * len(row))[at] = value
    return Network(
        list(row),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        weights,
        directed=g.is_directed(),
        columns=columns,
        kinds=kinds,
        feature_names=g.graph.get("feature_names"),
    )


def to_networkx(
    graph: Graph,
    *,
    features: str = "x",
    label: str = "label",
    weight: str = "weight",
    split: str = "split",
) -> Any:
    """A NetworkX Graph or DiGraph of the same nodes and edges, from which the graph can be made.

    Attributes are node attributes of their names, absent where missing, and their kinds stand in
    `g.graph["attribute_kinds"]`; features without attributes are one vector a node under
    `features`, and their names `g.graph["feature_names"]`. Labels, splits and weights stand under
    the names given, where the graph has them.

    >>> g = to_networkx(Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]))
    >>> g.edges
    EdgeView([('p', 'q')])
    """
    try:
        import networkx as nx
    except ImportError:
        raise InputError("this needs NetworkX: pip install 'graphgate[graph]'") from None

    ids = graph.ids.tolist()
    g = nx.DiGraph() if graph.directed else nx.Graph()
    g.add_nodes_from(ids)
    for name, values in _node_columns(graph, features, label, split).items():
        for node, value in zip(ids, values, strict=True):
            if value is not None:
                g.nodes[node][name] = value
    if graph.attributes is not None:
        g.graph["attribute_kinds"] = dict(graph.attributes.kinds)
    elif graph.feature_names is not None:
        g.graph["feature_names"] = list(graph.feature_names)
    entries = graph.adjacency.tocoo()
    once = slice(None) if graph.directed else entries.row < entries.col
    ends = [(ids[u], ids[v]) for u, v in zip(entries.row[once], entries.col[once], strict=True)]
    if graph.weighted:
        values = entries.data[once].tolist()
        g.add_weighted_edges_from(
            ((u, v, w) for (u, v), w in zip(ends, values, strict=True)), weight=weight
        )
    else:
        g.add_edges_from(ends)
    return g


def _node_columns(graph: Graph, features: str, label: str, split: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.x is not None:
        x = graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()
        columns[features] = list(x.copy())  # the graph's own rows are read-only
    elif graph.attributes is not None:
        table = graph.attributes
        columns |= {name: table.column(name).tolist() for name in table.names}
    if graph.labels is not None:
        _add(columns, label, [None if c < 0 else graph.classes[c] for c in graph.labels.tolist()])
    if graph.splits:
        names: list[Any] = [None] * graph.n_nodes
        for name, mask in graph.splits.items():
            for at in np.flatnonzero(mask).tolist():
                names[at] = name
        _add(columns, split, names)
    return columns


def _add(columns: dict[str, list[Any]], name: str, values: list[Any]) -> None:
    if name in columns:
        raise InputError(f"the graph has an attribute {name!r}; name label and split otherwise")
    columns[name] = values
