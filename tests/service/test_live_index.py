"""`LiveIndex`: the index of an older version answers like one of the version that is served."""

import numpy as np
import pytest

from graphgate.service.live_index import LiveIndex
from graphgate.store.vector_index import VectorIndex


@pytest.mark.parametrize("exact", [True, False])
def test_nearest_after_changes(exact):
    rng = np.random.default_rng(0)
    ids = np.array([f"n{at}" for at in range(400)], dtype=object)
    vectors = rng.normal(size=(400, 8)).astype(np.float32)
    index = LiveIndex.of(ids, VectorIndex(vectors, exact=exact))
    kept = np.setdiff1d(np.arange(400), [5, 17, 399])  # removed
    moved = vectors.copy()
    moved[:60] = rng.normal(size=(60, 8))
    after = np.concatenate([moved[kept], rng.normal(size=(40, 8)).astype(np.float32)])
    names = np.array([*ids[kept], *(f"new{at}" for at in range(40))], dtype=object)
    follower = index.follow(names, after)
    assert not follower.outdated
    queries = np.concatenate([after[[0, 100, 436]], rng.normal(size=(2, 8))])
    own = np.array([0, 100, 436, -1, -1])
    for k in (1, 10, 500):
        rows, cosines = follower.nearest(queries, k, own)
        unit = after / np.linalg.norm(after, axis=1, keepdims=True)
        expected = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ unit.T
        expected[np.arange(3), own[:3]] = -np.inf
        for at in range(5):
            count = min(k, 437 - (at < 3))
            best = np.argsort(-expected[at])[:count]
            assert (rows[at, count:] == -1).all()
            recall = np.isin(rows[at, :count], best).mean()
            assert recall == 1 if exact else recall > 0.9
            good = rows[at, :count]
            np.testing.assert_allclose(cosines[at, :count], expected[at, good], atol=1e-5)
    allowed = np.array([0, 3, 100, 420])
    rows, _ = follower.nearest(queries, 10, own, allowed)
    assert [set(each[each >= 0]) for each in rows[:2]] == [{3, 100, 420}, {0, 3, 420}]


def test_another_index_is_due_when_much_has_changed():
    rng = np.random.default_rng(0)
    ids = np.arange(3000)
    vectors = rng.normal(size=(3000, 4)).astype(np.float32)
    index = LiveIndex.of(ids, VectorIndex(vectors, exact=False))
    assert not index.outdated
    assert index.follow(ids, -vectors).outdated
    assert not index.follow(ids, np.concatenate([-vectors[:1999], vectors[1999:]])).outdated
    narrower = index.follow(ids, vectors[:, :3])  # after a refit
    assert narrower.exact.unit.shape == (3000, 3)
    assert not narrower.outdated
