"""The supervised networks against dense formulas, and their training."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch_geometric.nn
from graphs import random_graph

from graphgate.baselines.convolution_classifiers import GAT, GCN, Chebyshev, MoNet
from graphgate.baselines.inputs import normalized_adjacency
from graphgate.baselines.stogcn import StoGCN, sample_neighbors
from graphgate.baselines.supervised import Patience, ReceptiveField, Window
from graphgate.errors import InputError
from graphgate.graph.graph import Graph

METHODS = [GCN, Chebyshev, MoNet, StoGCN, GAT]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)


def blocks(n: int = 120, classes: int = 3, *, val: bool = True) -> Graph:
    """Nodes of a class are connected and share words; labels outside train and val are hidden."""
    rng = np.random.default_rng(0)
    label = np.arange(n) % classes
    same = label[:, None] == label
    edges = np.triu(rng.random((n, n)) < np.where(same, 0.1, 0.01), 1)
    words = rng.random((n, 30)) < np.where(np.arange(30) % classes == label[:, None], 0.5, 0.1)
    part = np.arange(n) // classes
    splits = {"train": part < 5, "test": part >= 15}
    if val:
        splits["val"] = (part >= 5) & (part < 15)
    shown = [c if p < 15 else None for c, p in zip(label.tolist(), part, strict=True)]
    return Graph(sp.csr_array(words.astype(float)), edges, labels=shown, splits=splits)


def labelled(graph: Graph) -> Graph:
    """A random graph with two classes, known for the nodes 2, 3 and 4."""
    known = np.isin(np.arange(graph.n_nodes), [2, 3, 4])
    labels = [int(i) % 2 if k else None for i, k in enumerate(known)]
    return Graph(
        graph.x,
        graph.adjacency,
        labels=labels,
        splits={"train": known},
        directed=graph.directed,
    )


def dense_adjacency(graph: Graph, *, loops: bool) -> np.ndarray:
    a = (graph.attended.toarray() > 0) + (np.eye(graph.n_nodes) if loops else 0.0)
    scale = 1 / np.sqrt(np.maximum(a.sum(axis=1), 1))
    return scale[:, None] * a * scale


def dense_features(graph: Graph) -> np.ndarray:
    x = graph.x.toarray()
    return x / np.maximum(x.sum(axis=1, keepdims=True), 1e-9)


def scores(model, graph: Graph) -> np.ndarray:
    with torch.no_grad():
        return model.network_(*model._inputs(graph, ReceptiveField.whole(graph))).numpy()


def weights(layer) -> np.ndarray:
    (weight,) = layer.parameters()
    return weight.detach().numpy().T


# --- the networks --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [GCN, StoGCN])
@pytest.mark.parametrize("directed", [False, True])
def test_graph_convolutions_are_the_dense_formula(method, directed):
    graph = labelled(random_graph(1, directed=directed))
    model = method(epochs=3).fit(graph)
    a, x = dense_adjacency(graph, loops=True), dense_features(graph)
    first, second = weights(model.network_.first), weights(model.network_.second)
    expected = a @ np.maximum(a @ x @ first, 0) @ second
    np.testing.assert_allclose(scores(model, graph), expected, atol=1e-5)


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_chebyshev_filters_are_those_of_pyg(order):
    graph = labelled(random_graph(2))
    layer = Chebyshev(order=order, epochs=1).fit(graph).network_.first
    reference = torch_geometric.nn.ChebConv(graph.n_features, 16, order + 1, bias=False)
    for ours, theirs in zip(layer.weights.data, reference.lins, strict=True):
        theirs.weight.data = ours
    x, laplacian = Chebyshev()._inputs(graph, ReceptiveField.whole(graph))
    edges = torch.from_numpy(np.stack(graph.adjacency.nonzero()).astype(np.int64))
    with torch.no_grad():
        expected = reference(x.to_dense(), edges, lambda_max=2.0)
        torch.testing.assert_close(layer(x, laplacian), expected, atol=1e-5, rtol=0)


def test_attention_is_the_dense_formula():
    graph = labelled(random_graph(3))
    model = GAT(heads=1, hidden=4, epochs=3).fit(graph)
    neighbors = graph.attended.toarray() + np.eye(graph.n_nodes) > 0

    def attend(h, layer):
        state = {name: value.numpy() for name, value in layer.state_dict().items()}
        h = h @ state["lin.weight"].T
        e = h @ state["att_dst"][0, 0] + (h @ state["att_src"][0, 0])[:, None]
        e = np.where(neighbors, np.where(e > 0, e, 0.2 * e).T, -np.inf)
        e = np.where(neighbors, e, -np.inf)
        alpha = np.exp(e - e.max(axis=1, keepdims=True))
        return alpha / alpha.sum(axis=1, keepdims=True) @ h + state["bias"]

    h = attend(dense_features(graph), model.network_.first)
    expected = attend(np.where(h > 0, h, np.expm1(np.minimum(h, 0))), model.network_.second)
    np.testing.assert_allclose(scores(model, graph), expected, atol=1e-5)


def test_pseudo_coordinates_are_degrees():
    path = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    _, edges, u = MoNet()._inputs(path, ReceptiveField.whole(path))
    found = {tuple(e): tuple(c) for e, c in zip(edges.T.tolist(), u.tolist(), strict=True)}
    half = pytest.approx(2**-0.5)
    assert found == {(1, 0): (1, half), (0, 1): (half, 1), (2, 1): (half, 1), (1, 2): (1, half)}


# --- the receptive field --------------------------------------------------------------------


@each_method
@pytest.mark.parametrize("directed", [False, True])
def test_training_sees_everything_that_scores_depend_on(method, directed):
    graph = labelled(random_graph(4, n=40, directed=directed))
    model = method(epochs=1).fit(graph)
    part = model._labelled(graph, "train")
    assert len(part.inputs[0]) < graph.n_nodes
    with torch.no_grad():
        seen = model.network_(*part.inputs).index_select(0, part.rows).numpy()
    np.testing.assert_allclose(seen, scores(model, graph)[graph.splits["train"]], atol=1e-6)


# --- control variates ----------------------------------------------------------------------------


def test_sampled_neighbors_are_unbiased():
    rng = np.random.default_rng(0)
    adjacency = normalized_adjacency(random_graph(5, n=12), loops=True)
    draws = [sample_neighbors(adjacency, 2, rng) for _ in range(4000)]
    sizes = np.diff(adjacency.indptr)
    for sampled, scale in draws[:20]:
        np.testing.assert_array_equal(np.diff(sampled.indptr), np.minimum(sizes, 2))
        np.testing.assert_allclose(scale, np.maximum(sizes / 2, 1))
    mean = sum(sampled.toarray() for sampled, _ in draws) / len(draws)
    np.testing.assert_allclose(mean, adjacency.toarray(), atol=0.05)


def test_a_sample_of_all_neighbors_is_the_exact_loss():
    graph = labelled(random_graph(6))
    model = StoGCN(neighbors=100, dropout=0.0, epochs=2).fit(graph)
    train = model._labelled(graph, "train")
    with torch.no_grad():
        loss = model._objective(model.network_, train)
        exact = train.loss(model.network_(*train.inputs))
        for _ in range(2):  # without stored activations, and with them
            torch.testing.assert_close(loss(), exact)


def test_stored_activations_make_samples_exact_for_constant_weights():
    graph = labelled(random_graph(7, hub=True))
    model = StoGCN(neighbors=1, dropout=0.0, epochs=2).fit(graph)
    train = model._labelled(graph, "train")
    with torch.no_grad():
        loss = model._objective(model.network_, train)
        for _ in range(200):  # until every neighbor has been sampled
            loss()
        torch.testing.assert_close(loss(), train.loss(model.network_(*train.inputs)))


# --- training ------------------------------------------------------------------------------------


@each_method
def test_blocks_are_learned(method):
    graph = blocks()
    found = method(epochs=150).fit(graph).predict(graph)
    right = found == np.arange(graph.n_nodes) % 3
    assert right[graph.splits["test"]].mean() > 0.85


@each_method
def test_unseen_nodes_are_classified(method):
    graph = blocks()
    found = method(epochs=150).fit(graph.without(graph.splits["test"])).predict(graph)
    right = found == np.arange(graph.n_nodes) % 3
    assert right[graph.splits["test"]].mean() > 0.7


@each_method
def test_without_validation_nodes_all_epochs_are_run(method):
    assert method(epochs=40).fit(blocks(val=False)).epochs_ == 40


@each_method
@pytest.mark.parametrize("shape", [(4, 3), (1, 1)])
def test_a_graph_without_edges_or_features(method, shape):
    known = np.arange(shape[0]) < 2
    graph = Graph(sp.csr_array(shape), labels=["a"] * shape[0], splits={"train": known})
    assert method(epochs=2).fit(graph).predict(graph).tolist() == [0] * shape[0]


def test_window_compares_with_the_mean_of_earlier_losses():
    window = Window(2)
    losses = [3.0, 5.0, 9.0, 1.0, 5.0, 3.1, 2.0]
    stopped = [window.over(loss, 0.0, torch.nn.Identity()) for loss in losses]
    assert stopped == [False, False, False, False, False, True, False]


def test_patience_keeps_the_last_weights_with_best_loss_and_accuracy():
    network = torch.nn.Linear(1, 1, bias=False)
    patience = Patience(2)
    history = [(1.0, 0.5), (0.9, 0.6), (0.8, 0.5), (0.95, 0.6), (0.9, 0.5), (0.9, 0.5)]
    stopped = []
    for epoch, (loss, accuracy) in enumerate(history):
        torch.nn.init.constant_(network.weight, float(epoch))
        stopped.append(patience.over(loss, accuracy, network))
    assert stopped == [False] * 5 + [True]
    assert patience.weights["weight"].item() == 1.0


def test_what_is_missing_is_named():
    graph = blocks()
    with pytest.raises(InputError, match="no node of a split 'train' has one"):
        GCN().fit(graph.with_splits({}))
    with pytest.raises(InputError, match="has 30 features, but GCN is expecting 6 features"):
        GCN(epochs=1).fit(labelled(random_graph(1))).predict(graph)
