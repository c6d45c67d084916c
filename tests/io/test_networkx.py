"""NetworkX's graphs in and out."""

import sys
from datetime import date, datetime, timedelta
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from graphs import graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate import Attributes, Graph, InputError, from_networkx, read_graph, to_networkx
from graphgate.errors import InputWarning


def dense(x):
    return x if isinstance(x, np.ndarray) else x.toarray()


def same_graph(a: Graph, b: Graph) -> None:
    assert (a.x is None) == (b.x is None)
    if a.x is not None:
        assert (dense(a.x) == dense(b.x)).all()
        assert a.x.dtype == b.x.dtype
    assert (a.adjacency != b.adjacency).nnz == 0
    assert a.ids.tolist() == b.ids.tolist()
    assert a.ids.dtype == b.ids.dtype
    assert (a.directed, a.weighted) == (b.directed, b.weighted)
    assert a.classes == b.classes
    assert (a.labels is None) == (b.labels is None)
    assert a.labels is None or (a.labels == b.labels).all()
    assert {k: v.tolist() for k, v in a.splits.items()} == {
        k: v.tolist() for k, v in b.splits.items()
    }
    assert a.feature_names == b.feature_names


# --- there and back ------------------------------------------------------------------------------


@settings(max_examples=50)
@given(graphs())
def test_features_round_trip(graph):
    g = to_networkx(graph)
    assert g.is_directed() == graph.directed
    assert not g.is_multigraph()
    back = from_networkx(g)
    if graph.n_edges or not graph.weighted:  # no edges have no weights to tell
        same_graph(back, graph)
    weights = nx.to_scipy_sparse_array(g, weight="weight" if graph.weighted else None)
    assert np.allclose(weights.toarray(), graph.adjacency.toarray())


NODES = st.lists(
    st.one_of(st.integers(), st.text(max_size=3), st.tuples(st.integers(0, 3), st.booleans())),
    min_size=1,
    max_size=8,
    unique=True,
)
COLUMNS = {
    "size": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "old": st.one_of(st.none(), st.booleans()),
    "town": st.one_of(st.none(), st.sampled_from(["Ulm", "Bern", ""])),
    "words": st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3).map(float)),
    "code": st.one_of(st.none(), st.sampled_from([3, 5])),
}
KINDS = dict(zip(COLUMNS, ("number", "boolean", "category", "words", "category"), strict=True))


@st.composite
def attributed_graphs(draw: st.DrawFn) -> Graph:
    ids = draw(NODES)
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True))
    n = len(ids)
    columns = {name: draw(st.lists(COLUMNS[name], min_size=n, max_size=n)) for name in names}
    columns["given"] = list(range(n))  # a column without a value alone would give no features
    pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=10))
    return Graph.from_edges(
        None,
        pairs,
        attributes=Attributes.from_columns(columns, kinds={name: KINDS[name] for name in names}),
        ids=ids,
        labels=draw(st.lists(st.sampled_from(["x", "y"]), min_size=n, max_size=n)),
        directed=draw(st.booleans()),
    )


@settings(max_examples=80)
@given(attributed_graphs())
def test_attributes_and_ids_of_every_kind_round_trip(graph):
    back = from_networkx(to_networkx(graph), label="label")
    same_graph(back, graph)
    assert back.attributes.kinds == graph.attributes.kinds
    for name in graph.attributes.names:
        assert back.attributes.column(name).tolist() == graph.attributes.column(name).tolist()


def test_labels_splits_and_names_are_kept():
    graph = Graph.from_edges(
        [[1.0, 0], [2, 3], [4, 5]],
        [("a", 7), (7, ("c", 1))],
        [0.5, 2.0],
        ids=["a", 7, ("c", 1)],
        labels=["x", None, "y"],
        splits={"train": [True, False, False], "test": [False, False, True]},
        feature_names=["one", "two"],
    )
    g = to_networkx(graph, label="kind", weight="strength", split="part", features="f")
    assert g.nodes["a"]["kind"] == "x"
    assert "kind" not in g.nodes[7]
    assert g.nodes[("c", 1)]["part"] == "test"
    assert g.edges["a", 7] == {"strength": 0.5}
    assert g.nodes[7]["f"].tolist() == [2, 3]
    back = from_networkx(g, label="kind", weight="strength", split="part")
    same_graph(back, graph)
    g.nodes[7]["f"][0] = 9  # a copy: the graph cannot be changed
    assert graph.x[1, 0] == 2


def test_a_name_that_is_taken():
    table = {"label": ["a", "b"]}
    graph = Graph.from_edges(None, [(0, 1)], attributes=table, labels=["x", "y"])
    with pytest.raises(InputError, match="already has an attribute 'label'; choose another name"):
        to_networkx(graph)
    assert to_networkx(graph, label="class").nodes[0] == {"label": "a", "class": "x"}


def test_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="needs NetworkX: pip install"):
        to_networkx(Graph([[1.0]]))


# --- what NetworkX's users have ------------------------------------------------------------------


def test_the_karate_club():
    g = nx.karate_club_graph()
    graph = from_networkx(g, label="club")
    assert graph.n_nodes == 34
    assert graph.n_edges == 78
    assert graph.weighted
    assert graph.classes == ("Mr. Hi", "Officer")
    assert (graph.adjacency != nx.to_scipy_sparse_array(g, format="csr")).nnz == 0
    assert not from_networkx(g, label="club", weight=None).weighted
    assert from_networkx(g, attributes="club").attributes.names == ("club",)


def test_a_graph_without_attributes_has_only_edges():
    g = nx.path_graph(4)
    graph = from_networkx(g)
    assert (graph.x, graph.attributes) == (None, None)
    assert nx.utils.graphs_equal(to_networkx(graph), g)
    assert from_networkx(nx.karate_club_graph(), attributes=[]).attributes is None


def test_missing_values_and_kinds():
    g = nx.Graph()
    g.add_node("a", size=1.5, old=True, town="Ulm", words=["x", "x", "y"])
    g.add_node("b", size=None, town="Bern")
    g.add_edge("a", "b")
    table = from_networkx(g).attributes
    assert table.kinds == {"size": "number", "old": "boolean", "town": "category", "words": "words"}
    assert table.column("old").tolist() == [True, None]
    assert table.column("words").tolist() == [{"x": 2, "y": 1}, {}]


@pytest.mark.parametrize("vector", [list, tuple, np.array])
def test_a_vector_is_the_features(vector):
    g = nx.path_graph(3)
    for node in g:
        g.nodes[node]["feature"] = vector([float(node), 1.0])
    graph = from_networkx(g)
    assert graph.attributes is None
    assert graph.x.tolist() == [[0, 1], [1, 1], [2, 1]]
    nx.set_node_attributes(g, {0: "a", 1: "b", 2: "a"}, "town")
    graph = from_networkx(g)
    assert graph.attributes.names == ("feature[0]", "feature[1]", "town")
    assert from_networkx(g, attributes=["feature"]).x.tolist() == [[0, 1], [1, 1], [2, 1]]


def test_a_vector_of_huge_integers_among_other_attributes(tmp_path):
    path = tmp_path / "g.gml"
    path.write_text(f"graph [\n node [\n id 0\n size 2\n t {10**30}\n t 0.5\n ]\n]\n")
    attributes = read_graph(path).attributes
    assert {name: attributes[name].tolist() for name in attributes} == {
        "size": [2],
        "t[0]": [1e30],
        "t[1]": [0.5],
    }


def test_mostly_zero_vectors_become_sparse():
    g = nx.path_graph(10)
    for node in g:
        g.nodes[node]["x"] = np.eye(10)[node]
    assert isinstance(from_networkx(g).x, sp.csr_array)


def test_parallel_edges_and_self_loops():
    g = nx.MultiGraph([(0, 1), (1, 0), (0, 1), (1, 2), (2, 2)])
    with pytest.warns(
        InputWarning,
        match="5 edges include 1 from a node to itself .*, 2 between nodes that are already",
    ):
        assert from_networkx(g).n_edges == 2
    g = nx.MultiGraph()
    g.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 3.0)])
    with pytest.warns(
        InputWarning, match="2 edges include 1 between nodes that are already joined"
    ):
        graph = from_networkx(g)
    assert graph.adjacency.toarray().tolist() == [[0, 5], [5, 0]]
    directed = nx.MultiDiGraph([(0, 1), (1, 0)])
    assert from_networkx(directed).n_edges == 2  # two ways are not parallel


def test_an_edge_without_a_weight_has_weight_one_as_in_networkx():
    g = nx.Graph([(0, 1, {"weight": 3.0}), (1, 2)])
    graph = from_networkx(g)
    assert (graph.adjacency != nx.to_scipy_sparse_array(g, format="csr")).nnz == 0


def test_unfit_attributes_are_dropped_with_a_warning():
    g = nx.path_graph(2)
    nx.set_node_attributes(g, {0: {"r": {"g": 1}}, 1: {"r": {"g": 2}}}, "viz")
    nx.set_node_attributes(g, timedelta(1), "took")
    nx.set_node_attributes(g, 1.0, "size")
    with pytest.warns(
        InputWarning,
        match=r"2 node attributes are ignored: viz \(nested values\), took \(values of type timed",
    ):
        assert from_networkx(g).attributes.names == ("size",)
    with pytest.raises(InputError, match="'viz' has nested values, which cannot be used"):
        from_networkx(g, attributes=["viz"])


def test_dates_and_decimals_are_numbers_as_in_tables():
    columns = {
        "born": [date(1970, 1, 2), None, datetime(1970, 1, 3, 12)],
        "seen": [pd.Timestamp("1970-01-02"), pd.NaT, pd.Timestamp("1970-01-03 02:00+0200")],
        "made": [np.datetime64("1970-01-02T00:00:00.000000001"), None, np.datetime64("1970-01-05")],
        "price": [Decimal("1.5"), 2, 2.5],
        "exact": [Decimal("1.50"), Decimal("2"), None],
    }
    expected = {
        "born": [1, None, 2.5],
        "seen": [1, None, 2],
        "made": [1, None, 4],
        "price": [1.5, 2, 2.5],
        "exact": [1.5, 2, None],
    }
    g = nx.path_graph(3)
    for name, values in columns.items():
        nx.set_node_attributes(g, dict(enumerate(values)), name)
    for table in (from_networkx(g).attributes, Attributes.from_columns(columns)):
        assert {name: table[name].tolist() for name in table} == expected
        assert [name for name in table if table[name].dates] == ["born", "seen", "made"]
        back = to_networkx(Graph(attributes=table))
        assert back.nodes[2]["born"] == datetime(1970, 1, 3, 12)
        again = from_networkx(back).attributes
        assert {name: again[name].tolist() for name in again} == expected
        assert again["seen"].dates


def test_what_edges_and_the_graph_have_besides_weights_is_named():
    g = nx.Graph(name="a name", crs="EPSG:4326")
    g.add_edge(0, 1, weight=2.0, since=1999)
    g.add_edge(1, 2, kind="friend")
    with pytest.warns(InputWarning) as seen:
        graph = from_networkx(g)
    assert [str(each.message) for each in seen] == [
        "the NetworkX graph: 2 edge attributes are ignored: since, kind",
        "the NetworkX graph: 1 graph attribute is ignored: crs",
    ]
    assert graph.adjacency.data.tolist() == [2, 2, 1, 1]


def test_two_attributes_of_one_spelling():
    g = nx.path_graph(2)
    g.nodes[0][1], g.nodes[1]["1"] = 2.0, 3.0
    with pytest.raises(InputError, match="attributes 1 and '1' are spelled alike; rename one"):
        from_networkx(g)


def test_tensors_are_vectors():
    g = nx.path_graph(2)
    nx.set_node_attributes(g, {0: torch.tensor([1.0, 2.0]), 1: torch.tensor([3.0, 4.0])}, "x")
    assert from_networkx(g).x.tolist() == [[1, 2], [3, 4]]


# --- refusals ------------------------------------------------------------------------------------


def weight(value):
    return nx.Graph([("a", "b", {"weight": value})])


@pytest.mark.parametrize(
    ("g", "arguments", "message"),
    [
        ([], {}, "expected a NetworkX graph, got list"),
        (nx.Graph(), {}, "no nodes"),
        (nx.path_graph(2), {"label": "club"}, "no node has the label 'club'; .* are none"),
        (nx.path_graph(2), {"attributes": ["a"]}, "no node has the attribute 'a'"),
        (nx.karate_club_graph(), {"attributes": ["club", "club"]}, "listed twice"),
        (
            nx.karate_club_graph(),
            {"attributes": "club", "label": "club"},
            "is listed as an attribute and used as",
        ),
        (weight(-1), {}, "edge 'a'–'b', column 'weight': -1 is not a positive finite"),
        (weight("heavy"), {}, "column 'weight': 'heavy' is not a number"),
        (weight(float("nan")), {}, "column 'weight': .* is not a positive"),
        (weight(float("inf")), {}, "column 'weight': inf is not a positive"),
        (weight([1]), {}, "a weight is not a number; weights must be positive numbers"),
        (weight(True), {}, "column 'weight': values of type bool cannot be used"),
        (nx.Graph([(float("nan"), 1)]), {}, "a node id is NaN"),
    ],
)
def test_refusals(g, arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        from_networkx(g, **arguments)
    assert "\n" not in str(caught.value)


def test_vectors_that_do_not_fit():
    g = nx.path_graph(2)
    g.nodes[0]["x"] = [1.0, 2.0]
    with pytest.raises(InputError, match="'x' has 2 entries at some nodes, but 0 at node 1"):
        from_networkx(g)
    g.nodes[1]["x"] = [1.0]
    with pytest.raises(InputError, match="'x' has 2 entries at some nodes, but 1 at node 1"):
        from_networkx(g)
