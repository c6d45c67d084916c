"""Smoothed features against dense formulas and scikit-learn's tf-idf."""

import numpy as np
import pytest
from baseline_graphs import block_graph, dense_convolution, probe_accuracy
from graphs import random_graph
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import cosine_similarity

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.smoothing import RawSVD, Smoothing

pytestmark = pytest.mark.numerical


def smoothed(a: np.ndarray, z: np.ndarray, steps: int, own: float) -> np.ndarray:
    walks = [np.linalg.matrix_power(a, k) @ z for k in range(1, steps + 1)]
    return own * z + (1 - own) * np.mean(walks, axis=0)


def tf_idf(graph: Graph) -> np.ndarray:
    return TfidfTransformer().fit_transform(graph.x).toarray()


def wide_graph(rank: int, n: int = 600, f: int = 700) -> Graph:
    """Dense features of a rank, with a mean far from zero."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, f)) + 3
    return Graph(x)


def test_counts_are_weighted_by_tf_idf():
    graph = block_graph()
    np.testing.assert_allclose(RawSVD().fit_transform(graph), tf_idf(graph), atol=1e-6)


def test_other_features_are_used_as_they_are():
    graph = random_graph(1, dense=True)
    expected = graph.x / np.abs(graph.x).max()
    np.testing.assert_allclose(RawSVD().fit_transform(graph), expected, atol=1e-6)


def test_many_features_are_reduced_without_centering():
    graph = wide_graph(rank=200)
    z = RawSVD().fit_transform(graph)
    assert z.shape == (600, 512)
    x = graph.x / np.abs(graph.x).max()
    np.testing.assert_allclose(z @ z.T, x @ x.T, atol=1e-3)
    assert not np.array_equal(RawSVD(random_state=1).fit_transform(graph), z)


def test_unseen_nodes_get_the_weights_of_the_fitted_ones():
    graph = block_graph()
    part = graph.subgraph(np.arange(80))
    found = RawSVD().fit(part).transform(graph)
    expected = TfidfTransformer().fit(part.x).transform(graph.x).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("steps", "own"), [(2, 0.33), (16, 0.05)])
def test_smoothing_averages_over_walks(steps, own):
    graph = block_graph()
    expected = smoothed(dense_convolution(graph), tf_idf(graph), steps, own)
    np.testing.assert_allclose(Smoothing(steps=steps).fit_transform(graph), expected, atol=1e-6)
    given = Smoothing(steps=steps, own=0.5).fit_transform(graph)
    expected = smoothed(dense_convolution(graph), tf_idf(graph), steps, 0.5)
    np.testing.assert_allclose(given, expected, atol=1e-6)


def test_weights_count_in_units_of_their_mean_in_fit():
    graph = random_graph(4, n=12, weighted=True, dense=True)
    w = graph.adjacency.toarray()
    a = w / graph.adjacency.data.mean() + np.eye(12)
    a /= np.sqrt(np.outer(a.sum(axis=1), a.sum(axis=1)))
    expected = smoothed(a, graph.x / np.abs(graph.x).max(), 2, 0.33)
    method = Smoothing().fit(graph)
    np.testing.assert_allclose(method.embedding_, expected, atol=1e-6)

    heavy = Graph(graph.x, 100 * w)
    np.testing.assert_allclose(Smoothing().fit_transform(heavy), expected, atol=1e-6)
    assert np.abs(method.transform(heavy) - expected).max() > 0.01


def test_a_node_averages_over_what_it_attends_to():
    graph = random_graph(3, n=12, directed=True, dense=True)
    a = (graph.attended.toarray() != 0) + np.eye(12)
    a = a / np.sqrt(np.outer(a.sum(axis=1), a.sum(axis=0)))
    expected = smoothed(a, graph.x / np.abs(graph.x).max(), 2, 0.33)
    np.testing.assert_allclose(Smoothing().fit_transform(graph), expected, atol=1e-6)


@pytest.mark.parametrize("n", [1, 4])
def test_nodes_without_edges_keep_their_features(n):
    z = Smoothing(steps=16).fit_transform(Graph(np.eye(n, 3)))
    np.testing.assert_allclose(z, np.eye(n, 3), atol=1e-6)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"steps": 3}, "own has a default for 2 and 16 steps only"),
        ({"steps": 0}, "steps"),
        ({"own": 1.5}, "own must be between 0 and 1"),
        ({"own": "half"}, "own"),
    ],
)
def test_parameters_are_checked(params, words):
    with pytest.raises(InputError, match=words):
        Smoothing(**params).fit(block_graph())


def test_smoothing_separates_the_blocks_better_than_features():
    graph = block_graph()
    raw, two = (probe_accuracy(m.fit_transform(graph), graph) for m in (RawSVD(), Smoothing()))
    assert two > max(raw, 0.9)


def test_pairs_are_scored_by_cosine():
    graph = random_graph(1, n=40)
    fitted = Smoothing().fit(graph)
    pairs = np.array([[0, 1], [5, 30], [30, 5]])
    expected = cosine_similarity(fitted.embedding_)[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(fitted.pair_scores(pairs), expected, atol=1e-6)
