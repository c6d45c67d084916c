"""Queries that are answered by one search."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from graphgate.service.live_index import LiveIndex
from graphgate.service.metrics import Metrics
from graphgate.service.searches import Search, Searches
from graphgate.store.vector_index import VectorIndex

VECTORS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


def served(index) -> SimpleNamespace:
    return SimpleNamespace(index=index)


def answers(queries: list[Search]) -> tuple[list, Metrics]:
    """All queries asked at once."""

    async def ask() -> list:
        with ThreadPoolExecutor(1) as executor:
            searches = Searches(executor, metrics)
            return await asyncio.gather(*map(searches.nearest, queries), return_exceptions=True)

    metrics = Metrics(frozenset())
    return asyncio.run(ask()), metrics


def test_everyone_gets_the_own_answer():
    """Of different numbers of vectors and neighbors, some of them stored nodes."""
    index = LiveIndex.of(np.arange(50), VectorIndex(VECTORS))
    one = served(index)
    rows = [np.arange(3), np.array([7]), np.arange(20, 25), np.array([9, 4])]
    queries = [
        Search(one, VECTORS[at], at if k % 2 else np.full(len(at), -1), k)
        for at, k in zip(rows, (3, 10, 1, 4), strict=True)
    ]
    found, metrics = answers(queries)
    assert (metrics.searches, metrics.queries) == (1, 11)
    for query, (near, cosines) in zip(queries, found, strict=True):
        alone = index.nearest(query.vectors, query.n_neighbors, query.own)
        assert near.shape == (len(query.vectors), query.n_neighbors)
        np.testing.assert_array_equal(near, alone[0])
        np.testing.assert_allclose(cosines, alone[1], rtol=1e-6)


def test_a_search_is_of_one_version_and_not_too_large(monkeypatch):
    monkeypatch.setattr("graphgate.service.searches._AT_ONCE", 4)
    index = LiveIndex.of(np.arange(50), VectorIndex(VECTORS))
    old, new = served(index), served(LiveIndex.of(np.arange(9), VectorIndex(VECTORS[:9])))

    def query(version, count: int) -> Search:
        return Search(version, VECTORS[:count], np.arange(count), 8)

    found, metrics = answers([query(old, 2), query(old, 2), query(old, 1), query(new, 3)])
    assert metrics.searches == 3  # 2 + 2, 1, and another version
    assert [len(near) for near, _ in found] == [2, 2, 1, 3]
    assert found[3][0].max() < 9
    assert answers([query(old, 30)])[0][0][0].shape == (30, 8)  # more than a search has, alone


def test_a_search_that_fails_fails_for_its_queries_only():
    class Broken:
        def nearest(self, *_):
            raise RuntimeError("broken")

    index = LiveIndex.of(np.arange(50), VectorIndex(VECTORS))
    broken, whole = served(Broken()), served(index)
    queries = [Search(one, VECTORS[:1], np.arange(1), 2) for one in (broken, broken, whole)]
    found, _ = answers(queries)
    for failed in found[:2]:
        with pytest.raises(RuntimeError, match="broken"):
            raise failed
    assert found[2][0].shape == (1, 2)
