"""Non-edges that are hard to tell from edges, as in HeaRT (Li et al., 2023).

For every held-out edge, each of its ends is replaced by the 250 nodes that are most plausible by
three heuristics: resource allocation, personalized PageRank and the cosine of the features. The
mean of the three ranks decides.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features

PER_END = 250  # nodes that replace an end
RESTART = 0.15  # of personalized PageRank
_STEPS = 60  # after which what is left of a walk without a restart is below 1e-4
_CELLS = 1 << 22  # numbers in a block of rows


class Heuristics:
    """Scores of all pairs of nodes of a graph, some rows at a time; edges count both ways.

    features : (N, F), or None.
    """

    def __init__(self, graph: Graph, features: Features | None) -> None:
        both = (graph.adjacency + graph.adjacency.T).tocsr()
        ones = np.ones(len(both.indices))
        self.adjacency = sp.csr_array((ones, both.indices, both.indptr), both.shape)
        self._features, self.n = features, graph.n_nodes
        degrees = np.diff(both.indptr).astype(np.float64)
        self._inverse = np.divide(1, degrees, where=degrees > 0, out=np.zeros(self.n))

    @cached_property
    def _walk(self) -> sp.csr_array:
        """A D^-1, (N, N): a column is where a step from its node leads."""
        return (self.adjacency @ sp.diags_array(self._inverse)).tocsr()

    @cached_property
    def _unit_features(self) -> Features:
        x: Any = self._features
        squares = x.multiply(x).sum(axis=1) if sp.issparse(x) else np.square(x).sum(axis=1)
        lengths = np.sqrt(np.asarray(squares, dtype=np.float64))
        inverse = np.divide(1, lengths, where=lengths > 0, out=np.zeros(self.n))
        return (sp.diags_array(inverse) @ x).tocsr() if sp.issparse(x) else x * inverse[:, None]

    def resource_allocation(self, rows: np.ndarray) -> np.ndarray:
        """(M, N), Σ 1 / degree over common neighbors."""
        scores: np.ndarray = (self._walk[rows] @ self.adjacency).toarray()
        return scores

    def pagerank(self, rows: np.ndarray) -> np.ndarray:
        """(M, N), personalized PageRank of all nodes for each of these nodes."""
        walked = np.zeros((self.n, len(rows)))
        walked[rows, np.arange(len(rows))] = 1
        total = RESTART * walked
        for _ in range(_STEPS):
            walked = (1 - RESTART) * (self._walk @ walked)
            total += RESTART * walked
        return total.T

    def cosine(self, rows: np.ndarray) -> np.ndarray:
        """(M, N) of the features."""
        x = self._unit_features
        scores = x[rows] @ x.T
        return scores.toarray() if sp.issparse(scores) else scores

    def scores(self, rows: np.ndarray) -> list[np.ndarray]:
        """(M, N) each."""
        own = [] if self._features is None else [self.cosine(rows)]
        return [self.resource_allocation(rows), self.pagerank(rows), *own]


def hard_negatives(
    heuristics: Heuristics,
    graph: Graph,
    edges: np.ndarray,
    *,
    random_state: int,
    node_types: np.ndarray | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> np.ndarray:
    """(M, 2K, 2) non-edges for each of (M, 2) edges, K per end, K = 250 or as many as there are.

    Parameters
    ----------
    heuristics : of the graph without the held-out edges.
    graph : with them; none of its edges is a non-edge. (HeaRT leaves only known edges out.)
    node_types : (N,), where a node is replaced by nodes of its type.
    advance : called with the number of ends that are done.
    """
    rng = np.random.default_rng(random_state)
    types = np.zeros(graph.n_nodes, dtype=np.int64)
    if node_types is not None:
        _, types = np.unique(node_types, return_inverse=True)
    # What is kept, and the type of what replaces the other end.
    wanted, places = np.unique(
        np.concatenate([edges, edges[:, ::-1]]) @ [len(types), 0]
        + types[np.concatenate([edges[:, 1], edges[:, 0]])],
        return_inverse=True,
    )
    kept, kinds = np.divmod(wanted, len(types))
    connected = (graph.adjacency + graph.adjacency.T).tocsr()
    replaced: list[np.ndarray] = []
    for rows in _row_blocks(len(kept), graph.n_nodes):
        scores = heuristics.scores(kept[rows])
        for at, (node, kind) in enumerate(zip(kept[rows], kinds[rows], strict=True)):
            allowed = types == kind
            allowed[connected.indices[connected.indptr[node] : connected.indptr[node + 1]]] = False
            allowed[node] = False
            replaced.append(_hardest([score[at] for score in scores], allowed, rng))
        advance(len(kept[rows]))
    count = min(map(len, replaced))
    if not count:
        raise InputError(
            "a node of a held-out edge has an edge to every other node that it could be compared "
            "with; use random negatives"
        )
    others = np.stack([nodes[:count] for nodes in replaced])
    m = len(edges)
    first, second = others[places[:m]], others[places[m:]]
    of_first = np.stack([np.broadcast_to(edges[:, :1], first.shape), first], axis=2)
    of_second = np.stack([second, np.broadcast_to(edges[:, 1:], second.shape)], axis=2)
    return np.concatenate([of_first, of_second], axis=1)


def _hardest(scores: list[np.ndarray], allowed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """At most `PER_END` of the allowed nodes, hardest first; ties are broken at random."""
    nodes = rng.permutation(np.flatnonzero(allowed))
    ranks = np.mean([_ranks(score[nodes]) for score in scores], axis=0)
    return nodes[np.argsort(ranks, kind="stable")[:PER_END]]


def _ranks(scores: np.ndarray) -> np.ndarray:
    """(M,) 1 for the best; those without a score share the rank after the last."""
    positive = scores > 0
    ranks = np.full(len(scores), 1.0)
    if positive.any():
        ranks[positive] = rankdata(-scores[positive], method="min")
        ranks[~positive] = ranks[positive].max() + 1
    return ranks


def _row_blocks(count: int, n: int) -> Iterator[slice]:
    size = max(1, _CELLS // n)
    return (slice(start, start + size) for start in range(0, count, size))
