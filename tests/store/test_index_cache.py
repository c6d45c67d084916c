"""Indices in the user's cache: one per store, found by the vectors, and none with damage."""

from pathlib import Path

import numpy as np
import pytest

from graphgate.store import index_cache
from graphgate.store.index_cache import IndexCache
from graphgate.store.vector_index import VectorIndex

VECTORS = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
ONE, TWO = "1" * 32, "2" * 32


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "graphgate" / "indices"


def files(cache: Path) -> list[Path]:
    return sorted(cache.glob("*/*"))


def test_the_index_is_kept_until_the_vectors_change(cache):
    first = VectorIndex(VECTORS, ONE, exact=False).nearest(VECTORS[:5], 3)[0]
    (kept,) = files(cache)
    state = kept.read_bytes()
    again = VectorIndex(VECTORS, ONE, exact=False).nearest(VECTORS[:5], 3)[0]
    np.testing.assert_array_equal(first, again)
    assert files(cache) == [kept]
    assert kept.read_bytes() == state
    VectorIndex(VECTORS[::-1], ONE, exact=False)
    (other,) = files(cache)
    assert other.name != kept.name
    VectorIndex(VECTORS, TWO, exact=False)
    assert len(files(cache)) == 2
    IndexCache(ONE).clear()
    assert [file.parent.name for file in files(cache)] == [TWO]


def test_a_damaged_index_is_not_loaded(cache, monkeypatch):
    VectorIndex(VECTORS, ONE, exact=False)
    (kept,) = files(cache)
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    assert IndexCache(ONE).find(kept.name.partition(".")[0]) is None
    VectorIndex(VECTORS, ONE, exact=False)
    assert len(files(cache)) == 1
    assert IndexCache(ONE).find(kept.name.partition(".")[0]) is not None


def test_the_index_that_was_not_used_for_longest_makes_room(cache, monkeypatch):
    def save(path):
        Path(path).write_bytes(bytes(100))

    monkeypatch.setattr(index_cache, "MOST", 250)
    names = [str(at) * 32 for at in range(4)]
    for name in names[:2]:
        IndexCache(name).keep("key", save)
    assert IndexCache(names[0]).find("key") is not None  # used again
    for name in names[2:]:
        IndexCache(name).keep("key", save)
    assert {file.parent.name for file in files(cache)} == set(names[2:])
    monkeypatch.setattr(index_cache, "MOST", 50)
    IndexCache(names[0]).keep("key", save)
    assert {file.parent.name for file in files(cache)} == {names[0]}


def test_a_cache_that_cannot_be_written_is_no_error(cache):
    cache.parent.mkdir()
    cache.touch()
    assert VectorIndex(VECTORS, ONE, exact=False).nearest(VECTORS[:5], 3)[0].shape == (5, 3)
