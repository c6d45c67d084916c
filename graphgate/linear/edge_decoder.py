"""The structure decoder: how likely an edge between two nodes is.

The score of a pair is a weighted sum of the cosine similarities of its nodes in several blocks and
of two terms of their degrees. The handful of weights is a logistic regression on edges that were
hidden for this purpose, against as many random pairs of nodes without an edge.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.linear.linear_model import (
    SHALLOW_RESTART,
    SHALLOW_STEPS,
    LinearModel,
    NodeStates,
)
from graphgate.linear.propagation import Propagation
from graphgate.linear.reconstruction import Reconstruction
from graphgate.linear.structure import StructureFactors

TERMS = (
    "own features",
    "one step",
    "two steps",
    "sixteen steps",
    "reconstruction",
    "structure factors",
    "smoothed structure factors",
    "sum of log degrees",
    "product of log degrees",
)
COORDINATES = 256  # the leading ones; on development graphs 512 gave at most 0.2 points of AUC more
FEWEST = 20  # hidden edges that a decoder can be fitted on
_HIDDEN = 0.1  # fraction of the edges that are hidden, half of them for the reported AUC
_BLOCK = 1 << 16  # pairs that are scored together


@dataclass(frozen=True)
class EdgeDecoder:
    """The probability of an edge, where edges and other pairs are equally frequent.

    reconstruction : fitted without the hidden edges.
    weights : one per term of `TERMS`; zero for those that there are not.
    bias : a number.
    auc : of hidden edges that were not used to fit the weights against as many other pairs.
    """

    reconstruction: Reconstruction
    weights: np.ndarray
    bias: float
    auc: float

    @classmethod
    def fit(
        cls,
        graph: Graph,
        model: LinearModel,
        own: Tensor,
        seed: int,
        describe: Callable[[Graph], Tensor] | None = None,
    ) -> Self | None:
        """The decoder of a model of this graph; None where it has too few edges or non-edges.

        own : (N, r) coordinates of its nodes.
        describe : coordinates of the nodes of a graph, where they depend on its edges, and hidden
            edges must not be among them.
        """
        # Both directions of a pair are hidden together.
        pairs = (graph.adjacency + graph.adjacency.T).nnz // 2
        free = graph.n_nodes * (graph.n_nodes - 1) // 2 - pairs
        if int(_HIDDEN / 2 * pairs) < FEWEST // 2 or free < _HIDDEN * pairs:
            return None
        split = split_links(graph, val_size=_HIDDEN / 2, test_size=_HIDDEN / 2, random_state=seed)
        thinned = split.graph
        propagation = Propagation(thinned, model.unit, own.dtype)
        generator = torch.Generator().manual_seed(seed)
        factors = None
        if model.structure is not None:
            factors = StructureFactors.fit(thinned, generator, own.dtype).of(thinned)
        own = own if describe is None else describe(thinned)
        leading = own[:, :COORDINATES].contiguous()
        states = NodeStates.of(propagation, leading, factors, model.coordinates.shortest)
        reconstruction = Reconstruction.fit(
            propagation, leading, states.context, generator, model.reconstruction.strength
        )
        similarity = PairSimilarity(states, reconstruction)
        fitted_on, tested_on = (
            similarity.terms(np.concatenate(pairs))
            for pairs in (
                (split.val_edges, split.val_non_edges),
                (split.test_edges, split.test_non_edges),
            )
        )
        truth, other_truth = (
            np.repeat([1, 0], len(terms) // 2) for terms in (fitted_on, tested_on)
        )
        weights, bias = _logistic(fitted_on, truth)
        auc = roc_auc_score(other_truth, tested_on @ weights + bias)
        weights, bias = _logistic(
            np.concatenate([fitted_on, tested_on]), np.concatenate([truth, other_truth])
        )
        return cls(reconstruction, weights, bias, float(auc))

    def similarity(self, states: NodeStates) -> "PairSimilarity":
        return PairSimilarity(states, self.reconstruction)

    def probabilities(self, states: NodeStates, pairs: np.ndarray) -> np.ndarray:
        """(M,) of an edge between the two nodes of each pair of rows, (M, 2)."""
        return expit(self.similarity(states).terms(pairs) @ self.weights + self.bias)


class PairSimilarity:
    """The `TERMS` of pairs of nodes of one graph.

    Attributes
    ----------
    blocks : vectors of length 1, (N, ·) each, for each of the first terms; None where there are
        no structure factors.
    log_degrees : (N,).
    """

    def __init__(self, states: NodeStates, reconstruction: Reconstruction) -> None:
        k = len(reconstruction.weights)
        one_step = states.propagation.step(states.own[:, :k].contiguous())
        found = (states.own, one_step, states.shallow, states.deep)
        units = [states.unit_vectors(vectors[:, :k]) for vectors in found]
        units.append(states.unit_vectors(states.context[:, :k] @ reconstruction.weights))
        factors = states.factors
        self.blocks: list[Tensor | None] = [*units, None, None]
        if factors is not None:
            smoothed = states.propagation.smooth(factors, SHALLOW_STEPS, SHALLOW_RESTART)
            self.blocks[-2:] = [states.unit_factors(factors), states.unit_factors(smoothed)]
        self.log_degrees = torch.log1p(states.propagation.degrees).numpy()

    def terms(self, pairs: np.ndarray) -> np.ndarray:
        """(M, 9) for (M, 2) rows of nodes."""
        found = np.zeros((len(pairs), len(TERMS)))
        for start in range(0, len(pairs), _BLOCK):
            left, right = torch.from_numpy(pairs[start : start + _BLOCK].T.copy())
            for at, block in enumerate(self.blocks):
                if block is not None:
                    dots = (block[left] * block[right]).sum(dim=1)
                    found[start : start + _BLOCK, at] = dots.numpy()
        degrees = self.log_degrees[pairs]
        found[:, -2], found[:, -1] = degrees.sum(axis=1), degrees.prod(axis=1)
        return found


def _logistic(terms: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression; terms are standardized to fit it."""
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale < 1e-9] = np.inf  # a constant term has no weight
    found = LogisticRegression(max_iter=1000).fit((terms - mean) / scale, truth)
    weights = found.coef_[0] / scale
    return weights, float(found.intercept_[0] - mean @ weights)
