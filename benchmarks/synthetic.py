"""Large attributed graphs with known blocks: a degree-corrected stochastic block model.

Blocks have about as many nodes in a small graph as in a large one, as communities have in real
networks; a larger graph has more of them. A node's chance to be an end of an edge is in proportion
to its own weight, drawn from a power law, and edges stay within the block with a given chance.
Each block prefers its own tenth of the features. Node numbers are shuffled, so that neighbors are
not next to each other in memory, as in most real graphs.
"""

import numpy as np
import scipy.sparse as sp

from graphgate.graph.graph import Graph

BLOCK_SIZE = 1500
WITHIN = 0.8  # share of edges drawn within a block
TOPICAL = 0.5  # share of a node's features drawn from those that its block prefers
TAIL = 2.5  # exponent of the degrees' power law is TAIL + 1


def block_graph(
    n: int, *, edges_per_node: int = 10, n_features: int = 1000, per_row: int = 20, seed: int = 0
) -> Graph:
    """N nodes, `edges_per_node`·N distinct undirected edges, `per_row` ones in each row of X."""
    rng = np.random.default_rng(seed)
    n_blocks = max(2, round(n / BLOCK_SIZE))
    blocks = rng.integers(0, n_blocks, n)
    pairs = _edges(rng, blocks, edges_per_node * n)
    columns = _columns(rng, blocks, n_features, per_row)
    ones = np.ones(n * per_row, dtype=np.float32)
    starts = np.arange(0, n * per_row + 1, per_row)
    x = sp.csr_array((ones, columns.ravel(), starts), shape=(n, n_features))
    return Graph.from_edges(x, pairs, labels=blocks)


def _edges(rng: np.random.Generator, blocks: np.ndarray, wanted: int) -> np.ndarray:
    """(E, 2) distinct pairs u < v."""
    n = len(blocks)
    if wanted > n * (n - 1) // 8:
        raise ValueError(f"{wanted:,} edges are too many for {n:,} nodes: the graph is not sparse")
    by_block = np.argsort(blocks, kind="stable")
    # At most a hundredth of the draws per node: drawing distinct edges has to end.
    weights = np.minimum(1.0 + rng.pareto(TAIL, n), 0.01 * n)
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    first = np.searchsorted(blocks[by_block], np.arange(blocks.max() + 2))
    bounds = ends[first]  # the weights of block b are in [bounds[b], bounds[b + 1])

    def drawn(low: np.ndarray | float, high: np.ndarray | float, count: int) -> np.ndarray:
        at = np.searchsorted(ends, rng.uniform(low, high, count), side="right") - 1
        return by_block[np.minimum(at, n - 1)]

    keys = np.empty(0, dtype=np.int64)
    while len(keys) < wanted:
        count = int(1.1 * (wanted - len(keys))) + 100
        u = drawn(0.0, ends[-1], count)
        within = rng.random(count) < WITHIN
        low = np.where(within, bounds[blocks[u]], 0.0)
        high = np.where(within, bounds[blocks[u] + 1], ends[-1])
        v = drawn(low, high, count)
        new = np.minimum(u, v) * n + np.maximum(u, v)
        keys = np.unique(np.concatenate([keys, new[u != v]]))
    surplus = rng.choice(len(keys), len(keys) - wanted, replace=False)
    keys = np.delete(keys, surplus)
    return np.stack([keys // n, keys % n], axis=1)


def _columns(
    rng: np.random.Generator, blocks: np.ndarray, n_features: int, per_row: int
) -> np.ndarray:
    """(N, per_row) distinct columns a row, in order; rows with a repetition are drawn again."""
    n = len(blocks)
    topic = max(1, n_features // 10)
    columns = np.empty((n, per_row), dtype=np.int32)
    rows = np.arange(n)
    while len(rows):
        start = (blocks[rows] * n_features // (blocks.max() + 1))[:, None].astype(np.int32)
        own = rng.random((len(rows), per_row), dtype=np.float32) < TOPICAL
        own_columns = start + rng.integers(0, topic, own.shape, dtype=np.int32)
        any_column = rng.integers(0, n_features, own.shape, dtype=np.int32)
        new = np.sort(np.where(own, own_columns % n_features, any_column), axis=1)
        columns[rows] = new
        rows = rows[(new[:, 1:] == new[:, :-1]).any(axis=1)]
    return columns
