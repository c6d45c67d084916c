"""Graphs in NumPy archives."""

import numpy as np
import pytest
from graph_archive import ARCHIVE

from graphgate import InputError
from graphgate.datasets.archives import list_archives, read_archive


def test_an_archive(tmp_path):
    np.savez(tmp_path / "three.npz", **ARCHIVE)
    assert list_archives(tmp_path) == {"three": tmp_path / "three.npz"}
    graph = read_archive(tmp_path / "three.npz")
    np.testing.assert_array_equal(graph.x.toarray(), [[1, 0], [0, 2], [0, 0]])
    np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert graph.label_values() == [0, 1, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": None}, "lacks 'labels'"),
        ({"x_indptr": np.array([0, 1, 2])}, "does not hold a graph"),
        ({"adj_indices": np.array([1, 9])}, "does not hold a graph"),
        ({"x_indptr": np.array([0, 100, 200, -1])}, "does not hold a graph"),
        ({"labels": np.array([0, {}, 1], dtype=object)}, "not contain a plain array"),
    ],
)
def test_refusals(tmp_path, change, words):
    content = {key: value for key, value in (ARCHIVE | change).items() if value is not None}
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(InputError, match=words):
        read_archive(tmp_path / "bad.npz")


def test_what_is_not_an_archive(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match=r"is damaged or not an \.npz archive"):
        read_archive(tmp_path / "bad.npz")
