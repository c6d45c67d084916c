"""Graphs in NumPy archives."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from graph_archive import ARCHIVE
from graphs import graphs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import Graph, InputError
from graphgate.datasets.archives import list_archives, read_archive


def test_an_archive(tmp_path):
    np.savez(tmp_path / "three.npz", **ARCHIVE)
    assert list_archives(tmp_path) == {"three": tmp_path / "three.npz"}
    with pytest.raises(InputError, match=r"is not a folder; pass a folder of \.npz archives"):
        list_archives(tmp_path / "three.npz")
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


def archived(graph) -> dict[str, np.ndarray]:
    x, adjacency = sp.csr_array(graph.x), graph.adjacency
    return {
        **{"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr},
        "x_shape": np.array(x.shape),
        **{"adj_indices": adjacency.indices, "adj_indptr": adjacency.indptr},
        "labels": np.arange(graph.n_nodes) % 2,
    }


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs())
def test_any_graph_comes_back(tmp_path, graph):
    undirected = Graph(graph.x, graph.adjacency + graph.adjacency.T)
    np.savez(tmp_path / "g.npz", **archived(undirected))
    found = read_archive(tmp_path / "g.npz")
    x, wanted = (sp.csr_array(each.x).toarray() for each in (found, undirected))
    np.testing.assert_array_equal(x, wanted.astype(np.float32))
    assert ((found.adjacency != 0) != (undirected.adjacency != 0)).nnz == 0
    assert found.label_values() == [at % 2 for at in range(graph.n_nodes)]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(ARCHIVE)),
    st.lists(st.integers(-(2**62), 2**62) | st.integers(-3, 5), max_size=5),
    st.sampled_from([np.int64, np.int32, np.uint8, np.float64, bool, "U3"]),
)
def test_other_arrays_are_a_graph_or_one_sentence(tmp_path, key, values, kind):
    """Of any values and types; a row pointer out of range must not reach SciPy."""
    np.savez(tmp_path / "g.npz", **ARCHIVE | {key: np.array(values, np.int64).astype(kind)})
    check(tmp_path / "g.npz")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_archives_are_a_graph_or_one_sentence(tmp_path, data):
    stream = io.BytesIO()
    np.savez(stream, **ARCHIVE)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "g.npz"
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    check(path)


def check(path) -> None:
    message = ""
    try:
        assert read_archive(path).n_nodes > 0
    except InputError as error:
        message = str(error)
    assert "\n" not in message
