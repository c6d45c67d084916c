"""A graph whose nodes arrive one after the other, and its parts."""

import numpy as np

from graphgate import Graph

TOWNS = ("Ulm", "Bern", "Graz")


def grown_graph(n: int, seed: int = 0, *, directed: bool = False, weighted: bool = False) -> Graph:
    """Two groups of nodes; every node has an edge to some before it, mostly of its group."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    edges = {}
    for node in range(1, n):
        for other in rng.choice(node, min(node, 3), replace=False):
            if group[node] == group[other] or rng.random() < 0.2:
                edges[(node, int(other))] = float(rng.integers(1, 5))
    return Graph.from_edges(
        None,
        [(f"n{a}", f"n{b}") for a, b in edges],
        list(edges.values()) if weighted else None,
        ids=[f"n{at}" for at in range(n)],
        attributes={
            "age": (rng.normal(size=n) + 3 * group).round(3),
            "town": [TOWNS[int(at)] for at in rng.integers(0, 3, n)],
            "a.b": rng.random(n) < 0.5,
            "words": [["x", "y"][: int(at)] for at in rng.integers(0, 3, n)],
        },
        labels=[f"group {at}" for at in group],
        directed=directed,
    )


def first(graph: Graph, n: int) -> Graph:
    return graph.take(np.arange(n))


def later(graph: Graph, start: int, stop: int) -> Graph:
    """The nodes from start to stop, and the nodes they have edges to, with these edges."""
    near = np.union1d(np.arange(start, stop), graph.adjacency[start:stop].indices)
    near = np.union1d(near, graph.adjacency.T.tocsr()[start:stop].indices)
    part = graph.take(near[near < stop])
    known = np.flatnonzero(near[near < stop] < start)
    old = part.adjacency[known][:, known].tocoo()
    return part.without_edges(np.stack([known[old.row], known[old.col]], axis=1))
