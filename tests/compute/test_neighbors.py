"""Similar nodes, against all cosines computed by scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from graphgate import Embedding, InputError, similar
from graphgate.compute import neighbors

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("entries", [50, 10**6])
@pytest.mark.parametrize("n_neighbors", [1, 5, 100])
def test_neighbors_are_those_of_all_cosines(monkeypatch, entries, n_neighbors):
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", entries)
    z = np.random.default_rng(0).normal(size=(40, 3))
    queries = [7, 3, 39, 0, 12]
    ids, found, cosines = similar(z, queries, n_neighbors=n_neighbors)
    k = min(n_neighbors, 39)
    assert ids.tolist() == queries
    assert found.shape == cosines.shape == (5, k)
    expected = cosine_similarity(z)
    for row, near, values in zip(queries, found, cosines, strict=True):
        others = [i for i in range(40) if i != row]
        assert near.tolist() == sorted(others, key=lambda i: -expected[row, i])[:k]
        np.testing.assert_allclose(values, expected[row, near], rtol=1e-12)


@pytest.mark.parametrize("n", [8, 30])
def test_equal_cosines_are_in_row_order(n):
    z = np.ones((n, 2))
    z[4] = 0  # no direction: cosine 0 with all
    _, found, cosines = similar(z, [0, 4], n_neighbors=3)
    assert found.tolist() == [[1, 2, 3], [0, 1, 2]]
    np.testing.assert_allclose(cosines, [[1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_lengths_do_not_matter(scale):
    z = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    scaled = similar(z * np.float32(scale), n_neighbors=4).neighbors
    assert np.array_equal(scaled, similar(z, n_neighbors=4).neighbors)


def test_nodes_are_named_by_their_ids():
    named = Embedding(np.array(["a", "b", "c"], dtype=object), np.array([[1, 0], [0, 1], [1, 0.1]]))
    ids, found, _ = similar(named, "c", n_neighbors=2)
    assert (ids.tolist(), found.tolist()) == (["c"], [["a", "b"]])
    assert similar(named).ids.tolist() == ["a", "b", "c"]
    assert similar(named).neighbors.shape == (3, 2)
    with pytest.raises(InputError, match="no node with id 'd'"):
        similar(named, ["a", "d"])
    assert similar(named, np.array([True, False, True])).ids.tolist() == ["a", "c"]
    with pytest.raises(InputError, match=r"no node with id 0\.5"):
        similar(np.eye(2), np.array([0.5]))


def test_queries_without_an_answer():
    with pytest.raises(InputError, match="need at least two nodes, got 1"):
        similar(np.ones((1, 2)), 0)
    with pytest.raises(InputError, match="n_neighbors must be an integer ≥ 1, got 0"):
        similar(np.ones((3, 2)), 0, n_neighbors=0)
    with pytest.raises(InputError, match=r"must be an \(N, D\) array of numbers, got .*\(3,\)"):
        similar(np.ones(3))
