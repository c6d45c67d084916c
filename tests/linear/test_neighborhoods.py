"""Terms of neighborhoods, against loops over sets of neighbors."""

import math

import numpy as np
import pytest
from linear_graphs import community_graph

from graphgate.linear import neighborhoods as module
from graphgate.linear.neighborhoods import COMMON, Neighborhoods

pytestmark = pytest.mark.numerical


def by_loops(adjacency, u: int, v: int, hub: float) -> list[float]:
    a = (adjacency + adjacency.T).toarray() > 0
    neighbors = [set(np.flatnonzero(row)) for row in a]
    d = [len(each) for each in neighbors]
    shared = neighbors[u] & neighbors[v]
    paths = sum(
        1 / (math.sqrt(d[u] * d[v]) * d[i] * d[j])
        for i in neighbors[u]
        for j in neighbors[v]
        if a[i, j] and max(d[i], d[j]) <= hub
    )
    return [
        math.log1p(len(shared)),
        sum(1 / math.log(d[c]) for c in shared if d[c] > 1),
        sum(1 / d[c] for c in shared if d[c] > 1),
        math.log1p(100 * paths),
    ]


@pytest.mark.parametrize("hub", [8, 1000])
@pytest.mark.parametrize("kind", [{}, {"directed": True}, {"weighted": True}], ids=str)
def test_terms_of_pairs_and_of_blocks(kind, hub, monkeypatch):
    monkeypatch.setattr(module, "HUB", hub)
    monkeypatch.setattr(module, "_NODES", 7)  # nodes are looked at some at a time
    graph = community_graph(1, n=100, **kind)
    graph = graph.without_edges(np.argwhere(graph.adjacency.toarray()[:3]))
    hood = Neighborhoods(graph.attended)
    assert hub == 1000 or (hood.degrees > hub).any()
    pairs = np.random.default_rng(0).integers(0, 100, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    expected = [by_loops(graph.adjacency, u, v, hub) for u, v in pairs.tolist()]
    np.testing.assert_allclose(hood.terms(pairs), expected, atol=1e-9)
    rows, others = np.arange(0, 90, 3), np.arange(2, 99)
    names, blocks = zip(*hood.blocks(rows, others), strict=True)
    assert names == COMMON
    whole = np.stack(np.meshgrid(rows, others, indexing="ij"), axis=2).reshape(-1, 2)
    found = np.stack(blocks, axis=2).reshape(-1, 4)
    np.testing.assert_allclose(found, hood.terms(whole), atol=1e-9)
    assert hood.terms(np.empty((0, 2), dtype=int)).shape == (0, 4)
    for node in (2, 50):
        near, terms = hood.row(node)
        every = hood.terms(np.stack([np.full(100, node), np.arange(100)], axis=1))
        np.testing.assert_allclose(terms, every[near], atol=1e-9)
        assert not np.delete(every, near, axis=0).any()
