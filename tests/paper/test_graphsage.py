"""GraphSAGE: its layers against their formulas, and training."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from baseline_graphs import accuracy, noisy_blocks, path
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.graphsage import (
    LAYERS,
    LSTM_WIDTH,
    GraphSAGE,
    LSTMLayer,
    Scaling,
    SparseFeatures,
    standardized,
)

pytestmark = pytest.mark.numerical

SMALL_SAGE = {"n_components": 32, "draws": (5, 5), "walks": 10, "learning_rate": 1e-3}


@pytest.fixture(scope="module")
def blocks() -> Graph:
    return noisy_blocks()


def test_features_are_standardized_without_being_made_dense():
    x = sp.random_array((60, 20), density=0.04, random_state=np.random.default_rng(0), format="csr")
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


def test_batches_pair_different_nodes_and_draw_negatives_by_degree():
    star = Graph.from_edges(np.eye(7), [(0, i) for i in range(1, 6)])  # and 6 alone
    method = GraphSAGE(walks=20, walk_length=4, negatives=2000, batch_size=64)
    batches = list(method._batches(star, np.random.default_rng(0)))
    pairs = np.concatenate([pairs for pairs, _ in batches])
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert set(pairs[:, 0]) == {0, 1, 2, 3, 4, 5}
    drawn = np.bincount(np.concatenate([drawn for _, drawn in batches]), minlength=7)
    degree = np.array([5, 1, 1, 1, 1, 1, 0])
    expected = degree**0.75 / (degree**0.75).sum()
    np.testing.assert_allclose(drawn / drawn.sum(), expected, atol=0.02)
