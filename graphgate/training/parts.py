"""Parts of a graph to train on, each drawn from its number alone, so that a run can resume.

The loss of the whole is estimated from that of a part: sums over nodes are multiplied by N/n, sums
over attended pairs by E/e, where n and e are the counts of the part. A Frobenius norm is the root
of a sum over nodes.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol

import numpy as np

from graphgate.compute.counts import GraphCounts
from graphgate.graph.graph import Graph
from graphgate.nn.losses import Loss
from graphgate.training.sampling import random_walks, symmetrized

_WALK = 3  # steps
_PER_ROOT = 16  # walks; with a single one, parts of large graphs have few edges


class Parts(Protocol):
    """The parts of a graph."""

    def rows(self, number: int) -> np.ndarray:
        """The rows of a part, sorted."""
        ...


class WalkParts:
    """Parts of `size` nodes, those that some random walks from each of some random nodes visit.

    Small components may leave a part with fewer nodes. GraphSAINT (Zeng et al. 2020) compares ways
    to draw parts.
    """

    def __init__(self, graph: Graph, size: int, seed: int) -> None:
        self._adjacency = symmetrized(graph)
        self._size, self._seed = size, seed

    def rows(self, number: int) -> np.ndarray:
        n = self._adjacency.shape[0]
        if self._size >= n:
            return np.arange(n)
        rng = np.random.default_rng([self._seed, 1 + number])
        roots = rng.integers(n, size=-(-self._size // 4))  # more than enough but for isolated nodes
        starts = np.repeat(roots, _PER_ROOT)
        visited = random_walks(self._adjacency, starts, _WALK, rng).ravel()
        nodes, first = np.unique(visited, return_index=True)
        return np.sort(nodes[np.argsort(first)[: self._size]])


class WholeGraphParts:
    """Parts of about `size` nodes that consist of whole graphs, for many graphs in one.

    All graphs in random order make up one pass over them, all graphs in another order the next.
    """

    def __init__(self, graph_index: np.ndarray, size: int, seed: int) -> None:
        self._graph_index, self._seed = graph_index, seed
        self._graphs = int(graph_index.max()) + 1
        self._per_pass = min(self._graphs, -(-len(graph_index) // size))

    def rows(self, number: int) -> np.ndarray:
        done, at = divmod(number, self._per_pass)
        order = np.random.default_rng([self._seed, 1 + done]).permutation(self._graphs)
        chosen = np.zeros(self._graphs, dtype=bool)
        chosen[np.array_split(order, self._per_pass)[at]] = True
        return np.flatnonzero(chosen[self._graph_index])


def parts_of(graph: Graph, size: int, seed: int) -> Parts:
    """Parts of whole graphs where the graph consists of several, else of random walks."""
    if graph.graph_index is not None:
        return WholeGraphParts(graph.graph_index, size, seed)
    return WalkParts(graph, size, seed)


@dataclass(frozen=True)
class Scaling:
    """By what the two losses of a part are multiplied to estimate those of the whole graph."""

    feature: float
    structure: float

    @classmethod
    def of(cls, part: GraphCounts, whole: GraphCounts, feature_form: str) -> "Scaling":
        nodes = whole.nodes / part.nodes
        feature = nodes if feature_form == "rows" else sqrt(nodes)
        return cls(feature, whole.attended / part.attended)

    def loss(self, loss: Loss) -> Loss:
        """The loss of a part, as it counts for the whole."""
        return replace(
            loss,
            feature_weight=loss.feature_weight * self.feature,
            structure_weight=loss.structure_weight * self.structure,
        )
