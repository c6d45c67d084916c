"""Random walks and drawn neighbors."""

import numpy as np
import pytest
from baseline_graphs import path
from graphs import random_graph

from graphgate.training.sampling import draw_neighbors, random_walks, symmetrized


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
