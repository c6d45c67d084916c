"""Held-out edges of a graph, and as many pairs of nodes without an edge."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphgate.errors import InputError
from graphgate.graph.arrays import contained
from graphgate.graph.graph import Graph


@dataclass(frozen=True)
class LinkSplit:
    """A graph without its held-out edges, and the pairs to score, (M, 2) row numbers each.

    The four sets of pairs and the edges of `graph` are disjoint, whichever way a pair is written;
    non-edges are not connected in the original graph. An undirected edge is listed once.
    """

    graph: Graph
    val_edges: np.ndarray
    val_non_edges: np.ndarray
    test_edges: np.ndarray
    test_non_edges: np.ndarray


def split_links(
    graph: Graph, *, val_size: float = 0.05, test_size: float = 0.1, random_state: int | None = 0
) -> LinkSplit:
    """Hold out random fractions of the connected pairs, and draw as many non-edges.

    Both directions of a pair are held out together, so that neither reveals the other.
    """
    if not (0 <= val_size < 1 and 0 < test_size < 1 and val_size + test_size < 1):
        raise InputError(
            f"val_size={val_size:g} and test_size={test_size:g} must be fractions whose sum is "
            "below 1, and test_size must be above 0"
        )
    n = graph.n_nodes
    pairs, edges_of = _connected_pairs(graph)
    n_val, n_test = int(val_size * len(pairs)), int(test_size * len(pairs))
    if n_test < 1:
        raise InputError(
            f"test_size={test_size:g} of {len(pairs):,} connected pairs is less than one pair; "
            "hold out a larger fraction"
        )
    rng = np.random.default_rng(random_state)
    chosen = rng.permutation(len(pairs))[: n_val + n_test]
    edges = edges_of(chosen)
    non_edges = _non_edges(rng, pairs, n, n_val + n_test)
    return LinkSplit(
        graph.without_edges(edges),
        edges[:n_val],
        non_edges[:n_val],
        edges[n_val:],
        non_edges[n_val:],
    )


def _connected_pairs(graph: Graph) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The key of every connected pair, increasing, and from their places to the edges, (M, 2).

    A directed edge is listed as it points; if both directions exist, one represents the pair.
    """
    n, adjacency = graph.n_nodes, graph.adjacency
    rows = np.repeat(np.arange(n), np.diff(adjacency.indptr))
    if not graph.directed:
        upper = rows < adjacency.indices
        keys = rows[upper] * n + adjacency.indices[upper]
        return keys, lambda places: np.stack(np.divmod(keys[places], n), axis=1)
    columns = adjacency.indices.astype(np.int64)
    keys, first = np.unique(
        np.minimum(rows, columns) * n + np.maximum(rows, columns), return_index=True
    )
    return keys, lambda places: np.stack([rows, columns], axis=1)[first[places]]


def _non_edges(rng: np.random.Generator, pairs: np.ndarray, n: int, wanted: int) -> np.ndarray:
    """(wanted, 2) distinct pairs of distinct nodes without an edge, in random order."""
    free = n * (n - 1) // 2 - len(pairs)
    if free < wanted:
        raise InputError(
            f"only {free:,} pairs of nodes have no edge, but {wanted:,} are needed; "
            "hold out fewer edges"
        )
    if 4 * wanted > free or n <= 64:  # nearly all of them: enumerate
        low, high = np.triu_indices(n, 1)
        chosen = rng.permutation(np.setdiff1d(low * n + high, pairs, assume_unique=True))
    else:
        chosen = np.empty(0, dtype=np.int64)
        while len(chosen) < wanted:
            ends = rng.integers(0, n, (2 * (wanted - len(chosen)) + 16, 2))
            ends = ends[ends[:, 0] != ends[:, 1]]
            keys = ends.min(axis=1) * n + ends.max(axis=1)
            both = np.concatenate([chosen, keys[~contained(keys, pairs)]])
            # Keeping first occurrences in the order drawn, so that the order carries no pattern.
            chosen = both[np.sort(np.unique(both, return_index=True)[1])]
    ends = np.stack(np.divmod(chosen[:wanted], n), axis=1)
    flipped = rng.random(len(ends)) < 0.5
    return np.where(flipped[:, None], ends[:, ::-1], ends)
