"""The structure decoder: how likely an edge between two nodes is.

The score of a pair is a sum of terms: the cosine similarities of its nodes in several blocks, terms
of their degrees, and what their neighborhoods have in common. In four of the blocks every
coordinate has a weight of its own besides, since some coordinates say more about edges than others.
All weights are one logistic regression on edges that were hidden for this purpose, against random
pairs of nodes without an edge. The weights of coordinates are shrunk towards equal ones, which the
cosine has, with a strength that is chosen on the hidden edges too: few edges allow no others.

A node without edges has no structure factors, and its neighborhood is itself, so its similarities
are not comparable with those of other nodes. One of the terms makes up for that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
import torch
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.draws import Draws
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import LinkSplit, split_links
from graphgate.graph.validation import Features, Positive
from graphgate.linear.linear_plan import COMPARED, LARGE, MOST_HIDDEN, MOST_PAIRS, WEIGHED, Sizes
from graphgate.linear.logistic import log_loss, logistic_weights, scores_apart
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
from graphgate.linear.neighborhoods import COMMON, Neighborhoods
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
TERMS = (*_OF_STATES, *_OF_FACTORS, *DEGREE_TERMS, *COMMON)
# Whose coordinates have weights.
WEIGHED_TERMS = ("own features", "two steps", "sixteen steps", "reconstruction")
assert len(WEIGHED_TERMS) == WEIGHED
FEWEST = 20  # hidden edges that a decoder can be fitted on
STRENGTHS = (1e4, 1e3, 300.0, 100.0, 30.0)  # of the penalty on weights of coordinates
_PENALTY = 0.1  # on weights of standardized terms
_HIDDEN_EDGES = 0.1  # fraction of the edges that are hidden, half of them for the reported AUC
_PER_EDGE = 5  # pairs without an edge for each hidden edge, where there are not too many
_BLOCK = 1 << 13  # pairs that are scored together


@dataclass(frozen=True)
class EdgeDecoder:
    """The probability of an edge, where edges and other pairs are equally frequent.

    reconstruction : fitted without the hidden edges.
    weights : one per term of `TERMS`; zero for those that there are not.
    coordinates : (4, K), for each of `WEIGHED_TERMS` by how much the weights of its first
        coordinates differ from that of the term.
    strength : of the penalty on them.
    bias : a number.
    auc : of hidden edges that were not used to fit the weights against other pairs.
    """

    reconstruction: Reconstruction
    weights: Annotated[np.ndarray, "t", np.float64]
    coordinates: Annotated[np.ndarray, "b k", np.float64]
    strength: Positive
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
        terms, products = pair_columns(states, reconstruction, np.concatenate(parts))
        half = len(split.val_edges) + len(split.val_non_edges)
        solved = _solved(terms, products, truth, half)
        return cls(reconstruction, *solved)

    def fits(self, n_coordinates: int) -> bool:
        """Whether it can be that of a model with this many coordinates."""
        sizes = {min(n_coordinates, Sizes.of(n).decoder_coordinates) for n in (1, LARGE + 1)}
        k = len(self.reconstruction.weights)
        weighed = (len(WEIGHED_TERMS), min(COMPARED, k))
        return k in sizes and self.coordinates.shape == weighed and len(self.weights) == len(TERMS)

    def weight(self, term: str) -> float:
        """Of one of `TERMS`."""
        return float(self.weights[TERMS.index(term)])

    def column_weights(self, term: str, width: int) -> np.ndarray:
        """(width,) of the columns of a block of vectors."""
        weights = np.full(width, self.weight(term))
        if term in WEIGHED_TERMS:
            weights[: self.coordinates.shape[1]] += self.coordinates[WEIGHED_TERMS.index(term)]
        return weights

    def probabilities(self, states: States, pairs: np.ndarray) -> np.ndarray:
        """(M,) of an edge between the two nodes of each pair of rows, (M, 2)."""
        logits = np.full(len(pairs), self.bias)
        for _, contribution in self.contributions(states, pairs):
            logits += contribution
        return expit(logits)

    def contributions(self, states: States, pairs: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """(M,) of every term by its name; with the bias they add up to the logit."""
        nodes, ends = _ends(pairs)
        for term, block in similarity_blocks(states, self.reconstruction, nodes):
            columns = torch.from_numpy(self.column_weights(term, block.shape[1])).to(block.dtype)
            yield term, _row_dots(block * columns, block, ends)
        for term, values in plain_terms(states, pairs):
            yield term, self.weight(term) * values


def _hidden_edges(graph: Graph, seed: int) -> LinkSplit | None:
    """A split with as many hidden edges as non-edges; None where there are too few of either."""
    # Both directions of a pair are hidden together.
    pairs = graph.n_edges if not graph.directed else (graph.adjacency + graph.attended).nnz // 2
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - pairs
    if int(_HIDDEN_EDGES / 2 * pairs) < FEWEST // 2 or free < _HIDDEN_EDGES * pairs:
        return None
    fraction = min(_HIDDEN_EDGES / 2, MOST_HIDDEN / pairs)
    hidden = 2 * max(1, int(fraction * pairs))
    most = max(1, MOST_PAIRS // hidden - 1)
    per_edge = min(_PER_EDGE, most, max(1, free // (2 * hidden)))
    return split_links(
        graph, val_size=fraction, test_size=fraction, random_state=seed, per_edge=per_edge
    )


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


def plain_terms(states: States, pairs: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """(M,) each, the terms of degrees and of neighborhoods, by name."""
    left, right = log_degrees(states)[pairs.T]
    for name, term in DEGREE_TERMS.items():
        yield name, term(left, right)
    common = Neighborhoods(states.operator.attended).terms(pairs)
    yield from zip(COMMON, common.T, strict=True)


def pair_columns(
    states: States, reconstruction: Reconstruction, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of (M, 2) pairs of nodes, the `TERMS`, (M, 14), and the products of coordinates, (M, 4 K)."""
    nodes, ends = _ends(pairs)
    terms = {name: np.zeros(len(pairs)) for name in TERMS}
    products: dict[str, np.ndarray] = {}
    for term, block in similarity_blocks(states, reconstruction, nodes):
        terms[term] = _row_dots(block, block, ends)
        if term in WEIGHED_TERMS:
            left, right = block[:, :COMPARED][torch.from_numpy(ends)].unbind(dim=1)
            products[term] = (left * right).numpy()
    terms |= dict(plain_terms(states, pairs))
    columns = np.concatenate([products[term] for term in WEIGHED_TERMS], axis=1)
    return np.stack(list(terms.values()), axis=1), columns


def _ends(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of pairs, increasing, and the pairs of positions among them, (M, 2)."""
    nodes, ends = np.unique(pairs, return_inverse=True)
    return nodes, ends.reshape(-1, 2)


def _row_dots(left: Tensor, right: Tensor, ends: np.ndarray) -> np.ndarray:
    """(M,), the inner products of rows of two matrices."""
    dots = np.empty(len(ends))
    for start in range(0, len(ends), _BLOCK):
        i, j = torch.from_numpy(ends[start : start + _BLOCK].T.copy())
        dots[start : start + _BLOCK] = (left[i] * right[j]).sum(dim=1).numpy()
    return dots


def _solved(
    terms: np.ndarray, products: np.ndarray, truth: np.ndarray, half: int
) -> tuple[np.ndarray, np.ndarray, float, float, float]:
    """Weights of terms and of coordinates, strength, bias, and AUC.

    half : number of pairs in the first half of the data. Each half measures what is fitted on the
        other: the strength is the one with the smallest loss, and the AUC that of this strength.
    """
    n_terms, k = terms.shape[1], products.shape[1] // WEIGHED
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale < 1e-9] = np.inf  # a constant term has no weight
    # Coordinates of a block keep their relative sizes: an equal penalty prefers the leading ones.
    spread = products.reshape(-1, WEIGHED, k).std(axis=(0, 2))
    spread[spread < 1e-9] = np.inf
    x = np.empty((len(terms), n_terms + WEIGHED * k), dtype=products.dtype)
    x[:, :n_terms] = (terms - mean) / scale
    np.divide(products, np.repeat(spread, k).astype(x.dtype), out=x[:, n_terms:])
    penalties = [np.repeat([_PENALTY, strength], [n_terms, WEIGHED * k]) for strength in STRENGTHS]
    parts = [(x[:half], truth[:half]), (x[half:], truth[half:])]
    apart = [
        (scores_apart(*one, others, penalties), expected)
        for one, (others, expected) in (parts, parts[::-1])
    ]
    losses = [[log_loss(score, expected) for score in scores] for scores, expected in apart]
    best = int(np.sum(losses, axis=0).argmin())
    auc = np.mean([roc_auc_score(expected, scores[best]) for scores, expected in apart])
    theta = logistic_weights(x, truth, penalties[best])
    weights = theta[:n_terms] / scale
    coordinates = (theta[n_terms:-1] / np.repeat(spread, k)).reshape(WEIGHED, k)
    bias = float(theta[-1] - mean @ weights)
    return weights, coordinates, STRENGTHS[best], bias, float(auc)
