"""Smoothing along edges, against dense matrices."""

import numpy as np
import pytest
import torch
from graphs import graphs
from hypothesis import given, settings
from linear_graphs import averaging as dense_averaging
from linear_graphs import operator, smoothing

from graphgate import Graph
from graphgate.linear.propagation import Propagation, averaging, mean_weight, restarting

STEP = (0.0, 1.0)

pytestmark = pytest.mark.numerical


def propagation(graph: Graph) -> Propagation:
    return Propagation(graph, mean_weight(graph), torch.float64)


def vectors(n: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(n, 3)))


@settings(max_examples=40)
@given(graphs())
def test_every_product_is_that_of_the_dense_operator(graph):
    found, dense, h = propagation(graph), operator(graph), vectors(graph.n_nodes)
    np.testing.assert_allclose(found.apply(h, STEP), dense @ h.numpy(), atol=1e-12)
    np.testing.assert_allclose(
        found.apply(h, restarting(10, 0.15)), smoothing(dense, 10, 0.15) @ h.numpy(), atol=1e-10
    )
    np.testing.assert_allclose(
        found.apply(h, averaging(4, 0.2)), dense_averaging(dense, 4, 0.2) @ h.numpy(), atol=1e-10
    )
    weights = graph.adjacency.toarray() / mean_weight(graph)
    both = weights.sum(axis=0) + weights.sum(axis=1) * graph.directed
    np.testing.assert_allclose(found.degrees, both, atol=1e-6)


def test_an_edge_makes_its_target_attend_to_its_source():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], directed=True)
    found = propagation(graph).apply(torch.eye(3, dtype=torch.float64), STEP)
    assert (found.numpy() > 0).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert propagation(graph).degrees.tolist() == [1, 2, 1]


def test_smoothing_by_hand():
    """Two nodes with one edge: the operator is ½ everywhere."""
    pair = propagation(Graph.from_edges(np.eye(2), [(0, 1)]))
    h = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    np.testing.assert_allclose(pair.apply(h, restarting(1, 0.2)), [[0.6], [0.4]])
    np.testing.assert_allclose(pair.apply(h, restarting(2, 0.2)), [[0.6], [0.4]])
    np.testing.assert_allclose(pair.apply(h, averaging(3, 0.1)), [[0.55], [0.45]])


def test_nothing_given_is_changed():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    h = vectors(3)
    before = h.clone()
    propagation(graph).apply(h, restarting(3, 0.2))
    propagation(graph).apply(h, averaging(3, 0.2))
    assert torch.equal(h, before)


def test_nodes_without_edges_keep_their_vectors():
    h = vectors(4)
    alone = propagation(Graph(np.eye(4)))
    for found in (
        alone.apply(h, STEP),
        alone.apply(h, restarting(10, 0.15)),
        alone.apply(h, averaging(16, 0.05)),
    ):
        np.testing.assert_allclose(found, h, rtol=1e-12)
    assert alone.degrees.tolist() == [0, 0, 0, 0]


def test_the_mean_weight():
    assert mean_weight(Graph(np.eye(3))) == 1
    assert mean_weight(Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])) == 1
    weighted = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], [1.0, 5.0])
    assert mean_weight(weighted) == 3
    directed = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], [1.0, 2.0], directed=True)
    assert mean_weight(directed) == 1.5


@pytest.mark.parametrize("factor", [100, 1e-30, 1e30])
def test_the_unit_of_weights_does_not_matter(factor):
    rng = np.random.default_rng(0)
    weights = np.triu(rng.uniform(0.1, 3, (9, 9)), 1)
    one, other = (propagation(Graph(np.eye(9), weights * each)) for each in (1, factor))
    np.testing.assert_allclose(
        other.apply(vectors(9), STEP), one.apply(vectors(9), STEP), rtol=1e-12
    )
    np.testing.assert_allclose(other.degrees, one.degrees, rtol=1e-12)


def test_weights_count_in_proportion():
    """An edge of weight 3 is worth three of weight 1, and the self-loop the mean, 2."""
    graph = Graph.from_edges(np.eye(3), [(0, 1), (0, 2)], [3.0, 1.0])
    row = propagation(graph).apply(torch.eye(3, dtype=torch.float64), STEP)[0].numpy()
    sums = np.array([6, 5, 3]) / 2  # of row and column, in units of the mean
    np.testing.assert_allclose(row, np.array([2, 3, 1]) / 2 / np.sqrt(sums[0] * sums))
