"""GraphSAGE and Planetoid, and the neighbors and walks that they sample."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import random_graph
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from graphgate.baselines.graphsage import (
    LAYERS,
    LSTM_WIDTH,
    GraphSAGE,
    LSTMLayer,
    Scaling,
    SparseFeatures,
    standardized,
)
from graphgate.baselines.planetoid import (
    Contexts,
    ContextTrainer,
    FeatureEmbedding,
    PlanetoidI,
    PlanetoidT,
    SampledContextTrainer,
    label_contexts,
    walk_pairs,
)
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.training.sampling import draw_neighbors, random_walks, symmetrized

SMALL_SAGE = {"n_components": 32, "draws": (5, 5), "walks": 10, "learning_rate": 1e-3}
SMALL_PLANETOID = {"label_steps": 200, "graph_steps": 40, "iterations": 200}


@pytest.fixture(scope="module")
def blocks() -> Graph:
    """Three blocks of 40 nodes; neither features nor edges alone identify them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    same = labels[:, None] == labels
    adjacency = np.triu(rng.random((120, 120)) < np.where(same, 0.12, 0.01), 1)
    x = (rng.random((120, 30)) < 0.1) | (rng.random((120, 30)) < 0.4) & (
        np.arange(30) % 3 == labels[:, None]
    )
    part = rng.permutation(120)
    splits = {"train": part < 30, "val": (part >= 30) & (part < 60), "test": part >= 60}
    return Graph(sp.csr_array(x, dtype=float), adjacency, labels=labels, splits=splits)


def path(n: int, **more) -> Graph:
    return Graph.from_edges(np.eye(n), [(i, i + 1) for i in range(n - 2)], **more)


def test_neighbors_are_drawn_uniformly_and_isolated_nodes_draw_themselves():
    graph = path(4)  # 0 - 1 - 2, and 3 alone
    drawn = draw_neighbors(graph.attended, np.arange(4), 4000, np.random.default_rng(0))
    assert set(drawn[0]) == {1}
    assert set(drawn[3]) == {3}
    assert np.mean(drawn[1] == 0) == pytest.approx(0.5, abs=0.03)
    assert set(drawn[1]) == {0, 2}


def test_walks_follow_edges_both_ways():
    graph = random_graph(3, n=20, directed=True)
    edges = graph.adjacency.toarray() > 0
    edges |= edges.T
    walks = random_walks(symmetrized(graph), np.arange(20), 1000, np.random.default_rng(1))
    assert (walks[0] == 0).all()  # it has no edges
    taken = np.zeros_like(edges)
    taken[walks[1:, :-1], walks[1:, 1:]] = True
    np.testing.assert_array_equal(taken, edges)


def test_features_are_standardized_without_being_made_dense():
    x = sp.random_array((60, 20), density=0.04, rng=np.random.default_rng(0), format="csr")
    graph, other = Graph(x), Graph(x[:10] * 2)
    weight = torch.randn(20, 3)
    expected = StandardScaler().fit(x.toarray())
    features = standardized(other, Scaling.of(graph))
    assert isinstance(features, SparseFeatures)
    wanted = expected.transform(other.x.toarray()) @ weight.numpy()
    np.testing.assert_allclose(features.times(weight), wanted, rtol=1e-4, atol=1e-4)
    dense = standardized(Graph(other.x.toarray()), Scaling.of(Graph(x.toarray())))
    np.testing.assert_allclose(dense @ weight, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_layers_are_their_formulas(aggregator):
    torch.manual_seed(0)
    h, nodes = torch.randn(7, 5), torch.tensor([0, 2, 6])
    neighbors = torch.randint(0, 7, (3, 4))
    layer = LAYERS[aggregator](5, 6)
    if aggregator == "gcn":
        everyone = torch.cat([h[nodes][:, None], h[neighbors]], dim=1)
        expected = everyone.mean(dim=1) @ layer.weight
    else:
        met = h[neighbors]
        if aggregator == "pool":
            met = torch.relu(met @ layer.pool + layer.bias).amax(dim=1)
        else:
            met = met.mean(dim=1)
        expected = torch.cat([h[nodes] @ layer.own, met @ layer.neighbor], dim=1)
    torch.testing.assert_close(layer(h, nodes, neighbors), expected)


def test_the_lstm_is_that_of_torch():
    torch.manual_seed(0)
    layer, reference = LSTMLayer(5, 6), nn.LSTM(5, LSTM_WIDTH, batch_first=True)
    enter, update, forget, leave = range(4)  # torch has the gates in another order
    order = [enter, forget, update, leave]
    for ours, theirs in ((layer.input_gates, "ih"), (layer.state_gates, "hh")):
        parts = ours.detach().chunk(4, dim=1)
        getattr(reference, f"weight_{theirs}_l0").data = torch.cat([parts[i].T for i in order])
        getattr(reference, f"bias_{theirs}_l0").data.zero_()
    reference.bias_ih_l0.data[LSTM_WIDTH : 2 * LSTM_WIDTH] = 1  # as in TensorFlow
    h, neighbors = torch.randn(7, 5), torch.randint(0, 7, (3, 4))
    state = reference(h[neighbors])[1][0][0]
    torch.testing.assert_close(layer.gathered(h, neighbors), state @ layer.neighbor)


@pytest.mark.parametrize("aggregator", LAYERS)
def test_graphsage_finds_blocks_of_unseen_nodes(aggregator, blocks):
    walks = 60 if aggregator == "lstm" else 10
    method = GraphSAGE(aggregator=aggregator, **SMALL_SAGE | {"walks": walks})
    z = method.fit(blocks.without(blocks.splits["test"])).transform(blocks)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, rtol=1e-5)
    train = blocks.splits["train"]
    probe = LogisticRegression(C=10).fit(z[train], blocks.labels[train])
    assert accuracy(probe.predict(z), blocks) > 0.75


def test_invalid_input_of_graphsage(blocks):
    with pytest.raises(InputError, match="unknown aggregator 'sum'"):
        GraphSAGE(aggregator="sum").fit(blocks)
    with pytest.raises(InputError, match="but the graph has no edges"):
        GraphSAGE().fit(Graph(np.eye(3)))
    fitted = GraphSAGE(**SMALL_SAGE | {"walks": 1}).fit(blocks)
    with pytest.raises(InputError, match="has 4 features, but GraphSAGE is expecting 30 features"):
        fitted.transform(path(4))


def test_contexts_on_a_walk():
    pairs = walk_pairs(np.array([[5, 6, 7, 8]]), window=1)
    around = [(5, 5), (5, 6), (6, 5), (6, 6), (6, 7), (7, 6), (7, 7), (7, 8), (8, 7), (8, 8)]
    assert [tuple(pair) for pair in pairs.tolist()] == around


def test_contexts_share_a_label_and_negatives_do_not():
    labels = np.array([2, 0, 2, 1, 0, 2])
    contexts = label_contexts(labels, 500, 2, np.random.default_rng(0))
    met, unmet = labels[contexts.met], labels[contexts.unmet]
    assert (met[:, 0] == met[:, 1]).all()
    assert len(np.unique(contexts.met, axis=0)) == 1 + 4 + 9  # all pairs within 1, 0 and 2
    assert (unmet[:, 0] != unmet[:, 1]).all()
    assert len(np.unique(contexts.unmet, axis=0)) == 36 - 14


def test_losses_over_contexts_are_sums_over_pairs():
    torch.manual_seed(0)
    x = torch.rand(6, 4)
    met, unmet = np.array([[0, 1], [0, 1], [4, 2], [0, 5], [2, 2]]), np.array([[0, 3], [5, 5]])
    softmax = ContextTrainer(FeatureEmbedding(x, 3), x, 3, learning_rate=0.1)
    scores = softmax.output(softmax.embedding(x, torch.from_numpy(met[:, 0])))
    expected = nn.functional.cross_entropy(scores, torch.from_numpy(met[:, 1]), reduction="sum")
    torch.testing.assert_close(softmax.loss(Contexts(met, unmet)), expected)

    sampled = SampledContextTrainer(FeatureEmbedding(x, 3), x, 3, learning_rate=0.1)
    z, out = sampled.embedding(x, torch.arange(6)), sampled.output.vectors
    expected = -sum(torch.log(torch.sigmoid(z[i] @ out[j])) for i, j in met)
    expected -= sum(torch.log(torch.sigmoid(-z[i] @ out[j])) for i, j in unmet)
    torch.testing.assert_close(sampled.loss(Contexts(met, unmet)), expected)


def accuracy(predicted: np.ndarray, graph: Graph) -> float:
    return float((predicted == graph.labels)[graph.splits["test"]].mean())


def test_planetoid_finds_blocks(blocks):
    transductive = PlanetoidT(**SMALL_PLANETOID).fit(blocks)
    sampled = PlanetoidT(**SMALL_PLANETOID | {"negatives": 5}).fit(blocks)
    assert accuracy(sampled.predict(blocks), blocks) > 0.7
    assert accuracy(transductive.predict(blocks), blocks) > 0.8
    inductive = PlanetoidI(**SMALL_PLANETOID).fit(blocks.without(blocks.splits["test"]))
    assert accuracy(inductive.predict(blocks), blocks) > 0.6
    with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
        transductive.predict(blocks.without(blocks.splits["test"]))


@pytest.mark.parametrize("planetoid", [PlanetoidT, PlanetoidI])
def test_planetoid_works_without_edges_and_validation(planetoid, blocks):
    lonely = Graph(blocks.x, labels=blocks.labels, splits={"train": blocks.splits["train"]})
    predicted = planetoid(**SMALL_PLANETOID).fit(lonely).predict(lonely)
    assert np.mean(predicted == blocks.labels) > 0.5
    with pytest.raises(InputError, match="learns from labels"):
        planetoid().fit(Graph(blocks.x))
