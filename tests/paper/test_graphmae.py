"""GraphMAE against dense formulas."""

import numpy as np
import pytest
import torch
from baseline_graphs import block_graph, probe_accuracy
from graphs import random_graph
from rounding import assert_equal_to_rounding

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines import graphmae
from graphgate.paper.baselines.graphmae import (
    GraphMAE,
    MaskedAutoencoder,
    masked_nodes,
    scaled_cosine_error,
)
from graphgate.paper.baselines.inputs import step

pytestmark = pytest.mark.numerical

SMALL = {"n_components": 8, "heads": 2, "epochs": 3}


def neighbors(graph: Graph) -> np.ndarray:
    return (graph.attended.toarray() != 0) | np.eye(graph.n_nodes, dtype=bool)


def edges_of(graph: Graph) -> torch.Tensor:
    targets, sources = np.nonzero(neighbors(graph))
    return torch.from_numpy(np.stack([sources, targets]))


def dense_attention(layer, h: np.ndarray, attended: np.ndarray) -> np.ndarray:
    """A layer of attention heads, side by side, over the neighbors of every node."""
    weight = layer.lin.weight.detach().numpy().T
    source, target = (p.detach().numpy()[0] for p in (layer.att_src, layer.att_dst))
    outputs = []
    for at, w in enumerate(np.split(weight, layer.heads, axis=1)):
        v = h @ w
        score = (v @ target[at])[:, None] + (v @ source[at])[None, :]
        score = np.where(attended, np.where(score > 0, score, 0.2 * score), -np.inf)
        alpha = np.exp(score - score.max(axis=1, keepdims=True))
        outputs.append(alpha / alpha.sum(axis=1, keepdims=True) @ v)
    return np.hstack(outputs) + layer.bias.detach().numpy()


def dense_encoding(network: MaskedAutoencoder, x: np.ndarray, attended: np.ndarray) -> np.ndarray:
    h = x
    for at, layer in enumerate((network.first, network.second)):
        h = dense_attention(layer, h, attended)
        h = np.where(h > 0, h, network.activations[at].weight.item() * h)
    return h


def network_for(graph: Graph) -> MaskedAutoencoder:
    """With weights at random where they start at zero."""
    torch.manual_seed(1)
    network = MaskedAutoencoder(graph.n_features, 8, 2, 0.2, 0.1)
    for layer in (network.first, network.second, network.decoder):
        torch.nn.init.normal_(layer.bias)
    return network.eval()


def test_the_error_is_that_of_the_dense_formula():
    rng = np.random.default_rng(0)
    found, x = rng.normal(size=(2, 20, 6))
    x[0] = 0
    lengths = np.linalg.norm(found, axis=1) * np.maximum(np.linalg.norm(x, axis=1), 1e-12)
    for exponent in (1.0, 3.0):
        expected = np.mean((1 - (found * x).sum(axis=1) / lengths) ** exponent)
        got = scaled_cosine_error(torch.from_numpy(found), torch.from_numpy(x), exponent)
        assert float(got) == pytest.approx(expected, rel=1e-9)
    same = torch.rand(50, 7) + 1  # rounding gives cosines above 1
    assert 0 <= float(scaled_cosine_error(same, 3 * same, 2.5)) < 1e-6


def test_masked_nodes_show_the_token_or_the_features_of_another_node():
    x, token = torch.rand(40, 5), torch.full((1, 5), 7.0, requires_grad=True)
    torch.manual_seed(0)
    shown, masked = masked_nodes(x, token, 0.5, 0.3)
    assert len(masked) == len(masked.unique()) == 20
    others = np.setdiff1d(np.arange(40), masked.numpy())
    torch.testing.assert_close(shown[others], x[others])
    tokens = (shown[masked] == 7).all(dim=1)
    assert tokens.sum() == 14
    noise = shown[masked][~tokens]
    assert all((x == row).all(dim=1).any() for row in noise)
    assert not torch.equal(noise, x[masked][~tokens])
    shown.sum().backward()
    torch.testing.assert_close(token.grad, torch.full((1, 5), 14.0))


def test_at_least_one_node_is_masked():
    shown, masked = masked_nodes(torch.ones(1, 3), torch.zeros(1, 3), 0.5, 0.1)
    assert masked.tolist() == [0]
    assert not shown.any()


@pytest.mark.parametrize("directed", [False, True])
def test_the_encoder_is_two_layers_of_attention(directed):
    graph = random_graph(2, n=12, directed=directed, dense=True)
    found = GraphMAE(**SMALL, length=3.0).fit(graph)
    x = graph.x / np.maximum(graph.x.sum(axis=1, keepdims=True), 1e-12)
    expected = dense_encoding(found.network_, x, neighbors(graph))
    expected *= 3.0 / np.sqrt(np.square(expected).sum(axis=1).mean())
    np.testing.assert_allclose(found.embedding_, expected, atol=1e-5)
    assert_equal_to_rounding(found.transform(graph), found.embedding_)


def test_masked_nodes_are_decoded_from_vectors_of_the_others():
    """Decoding only these nodes gives what decoding all of them does."""
    graph = random_graph(2, n=12, hub=True)
    network, masked = network_for(graph), torch.tensor([7, 1, 11, 0])
    h = torch.randn(12, 8)
    with torch.no_grad():
        found = network.reconstruct(h, edges_of(graph), masked).numpy()
        again = network.reconstruct(h.index_fill(0, masked, 9.0), edges_of(graph), masked)
    between = h.numpy() @ network.between.weight.detach().numpy().T
    between[masked] = 0
    expected = dense_attention(network.decoder, between, neighbors(graph))[masked]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert_equal_to_rounding(again, found)


def test_it_learns_the_features_of_masked_nodes_with_its_parameters(monkeypatch):
    graph, targets, rates = block_graph(), [], []

    def error(found, x, exponent):
        targets.append((x, exponent))
        return scaled_cosine_error(found, x, exponent)

    def recorded_step(optimizer, loss):
        group = optimizer.param_groups[0]
        rates.append(group["lr"])
        assert group["weight_decay"] == 0.25
        step(optimizer, loss)

    monkeypatch.setattr(graphmae, "scaled_cosine_error", error)
    monkeypatch.setattr(graphmae, "step", recorded_step)
    GraphMAE(**SMALL, mask=0.3, replace=0.5, exponent=2.0, weight_decay=0.25).fit(graph)
    x = graph.x.toarray()
    x = x / x.sum(axis=1, keepdims=True)
    for target, exponent in targets:
        assert (target.shape, exponent) == ((36, 40), 2.0)
        apart = np.abs(target.numpy()[:, None] - x).max(axis=2)
        assert (apart.min(axis=1) < 1e-6).all()
        assert len(np.unique(apart.argmin(axis=1))) == 36
    np.testing.assert_allclose(rates, 1e-3 * (1 + np.cos(np.pi * np.arange(3) / 3)) / 2)


def test_training_reduces_the_error_of_masked_nodes():
    losses = GraphMAE(**SMALL | {"epochs": 60}, learning_rate=1e-2).fit(block_graph()).losses_
    assert losses.shape == (60,)
    assert losses[-10:].mean() < 0.8 * losses[:10].mean()


def test_the_token_is_learned():
    found = GraphMAE(**SMALL).fit(block_graph())
    assert found.network_.token.abs().max() > 0
    assert not found.network_.training


def test_embeddings_separate_the_blocks():
    graph = block_graph()
    found = GraphMAE(n_components=32, epochs=60, learning_rate=1e-2).fit(graph)
    assert probe_accuracy(found.embedding_, graph) > 0.9


@pytest.mark.parametrize("n", [1, 4])
def test_graphs_without_edges(n):
    z = GraphMAE(**SMALL).fit(Graph(np.eye(n, 3))).embedding_
    assert z.shape == (n, 8)
    assert np.isfinite(z).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_components": 10, "heads": 4}, "multiple of heads, got 10 and 4"),
        ({"mask": 0.0}, "mask must be"),
        ({"replace": 1.1}, "replace must be"),
    ],
)
def test_parameters_are_checked(params, words):
    with pytest.raises(InputError, match=words):
        GraphMAE(**params).fit(block_graph())
