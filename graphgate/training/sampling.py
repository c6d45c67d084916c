"""Random neighbors and random walks on a graph in CSR form, for many nodes at a time.

Edge weights are ignored: every neighbor is equally likely.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from graphgate.graph.graph import Graph


def symmetrized(graph: Graph) -> sp.csr_array:
    """(N, N) adjacency on which a walk may follow an edge in both directions."""
    if not graph.directed:
        return graph.adjacency
    return (graph.adjacency + graph.adjacency.T).tocsr()


def draw_neighbors(
    adjacency: sp.csr_array, nodes: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """(len(nodes), count) neighbors, drawn with replacement; an isolated node draws itself."""
    if adjacency.nnz == 0:
        return np.repeat(nodes[:, None], count, axis=1)
    first = adjacency.indptr[nodes].astype(np.int64)
    degree = adjacency.indptr[nodes + 1] - first
    place = first[:, None] + rng.integers(np.maximum(degree, 1)[:, None], size=(len(nodes), count))
    place[degree == 0] = 0
    drawn = adjacency.indices[place].astype(np.int64)
    return np.where((degree == 0)[:, None], nodes[:, None], drawn)


def random_walks(
    adjacency: sp.csr_array, starts: np.ndarray, steps: int, rng: np.random.Generator
) -> np.ndarray:
    """(len(starts), steps + 1) nodes, each walk starting with its start node."""
    walks = np.empty((len(starts), steps + 1), dtype=np.int64)
    walks[:, 0] = starts
    for step in range(steps):
        walks[:, step + 1] = draw_neighbors(adjacency, walks[:, step], 1, rng)[:, 0]
    return walks


def endless_batches(nodes: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Batches of all nodes in random order, then in another random order, endlessly."""
    while True:
        shuffled = rng.permutation(nodes)
        for start in range(0, len(shuffled), size):
            yield shuffled[start : start + size]
