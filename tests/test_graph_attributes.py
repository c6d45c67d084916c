"""Graphs of attributes, and of nothing but edges: their encoding, and what their parts are."""

import pickle

import numpy as np
import pytest
from graphs import random_graph

from graphgate import Attributes, Encoding, Graph, InputError, InputWarning
from graphgate.preprocessing.structural import structural_attributes

TABLE = Attributes.from_columns({"age": [30, 50, 70], "town": ["Ulm", None, "Bern"]})
EDGES = [("a", "b"), ("b", "c")]


def people(**options) -> Graph:
    return Graph.from_edges(TABLE, EDGES, ids=["a", "b", "c"], **options)


def test_attributes_become_features():
    graph = people()
    assert graph.attributes is TABLE
    assert graph.encoding == Encoding.learn(TABLE)
    assert graph.feature_names == ("age", "town=Bern", "town=Ulm")
    assert graph.x.tolist() == Encoding.learn(TABLE).apply(TABLE).tolist()
    assert not graph.structural
    assert repr(graph) == "Graph(3 nodes, 2 undirected edges, 3 dense features)"
    same = Graph(TABLE, graph.adjacency, ids=["a", "b", "c"])
    assert same.fingerprint() == graph.fingerprint()
    assert people(scale=False).x[:, 0].tolist() == [30, 50, 70]
    assert people(scale=False).fingerprint() != graph.fingerprint()


def test_a_part_keeps_the_encoding_until_it_is_encoded_anew():
    part = people().without(["a"])
    assert part.encoding == people().encoding
    assert part.x.tolist() == people().x[1:].tolist()
    assert part.attributes["age"].tolist() == [50.0, 70.0]
    own = part.encoded()
    assert own.feature_names == ("age", "town=Bern")
    assert own.x.tolist() == [[-1, 0], [1, 1]]
    assert own.encoded() is own
    with pytest.warns(InputWarning, match="1 node"):
        assert people().encoded(own.encoding).feature_names == own.feature_names
    assert own.encoded(people().encoding).x.tolist() == part.x.tolist()
    assert people(scale=False).without(["a"]).encoded().x[:, 0].tolist() == [50, 70]


def test_a_whole_graph_is_not_encoded_twice():
    graph = people()
    assert graph.encoded() is graph
    assert graph.encoded(Encoding.learn(TABLE)) is graph
    plain = random_graph(0)
    assert plain.encoded() is plain
    with pytest.raises(InputError, match="no attributes to encode"):
        plain.encoded(graph.encoding)


def test_a_part_may_have_more_categories_a_row_than_a_table():
    names = [f"t{at}" for at in range(30)]
    graph = Graph(Attributes.from_columns({"town": names * 2}))
    assert graph.subgraph(np.arange(60) < 30).encoded().n_features == 30
    with pytest.raises(InputError, match="30 different values in 30 rows"):
        Graph(Attributes.from_columns({"town": names}))


def test_attributes_survive_pickling_and_other_changes():
    graph = people(labels=[0, 1, 0], splits={"train": [True, False, True]})
    for same in (pickle.loads(pickle.dumps(graph)), graph.reverse(), graph.reveal("train")):
        assert same.encoding == graph.encoding
        assert same.attributes["town"].tolist() == ["Ulm", None, "Bern"]
        assert same.fingerprint() == graph.fingerprint()
        assert same.encoded() is same
    ordered = graph.by_locality()
    at = ordered.rows(["a", "b", "c"])
    assert ordered.attributes.take(at)["age"].tolist() == [30, 50, 70]


def test_features_by_name():
    graph = Graph(np.eye(3), feature_names=list("abc"))
    turned = graph.with_features(["c", "a", "b"])
    assert turned.x.tolist() == np.eye(3)[:, [2, 0, 1]].tolist()
    assert turned.feature_names == ("c", "a", "b")
    assert graph.with_features("abc") is graph
    with pytest.warns(InputWarning, match=r"1 feature\(s\) .* ignored: b"):
        assert graph.with_features("ca").n_features == 2
    with pytest.raises(InputError, match="lacks the feature 'd'; it has a, b, c"):
        graph.with_features("abd")
    with pytest.raises(InputError, match="no names"):
        Graph(np.eye(2)).with_features("ab")


# --- nothing but edges ---------------------------------------------------------------------------


def test_a_graph_without_features_has_those_of_its_structure():
    plain = random_graph(3, n=12)
    graph = Graph(None, plain.adjacency)
    assert graph.structural
    assert repr(graph).endswith("132 structural features)")
    expected = structural_attributes(plain.adjacency, plain.ids)
    np.testing.assert_array_equal(graph.x, Encoding.learn(expected).apply(expected))
    pairs = np.argwhere(np.triu(plain.adjacency.toarray()))
    ids = [f"n{at}" for at in range(12)]
    named = Graph.from_edges(None, [(ids[u], ids[v]) for u, v in pairs], ids=ids)
    assert (named.adjacency != graph.adjacency).nnz == 0
    np.testing.assert_array_equal(named.x[:, :4], graph.x[:, :4])
    assert Graph.from_edges(None, [(0, 1), (1, 5)]).n_nodes == 6
    assert Graph.from_edges(None, [], ids=["a", "b"]).n_edges == 0


def test_a_part_has_the_structure_of_the_part():
    """Nothing of the nodes that were left out, neither their edges nor what they teach."""
    graph = Graph(None, random_graph(4, n=15, hub=True).adjacency)
    part = graph.without([14])
    alone = Graph(None, part.adjacency, ids=part.ids)
    np.testing.assert_array_equal(part.encoded().x, alone.x)
    assert (part.x != graph.x[:14]).any()
    # But a neighbourhood is a window on the whole.
    near = graph.neighborhood([3], 1)
    np.testing.assert_array_equal(near.x, graph.x[graph.rows(near.ids)])
    assert near.structural


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graph(None), "give features of two dimensions, or None and a square adjacency"),
        (lambda: Graph(None, 3), "None and a square adjacency"),
        (lambda: Graph(None, np.ones((2, 3))), r"shape \(2, 3\)"),
        (lambda: Graph(None, np.empty((0, 0))), "the graph is empty"),
        (lambda: Graph.from_edges(None, []), "the graph is empty"),
        (lambda: Graph.from_edges(None, [("a", "b")]), "the names of all nodes: `ids`"),
        (lambda: Graph.from_edges(None, [(0, -1)]), "out of range for 1 nodes"),
        (lambda: Graph(TABLE, np.eye(2)), r"shape \(2, 2\), but features have 3 rows"),
        (lambda: Graph(TABLE, feature_names=["a"]), "leave feature_names out"),
        (lambda: Graph(TABLE, ids=["a"]), "1 node ids for 3 rows"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
