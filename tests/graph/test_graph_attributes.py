"""Graphs with attributes, and graphs with edges only."""

import pickle

import numpy as np
import pytest
from graphs import random_graph

from graphgate import Attributes, Graph, InputError, InputWarning
from graphgate.graph.validation import errors_about

TABLE = Attributes.from_columns({"age": [30, 50, 70], "town": ["Ulm", None, "Bern"]})
EDGES = [("a", "b"), ("b", "c")]


def people(**options) -> Graph:
    return Graph.from_edges(None, EDGES, attributes=TABLE, ids=["a", "b", "c"], **options)


def test_attributes_stay_attributes():
    graph = people()
    assert graph.attributes is TABLE
    assert graph.x is None
    assert graph.feature_names is None
    assert graph.n_features == 0
    assert repr(graph) == "Graph(3 nodes, 2 undirected edges, 2 attributes (age, town))"
    columns = {"age": [30, 50, 70], "town": ["Ulm", None, "Bern"]}
    same = Graph(adjacency=graph.adjacency, attributes=columns, ids=["a", "b", "c"])
    assert same.fingerprint() == graph.fingerprint()
    for changed in ({"age": [30, 50, 71]}, {"town": ["Ulm", None, "Rom"]}):
        other = Graph(adjacency=graph.adjacency, attributes=columns | changed, ids=["a", "b", "c"])
        assert other.fingerprint() != graph.fingerprint()


def test_attributes_follow_their_nodes():
    graph = people(labels=[0, 1, 0], splits={"train": [True, False, True]})
    assert graph.without(["a"]).attributes["age"].tolist() == [50.0, 70.0]
    assert graph.subgraph(["c", "a"]).attributes["town"].tolist() == ["Bern", "Ulm"]
    for same in (pickle.loads(pickle.dumps(graph)), graph.reverse(), graph.reveal("train")):
        assert same.attributes["town"].tolist() == ["Ulm", None, "Bern"]
        assert same.fingerprint() == graph.fingerprint()
    ordered = graph.by_locality()
    at = ordered.rows(["a", "b", "c"])
    assert ordered.attributes.take(at)["age"].tolist() == [30, 50, 70]


def test_the_same_graph_with_features():
    graph = people(labels=[0, 1, 0])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    described = graph.with_x(x, ["p", "q"])
    assert described.attributes is None
    assert described.feature_names == ("p", "q")
    np.testing.assert_array_equal(described.x, x)
    x[0] = 9
    assert described.x[0, 0] == 0
    assert described.ids.tolist() == ["a", "b", "c"]
    assert described.labels.tolist() == [0, 1, 0]
    taken = graph.with_x(x, copy=False)
    assert taken.x is x
    assert not x.flags.writeable
    with pytest.raises(InputError, match="features have 2 rows for 3 nodes; pass one row per node"):
        graph.with_x(np.eye(2))


def test_features_by_name():
    graph = Graph(np.eye(3), feature_names=list("abc"))
    turned = graph.with_features(["c", "a", "b"])
    assert turned.x.tolist() == np.eye(3)[:, [2, 0, 1]].tolist()
    assert turned.feature_names == ("c", "a", "b")
    assert graph.with_features("abc") is graph
    with pytest.warns(InputWarning, match=r"1 unknown feature is ignored: b"):
        assert graph.with_features("ca").n_features == 2
    with pytest.raises(InputError, match="lacks the feature 'd'; it has a, b, c"):
        graph.with_features("abd")
    with pytest.raises(InputError, match="no names"):
        Graph(np.eye(2)).with_features("ab")


# --- nothing but edges ---------------------------------------------------------------------------


def test_a_graph_of_edges_only():
    plain = random_graph(3, n=12)
    graph = Graph(adjacency=plain.adjacency)
    assert graph.x is None
    assert graph.attributes is None
    assert repr(graph).endswith("edges, no features)")
    pairs = np.argwhere(np.triu(plain.adjacency.toarray()))
    ids = [f"n{at}" for at in range(12)]
    named = Graph.from_edges(None, [(ids[u], ids[v]) for u, v in pairs], ids=ids)
    assert (named.adjacency != graph.adjacency).nnz == 0
    assert Graph.from_edges(None, [(0, 1), (1, 5)]).n_nodes == 6
    assert Graph.from_edges(None, [], ids=["a", "b"]).n_edges == 0
    assert graph.without([3]).n_nodes == 11


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graph(), "pass features, attributes, or a square adjacency matrix"),
        (lambda: Graph(None, 3), r"the adjacency has shape \(\)"),
        (lambda: Graph.from_edge_index(None, [[0], [1]], num_nodes=1), "out of range for 1 nodes"),
        (lambda: Graph.from_edge_index(np.eye(3), [[0], [1]], num_nodes=2), "number of nodes, 3"),
        (lambda: Graph.from_edge_index(None, [[0], [1]], num_nodes="2"), "number of nodes, 2, got"),
        (lambda: Graph.from_edge_index(None, [[0, 1]]), r"shape \(2, E\), got \(1, 2\); transpose"),
        (lambda: Graph.from_edge_index(None, [[0], []]), "rectangular array"),
        (lambda: Graph.from_edge_index(None, np.empty((2, 0))), "the graph is empty"),
        (lambda: Graph(None, np.ones((2, 3))), r"shape \(2, 3\)"),
        (lambda: Graph(None, np.empty((0, 0))), "the graph is empty"),
        (lambda: Graph.from_edges(None, []), "the graph is empty"),
        (lambda: Graph.from_edges(None, [("a", "b")]), "pass the ids of all nodes as ids="),
        (lambda: Graph.from_edges(None, [(0, -1)]), "out of range for 1 nodes"),
        (
            lambda: Graph(None, np.eye(2), attributes=TABLE),
            r"shape \(2, 2\), but there are 3 nodes",
        ),
        (
            lambda: Graph(attributes=TABLE, feature_names=["a"]),
            "name the columns of x, but there is no x",
        ),
        (lambda: Graph(attributes=TABLE, ids=["a"]), "1 node ids for 3 nodes"),
        (lambda: Graph(TABLE), "x is a table of attributes; pass it as attributes="),
        (lambda: Graph(np.eye(3), attributes=TABLE), "either x or attributes, not both"),
        (lambda: Graph(attributes=["a"]), "columns must map names to values"),
        (lambda: Graph(attributes={"a": []}), "the graph is empty"),
        (lambda: Graph.from_edge_index(None, [[0], [1]], attributes={"a": []}), "for 0 nodes"),
        (lambda: Graph.from_edges(np.empty((0, 2)), [(0, 1)]), "out of range for 0 nodes"),
    ],
)
def test_invalid_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (lambda: Graph([[np.nan]]), "nodes"),
        (lambda: Graph(np.eye(2), ids=["a", "a"]), "nodes"),
        (lambda: Graph(np.eye(2), labels=[1]), "nodes"),
        (lambda: Graph(np.eye(2), splits={"train": [1]}), "nodes"),
        (lambda: Graph(np.eye(2), feature_names=["a"]), "nodes"),
        (lambda: Graph(attributes={"a": [np.inf]}), "nodes"),
        (lambda: Graph(np.eye(2)).with_x(np.eye(3)), "nodes"),
        (lambda: Graph(np.eye(2), np.eye(3)), "edges"),
        (lambda: Graph(np.eye(2), [[0, -1], [0, 0]]), "edges"),
        (lambda: Graph.from_edges(np.eye(2), [(0, 2)]), "edges"),
        (lambda: Graph.from_edges(np.eye(2), [("a", "c")], ids=["a", "b"]), "edges"),
        (lambda: Graph.from_edges(np.eye(2), [(0, 1)], [np.nan]), "edges"),
        (lambda: Graph.from_edge_index(None, [[0], [0.5]]), "edges"),
        (lambda: Graph.from_edge_index(None, [[0, 1], [1, 0]], [1, 2]), "edges"),
    ],
)
def test_errors_say_which_table_they_are_about(make, about):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.about == about


def test_the_innermost_subject_of_an_error_counts():
    with pytest.raises(InputError) as caught, errors_about("edges"):
        raise InputError("an id is unknown", about="nodes")
    assert caught.value.about == "nodes"
