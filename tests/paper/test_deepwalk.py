"""DeepWalk, alone and beside the features."""

import numpy as np
import pytest
from baseline_graphs import block_graph, probe_accuracy

from graphgate.graph.graph import Graph
from graphgate.paper.baselines import deepwalk
from graphgate.paper.baselines.deepwalk import DeepWalk, DeepWalkFeatures
from graphgate.training.sampling import random_walks

pytestmark = pytest.mark.numerical

SMALL = [
    DeepWalk(n_components=16, walks=20, length=20),
    DeepWalkFeatures(n_components=16, walks=20, length=20),
]


def test_deepwalk_separates_unconnected_cliques():
    """Two cliques and an isolated node; walks follow directed edges both ways."""
    n = 13
    edges = np.zeros((n, n))
    edges[:6, :6] = edges[6:12, 6:12] = np.triu(np.ones((6, 6)), 1)
    graph = Graph(np.ones((n, 1)), edges, directed=True)
    z = DeepWalk(n_components=8, walks=60, length=20, window=4).fit(graph).embedding_
    assert z.shape == (n, 8)
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    near = z @ z.T
    assert near[:6, :6].min() > near[:6, 6:12].max()
    assert near[6:12, 6:12].min() > near[6:12, :6].max()


def test_deepwalk_and_features_are_concatenated():
    graph = block_graph()
    few = {"n_components": 4, "walks": 2, "length": 5, "random_state": 3}
    walks = DeepWalk(**few).fit(graph).embedding_
    both = DeepWalkFeatures(**few).fit(graph).embedding_
    for part, whole in ((both[:, :4], walks), (both[:, 4:], graph.x.toarray())):
        lengths = np.linalg.norm(whole, axis=1, keepdims=True)
        np.testing.assert_allclose(part * lengths, whole, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), lengths[:, 0] > 0, rtol=1e-5)


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


def test_a_node_without_edges_is_a_sentence_by_itself():
    walks, isolated = np.array([[0, 1, 0], [2, 2, 2]]), np.array([False, False, True])
    assert list(deepwalk._sentences(walks, isolated, ["a", "b", "c"])) == [["a", "b", "a"], ["c"]]


def test_walks_have_the_requested_number_and_length(monkeypatch):
    made = []

    def note(*arguments):
        made.append(random_walks(*arguments))
        return made[-1]

    monkeypatch.setattr(deepwalk, "random_walks", note)
    DeepWalk(n_components=4, walks=3, length=7).fit(block_graph())
    (walks,) = made
    assert walks.shape == (3 * 120, 7)
    np.testing.assert_array_equal(np.bincount(walks[:, 0]), 3)
