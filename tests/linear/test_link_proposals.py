"""Proposed links, against the scores of all pairs."""

import numpy as np
import pytest
import torch
from linear_graphs import community_graph, engine_for, fitted_model

from graphgate import Graph
from graphgate.linear import link_proposals
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.link_proposals import propose_links

pytestmark = pytest.mark.numerical


class Fitted:
    def __init__(self, graph: Graph, *, structure: bool = True, dtype=torch.float64) -> None:
        model, _ = fitted_model(graph, structure=structure, dtype=dtype)
        engine = engine_for(graph, dtype)
        self.graph, self.states = graph, model.states(graph, engine, step=True)
        self.decoder = EdgeDecoder.fit(graph, model, engine, lambda graph: graph.x, 0)

    def propose(self, n: int, seed: int = 0, known=None) -> tuple[np.ndarray, np.ndarray]:
        known = self.graph.adjacency if known is None else known
        return propose_links(self.decoder, self.states, known, n, seed)

    def best(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Of all pairs without an edge, either way."""
        adjacency = self.graph.adjacency
        pairs = np.argwhere(np.triu((adjacency + adjacency.T).toarray() == 0, 1))
        scores = self.decoder.probabilities(self.states, pairs)
        order = np.argsort(-scores, kind="stable")[:n]
        return pairs[order], scores[order]


@pytest.fixture(scope="module")
def small() -> Fitted:
    return Fitted(community_graph(1, n=120))


@pytest.fixture(scope="module")
def large() -> Fitted:
    return Fitted(community_graph(1, n=3000, communities=50), dtype=torch.float32)


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.tolist()))


@pytest.mark.parametrize("n", [1, 10, 500])
def test_a_small_graph_is_searched_completely(small, n):
    pairs, scores = small.propose(n)
    expected, best = small.best(n)
    assert pairs.tolist() == expected.tolist()
    np.testing.assert_allclose(scores, best, rtol=1e-6)


@pytest.mark.parametrize("settings", [{"structure": False}, {"dtype": torch.float32}], ids=str)
@pytest.mark.parametrize("kind", [{"directed": True}, {"weighted": True}], ids=str)
def test_every_kind_of_graph(kind, settings):
    fitted = Fitted(community_graph(2, n=120, **kind), **settings)
    pairs, scores = fitted.propose(40)
    np.testing.assert_allclose(scores, fitted.best(40)[1], rtol=1e-5)
    assert not fitted.graph.adjacency.toarray()[tuple(pairs.T)].any()
    assert not fitted.graph.adjacency.toarray()[tuple(pairs[:, ::-1].T)].any()


@pytest.mark.slow
def test_of_a_large_graph_most_of_the_best_are_found(large):
    pairs, scores = large.propose(200)
    expected, best = large.best(200)
    assert len(as_set(pairs)) == 200
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert not large.graph.adjacency[pairs[:, 0], pairs[:, 1]].any()
    assert len(as_set(pairs) & as_set(expected)) > 0.8 * 200
    assert (np.diff(scores) <= 0).all()
    np.testing.assert_allclose(
        scores, large.decoder.probabilities(large.states, pairs), rtol=1e-4, atol=1e-6
    )
    assert scores.sum() > 0.99 * best.sum()


def test_far_from_all_pairs_are_compared(large):
    compared = sum(
        len(rows) * len(others)
        for rows, others in link_proposals._candidates(
            torch.randn(3000, 20, generator=torch.Generator().manual_seed(0)), np.ones(3000), 0
        )
    )
    assert compared < 0.2 * 3000**2


def test_blocks_of_rows_change_nothing(small, monkeypatch):
    monkeypatch.setattr(link_proposals, "_ALL_PAIRS", 50)
    whole = small.propose(30)
    monkeypatch.setattr(link_proposals, "_ROWS", 3)
    blocks = small.propose(30)
    assert blocks[0].tolist() == whole[0].tolist()
    np.testing.assert_allclose(blocks[1], whole[1], rtol=1e-12)
    # Each node is compared with its group, the three nearest and the hubs.
    assert len(as_set(whole[0]) & as_set(small.best(30)[0])) > 15


def test_hubs_are_compared_with_everyone():
    keys = torch.from_numpy(np.random.default_rng(0).normal(size=(2500, 5)))
    degrees = np.zeros(2500)
    degrees[[7, 1234]] = 5, 4
    compared = {row: set() for row in range(2500)}
    for rows, others in link_proposals._candidates(keys, degrees, 0):
        for row in rows:
            compared[row] |= set(others.tolist())
    assert all({row, 7, 1234} <= others for row, others in compared.items())


def test_fewer_pairs_than_wanted(small):
    n = small.graph.n_nodes
    pairs, scores = small.propose(10**12)
    assert len(pairs) == len(scores) == n * (n - 1) // 2 - small.graph.n_edges
    assert len(as_set(pairs)) == len(pairs)
    pairs, scores = small.propose(5, known=Graph(np.eye(n), np.ones((n, n))).adjacency)
    assert pairs.shape == (0, 2)
    assert scores.shape == (0,)


def test_the_seed_decides_every_bit(large):
    one, again = large.propose(50, seed=3), large.propose(50, seed=3)
    assert one[0].tobytes() == again[0].tobytes()
    assert one[1].tobytes() == again[1].tobytes()


def test_equal_nodes_make_no_trouble():
    """All in one group, and scores that differ by degrees only."""
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(np.ones((2100, 2)), rng.integers(0, 2100, (4000, 2)))
    fitted = Fitted(graph, structure=False)
    pairs, scores = fitted.propose(10)
    assert len(as_set(pairs)) == 10
    np.testing.assert_allclose(scores, fitted.best(10)[1], rtol=1e-6)
