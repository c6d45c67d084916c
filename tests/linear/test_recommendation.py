"""Recommended neighbors, against the probabilities of all candidates."""

import numpy as np
import pytest
import torch
from linear_graphs import community_graph, engine_for, fitted_model

from graphgate import Graph
from graphgate.linear import recommendation
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.recommendation import Recommender

pytestmark = pytest.mark.numerical


class Fitted:
    def __init__(self, graph: Graph, dtype=torch.float64) -> None:
        model, _ = fitted_model(graph, dtype=dtype)
        engine = engine_for(graph, dtype)
        self.graph, self.states = graph, model.states(graph, engine, step=True)
        self.decoder = EdgeDecoder.fit(graph, model, engine, lambda graph: graph.x, 0)

    def recommender(self, candidates) -> Recommender:
        candidates = np.asarray(candidates)
        return Recommender(self.decoder, self.states, self.graph.adjacency, candidates, 0)

    def best(self, row: int, candidates, n: int) -> tuple[list[int], np.ndarray]:
        joined = (self.graph.adjacency + self.graph.adjacency.T).toarray()[row] > 0
        new = np.array([c for c in candidates if c != row and not joined[c]], dtype=np.int64)
        pairs = np.stack([np.full(len(new), row), new], axis=1)
        scores = self.decoder.probabilities(self.states, pairs)
        order = np.argsort(-scores, kind="stable")[:n]
        return new[order].tolist(), scores[order]


@pytest.fixture(scope="module", params=[{}, {"directed": True}], ids=str)
def small(request) -> Fitted:
    return Fitted(community_graph(1, n=120, **request.param))


@pytest.mark.parametrize("candidates", [range(120), range(30, 90, 2), [5]])
def test_few_candidates_are_all_scored(small, candidates, monkeypatch):
    monkeypatch.setattr(recommendation, "_CELLS", 100)  # some queries at a time
    rows = np.array([3, 40, 119, 5])
    found = small.recommender(list(candidates)).best(rows, 7)
    for row, (others, probabilities) in zip(rows, found, strict=True):
        expected, scores = small.best(row, candidates, 7)
        assert others.tolist() == expected
        np.testing.assert_allclose(probabilities, scores, rtol=1e-6)


def test_of_many_candidates_those_that_can_be_likely_are_scored(monkeypatch):
    monkeypatch.setattr(recommendation, "ALL_PAIRS", 0)
    monkeypatch.setattr(recommendation, "_RETRIEVED", (150, 0.02))
    monkeypatch.setattr(recommendation, "_NEAR", 100)
    fitted = Fitted(community_graph(1, n=1500, communities=30), torch.float32)
    candidates = np.flatnonzero(np.arange(1500) % 3)
    rows = np.arange(0, 1500, 40)
    scored = []
    similarities = Recommender._similarities
    monkeypatch.setattr(
        Recommender,
        "_similarities",
        lambda self, rows, others: scored.append(len(others)) or similarities(self, rows, others),
    )
    found = fitted.recommender(candidates).best(rows, 10)
    hits = 0
    for row, (others, probabilities) in zip(rows, found, strict=True):
        expected, scores = fitted.best(row, candidates, 10)
        hits += len(set(others) & set(expected))
        shared = np.isin(others, expected)
        np.testing.assert_allclose(
            probabilities[shared], scores[np.isin(expected, others)], rtol=1e-4
        )
        assert (others % 3).all()
    assert hits >= 0.93 * 10 * len(rows)
    assert max(scored) < 0.5 * len(candidates)
