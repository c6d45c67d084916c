"""Several graphs as one, which has no edges between them."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import label_codes


def join_graphs(graphs: Sequence[Graph]) -> Graph:
    """The disjoint union of graphs of one kind; its ids are pairs (graph number, node id).

    Its `graph_index` says which graph each node comes from. Edges without weights have weight 1
    beside others that have weights. Labels and splits are kept where all graphs have them.

    >>> pair = Graph.from_edges([[1.0], [2.0]], [(0, 1)])
    >>> both = join_graphs([pair, pair])
    >>> both, both.graph_index.tolist(), both.ids.tolist()[2]
    (Graph(4 nodes, 2 undirected edges, 1 dense feature), [0, 0, 1, 1], (1, 0))
    """
    graphs = list(graphs)
    _check(graphs)
    first = graphs[0]
    sizes = [graph.n_nodes for graph in graphs]
    ids = ((number, id) for number, graph in enumerate(graphs) for id in graph.ids.tolist())
    values = [graph.label_values() for graph in graphs]
    labeled = [label for labels in values for label in labels or ()]
    codes, classes = label_codes(None if None in values else labeled, sum(sizes))
    tables = [graph.attributes for graph in graphs if graph.attributes is not None]
    common = [name for name in first.splits if all(name in graph.splits for graph in graphs)]
    return first._with(
        x=None if first.x is None else _stacked([graph.x for graph in graphs]),
        attributes=Attributes.joined(tables) if tables else None,
        adjacency=sp.block_diag([graph.adjacency for graph in graphs], format="csr"),
        ids=np.fromiter(ids, dtype=object, count=sum(sizes)),
        labels=codes,
        classes=classes,
        splits={name: np.concatenate([graph.splits[name] for graph in graphs]) for name in common},
        directed=any(graph.directed for graph in graphs if graph.n_edges),
        weighted=any(graph.weighted for graph in graphs),
        graph_index=np.repeat(np.arange(len(graphs)), sizes),
    )


def _check(graphs: Sequence[Graph]) -> None:
    """Refuse graphs that do not describe their nodes alike."""
    if not graphs:
        raise InputError("there is no graph to join; pass at least one")
    for number, graph in enumerate(graphs):
        if not isinstance(graph, Graph):
            raise InputError(
                f"item {number} of the list is not a Graph, but of type {type(graph).__name__}"
            )
    directed = {graph.directed for graph in graphs if graph.n_edges}
    if len(directed) > 1:
        raise InputError(
            "some of the graphs are directed and others are not; convert them with "
            "Graph.to_directed() or Graph.to_undirected()",
            about="edges",
        )
    expected = _description(graphs[0])
    for number, graph in enumerate(graphs):
        if (described := _description(graph)) != expected:
            raise InputError(
                f"graph {number} has {described}, but graph 0 has {expected}; graphs in one list "
                "need the same ones",
                about="nodes",
            )


def _description(graph: Graph) -> str:
    """What describes its nodes."""
    if graph.attributes is not None:
        kinds = graph.attributes.kinds
        return f"the attributes {listing([f'{name} ({kinds[name]})' for name in sorted(kinds)])}"
    if graph.feature_names is not None:
        return f"{graph.n_features} features named {listing(graph.feature_names)}"
    return f"{graph.n_features} features" if graph.n_features else "no features"


def _stacked(features: Sequence[np.ndarray | sp.csr_array]) -> np.ndarray | sp.csr_array:
    """Sparse where any of them is."""
    if any(sp.issparse(x) for x in features):
        return sp.vstack([sp.csr_array(x) for x in features], format="csr")
    return np.vstack(features)
