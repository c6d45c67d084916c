"""Initial weights from the features, against NumPy's singular value decomposition."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import model_for, parts_of, random_graph

from graphgate.graph.graph import Graph
from graphgate.nn import svd_start
from graphgate.nn.losses import Loss
from graphgate.nn.svd_start import axes_of_features, start_from_features
from graphgate.training.objective import loss_parts

pytestmark = pytest.mark.numerical


def low_rank(n: int, f: int, rank: int, seed: int = 0) -> np.ndarray:
    """Features whose singular values are far from each other."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (n, f))
    return left @ np.diag(2.0 ** -np.arange(rank)) @ right.T


def started(graph: Graph, dims: tuple[int, ...], loss: Loss | None = None, **settings):
    model = model_for(graph, dims, **settings)
    start_from_features(model, graph, loss, np.random.default_rng(1))
    return model


def assert_same_up_to_sign(vectors: np.ndarray, expected: np.ndarray) -> None:
    signs = np.sign((vectors * expected).sum(axis=0))
    np.testing.assert_allclose(vectors * signs, expected, atol=1e-6)


@pytest.mark.parametrize(("n", "f"), [(40, 12), (12, 40), (60, 80)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_singular_vectors_are_those_of_numpy(n, f, kind):
    """Twelve features are decomposed exactly, 40 and 80 by iteration."""
    x = low_rank(n, f, 10)
    found = axes_of_features(kind(x), 6, np.random.default_rng(0))
    assert_same_up_to_sign(found, np.linalg.svd(x)[2][:6].T)
    assert (found[np.abs(found).argmax(axis=0), range(6)] > 0).all()


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_nodes_are_decomposed_exactly(n):
    x = np.random.default_rng(n).normal(size=(n, 40))
    found = axes_of_features(x, 20, np.random.default_rng(0))
    assert_same_up_to_sign(found, np.linalg.svd(x)[2][:n].T)


def test_blocks_of_columns_change_nothing(monkeypatch):
    x = low_rank(30, 50, 20)
    whole = axes_of_features(x, 20, np.random.default_rng(0))
    monkeypatch.setattr(svd_start, "BLOCK", 7)
    blocks = axes_of_features(x, 20, np.random.default_rng(0))
    np.testing.assert_allclose(whole, blocks, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_are_no_more_vectors_than_the_rank(dtype):
    x = low_rank(30, 20, 4).astype(dtype)
    assert axes_of_features(x, 9, np.random.default_rng(0)).shape == (20, 4)
    assert axes_of_features(0 * x, 9, np.random.default_rng(0)).shape == (20, 0)


def test_the_first_weights_are_singular_vectors_and_the_others_the_identity():
    graph = random_graph(1, n=20, f=6)
    model = started(graph, (6, 6))
    first, second = (weight.detach().numpy() for weight in model.encoder_weight)
    expected = np.linalg.svd(graph.x.toarray())[2].T
    assert_same_up_to_sign(first, expected)
    np.testing.assert_array_equal(second, np.eye(6))
    vectors = [*model.encoder_center, *model.encoder_neighbor]
    assert all((vector == 0).all() for vector in vectors)


@pytest.mark.parametrize("dims", [(3,), (4, 3), (6, 3)])
def test_small_layers_keep_what_averaging_over_neighbors_keeps(dims):
    graph = random_graph(2, n=25, f=6)
    pattern = graph.adjacency.toarray() + np.eye(25)
    mean = np.linalg.matrix_power(pattern / pattern.sum(axis=1, keepdims=True), len(dims))
    expected = np.linalg.svd(mean @ graph.x.toarray())[2].T
    model = started(graph, dims)
    first = model.encoder_weight[0].detach().numpy()
    assert_same_up_to_sign(first, expected[:, : dims[0]])
    if len(dims) > 1:
        np.testing.assert_array_equal(
            model.encoder_weight[1].detach().numpy(), np.eye(dims[0], dims[1])
        )


def test_directed_averages_are_over_what_a_node_attends_to():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (2, 1)], directed=True)
    expected = [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]]
    found = svd_start.uniform_attention(graph, np.float64).toarray()
    np.testing.assert_allclose(found, expected)


def test_columns_beyond_the_rank_are_small_and_random():
    graph = random_graph(3, n=20, f=6)
    model = started(graph, (10, 12), tied_weights=False)
    first, second = (weight.detach().numpy() for weight in model.encoder_weight)
    np.testing.assert_allclose(np.linalg.norm(first[:, :6], axis=0), 1)
    np.testing.assert_array_equal(second[:, :10], np.eye(10))
    for rest in (first[:, 6:], second[:, 10:]):
        assert 0 < np.abs(rest).max() < 0.1
        assert len(np.unique(rest)) == rest.size
    for weight, encoder_weight in zip(model.decoder_weight, model.encoder_weight, strict=True):
        assert torch.equal(weight, encoder_weight.T)


@pytest.mark.parametrize("dims", [(3,), (4, 3), (4, 8)])
def test_linear_weights_grow_by_the_cube_root_of_the_best_factor(dims, monkeypatch):
    graph, seen = random_graph(2, n=25, f=6), []

    def factor(x, unit, vectors, *others):
        seen.append((unit, vectors.shape[1]))
        return math.log(64.0)

    plain = started(graph, dims)
    monkeypatch.setattr(svd_start, "best_exponent", factor)
    grown = started(graph, dims, Loss())
    for before, after in zip(plain.encoder_weight, grown.encoder_weight, strict=True):
        np.testing.assert_allclose(after.detach(), 2 ** (1 / len(dims)) * before.detach())
    assert seen == [(graph.x.max(), min(dims))]
    curved = started(graph, dims, Loss(), activation="tanh")
    np.testing.assert_allclose(curved.encoder_weight[0].detach(), plain.encoder_weight[0].detach())


@pytest.mark.parametrize(("exponent", "power"), [(1e6, 30), (-1e6, -30)])
def test_weights_neither_overflow_nor_vanish(exponent, power, monkeypatch):
    graph = random_graph(2, n=25, f=6)
    monkeypatch.setattr(svd_start, "best_exponent", lambda *_: exponent)
    weight = started(graph, (6,), Loss()).encoder_weight[0].detach()
    np.testing.assert_allclose(torch.linalg.vector_norm(weight, dim=0), math.exp(power))


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_a_decoder_with_weights_of_its_own_starts_with_those_of_the_encoder(activation):
    graph = random_graph(3, n=20, f=6)
    model = started(graph, (5, 4), Loss(), tied_weights=False, activation=activation)
    for weight, encoder_weight in zip(model.decoder_weight, model.encoder_weight, strict=True):
        assert torch.equal(weight, encoder_weight.T)


def test_training_starts_with_a_lower_loss():
    """Features of a length that is usual for frequencies of words."""
    graph = random_graph(2, n=60, f=8)
    graph = graph.with_x(0.1 * graph.x)
    first = [
        loss_parts("plain", started(graph, (8, 8), loss), *parts_of(graph), Loss())["loss"].item()
        for loss in (None, Loss())
    ]
    assert first[1] < 0.98 * first[0]


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_the_scale_of_features_does_not_matter(size):
    graph = random_graph(4, n=20, f=6)
    weight = started(graph.with_x(size * graph.x), (3, 2)).encoder_weight[0]
    np.testing.assert_allclose(
        weight.detach(), started(graph, (3, 2)).encoder_weight[0].detach(), atol=1e-5
    )
