"""Graph auto-encoders and deep graph infomax against dense references."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from baseline_graphs import block_graph, dense_convolution, probe_accuracy
from graphs import random_graph

from graphgate.graph.graph import Graph
from graphgate.nn.pattern import AttentionPattern
from graphgate.paper.baselines.convolution_embedders import DGI, GAE, VGAE, reconstruction_loss

pytestmark = pytest.mark.numerical

SMALL = [
    GAE(hidden=32, n_components=16, learning_rate=1e-2),
    VGAE(hidden=32, n_components=16, learning_rate=1e-2),
    DGI(n_components=32, epochs=100),
]


def weight(layer) -> np.ndarray:
    return layer.lin.weight.detach().numpy().T


def test_sampled_pairs_represent_all_pairs():
    """The mean over many samples is the weighted cross entropy over all N² pairs."""
    graph = random_graph(2, n=40)
    neighbors = AttentionPattern(graph, device=torch.device("cpu"), dtype=torch.float32)
    torch.manual_seed(0)
    z = torch.randn(40, 4)
    target = torch.from_numpy((graph.adjacency.toarray() != 0) + np.eye(40)).float()
    logits = z @ z.T
    together = F.softplus(-logits)[target == 1].mean()
    expected = (together + F.softplus(logits).mean()) / 2
    assert float(reconstruction_loss(z, neighbors, 2_000)) == pytest.approx(
        float(expected), rel=0.02
    )

    # Without the pairs that happen to be neighbors it is the reference implementation's formula.
    count = target.sum()
    formula = F.binary_cross_entropy_with_logits(
        logits, target, pos_weight=(40**2 - count) / count
    ) * (40**2 / (2 * (40**2 - count)))
    exact = (together + F.softplus(logits)[target == 0].mean()) / 2
    assert float(formula) == pytest.approx(float(exact), rel=1e-5)


def test_auto_encoders_are_two_convolutions():
    graph = block_graph()
    a, x = dense_convolution(graph), graph.x.toarray()
    plain = GAE(hidden=8, n_components=5, epochs=3).fit(graph)
    encoder = plain.model_.encoder
    z = a @ np.maximum(a @ x @ weight(encoder.first), 0) @ weight(encoder.outputs["z"])
    np.testing.assert_allclose(plain.embedding_, z, atol=1e-5)

    variational = VGAE(hidden=8, n_components=5, epochs=3).fit(graph)
    encoder = variational.model_.encoder
    mean = a @ np.maximum(a @ x @ weight(encoder.first), 0) @ weight(encoder.outputs["mean"])
    np.testing.assert_allclose(variational.embedding_, mean, atol=1e-5)


def test_infomax_is_one_convolution():
    graph = block_graph()
    found = DGI(n_components=6, epochs=5, length=3.0).fit(graph)
    a, x = dense_convolution(graph), graph.x.toarray()
    x = x / np.maximum(x.sum(axis=1, keepdims=True), 1)
    network = found.network_
    w = network.linear.weight.detach().numpy().T
    h = a @ x @ w + network.infomax.encoder.bias.detach().numpy()
    slope = network.infomax.encoder.activation.weight.item()
    z = np.where(h > 0, h, slope * h)
    z *= 3.0 / np.sqrt(np.square(z).sum(axis=1).mean())
    np.testing.assert_allclose(found.embedding_, z, atol=1e-5)
    np.testing.assert_allclose(found.transform(graph), found.embedding_)


def test_infomax_keeps_the_weights_of_the_lowest_loss():
    """If every step increases the loss, these are the initial weights."""
    graph = block_graph()
    start = DGI(n_components=6, epochs=1).fit(graph)
    found = DGI(n_components=6, learning_rate=1e3, patience=4).fit(graph)
    assert found.epochs_ == 5
    np.testing.assert_array_equal(found.embedding_, start.embedding_)


@pytest.mark.parametrize("method", SMALL, ids=lambda m: type(m).__name__)
def test_embeddings_separate_the_blocks(method):
    graph = block_graph()
    assert probe_accuracy(method.fit(graph).embedding_, graph) > 0.9


@pytest.mark.parametrize("method", SMALL, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("n", [1, 4])
def test_graphs_without_edges(method, n):
    z = method.fit(Graph(np.eye(n, 3))).embedding_
    assert len(z) == n
    assert np.isfinite(z).all()


def test_infomax_is_shown_the_features_of_other_nodes():
    network = DGI(n_components=6, epochs=1).fit(block_graph()).network_
    h, adjacency = torch.arange(50.0)[:, None], torch.eye(50)
    torch.manual_seed(0)
    shuffled, same = network.infomax.corruption(h, adjacency)
    assert same is adjacency
    assert not torch.equal(shuffled, h)
    torch.testing.assert_close(shuffled.sort(dim=0).values, h)
