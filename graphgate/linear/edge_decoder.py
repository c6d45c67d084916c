"""The structure decoder: how likely an edge between two nodes is.

The score of a pair is a weighted sum of the cosine similarities of its nodes in several blocks and
of three terms of their degrees. The handful of weights is a logistic regression on edges that were
hidden for this purpose, against as many random pairs of nodes without an edge.

A node without edges has no structure factors, and its neighborhood is itself, so its similarities
are not comparable with those of other nodes. One of the terms makes up for that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.draws import Draws
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import LinkSplit, split_links
from graphgate.graph.validation import Features
from graphgate.linear.linear_plan import LARGE, MOST_HIDDEN, Sizes
from graphgate.linear.model import (
    HIDDEN,
    MASKED,
    POLYNOMIALS,
    SHALLOW,
    SHORTEST_FACTORS,
    STEP,
    LinearModel,
    Reconstruction,
    States,
    propagated,
    ridge,
    structure_factors,
    unit_rows,
)
from graphgate.linear.propagation import Propagation

# Cosine similarities of states, by the name of the term; "reconstruction" is mapped by B.
_OF_STATES = {
    "own features": "own",
    "one step": "step",
    "two steps": "shallow",
    "sixteen steps": "deep",
    "reconstruction": "context",
}
# Of structure factors.
_OF_FACTORS = ("structure factors", "smoothed structure factors")
# From the logarithms of the degrees of both nodes.
DEGREE_TERMS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "sum of log degrees": np.add,
    "product of log degrees": np.multiply,
    "nodes without edges": lambda left, right: (left == 0).astype(float) + (right == 0),
}
TERMS = (*_OF_STATES, *_OF_FACTORS, *DEGREE_TERMS)
FEWEST = 20  # hidden edges that a decoder can be fitted on
_HIDDEN_EDGES = 0.1  # fraction of the edges that are hidden, half of them for the reported AUC
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
    weights: Annotated[np.ndarray, "t", np.float64]
    bias: float
    auc: Annotated[float, (0, 1)]

    @classmethod
    def fit(
        cls,
        graph: Graph,
        model: LinearModel,
        engine: Columns,
        features: Callable[[Graph], Features],
        seed: int,
    ) -> Self | None:
        """The decoder of a model of this graph; None where it has too few edges or non-edges.

        features : of the nodes of a graph; where they depend on edges, hidden ones must not be
            among them.
        """
        engine.release()
        split = _hidden_edges(graph, seed)
        if split is None:
            return None
        states, reconstruction = _without_hidden_edges(split.graph, model, engine, features, seed)
        parts = (split.val_edges, split.val_non_edges, split.test_edges, split.test_non_edges)
        truth = np.repeat([1, 0, 1, 0], [len(part) for part in parts])
        terms = pair_terms(states, reconstruction, np.concatenate(parts))
        fitted = np.arange(len(truth)) < len(split.val_edges) + len(split.val_non_edges)
        weights, bias = _logistic(terms[fitted], truth[fitted])
        auc = roc_auc_score(truth[~fitted], terms[~fitted] @ weights + bias)
        return cls(reconstruction, *_logistic(terms, truth), float(auc))

    def fits(self, n_coordinates: int) -> bool:
        """Whether it can be that of a model with this many coordinates."""
        sizes = {min(n_coordinates, Sizes.of(n).decoder_coordinates) for n in (1, LARGE + 1)}
        return len(self.reconstruction.weights) in sizes and len(self.weights) == len(TERMS)

    def probabilities(self, states: States, pairs: np.ndarray) -> np.ndarray:
        """(M,) of an edge between the two nodes of each pair of rows, (M, 2)."""
        return expit(pair_terms(states, self.reconstruction, pairs) @ self.weights + self.bias)


def _hidden_edges(graph: Graph, seed: int) -> LinkSplit | None:
    """A split with as many hidden edges as non-edges; None where there are too few of either."""
    # Both directions of a pair are hidden together.
    pairs = graph.n_edges if not graph.directed else (graph.adjacency + graph.attended).nnz // 2
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - pairs
    if int(_HIDDEN_EDGES / 2 * pairs) < FEWEST // 2 or free < _HIDDEN_EDGES * pairs:
        return None
    fraction = min(_HIDDEN_EDGES / 2, MOST_HIDDEN / pairs)
    return split_links(graph, val_size=fraction, test_size=fraction, random_state=seed)


def _without_hidden_edges(
    graph: Graph,
    model: LinearModel,
    engine: Columns,
    features: Callable[[Graph], Features],
    seed: int,
) -> tuple[States, Reconstruction]:
    """What the model would be of a graph some of whose edges are hidden, with fewer coordinates."""
    n, sizes, draws = graph.n_nodes, Sizes.of(graph.n_nodes), Draws(seed, graph.id_ranks)
    matrices = {}
    engine.release()
    if model.structure is not None:
        matrices["factors"] = structure_factors(graph, engine, sizes.factors, draws)[1]
        engine.release()
    masked, hidden = (draws.uniform_by_node(n) < fraction for fraction in (MASKED, HIDDEN))
    z = model.coordinates.source(features(graph))
    z = replace(z, n_columns=min(z.n_columns, sizes.decoder_coordinates))
    operator = Propagation(graph, model.unit, engine.dtype)
    matrices |= propagated("edges", engine, operator, z, POLYNOMIALS | STEP, masked)
    strength = model.reconstruction.strength
    reconstruction = ridge(engine, matrices["seen"], matrices["own"], engine.own(hidden), strength)
    return States(engine, operator, model.coordinates.shortest, matrices), reconstruction


def similarity_blocks(
    states: States, reconstruction: Reconstruction, nodes: np.ndarray
) -> Iterator[tuple[str, Tensor]]:
    """Vectors of length 1, (M, ·), whose inner products are terms, by the name of the term.

    Of nodes whose numbers increase, and each only when it is needed.
    """
    engine, chosen, k = states.engine, torch.from_numpy(nodes), len(reconstruction.weights)
    for term, name in _OF_STATES.items():
        rows = engine.select(states[name], chosen)[:, :k]
        rows = rows @ reconstruction.weights if term == "reconstruction" else rows
        yield term, unit_rows(rows, states.shortest)
    if "factors" in states:
        plain, smoothed = _OF_FACTORS
        factors = engine.collect(lambda rows: rows, states["factors"])
        yield plain, unit_rows(factors[chosen], SHORTEST_FACTORS)
        rows = engine.product(lambda m: states.operator.apply(m, SHALLOW)[chosen], factors)
        yield smoothed, unit_rows(rows, SHORTEST_FACTORS)


def log_degrees(states: States) -> np.ndarray:
    """(N,)"""
    degrees: np.ndarray = torch.log1p(states.operator.degrees).numpy()
    return degrees


def pair_terms(states: States, reconstruction: Reconstruction, pairs: np.ndarray) -> np.ndarray:
    """(M, 10), the `TERMS` of (M, 2) pairs of nodes."""
    nodes, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(-1, 2)
    terms = {name: np.zeros(len(pairs)) for name in TERMS}
    for name, block in similarity_blocks(states, reconstruction, nodes):
        for start in range(0, len(pairs), _BLOCK):
            left, right = torch.from_numpy(ends[start : start + _BLOCK].T.copy())
            dots = (block[left] * block[right]).sum(dim=1)
            terms[name][start : start + _BLOCK] = dots.numpy()
    left, right = log_degrees(states)[pairs.T]
    for name, term in DEGREE_TERMS.items():
        terms[name] = term(left, right)
    return np.stack(list(terms.values()), axis=1)


def _logistic(terms: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression; terms are standardized to fit it."""
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale < 1e-9] = np.inf  # a constant term has no weight
    regression = LogisticRegression(max_iter=1000).fit((terms - mean) / scale, truth)
    weights = regression.coef_[0] / scale
    return weights, float(regression.intercept_[0] - mean @ weights)
