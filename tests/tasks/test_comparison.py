"""What two nodes share, by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from graphgate import Attributes, Graph, InputError, compare_nodes

EDGES = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("b", "d"), ("c", "e")]
TABLE = Attributes.from_columns(
    {
        "town": ["Ulm", "Ulm", "Bern", "Bern", None],
        "about": [["red", "bike"], ["red", "car"], ["red", "bike"], ["bike", "car"], []],
        "member": [True, False, False, True, None],
        "age": [30, 30, 30, 30, 30],
    }
)


@pytest.mark.parametrize("directed", [False, True])
def test_by_hand(directed):
    graph = Graph.from_edges(None, EDGES, ids=list("abcde"), attributes=TABLE, directed=directed)
    b, d, e = compare_nodes(graph, "a", ["b", "d", "e"])
    assert (b.node, b.connected, b.neighbors) == ("b", True, ["c"])
    assert b.traits == [("town", "Ulm"), ("about", "red")]  # the rarer first
    assert (d.connected, d.neighbors) == (False, ["b", "c"])  # b has fewer neighbors
    assert d.traits == [("member", True), ("about", "bike")]
    assert (e.connected, e.neighbors, e.traits) == (False, ["c"], [])
    assert str(b) == "an edge; neighbor c; town Ulm; about red"
    assert str(d) == "neighbors b, c; member; about bike"


@pytest.mark.parametrize("sparse", [True, False])
def test_features_that_both_have(sparse):
    x = np.array([[1, 0, 1], [1, 1, 1], [0, 1, 0]], dtype=np.float32)
    graph = Graph(sp.csr_array(x) if sparse else x, feature_names=["p", "q", "r"])
    one, two = compare_nodes(graph, 0, [1, 2])
    assert one.traits == [("p", True), ("r", True)]
    assert str(one) == "p, r"
    assert str(two) == "nothing"
    assert compare_nodes(Graph(x + 0.5), 0, [1])[0].traits == []


def test_unknown_nodes():
    with pytest.raises(InputError, match="7"):
        compare_nodes(Graph(np.eye(3)), 0, [7])
