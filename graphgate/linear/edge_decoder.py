"""The structure decoder: how likely an edge between two nodes is.

The score of a pair is a weighted sum of the cosine similarities of its nodes in several blocks and
of three terms of their degrees. The handful of weights is a logistic regression on edges that were
hidden for this purpose, against as many random pairs of nodes without an edge.

A node without edges has no structure factors, and its neighborhood is itself, so its similarities
are not comparable with those of other nodes. One of the terms makes up for that.
"""

from collections.abc import Callable, Iterable, Iterator
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
from graphgate.linear.linear_model import LinearModel
from graphgate.linear.linear_plan import MOST_HIDDEN
from graphgate.linear.node_states import SHALLOW_RESTART, SHALLOW_STEPS, NodeStates
from graphgate.linear.propagation import Propagation
from graphgate.linear.reconstruction import Reconstruction, random_half, random_hidden
from graphgate.linear.structure import decomposed
from graphgate.linear.workspace import Workspace

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
    "nodes without edges",
)
DEGREES = "log degrees"  # from which the last three are computed
N_SIMILARITIES = TERMS.index("sum of log degrees")
FEWEST = 20  # hidden edges that a decoder can be fitted on
_HIDDEN = 0.1  # fraction of the edges that are hidden, half of them for the reported AUC
_BLOCK = 1 << 13  # pairs that are scored together


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
        workspace: Workspace,
        describe: Callable[[Graph], Callable[[slice], Tensor]],
        seed: int,
    ) -> Self | None:
        """The decoder of a model of this graph; None where it has too few edges or non-edges.

        describe : from a graph to the coordinates of its nodes, and from some columns to these,
            (N, c). Where coordinates depend on edges, hidden ones must not be among them.
        """
        # Both directions of a pair are hidden together.
        pairs = graph.n_edges if not graph.directed else (graph.adjacency + graph.attended).nnz // 2
        free = graph.n_nodes * (graph.n_nodes - 1) // 2 - pairs
        if int(_HIDDEN / 2 * pairs) < FEWEST // 2 or free < _HIDDEN * pairs:
            return None
        workspace.release()
        fraction = min(_HIDDEN / 2, MOST_HIDDEN / pairs)
        split = split_links(graph, val_size=fraction, test_size=fraction, random_state=seed)
        thinned, dtype = split.graph, model.projection.dtype
        workspace.release()
        generator = torch.Generator().manual_seed(seed)
        factors = None
        if model.structure is not None:
            factors = decomposed(thinned, workspace, generator, dtype)[1]
        workspace.release()
        masked = random_half(graph, generator, dtype)
        hidden = random_hidden(graph, generator)[workspace.mine]
        states = NodeStates.of(
            "edges",
            workspace,
            Propagation(thinned, model.unit, dtype),
            describe(thinned),
            min(len(model.coordinates.center), workspace.plan.decoder_coordinates),
            factors,
            model.coordinates.shortest,
            masked,
            step=True,
        )
        reconstruction = Reconstruction.fit(states, hidden, model.reconstruction.strength)
        some = [split.val_edges, split.val_non_edges, split.test_edges, split.test_non_edges]
        nodes, ends = np.unique(np.concatenate(some), return_inverse=True)
        terms = pair_terms(unit_blocks(states, reconstruction, nodes), ends.reshape(-1, 2))
        truth = np.repeat([1, 0, 1, 0], [len(each) for each in some])
        fitted_on = np.arange(len(truth)) < len(some[0]) + len(some[1])
        weights, bias = _logistic(terms[fitted_on], truth[fitted_on])
        auc = roc_auc_score(truth[~fitted_on], terms[~fitted_on] @ weights + bias)
        weights, bias = _logistic(terms, truth)
        return cls(reconstruction, weights, bias, float(auc))

    def probabilities(self, states: NodeStates, pairs: np.ndarray) -> np.ndarray:
        """(M,) of an edge between the two nodes of each pair of rows, (M, 2)."""
        nodes, ends = np.unique(pairs, return_inverse=True)
        blocks = unit_blocks(states, self.reconstruction, nodes)
        return expit(pair_terms(blocks, ends.reshape(-1, 2)) @ self.weights + self.bias)


def unit_blocks(
    states: NodeStates, reconstruction: Reconstruction, nodes: np.ndarray
) -> Iterator[tuple[str, Tensor]]:
    """What the `TERMS` are computed from: vectors of length 1, (M, ·), and the logarithms of
    degrees, (M, 1), of nodes whose numbers increase; each by its term, only when it is needed.
    """
    workspace, chosen, k = states.workspace, torch.from_numpy(nodes), len(reconstruction.weights)
    assert states.step is not None
    for term, matrix in zip(
        TERMS, (states.own, states.step, states.shallow, states.deep), strict=False
    ):
        yield term, states.unit_vectors(workspace.selected(matrix, chosen)[:, :k])
    context = workspace.selected(states.context, chosen)[:, :k]
    yield TERMS[4], states.unit_vectors(context @ reconstruction.weights)
    if states.factors is not None:
        factors = workspace.all_rows(states.factors)
        yield TERMS[5], states.unit_factors(factors[chosen])
        smoothed = workspace.by_columns(
            factors, lambda m: states.propagation.smooth(m, SHALLOW_STEPS, SHALLOW_RESTART)[chosen]
        )
        yield TERMS[6], states.unit_factors(smoothed)
    yield DEGREES, torch.log1p(states.propagation.degrees[chosen])[:, None]


def pair_terms(blocks: Iterable[tuple[str, Tensor]], pairs: np.ndarray) -> np.ndarray:
    """(M, 10), the `TERMS` of (M, 2) pairs of rows of the blocks."""
    found = np.zeros((len(pairs), len(TERMS)))
    for term, block in blocks:
        if term == DEGREES:
            found[:, N_SIMILARITIES:] = np.stack(degree_terms(*block.numpy()[:, 0][pairs.T]), 1)
            continue
        for start in range(0, len(pairs), _BLOCK):
            left, right = torch.from_numpy(pairs[start : start + _BLOCK].T.copy())
            dots = (block[left] * block[right]).sum(dim=1)
            found[start : start + _BLOCK, TERMS.index(term)] = dots.numpy()
    return found


def degree_terms(left: np.ndarray, right: np.ndarray) -> list[np.ndarray]:
    """The terms of degrees, from the logarithms of those of both nodes of pairs."""
    return [left + right, left * right, (left == 0).astype(float) + (right == 0)]


def _logistic(terms: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression; terms are standardized to fit it."""
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale < 1e-9] = np.inf  # a constant term has no weight
    found = LogisticRegression(max_iter=1000).fit((terms - mean) / scale, truth)
    weights = found.coef_[0] / scale
    return weights, float(found.intercept_[0] - mean @ weights)
