"""The part of a graph that a change reaches, as arrays.

The nodes around a change, m in all: those that are new, have other attributes, or have gained or
lost an edge; the neighbors of all of these; and so on for as many hops as an estimator looks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.graph.validation import Features


@dataclass(frozen=True)
class Region:
    """The nodes around a change, before and after it.

    numbers : (m,) the nodes, sorted.
    new, removed : (m,) which nodes are not there before, or after.
    changed : (m,) which nodes are new or have other attributes.
    near : (m,) which nodes have changed, have gained or lost an edge, or are neighbors of a node
        that has changed.
    attended : (m, m) weights before and after, row i lists what i attends to, without self-loops.
        Rows and columns are complete but for nodes at the margin.
    sums : (m, 2) sums of the whole rows and columns of these weights, before and after.
    states : what is stored of each node, (m, …) each; zero for new nodes.
    features : of changed nodes, after.
    near_features : of near nodes that are not new, before; None if they were not asked for.
    """

    numbers: np.ndarray
    new: np.ndarray
    removed: np.ndarray
    changed: np.ndarray
    near: np.ndarray
    attended: tuple[sp.csr_array, sp.csr_array]
    sums: tuple[np.ndarray, np.ndarray]
    states: dict[str, np.ndarray]
    features: Features | None
    near_features: Features | None

    def __len__(self) -> int:
        return len(self.numbers)

    def loops(self) -> tuple[np.ndarray, np.ndarray]:
        """(m,) 1 where there is a node, before and after."""
        return (~self.new).astype(np.float64), (~self.removed).astype(np.float64)


def adjacency(pairs: np.ndarray, weights: np.ndarray, m: int, *, directed: bool) -> sp.csr_array:
    """(m, m): row i lists the nodes that i attends to, from (E, 2) pairs (source, target)."""
    source, target = pairs.T
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        weights = np.concatenate([weights, weights])
    return sp.csr_array((weights, (target, source)), shape=(m, m))


def scattered(values: Any, rows: np.ndarray, m: int) -> Any:
    """An (m, …) array, dense or sparse, that has these rows, and is zero elsewhere."""
    if sp.issparse(values):
        counts = np.zeros(m, dtype=np.int64)
        counts[rows] = np.diff(values.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sp.csr_array((values.data, values.indices, indptr), shape=(m, values.shape[1]))
    found = np.zeros((m, *values.shape[1:]), dtype=values.dtype)
    found[rows] = values
    return found
