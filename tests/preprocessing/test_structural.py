"""Structural features against NetworkX."""

import hashlib

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import graphs
from hypothesis import given, settings

from graphgate.preprocessing import structural as structure
from graphgate.preprocessing.structural import (
    core_numbers,
    signatures,
    structural_attributes,
    triangles,
)

pytestmark = pytest.mark.numerical


@settings(max_examples=60)
@given(graphs())
def test_roles_are_those_of_networkx(graph):
    attributes = structural_attributes(graph.adjacency, graph.ids)
    known = nx.Graph(list(zip(*graph.adjacency.nonzero(), strict=True)))
    known.add_nodes_from(range(graph.n_nodes))
    nodes = range(graph.n_nodes)
    degrees = np.log1p([known.degree(node) for node in nodes])
    means = [np.mean([degrees[v] for v in known[node]] or [0]) for node in nodes]
    clustering, cores = nx.clustering(known), nx.core_number(known)
    for name, expected in {
        "log degree": degrees,
        "mean log degree of neighbors": means,
        "clustering": [clustering[node] for node in nodes],
        "core number": [cores[node] for node in nodes],
    }.items():
        np.testing.assert_allclose(attributes[name].values, expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("wedges", [1, 50, 1 << 22])
def test_triangles_and_cores_of_a_larger_graph(wedges, monkeypatch):
    monkeypatch.setattr(structure, "_WEDGES", wedges)
    known = nx.barabasi_albert_graph(300, 4, seed=1)
    pattern = sp.csr_array(nx.to_scipy_sparse_array(known, dtype=float))
    assert triangles(pattern).tolist() == list(nx.triangles(known).values())
    assert core_numbers(pattern).tolist() == list(nx.core_number(known).values())


def test_signatures_are_balanced_and_nearly_orthogonal():
    for ids in (np.arange(2000), np.array([f"n{at}" for at in range(2000)], dtype=object)):
        found = signatures(ids)
        assert set(np.unique(found)) == {-1.0, 1.0}
        assert np.abs(found.mean(axis=0)).max() < 0.12  # five deviations of 2,000 coins
        cosines = found @ found.T / 128
        np.fill_diagonal(cosines, 0)
        assert np.abs(cosines).max() < 0.6
        assert cosines.std() == pytest.approx(128**-0.5, rel=0.02)
        covariance = np.cov(found.T)
        np.fill_diagonal(covariance, 0)
        assert np.abs(covariance).max() < 0.12


def test_a_signature_is_that_of_the_id_in_every_process():
    """A model that was saved must find the same bits: here worked out in plain Python."""

    def word(row: np.ndarray) -> int:
        return sum(1 << at for at, sign in enumerate(row.tolist()) if sign > 0)

    numbers = signatures(np.array([0, -1]))
    first, second = 0xE220A8397B1DCDAF, 0xE4D971771B652C20
    assert [word(row) for row in numbers] == [first + (second << 64), second + (first << 64)]
    texts = signatures(np.array(["a", 0], dtype=object))
    digests = [hashlib.blake2b(text, digest_size=16).digest() for text in (b"'a'", b"0")]
    assert [word(row) for row in texts] == [int.from_bytes(d, "little") for d in digests]


def test_a_position_is_where_walks_end():
    """Against powers of a dense matrix; and disconnected parts lie apart."""
    known = nx.disjoint_union(nx.complete_graph(6), nx.cycle_graph(7))
    known.add_node(13)
    pattern = sp.csr_array(nx.to_scipy_sparse_array(known, dtype=float))
    ids = np.arange(14)
    found = structure.positions(pattern, ids)
    dense = pattern.toarray() + np.eye(14)
    dense /= dense.sum(axis=1, keepdims=True)
    expected = np.linalg.matrix_power(dense, structure.STEPS) @ signatures(ids)
    expected -= expected.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    cosines = found @ found.T
    assert cosines[:6, :6].min() > 0.99
    assert cosines[:6, 6:].max() < 0.5


def test_equivalent_nodes_have_zero_positions():
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    assert np.abs(structure.positions(pair, np.arange(2))).max() < 0.1


def test_the_number_of_structural_columns():
    found = structural_attributes(sp.csr_array((3, 3)), np.arange(3))
    assert len(found.names) == 132
    assert set(found.kinds.values()) == {"number"}
    assert all(np.isfinite(found[name].values).all() for name in found.names)
