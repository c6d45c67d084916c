"""Graphs with communities for tests of LinearGATE, and its formulas in dense NumPy."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from graphgate import LinearGATE
from graphgate.compute.columns import Columns
from graphgate.compute.counts import GraphCounts
from graphgate.graph.graph import Graph
from graphgate.linear.linear_plan import LinearPlan
from graphgate.linear.model import LinearModel, solve


def engine_for(graph: Graph, dtype=torch.float64) -> Columns:
    return Columns(graph.n_nodes, dtype)


def fitted_model(
    graph: Graph, n_components: int = 8, *, structure: bool = True, dtype=torch.float64
) -> tuple[LinearModel, torch.Tensor]:
    return solve(graph, n_components, engine_for(graph, dtype), 0, structure=structure)


def plan_of(gate: LinearGATE, graph: Graph) -> LinearPlan:
    """With as much memory as it takes."""
    return gate.plan(GraphCounts.of(graph))


def community_graph(
    seed: int = 0,
    n: int = 80,
    f: int = 10,
    *,
    degree: float = 10,
    communities: int = 4,
    directed: bool = False,
    weighted: bool = False,
    **fields,
) -> Graph:
    """Communities, four by default, each with edges of its own, and features of its own plus noise.

    Node 0 has no edges.
    """
    rng = np.random.default_rng(seed)
    of_node = np.arange(n) % communities
    source, target = rng.integers(0, n, (2, int(communities * degree * n)))
    chance = np.where(of_node[source] == of_node[target], 0.9, 0.5 / communities)
    kept = (rng.random(len(source)) < chance) & (source * target > 0)
    pairs = np.unique(np.sort(np.stack([source, target], axis=1)[kept], axis=1), axis=0)
    pairs = rng.permutation(pairs[pairs[:, 0] != pairs[:, 1]])[: int(degree * n / 2)]
    if directed:
        pairs = np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])
    weights = rng.uniform(0.2, 3, len(pairs)) if weighted else np.ones(len(pairs))
    adjacency = sp.coo_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    x = rng.normal(size=(communities, f))[of_node] + rng.normal(size=(n, f))
    return Graph(fields.pop("x", x), adjacency, directed=directed, **fields)


def word_graph(seed: int = 0, n: int = 80, f: int = 40, **settings) -> Graph:
    """The same communities with counts of words, most of them zero."""
    rng = np.random.default_rng(seed + 1)
    often = np.where(np.arange(f) % 4 == (np.arange(n) % 4)[:, None], 0.35, 0.05)
    words = sp.csr_array((rng.random((n, f)) < often) * rng.integers(1, 4, (n, f)).astype(float))
    return community_graph(seed, n, x=words, **settings)


def dense_x(graph: Graph) -> np.ndarray:
    return graph.x.toarray() if sp.issparse(graph.x) else np.asarray(graph.x)


def operator(graph: Graph, unit: float | None = None) -> np.ndarray:
    """D^-½ (A + I) D^-½ with rows that attend; weights relative to their mean."""
    attended = graph.adjacency.toarray().T.astype(float)
    if unit is None:
        unit = attended[attended > 0].mean() if attended.any() else 1.0
    looped = attended / unit + np.eye(len(attended))
    return looped / np.sqrt(np.outer(looped.sum(axis=1), looped.sum(axis=0)))


def normalized(graph: Graph) -> np.ndarray:
    """D^-½ A D^-½, zero for nodes without edges."""
    attended = graph.adjacency.toarray().T.astype(float)
    sums = np.outer(attended.sum(axis=1), attended.sum(axis=0))
    return np.where(sums > 0, attended / np.sqrt(np.where(sums > 0, sums, 1)), 0)


def smoothing(step: np.ndarray, steps: int, restart: float) -> np.ndarray:
    """The matrix that smooths vectors, with a restart after every step."""
    found = eye = np.eye(len(step))
    for _ in range(steps):
        found = (1 - restart) * step @ found + restart * eye
    return found


def averaging(step: np.ndarray, steps: int, own: float) -> np.ndarray:
    powers = [np.linalg.matrix_power(step, at) for at in range(1, steps + 1)]
    return own * np.eye(len(step)) + (1 - own) * np.mean(powers, axis=0)


def unit(rows: np.ndarray, unit_from: float = 1e-30) -> np.ndarray:
    """Rows of length 1, or less where they are shorter than `unit_from`; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 1e-9, rows / np.maximum(lengths, unit_from), 0)


def same_up_to_sign(one: np.ndarray, two: np.ndarray, **tolerance: float) -> None:
    """Columns agree, each up to its sign."""
    signs = np.sign((one * two).sum(axis=0))
    np.testing.assert_allclose(one * signs, two, **tolerance)
