"""Random graphs of a given size, for measurements."""

import numpy as np
import scipy.sparse as sp

from graphgate.graph.graph import Graph

_COMMUNITY = 1500  # nodes; a larger graph has more communities, not larger ones
_WITHIN = 0.8  # fraction of edges that stay within a community


def community_graph(
    n_nodes: int,
    n_edges: int,
    n_features: int,
    *,
    n_entries: int | None = None,
    directed: bool = False,
    weighted: bool = False,
    random_state: int = 0,
) -> Graph:
    """A graph of communities with random features.

    Parameters
    ----------
    n_edges : number of edges drawn; duplicates are dropped.
    n_entries : number of non-zero entries of a sparse X; None makes X dense.
    weighted : draw weights from [0.5, 1.5); for directed graphs only.

    Examples
    --------
    >>> community_graph(100, 300, 20, n_entries=500, directed=True).n_nodes
    100
    """
    rng = np.random.default_rng(random_state)
    source = rng.integers(0, n_nodes, n_edges)
    start = source // _COMMUNITY * _COMMUNITY
    near = start + (rng.random(n_edges) * np.minimum(_COMMUNITY, n_nodes - start)).astype(np.int64)
    target = np.where(rng.random(n_edges) < _WITHIN, near, rng.integers(0, n_nodes, n_edges))
    x: np.ndarray | sp.csr_array
    if n_entries is None:
        x = rng.random((n_nodes, n_features), dtype=np.float32)
    else:
        indptr = np.linspace(0, n_entries, n_nodes + 1).astype(np.int32)
        columns = rng.integers(0, n_features, n_entries).astype(np.int32)
        ones = np.ones(n_entries, dtype=np.float32)
        x = sp.csr_array((ones, columns, indptr), (n_nodes, n_features))
        x.sum_duplicates()
    order = rng.permutation(n_nodes)  # as in a real graph, rows do not show the communities
    weights = rng.random(n_edges) + 0.5 if weighted and directed else None
    edges = np.stack([order[source], order[target]], axis=1)
    return Graph.from_edges(x, edges, weights, directed=directed)
