"""Solved weights, against scikit-learn's ridge regression."""

import numpy as np
import pytest
import torch
from linear_graphs import community_graph, dense_x, engine_for, operator, smoothing
from sklearn.linear_model import Ridge

from graphgate import Graph
from graphgate.compute.draws import Draws
from graphgate.linear.model import HIDDEN, MASKED, POLYNOMIALS, propagated, ridge
from graphgate.linear.propagation import Propagation, mean_weight
from graphgate.linear.ridge import STRENGTHS

STEPS, RESTART = 10, 0.15

pytestmark = pytest.mark.numerical


class Given:
    """Coordinates as they are."""

    def __init__(self, z: torch.Tensor) -> None:
        self.z, self.n_columns = z, z.shape[1]

    def block(self, columns: slice) -> torch.Tensor:
        return self.z[:, columns].contiguous()


def solved(graph: Graph, seed: int = 0, dtype=torch.float64, strength: float | None = None):
    """The reconstruction of centered features."""
    engine, draws = engine_for(graph, dtype), Draws(seed, graph.id_ranks)
    masked, hidden = (draws.uniform_by_node(graph.n_nodes) < part for part in (MASKED, HIDDEN))
    z = Given(torch.tensor(centered(graph), dtype=dtype))
    operator = Propagation(graph, mean_weight(graph), dtype)
    states = propagated("nodes", engine, operator, z, POLYNOMIALS, masked)
    return ridge(engine, states["seen"], states["own"], engine.own(hidden), strength)


def centered(graph: Graph) -> np.ndarray:
    x = dense_x(graph)
    return x - x.mean(axis=0)


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The masked half and the hidden fifth of the nodes."""
    generator = torch.Generator().manual_seed(seed)
    masked = torch.rand(n, 1, generator=generator)[:, 0] < 0.5
    return masked.numpy(), (torch.rand(n, generator=generator) < 0.2).numpy()


def seen_by_others(graph: Graph, masked: np.ndarray) -> np.ndarray:
    """What reaches each node from the nodes of the other half, never from itself."""
    reach = smoothing(operator(graph), STEPS, RESTART)
    return np.where(masked[:, None] != masked, reach, 0) @ centered(graph)


def by_scikit_learn(seen: np.ndarray, z: np.ndarray, strength: float) -> np.ndarray:
    alpha = strength * np.square(seen).sum() / seen.shape[1]
    return Ridge(alpha, fit_intercept=False).fit(seen, z).coef_.T


def hidden_r2(graph: Graph, strength: float, seed: int = 0) -> float:
    masked, hidden = drawn(graph.n_nodes, seed)
    seen, z = seen_by_others(graph, masked), centered(graph)
    weights = by_scikit_learn(seen[~hidden], z[~hidden], strength)
    errors = z[hidden] - seen[hidden] @ weights
    return 1 - np.square(errors).sum() / np.square(z[hidden]).sum()


KINDS = [{}, {"directed": True}, {"weighted": True}, {"directed": True, "weighted": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_weights_strength_and_r2_are_those_of_ridge_regression(kind):
    graph = community_graph(1, **kind)
    found = solved(graph)
    scores = np.array([hidden_r2(graph, strength) for strength in STRENGTHS])
    assert found.r2 == pytest.approx(scores.max(), rel=1e-8)
    assert found.r2 > 0.05  # communities have features of their own
    assert found.strength == STRENGTHS[scores >= 0.9 * scores.max()].max()
    seen = seen_by_others(graph, drawn(graph.n_nodes)[0])
    expected = by_scikit_learn(seen, centered(graph), found.strength)
    np.testing.assert_allclose(found.weights, expected, rtol=1e-7, atol=1e-10)
    assert found.weights.is_contiguous()  # as after saving and loading


def test_edges_that_say_nothing_have_no_positive_r2():
    """Features that are independent of the edges."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        plain = community_graph(seed, x=rng.normal(size=(80, 10)))
        found = solved(plain)
        scores = np.array([hidden_r2(plain, strength) for strength in STRENGTHS])
        assert found.r2 == pytest.approx(scores.max(), abs=1e-10)
        assert found.r2 < 0.02
        if scores.max() < 0:
            assert found.strength == STRENGTHS[scores.argmax()]


def test_a_given_strength_is_used():
    graph = community_graph(2)
    found = solved(graph, strength=0.5)
    assert (found.strength, found.r2) == (0.5, 0.0)
    seen = seen_by_others(graph, drawn(graph.n_nodes)[0])
    np.testing.assert_allclose(
        found.weights, by_scikit_learn(seen, centered(graph), 0.5), rtol=1e-7
    )


def test_the_strengths_to_choose_from():
    np.testing.assert_allclose(STRENGTHS[[0, 4, -1]], [0.01, 0.1, 1000])
    assert len(STRENGTHS) == 21


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "graph",
    [
        Graph(np.random.default_rng(0).normal(size=(30, 4))),
        Graph(np.ones((30, 4)), np.ones((30, 30))),
        Graph([[1.0, 2.0]]),
        Graph([[1.0], [2.0]], [[0, 1], [1, 0]]),
    ],
    ids=["no edges", "constant", "one node", "two nodes"],
)
def test_where_there_is_nothing_to_learn(graph, dtype):
    """Without edges a node sees nothing of others, so the best guess is the mean."""
    for seed in range(5):
        found = solved(graph, seed, dtype)
        assert torch.isfinite(found.weights).all()
        assert np.isfinite(found.r2)
        if graph.n_edges == 0:
            assert found.r2 == 0
            assert (found.weights == 0).all()


def test_single_precision_follows_double():
    graph = community_graph(3)
    single, double = (solved(graph, dtype=dtype) for dtype in (torch.float32, torch.float64))
    assert single.weights.dtype == torch.float32
    # The masks are the same, drawn in single precision both times.
    np.testing.assert_allclose(single.weights, double.weights, rtol=1e-3, atol=1e-4)
    assert single.r2 == pytest.approx(double.r2, abs=1e-5)


def test_the_whole_context_counts_as_much_as_the_half_that_was_seen():
    """Without the factor, reconstructions would be worse than the mean."""
    graph = community_graph(4)
    found, z = solved(graph), centered(graph)
    context = smoothing(operator(graph), STEPS, RESTART) @ z
    rebuilt = found.coordinates(torch.from_numpy(context)).numpy()
    np.testing.assert_allclose(rebuilt, 0.5 * context @ found.weights.numpy(), rtol=1e-9)
    assert np.square(z - rebuilt).sum() < 0.8 * np.square(z).sum()


def test_another_seed_masks_other_nodes():
    graph = community_graph(4)
    assert not torch.equal(solved(graph, 0).weights, solved(graph, 1).weights)
    assert torch.equal(solved(graph, 1).weights, solved(graph, 1).weights)
