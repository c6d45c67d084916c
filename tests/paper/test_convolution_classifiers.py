"""The supervised networks against dense formulas."""

import numpy as np
import pytest
import torch
import torch_geometric.nn
from baseline_graphs import labelled, scores
from graphs import random_graph

from graphgate.graph.graph import Graph
from graphgate.paper.baselines.convolution_classifiers import GAT, GCN, Chebyshev, MoNet
from graphgate.paper.baselines.stogcn import StoGCN
from graphgate.paper.baselines.supervised import ReceptiveField

pytestmark = pytest.mark.numerical


def dense_adjacency(graph: Graph, *, loops: bool) -> np.ndarray:
    a = (graph.attended.toarray() > 0) + (np.eye(graph.n_nodes) if loops else 0.0)
    scale = 1 / np.sqrt(np.maximum(a.sum(axis=1), 1))
    return scale[:, None] * a * scale


def dense_features(graph: Graph) -> np.ndarray:
    x = graph.x.toarray()
    return x / np.maximum(x.sum(axis=1, keepdims=True), 1e-9)


def weights(layer) -> np.ndarray:
    (weight,) = layer.parameters()
    return weight.detach().numpy().T


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
