"""Graphs as two tables."""

import csv
import shutil
from datetime import date, datetime

import numpy as np
import pytest
import scipy.sparse as sp

from graphgate import AttributeEncoder
from graphgate.errors import InputError, InputWarning
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.io.graph_files import read_graph
from graphgate.io.graph_tables import from_tables
from graphgate.io.graph_writer import to_tables, write_graph

pytestmark = pytest.mark.filterwarnings("ignore:.*read the same graph with")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("binary", [True, False])
def test_a_graph_round_trips_through_two_tables(tmp_path, ending, binary):
    rng = np.random.default_rng(0)
    there = rng.random((9, 12)) < 0.3
    x = sp.csr_array(there if binary else there * rng.random((9, 12)), dtype=np.float32)
    graph = Graph(
        *(x, np.triu(rng.random((9, 9)) < 0.4, 1)),
        ids=[f"n{at}" for at in range(9)],
        labels=["a", None, "b"] * 3,
    )
    edges, nodes = write_graph(tmp_path / "new", graph, ending)
    noted = {"words": ["words"]} if binary and ending == ".csv" else {}
    again = read_graph(edges, nodes, **noted)
    assert again.ids.tolist() == graph.ids.tolist()
    assert again.label_values() == graph.label_values()
    assert (again.adjacency != graph.adjacency).nnz == 0
    encoder = AttributeEncoder(scale=False).fit(again.attributes)
    found = sp.csr_array(encoder.transform(again.attributes)).toarray()
    names = encoder.get_feature_names_out()
    place = [name.rpartition("=")[2].rpartition(" ")[2].strip("w") for name in names]
    expected = sp.csr_array(graph.x).toarray()[:, [int(at) for at in place]]
    np.testing.assert_array_equal(found, expected)


def test_words_and_categories_of_a_graph_go_into_csv(tmp_path):
    table = Attributes.from_columns(
        {"town": ["Ulm", None, "Bern"], "says": [["a", "b"], ["b"], []], "n": [1.5, None, 2]}
    )
    graph = Graph(None, np.ones((3, 3)) - np.eye(3), attributes=table)
    edges, nodes = write_graph(tmp_path, graph)
    again = read_graph(edges, nodes, words=["says"])
    assert again.attributes.kinds == table.kinds
    for name in table.names:
        assert again.attributes[name].tolist() == table[name].tolist()
    for odd in ([["a b"], ["c"], ["d"]], [{"a": 0.5}, {"b": 1}, {}]):
        graph = Graph(None, np.ones((3, 3)), attributes={"says": odd})
        with pytest.raises(InputError, match=r"which CSV cannot store; write \.parquet"):
            write_graph(tmp_path / "odd", graph)
        assert not (tmp_path / "odd").exists()
    with pytest.raises(InputError, match=r"not '\.txt'"):
        write_graph(tmp_path, graph, ".txt")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be created"):
        write_graph(tmp_path / "file", again)


def test_words_that_csv_cannot_store_are_refused(tmp_path):
    for words in (["", "b"], ["a b"], ["a\tb"], ["a\n"]):
        graph = Graph(attributes={"says": [words, ["b"], []]})
        with pytest.raises(InputError, match="empty or has white space, which CSV cannot store"):
            write_graph(tmp_path / "new", graph)
        assert not (tmp_path / "new").exists()
        edges, nodes = write_graph(tmp_path / "new", graph, ".parquet")
        assert read_graph(edges, nodes).attributes["says"].tolist()[0] == dict.fromkeys(words, 1.0)
        shutil.rmtree(tmp_path / "new")


def test_an_empty_id_is_not_written_as_a_missing_one(tmp_path):
    graph = Graph.from_edges(None, [("", "b")], ids=["", "b"])
    with pytest.raises(
        InputError, match="the column 'id' contains empty text, which CSV cannot distinguish"
    ):
        write_graph(tmp_path / "new", graph)
    assert not (tmp_path / "new").exists()
    edges, nodes = write_graph(tmp_path / "new", graph, ".parquet")
    again = read_graph(edges, nodes)
    assert (again.ids.tolist(), again.n_edges) == (["", "b"], 1)


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a\nb", "a\rb", "a\r\nb", "'a'", "ä b"])
def test_any_column_name_can_be_read_back(tmp_path, name):
    graph = Graph(attributes={name: [1.5, 2.5]})
    edges, nodes = write_graph(tmp_path, graph)
    assert read_graph(edges, nodes).attributes.names == (name,)
    with nodes.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["id", name], ["0", "1.5"], ["1", "2.5"]]


def test_a_written_graph_is_read_in_the_same_order(tmp_path):
    graph = Graph.from_edges(None, [("p", "q")], ids=["p", "q"])
    edges, nodes = write_graph(tmp_path, graph)
    assert (edges.name, nodes.name) == ("edges.csv", "nodes.csv")
    assert [table.column_names for table in to_tables(graph)] == [["source", "target"], ["id"]]
    assert read_graph(edges, nodes).fingerprint() == graph.fingerprint()
    assert from_tables(*to_tables(graph)).fingerprint() == graph.fingerprint()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_dates_and_odd_categories_are_read_as_they_were(tmp_path, ending):
    columns = {
        "born": [date(1970, 1, 2), None, date(2020, 2, 29)],
        "seen": [datetime(1970, 1, 2, 12), datetime(2024, 1, 1, 0, 0, 0, 1), None],
        "code": ["1", "22", None],
        "day": ["2020-01-01", "2020-01-02", None],
    }
    kinds = {"code": "category", "day": "category"}
    graph = Graph(np.ones((3, 3)), attributes=None).with_attributes(
        Attributes.from_columns(columns, kinds=kinds)
    )
    paths = write_graph(tmp_path, graph, ending)
    options = {"categories": ["code", "day"]} if ending == ".csv" else {}
    again = read_graph(*paths, **options).attributes
    assert again.kinds == graph.attributes.kinds
    for name in again:
        assert again[name].tolist() == graph.attributes[name].tolist()
        assert again[name].dates == (name in ("born", "seen"))


def test_what_tables_do_not_hold_is_named(tmp_path):
    graph = Graph.from_edges(
        None,
        [("a", "b")],
        attributes={"says": [["x"], ["y"]], "code": ["1", "2"]},
        ids=["a", "b"],
        splits={"train": [True, False]},
        directed=True,
    )
    with pytest.warns(InputWarning) as seen:
        paths = write_graph(tmp_path, graph)
    assert [str(each.message) for each in seen] == [
        f"{tmp_path}: 1 split is ignored: train; tables have no place for splits",
        f"{tmp_path}: read the same graph with directed=True, words=['says'], categories=['code']",
    ]
    again = read_graph(*paths, directed=True, words=["says"], categories=["code"])
    assert again.fingerprint() == graph.fingerprint()
    with pytest.warns(InputWarning, match="the tables: read the same graph with directed=True$"):
        to_tables(graph.with_splits({}))
