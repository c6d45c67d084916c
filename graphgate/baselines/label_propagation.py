"""Label propagation: Zhu & Ghahramani (2002), "Learning from Labeled and Unlabeled Data with Label
Propagation".

The edges of the graph stand for the paper's full graph of distances, with their weights where
there are any, read both ways. A node that no label reaches gets the most frequent class of the
training nodes; the paper has no such nodes. Labels of validation nodes are not used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.training.sampling import symmetrized


@dataclass(kw_only=True)
class LabelPropagation:
    """Labels flow along edges from the training nodes, which keep theirs, until nothing changes.

    It knows no nodes but those it was fitted on.

    Parameters
    ----------
    tolerance : nothing changes when no share of a class at a node changes by more than this.
    iterations : stop after so many in any case.
    random_state : not used; nothing here is random.

    Attributes
    ----------
    shares_ : (N, C), how much of each class has reached a node; a row adds up to 1, or to 0
        where no label can come.
    """

    tolerance: float = 1e-6
    iterations: int = 10_000
    random_state: int = 0
    shares_: np.ndarray = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        known = np.zeros(graph.n_nodes, dtype=bool)
        if graph.labels is not None and "train" in graph.splits:
            known = graph.splits["train"] & (graph.labels >= 0)
        if graph.labels is None or not known.any():
            raise InputError(
                "a classifier learns from labels, but the graph has none in a split 'train'"
            )
        given = np.eye(len(graph.classes))[graph.labels[known]]
        self._ids = graph.ids
        self._fallback = int(given.sum(axis=0).argmax())
        self.shares_ = self._propagate(_transitions(graph), known, given)
        return self

    def predict(self, graph: Graph) -> np.ndarray:
        """(N,) positions in `graph.classes`."""
        if not hasattr(self, "shares_"):
            raise InputError("this LabelPropagation has not been fitted; call fit first")
        if not np.array_equal(graph.ids, self._ids):
            raise InputError("label propagation knows no nodes but those it was fitted on")
        reached = self.shares_.any(axis=1)
        return np.where(reached, self.shares_.argmax(axis=1), self._fallback)

    def _propagate(
        self, transitions: sp.csr_array, known: np.ndarray, given: np.ndarray
    ) -> np.ndarray:
        shares = np.zeros((len(known), given.shape[1]))
        shares[known] = given
        for _ in range(self.iterations):
            before, shares = shares, transitions @ shares
            sums = shares.sum(axis=1, keepdims=True)
            shares /= np.where(sums > 0, sums, 1)
            shares[known] = given
            if np.abs(shares - before).max() <= self.tolerance:
                break
        return shares


def _transitions(graph: Graph) -> sp.csr_array:
    """T_ij = w_ij / Σ_k w_kj, (N, N): the probability to jump from j to i."""
    weights = symmetrized(graph).astype(np.float64)
    sums = weights.sum(axis=0)
    return sp.csr_array(weights @ sp.diags_array(1 / np.where(sums > 0, sums, 1)))
