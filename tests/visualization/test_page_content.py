"""The content of a page: edges by attention, nearest nodes, clusters, points."""

import numpy as np
import pytest
import scipy.sparse as sp
from page_graphs import random_attention, ring
from sklearn.metrics.pairwise import cosine_similarity

from graphgate import Attention, Embedding, Graph, InputError
from graphgate.estimators.fitted import EdgeScores
from graphgate.tasks.clustering import cluster_vectors
from graphgate.visualization.page import page_content
from graphgate.visualization.page.page_content import build_content


def test_edges_are_sorted_by_their_mean_attention():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (0, 2)])
    alpha = sp.csr_array([[0.5, 0.2, 0.3], [0.6, 0.4, 0.0], [0.9, 0.0, 0.1]])
    content = build_content(graph, np.eye(3), alpha)
    assert content.edges.tolist() == [[0, 2], [0, 1]]
    np.testing.assert_allclose(content.edge_values, [[0.3, 0.9], [0.2, 0.6]], rtol=1e-6)
    assert content.edge_title == "attention"


def test_edge_scores_are_shown_as_percentiles():
    graph = Graph.from_edges(np.eye(4), [(0, 1), (0, 2), (1, 2), (2, 3)])
    scores = sp.csr_array(graph.adjacency.astype(np.float64))
    rows, columns = scores.nonzero()
    close_to_one = {(0, 1): 0.99991, (0, 2): 0.99999, (1, 2): 0.99991, (2, 3): 0.9}
    scores.data[:] = [
        close_to_one[min(i, j), max(i, j)] for i, j in zip(rows, columns, strict=True)
    ]
    content = build_content(graph, np.eye(4), EdgeScores(scores))
    assert content.edge_title == "edge score percentile"
    assert content.edges.tolist() == [[0, 2], [0, 1], [1, 2], [2, 3]]
    expected = [[1, 1], [0.75, 0.75], [0.75, 0.75], [0.25, 0.25]]
    np.testing.assert_allclose(content.edge_values, expected, rtol=1e-6)


def test_directed_edges_without_a_way_back_have_one_percentile():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (2, 1)], directed=True)
    scores = sp.csr_array(([0.9, 0.99], ([1, 1], [0, 2])), shape=(3, 3))
    content = build_content(graph, np.eye(3), EdgeScores(scores))
    assert content.edges.tolist() == [[1, 2], [0, 1]]
    np.testing.assert_array_equal(content.edge_values, [[1, np.nan], [np.nan, 0.5]])


def test_without_attention_edges_are_those_of_the_graph():
    graph = Graph.from_edges(np.eye(3), [(0, 1), (2, 1)], [0.5, 2.0], directed=True)
    content = build_content(graph, np.eye(3))
    assert content.edge_title is None
    assert content.edges.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_array_equal(content.edge_values, [[np.nan, 1], [1, np.nan]])


def test_nearest_nodes_are_those_of_all_cosines():
    graph = ring(30)
    z = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    z[7] = 0
    cosines = cosine_similarity(z)
    np.fill_diagonal(cosines, -np.inf)
    content = build_content(graph, z, points=np.zeros((30, 2)))
    np.testing.assert_allclose(content.cosines, -np.sort(-cosines, axis=1)[:, :12], atol=1e-6)
    found = np.take_along_axis(cosines, content.nearest, axis=1)
    np.testing.assert_allclose(found, content.cosines, atol=1e-6)


def test_labels_of_the_embedding_are_shown_if_the_graph_has_none():
    z = np.random.default_rng(0).normal(size=(6, 2))
    named = Embedding(np.arange(6), z, [*list("aabbc"), None])
    first = build_content(ring(), named).columns[0]
    assert (first.name, first.names, first.values.tolist()) == (
        *("class", ("a", "b", "c")),
        [0, 0, 1, 1, 2, -1],
    )
    own = build_content(ring(labels=list("xxyyzz")), named).columns[0]
    assert own.names == ("x", "y", "z")


def test_a_graph_of_one_node():
    graph = Graph([[1.0, 2.0]])
    content = build_content(graph, np.ones((1, 3)), sp.csr_array((1, 1)))
    assert content.nearest.shape == (1, 0)


def test_layers_are_averaged():
    graph = ring(4)
    first, second = random_attention(graph, 1), random_attention(graph, 2)
    content = build_content(
        graph, np.eye(4), Attention((first,), (second,)), points=np.zeros((4, 2))
    )
    u, v = content.edges[0]
    mean = (first + second).toarray() / 2
    np.testing.assert_allclose(content.edge_values[0], [mean[u, v], mean[v, u]], rtol=1e-6)


def test_the_clusters_of_a_page_are_those_of_the_command():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 3)).astype(np.float32)
    graph = ring(40)
    content = build_content(graph, z, random_attention(graph), points=np.zeros((40, 2)))
    (shown,) = [each for each in content.columns if each.name == "cluster"]
    np.testing.assert_array_equal(shown.values, cluster_vectors(z, 8))


def test_many_nodes_are_placed_among_a_sample(monkeypatch):
    monkeypatch.setattr(page_content, "MOST_PROJECTED", 60)
    rng = np.random.default_rng(0)
    centers = np.repeat(np.eye(2) * 50, 50, axis=0)
    z = (centers + rng.normal(size=(100, 2))).astype(np.float32)
    points, layout = page_content._projected(z, 0)
    assert "30 nodes" in layout
    middles = points[:50].mean(axis=0), points[50:].mean(axis=0)
    gap = np.linalg.norm(middles[0] - middles[1])
    assert gap > 2 * points[:50].std()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": np.ones((5, 2))}, "the embedding has 5 vectors for 6 nodes"),
        ({"embedding": np.full((6, 2), np.nan)}, "not finite"),
        ({"edge_values": sp.csr_array((5, 5))}, "the attention has shape"),
        ({"points": np.ones((6, 3))}, "finite pairs"),
        ({"points": np.full((6, 2), np.inf)}, "finite pairs"),
        ({"clusters": [1, 2]}, "clusters must be"),
        ({"columns": {"c": [1, 2]}}, "columns has 2 values for 6 nodes"),
        ({"columns": {"cluster": [1] * 6}}, "already exists"),
    ],
)
def test_errors_are_one_sentence(change, message):
    graph = ring()
    given = {"embedding": np.eye(6), "edge_values": random_attention(graph)} | change
    with pytest.raises(InputError, match=message) as error:
        build_content(graph, **{"points": np.zeros((6, 2))} | given)
    assert "\n" not in str(error.value)


def test_neighbors_are_counted_in_both_directions():
    graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 0), (2, 1)], directed=True)
    counts = {each.name: each.values for each in build_content(graph, np.eye(4)).columns}
    assert counts["neighbors"].tolist() == [1, 2, 1, 0]
