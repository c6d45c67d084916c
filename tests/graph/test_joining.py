"""Several graphs as one."""

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_nodes_and_edges_are_those_of_the_graphs(directed, dense):
    graphs = [random_graph(k, n=5 + k, directed=directed, dense=dense) for k in range(3)]
    joined = join_graphs(graphs)
    assert joined.n_nodes == 18
    assert joined.directed == directed
    for number, graph in enumerate(graphs):
        rows = np.flatnonzero(joined.graph_index == number)
        assert joined.ids[rows].tolist() == [(number, id) for id in graph.ids.tolist()]
        part = joined.take(rows)
        assert (part.adjacency != graph.adjacency).nnz == 0
        x, expected = (g.x if dense else g.x.toarray() for g in (part, graph))
        np.testing.assert_array_equal(x, expected)
        assert (part.graph_index == number).all()
    assert joined.n_edges == sum(graph.n_edges for graph in graphs)


def test_labels_and_common_splits_are_kept():
    one = Graph(
        [[1.0], [2.0]], labels=["b", None], splits={"train": [True, False], "val": [False, True]}
    )
    other = Graph([[3.0]], labels=["a"], splits={"train": [True]})
    joined = join_graphs([one, other])
    assert joined.label_values() == ["b", None, "a"]
    assert joined.classes == ("a", "b")
    assert {name: mask.tolist() for name, mask in joined.splits.items()} == {
        "train": [True, False, True]
    }
    assert join_graphs([one, Graph([[3.0]])]).labels is None


def test_columns_of_every_kind_are_joined():
    columns = {"n": [1, None], "b": [True, None], "c": ["x", "z"], "w": [["p", "p"], ["q"]]}
    others = {"n": [0.5], "b": [False], "c": ["y"], "w": [["r", "p"]]}
    joined = join_graphs([Graph(attributes=columns), Graph(attributes=others)]).attributes
    together = Graph(attributes={name: columns[name] + others[name] for name in columns})
    for name in columns:
        assert joined[name].kind == together.attributes[name].kind
        assert joined[name].vocabulary == together.attributes[name].vocabulary
        assert joined[name].tolist() == together.attributes[name].tolist()


def test_weights_of_one_edge_beside_edges_without():
    weighted = Graph.from_edges(np.eye(2), [(0, 1)], [3.0])
    joined = join_graphs([Graph.from_edges(np.eye(2), [(0, 1)]), weighted])
    assert joined.weighted
    assert joined.adjacency.data.tolist() == [1, 1, 3, 3]


def test_the_fingerprint_knows_the_graphs():
    four = Graph(np.eye(4))
    joined = join_graphs([Graph(np.eye(4)[:2]), Graph(np.eye(4)[2:])])
    other = join_graphs([Graph(np.eye(4)[:1]), Graph(np.eye(4)[1:])])
    assert len({four.fingerprint(), joined.fingerprint(), other.fingerprint()}) == 3


def test_graphs_without_edges_have_no_direction():
    directed = Graph.from_edges(np.eye(2), [(0, 1)], directed=True)
    assert join_graphs([Graph(np.eye(2)), directed]).directed


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        ([], "there is no graph"),
        ([Graph(np.eye(2)), "graph"], "item 1 of the list is not a Graph, but of type str"),
        ([Graph(np.eye(2)), Graph(np.eye(3))], "graph 1 has 3 features, but graph 0 has 2"),
        ([Graph(np.eye(2)), Graph(adjacency=sp.eye_array(2))], "graph 1 has no features"),
        (
            [Graph(attributes={"a": [1]}), Graph(attributes={"a": ["x"]})],
            r"attributes a \(category\), but graph 0 has the attributes a \(number\)",
        ),
        (
            [
                Graph.from_edges(np.eye(2), [(0, 1)], directed=True),
                Graph.from_edges(np.eye(2), [(0, 1)]),
            ],
            "directed and others are not",
        ),
    ],
)
def test_graphs_of_several_kinds_are_refused(graphs, words):
    with pytest.raises(InputError, match=words):
        join_graphs(graphs)
