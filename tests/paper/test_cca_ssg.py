"""CCA-SSG against dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from baseline_graphs import block_graph, dense_convolution, probe_accuracy
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines import cca_ssg
from graphgate.paper.baselines.cca_ssg import (
    CCASSG,
    correlation_loss,
    dropped_adjacency,
    masked_features,
)

pytestmark = pytest.mark.numerical


def unweighted(graph: Graph) -> sp.csr_array:
    return sp.csr_array(graph.attended != 0, dtype=np.float32)


def dense_loss(one: np.ndarray, two: np.ndarray, decorrelation: float) -> float:
    z = [(h - h.mean(axis=0)) / h.std(axis=0, ddof=1) for h in (one, two)]
    n, d = one.shape
    decorrelated = sum(np.linalg.norm(np.eye(d) - v.T @ v / n, "fro") ** 2 for v in z)
    return -np.trace(z[0].T @ z[1] / n) + decorrelation * decorrelated


@pytest.mark.parametrize("decorrelation", [0.0, 0.3])
def test_the_loss_is_that_of_the_dense_formula(decorrelation):
    rng = np.random.default_rng(0)
    one = rng.normal(2, 3, (30, 5))
    two = one + rng.normal(0, 1, (30, 5))
    found = correlation_loss(torch.from_numpy(one), torch.from_numpy(two), decorrelation)
    assert float(found) == pytest.approx(dense_loss(one, two, decorrelation), rel=1e-9)


def test_the_loss_has_gradients_where_columns_are_constant():
    h = torch.ones(4, 3, requires_grad=True)
    correlation_loss(h, h * 1.0, 0.1).backward()
    assert torch.isfinite(h.grad).all()


@pytest.mark.parametrize("directed", [False, True])
def test_what_remains_of_the_edges_is_normalized(directed):
    graph = random_graph(3, n=40, directed=directed)
    before = unweighted(graph).toarray() != 0
    torch.manual_seed(0)
    found = dropped_adjacency(unweighted(graph), 0.4).to_dense().numpy()
    after = found != 0
    assert after.diagonal().all()
    np.fill_diagonal(after, False)
    assert not (after & ~before).any()
    assert after.sum() / before.sum() == pytest.approx(0.6, abs=0.06)
    assert not np.array_equal(after, after.T)  # each direction is drawn by itself
    a = after + np.eye(40)
    expected = a / np.sqrt(np.outer(a.sum(axis=1), a.sum(axis=0)))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_without_dropping_it_is_the_adjacency_of_convolutions():
    graph = block_graph()
    found = dropped_adjacency(unweighted(graph), 0.0).to_dense().numpy()
    np.testing.assert_allclose(found, dense_convolution(graph), atol=1e-6)


def test_features_are_masked_for_all_nodes():
    x = torch.rand(6, 1000)
    torch.manual_seed(0)
    dense = masked_features(x, 0.3)
    torch.manual_seed(0)
    sparse = masked_features(x.to_sparse_csr(), 0.3).to_dense()
    masked = (dense == 0).all(dim=0)
    assert float(masked.float().mean()) == pytest.approx(0.3, abs=0.05)
    torch.testing.assert_close(dense[:, ~masked], x[:, ~masked])
    torch.testing.assert_close(sparse, dense)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_embedding_is_made_of_convolutions(layers):
    graph = block_graph()
    found = CCASSG(n_components=6, layers=layers, epochs=3, length=3.0).fit(graph)
    a, h = dense_convolution(graph), graph.x.toarray()
    h = h / np.maximum(h.sum(axis=1, keepdims=True), 1)
    for at, layer in enumerate(found.network_.convs):
        w, b = layer.lin.weight.detach().numpy().T, layer.bias.detach().numpy()
        h = a @ (np.maximum(h, 0) if at else h) @ w + b
    h *= 3.0 / np.sqrt(np.square(h).sum(axis=1).mean())
    np.testing.assert_allclose(found.embedding_, h, atol=1e-5)
    assert len(found.network_.convs) == layers


def test_it_learns_from_two_views_with_its_parameters(monkeypatch):
    seen = []

    def recorded(one, two, decorrelation):
        seen.append((torch.equal(one, two), decorrelation))
        return correlation_loss(one, two, decorrelation)

    monkeypatch.setattr(cca_ssg, "correlation_loss", recorded)
    small = {"n_components": 6, "epochs": 2, "decorrelation": 0.25}
    CCASSG(**small).fit(block_graph())
    CCASSG(**small, edge_drop=0.0, feature_mask=0.2).fit(block_graph())
    assert seen == [(False, 0.25)] * 4
    seen.clear()
    CCASSG(**small, edge_drop=0.0, feature_mask=0.0).fit(block_graph())
    assert seen == [(True, 0.25)] * 2


def test_embeddings_separate_the_blocks():
    graph = block_graph()
    found = CCASSG(n_components=32, epochs=40, learning_rate=1e-2).fit(graph)
    assert probe_accuracy(found.embedding_, graph) > 0.9


@pytest.mark.parametrize("n", [1, 4])
def test_graphs_without_edges(n):
    z = CCASSG(n_components=5, epochs=3).fit(Graph(np.eye(n, 3))).embedding_
    assert z.shape == (n, 5)
    assert np.isfinite(z).all()


@pytest.mark.parametrize("params", [{"edge_drop": 1.0}, {"feature_mask": -0.1}, {"layers": 0}])
def test_parameters_are_checked(params):
    with pytest.raises(InputError, match=next(iter(params))):
        CCASSG(**params).fit(block_graph())
