"""The index of vectors against a search of all of them."""

import sys

import numpy as np
import pytest

from graphgate import InputError
from graphgate.store.vector_index import EXACT_UP_TO, VectorIndex

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(40, 16))
VECTORS = (CENTERS[RNG.integers(0, 40, 3000)] + 0.5 * RNG.normal(size=(3000, 16))).astype("float32")


def cosines_to(query: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(VECTORS, axis=1) * np.linalg.norm(query)
    return VECTORS @ query / lengths


@pytest.mark.parametrize("exact", [True, False])
def test_the_nearest_rows_and_their_cosines(exact):
    index = VectorIndex(VECTORS, exact=exact)
    assert index.exact == exact
    rows, cosines = index.nearest(VECTORS[[5, 7]], 10, np.array([5, 7]))
    for at, row in enumerate((5, 7)):
        expected = cosines_to(VECTORS[row])
        np.testing.assert_allclose(cosines[at], expected[rows[at]], atol=1e-5)
        assert (np.diff(cosines[at]) <= 0).all()
        expected[row] = -2
        assert len(set(rows[at]) & set(np.argsort(-expected)[:10])) >= 9
    assert index.nearest(VECTORS[5:6], 1)[0].tolist() == [[5]]
    assert index.recall() >= 0.98
    assert index.nearest(VECTORS[:1], 5000)[0].shape[1] == 3000


@pytest.mark.parametrize("exact", [True, False])
def test_a_search_among_some_rows_is_exact(exact):
    index = VectorIndex(VECTORS, exact=exact)
    allowed = np.arange(0, 3000, 30)
    rows, _ = index.nearest(VECTORS[[30, 31]], 5, np.array([30, 31]), allowed)
    for at, row in enumerate((30, 31)):
        expected = cosines_to(VECTORS[row])[allowed]
        expected[allowed == row] = -2
        assert rows[at].tolist() == allowed[np.argsort(-expected)[:5]].tolist()
    assert index.nearest(VECTORS[:2], 5, None, np.array([], dtype=int))[0].shape == (2, 0)


def test_small_stores_need_no_index(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    assert VectorIndex(VECTORS).exact
    assert len(VECTORS) < EXACT_UP_TO
    with pytest.raises(InputError, match=r"pip install 'graphgate\[store\]'"):
        VectorIndex(VECTORS, exact=False)


@pytest.mark.parametrize("exact", [True, False])
def test_a_wrong_number_of_neighbors(exact):
    with pytest.raises(InputError, match="n_neighbors must be an integer ≥ 1"):
        VectorIndex(VECTORS, exact=exact).nearest(VECTORS[:1], 0)
