"""Hard non-edges, against heuristics and ranks computed by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.metrics.pairwise import cosine_similarity

from graphgate import Graph, InputError
from graphgate.tasks import hard_negatives as module
from graphgate.tasks.hard_negatives import Heuristics, hard_negatives

pytestmark = pytest.mark.numerical


def random_graph(n: int = 40, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n, n)) < 0.1, 1)
    edges[-1] = edges[:, -1] = False  # a node without edges
    return Graph(sp.csr_array(rng.random((n, 7)) * (rng.random((n, 7)) < 0.4)), edges)


def dense(graph: Graph) -> list[np.ndarray]:
    """Resource allocation, personalized PageRank and cosine of all pairs."""
    a, x = graph.adjacency.toarray(), graph.x.toarray()
    degrees = a.sum(axis=1)
    inverse = np.divide(1, degrees, where=degrees > 0, out=np.zeros(len(a)))
    step = inverse[:, None] * a
    pagerank = 0.15 * np.linalg.inv(np.eye(len(a)) - 0.85 * step)
    return [a @ np.diag(inverse) @ a, pagerank, cosine_similarity(x)]


def test_heuristics():
    graph = random_graph()
    rows = np.array([3, 39, 0])
    found = Heuristics(graph, graph.x).scores(rows)
    for values, expected in zip(found, dense(graph), strict=True):
        np.testing.assert_allclose(values, expected[rows], atol=1e-4)
    plain = Heuristics(graph, graph.x.toarray()).cosine(rows)
    np.testing.assert_allclose(plain, found[2], atol=1e-6)
    assert len(Heuristics(graph, None).scores(rows)) == 2


def test_ends_are_replaced_by_the_nodes_that_rank_best(monkeypatch):
    monkeypatch.setattr(module, "PER_END", 6)
    monkeypatch.setattr(module, "_CELLS", 80)  # two rows at a time
    whole = random_graph()
    edges = np.argwhere(np.triu(whole.adjacency.toarray()))[[1, 5, 9]]
    seen = whole.without_edges(edges)
    done: list[int] = []
    found = hard_negatives(
        Heuristics(seen, seen.x), whole, edges, random_state=0, advance=done.append
    )
    assert found.shape == (3, 12, 2)
    assert sum(done) == len(np.unique(edges))
    scores, adjacency = dense(seen), whole.adjacency.toarray()
    for (u, v), pairs in zip(edges, found, strict=True):
        assert (pairs[:6, 0] == u).all()
        assert (pairs[6:, 1] == v).all()
        for kept, others in ((u, pairs[:6, 1]), (v, pairs[6:, 0])):
            allowed = np.flatnonzero((adjacency[kept] == 0) & (np.arange(40) != kept))
            ranks = np.zeros(len(allowed))
            for score in scores:
                values = np.where(score[kept, allowed] > 1e-12, score[kept, allowed], 0)
                positive = values > 0
                rank = np.full(len(values), 1.0)
                if positive.any():
                    rank[positive] = rankdata(-values[positive], method="min")
                    rank[~positive] = rank[positive].max() + 1
                ranks += rank
            assert set(others) <= set(allowed)
            assert len(set(others)) == 6
            best = np.sort(ranks)[:6]
            np.testing.assert_allclose(np.sort(ranks[np.isin(allowed, others)]), best)


def test_ends_keep_their_types():
    whole = random_graph()
    types = np.arange(40) % 3
    edges = np.argwhere(np.triu(whole.adjacency.toarray()))[:8]
    found = hard_negatives(Heuristics(whole, None), whole, edges, random_state=0, node_types=types)
    assert (types[found] == types[edges][:, None]).all()


def test_a_node_with_an_edge_to_every_other():
    star = Graph(None, np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    with pytest.raises(InputError, match="use random negatives"):
        hard_negatives(Heuristics(star, None), star, np.array([[0, 1]]), random_state=0)
