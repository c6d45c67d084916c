"""Synthetic graphs have the size that was asked for."""

import pytest

from graphgate.datasets.synthetic import community_graph


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("entries", [None, 7500])
def test_a_community_graph_has_the_size_asked_for(directed, entries):
    graph = community_graph(3000, 12_000, 50, n_entries=entries, directed=directed)
    assert (graph.n_nodes, graph.n_features, graph.directed) == (3000, 50, directed)
    assert graph.n_edges == pytest.approx(12_000, rel=0.05)
    if entries is not None:
        assert graph.x.nnz == pytest.approx(entries, rel=0.1)


def test_most_edges_stay_within_a_community():
    graph = community_graph(6000, 30_000, 2, random_state=1)
    again = community_graph(6000, 30_000, 2, random_state=1)
    assert graph.fingerprint() == again.fingerprint()
    # Rows do not show the four communities, but triangles do: a random graph of this density has
    # (10 / 6000)³ · C(6000, 3) ≈ 167 of them.
    a = graph.adjacency
    triangles = (a @ a).multiply(a).sum() / 6
    assert triangles > 2 * 167


def test_weights_are_for_directed_graphs():
    assert community_graph(100, 200, 3, directed=True, weighted=True).weighted
    assert not community_graph(100, 200, 3, weighted=True).weighted
