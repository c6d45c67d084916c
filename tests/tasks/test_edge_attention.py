"""Attention of edges, against sums written out."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from graphgate import GATE, Graph
from graphgate.tasks.edge_attention import class_attention, edge_attention

pytestmark = [
    pytest.mark.numerical,
    pytest.mark.filterwarnings("ignore::graphgate.errors.TrainingWarning"),
]

# A triangle of 0, 1, 2, and an isolated node 3; rows sum to 1.
ATTENTION = sp.csr_array(
    np.array([[0.5, 0.3, 0.2, 0], [0.1, 0.6, 0.3, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1.0]])
)


def test_an_edge_has_the_mean_of_its_two_directions():
    found = edge_attention(ATTENTION)
    assert found.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found.raw == pytest.approx([0.2, 0.225, 0.275])
    assert found.corrected == pytest.approx([0.6, 0.675, 0.825])  # three entries per row


@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
def test_uniform_attention_is_one_once_corrected_for_degree():
    rng = np.random.default_rng(0)
    graph = Graph(np.ones((30, 2)), np.triu(rng.random((30, 30)) < 0.2, 1))
    gate = GATE(dims=(4,), epochs=1, attention="uniform", random_state=0).fit(graph)
    found = edge_attention(gate.attention_.average)
    assert len(found.edges) == graph.n_edges
    assert found.corrected == pytest.approx(np.ones(graph.n_edges), rel=1e-6)
    assert np.ptp(found.raw) > 0.05  # degrees alone


def test_attention_within_and_between_classes_by_hand():
    found = class_attention(edge_attention(ATTENTION), np.array([0, 0, 1, 1]))
    assert (found["same_edges"], found["other_edges"]) == (1, 2)
    assert found["raw_ratio"] == pytest.approx(0.2 / 0.25)
    assert found["corrected_ratio"] == pytest.approx(0.6 / 0.75)
    assert found["bound"] == pytest.approx(math.e)


def test_edges_with_an_unlabeled_end_are_ignored():
    found = class_attention(edge_attention(ATTENTION), np.array([0, 0, -1, 1]))
    assert found is None  # no edge between classes is left


def test_the_ratio_stays_below_its_bound():
    rng = np.random.default_rng(1)
    graph = Graph(10 * rng.normal(size=(60, 5)), np.triu(rng.random((60, 60)) < 0.1, 1))
    gate = GATE(dims=(4, 4), epochs=30, learning_rate=0.1, random_state=0).fit(graph)
    for layer in gate.attention_.encoder:
        for row in range(60):
            values = layer.data[layer.indptr[row] : layer.indptr[row + 1]]
            assert values.max() <= math.e * values.min() * (1 + 1e-6)


def test_a_direction_without_attention_has_no_value():
    found = edge_attention(sp.csr_array([[0.5, 0.5], [0.0, 1.0]]))
    assert found.edges.tolist() == [[0, 1]]
    np.testing.assert_array_equal(found.directions, [[0.5, np.nan]])
    assert found.raw.tolist() == [0.5]
    assert found.corrected.tolist() == [1.0]  # of the two entries of row 0


def test_directions_are_u_to_v_and_v_to_u():
    found = edge_attention(sp.csr_array([[0.5, 0.2, 0.3], [0.6, 0.4, 0.0], [0.9, 0.0, 0.1]]))
    assert found.edges.tolist() == [[0, 1], [0, 2]]
    assert found.directions.tolist() == [[0.2, 0.6], [0.3, 0.9]]
