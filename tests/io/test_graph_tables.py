"""Tables of nodes and edges from files and data frames: kinds, ids, unknown nodes, round trips."""

import bz2
import datetime
import gzip
import itertools
import pickle
import re
import tracemalloc
import uuid
import warnings
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from attribute_values import VALUES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import (
    Attributes,
    Graph,
    InputError,
    InputWarning,
    from_tables,
    read_graph,
    to_tables,
    write_graph,
)
from graphgate.io import columns, parquet_reader

EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "a"]}
NODES = {
    "id": ["a", "b", "c"],
    "size": [1.5, None, 3.0],
    "yes": [True, False, None],
    "town": ["Ulm", None, "Bern"],
    "text": [["to", "be", "to"], [], None],
    "label": ["x", None, "y"],
}
KINDS = {"size": "number", "yes": "boolean", "town": "category", "text": "words"}
VALUES_BACK = {
    "size": [1.5, None, 3.0],
    "yes": [True, False, None],
    "town": ["Ulm", None, "Bern"],
    "text": [{"to": 2.0, "be": 1.0}, {}, {}],
}

pytestmark = pytest.mark.filterwarnings("ignore:.*read the same graph with")


def parquet(tmp_path):
    def make(table, name="nodes", **options):
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet", **options)
        return tmp_path / f"{name}.parquet"

    return make


@pytest.fixture
def files(tmp_path):
    """Reads a graph of two Parquet files."""
    write = parquet(tmp_path)

    def read(edges=EDGES, nodes=NODES, **options):
        return read_graph(write(edges, "edges"), None if nodes is None else write(nodes), **options)

    return read


@pytest.fixture(params=["parquet", "arrow", "pandas", "polars"])
def made(request, files):
    """Makes a graph of two tables, in one of four ways."""

    def make(edges=EDGES, nodes=NODES, **options):
        if request.param == "parquet":
            return files(edges, nodes, **options)
        form = {"arrow": pa.table, "pandas": pd.DataFrame, "polars": pl.DataFrame}[request.param]
        return from_tables(form(edges), None if nodes is None else form(nodes), **options)

    return make


def test_columns_of_every_kind(made):
    graph = made()
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.attributes.kinds == KINDS
    assert {n: graph.attributes[n].tolist() for n in KINDS} == VALUES_BACK
    assert graph.labels.tolist() == [0, -1, 1]
    assert graph.classes == ("x", "y")
    assert graph.n_edges == 3


def test_columns_with_other_names(made):
    nodes = {
        "who": [1, 2],
        "k": [5, 6],
        "group": [1.0, None],
        "junk": ["p", "q"],
        "t": ["a b a", ""],
    }
    edges = {"from": [1], "to": [2], "w": [0.5]}
    graph = made(edges, nodes, id="who", label="group", drop=["junk"], categories=["k"],
                 words=["t"], source="from", target="to", weight="w")  # fmt: skip
    assert graph.ids.tolist() == [1, 2]
    assert graph.attributes.kinds == {"k": "category", "t": "words"}
    assert graph.attributes["k"].tolist() == [5, 6]
    assert graph.attributes["t"].tolist() == [{"a": 2.0, "b": 1.0}, {}]
    assert (graph.classes, graph.labels.tolist()) == ((1,), [0, -1])
    assert graph.adjacency.toarray().tolist() == [[0, 0.5], [0.5, 0]]
    with pytest.warns(InputWarning, match="ignored: w"):
        graph = made(edges, nodes, id="who", label=None, drop=["junk", "t"], source="from",
                     target="to", weight=None, kinds={"k": "category", "no": "words"})  # fmt: skip
    assert not graph.weighted
    assert graph.labels is None
    assert graph.attributes.kinds == {"k": "category", "group": "number"}


def test_a_graph_from_edges_only(made):
    graph = made({"source": [7, 3, 7], "target": [3, 5, 9]}, None)
    assert graph.ids.tolist() == [7, 3, 5, 9]
    assert graph.ids.dtype == np.int64
    assert graph.x is None
    assert graph.attributes is None
    assert graph.adjacency.toarray()[0].tolist() == [0, 1, 0, 1]
    only_ids = made({"source": ["b"], "target": ["a"]}, {"id": ["a", "b", "c"]})
    assert only_ids.attributes is None
    assert only_ids.ids.tolist() == ["a", "b", "c"]


def test_labels_can_be_dropped(made):
    assert made(drop="label").labels is None
    assert made(drop=["label", "size", "yes", "town", "text"]).attributes is None


def test_other_columns_of_edges_are_named_in_a_warning(made):
    with pytest.warns(InputWarning, match=r"2 edge columns are ignored: kind, since"):
        made(EDGES | {"kind": ["x"] * 3, "since": [1, 2, 3]})


# --- nodes that the node table lacks -------------------------------------------------------------

MORE = {
    "source": ["a", "z", "b", "y"],
    "target": ["b", "a", "z", "y"],
    "weight": [1.0, 2.0, 3.0, 4.0],
}


def test_edges_to_unknown_nodes_are_dropped_and_counted(made):
    with pytest.warns(
        InputWarning, match=r"3 of 4 edges refer to a node .*'z' \(row 1\), and are left"
    ):
        graph = made(MORE)
    assert graph.n_nodes == 3
    assert graph.adjacency.toarray()[0].tolist() == [0, 1, 0]
    with pytest.warns(InputWarning, match="3 of 4 edges refer to a node"):
        again = made({name: values[::-1] for name, values in MORE.items()})
    assert (again.adjacency != graph.adjacency).nnz == 0  # each edge keeps its own weight


def test_edges_that_all_name_unknown_nodes_are_refused(made):
    edges = {"source": ["x7", "a", "x8"], "target": ["a", "y", "x7"]}
    words = (
        r"none of the 3 edges joins two nodes of .*: the edges use ids such as 'x7' and 'x8', but "
        r"the nodes have ids such as 'a' and 'b'"
    )
    with pytest.raises(InputError, match=words) as caught:
        made(edges)
    assert caught.value.about == "edges"
    with pytest.raises(
        InputError, match=r"edges use ids such as 7, but the nodes have ids such as 1 and 2"
    ):
        made({"source": [7], "target": [7]}, {"id": [1, 2]})
    with pytest.raises(
        InputError, match=r"edges use ids such as 7 and 8, but the nodes have ids such as 1"
    ):
        made({"source": [7, 8], "target": [1, 1]}, {"id": [1]})


def test_unknown_nodes_can_be_added(made):
    with pytest.warns(InputWarning) as noted:
        graph = made(MORE, unknown_nodes="add")
    unknown, loop = (str(warning.message) for warning in noted)
    assert re.search("3 of 4 edges refer to .* 2 nodes are added without attributes", unknown)
    assert loop.endswith("4 edges include 1 from a node to itself (left out)")
    assert graph.ids.tolist() == ["a", "b", "c", "z", "y"]
    assert graph.adjacency.toarray()[0].tolist() == [0, 1, 0, 2, 0]
    assert graph.adjacency.toarray()[1].tolist() == [1, 0, 0, 3, 0]
    assert graph.labels.tolist() == [0, -1, 1, -1, -1]
    for name, values in VALUES_BACK.items():
        unknown = {} if name == "text" else None
        assert graph.attributes[name].tolist() == [*values, unknown, unknown]


def test_added_ids_have_the_type_of_the_others(made):
    edges = {"source": [1, 7], "target": ["2", "8"]}
    with pytest.warns(InputWarning, match="2 nodes are added"):
        graph = made(edges, {"id": [1, 2], "a": [0, 1]}, unknown_nodes="add")
    assert graph.ids.tolist() == [1, 2, 7, 8]
    with pytest.warns(InputWarning, match="2 nodes are added"):
        graph = made(edges, {"id": ["1", "2"], "a": [0, 1]}, unknown_nodes="add")
    assert graph.ids.tolist() == ["1", "2", "7", "8"]
    assert graph.n_edges == 2


def test_unknown_nodes_can_be_refused(made):
    with pytest.raises(InputError, match=r"row 1, column 'source': 'z' is not the id of a node"):
        made(MORE, unknown_nodes="refuse")
    with pytest.raises(InputError, match="unknown_nodes must be one of drop, add, refuse, got 'x'"):
        made(unknown_nodes="x")


# --- ids -----------------------------------------------------------------------------------------


def test_kinds_of_ids(made):
    assert made({"source": [1], "target": [2]}, {"id": [2, 1], "a": [0, 1]}).ids.tolist() == [2, 1]
    same = made({"source": [1], "target": [2]}, {"id": ["2", "1"], "a": [0, 1]})
    assert same.ids.tolist() == ["2", "1"]  # text stays text
    assert same.n_edges == 1
    assert made({"source": ["1"], "target": ["2"]}, {"id": [2, 1], "a": [0, 1]}).n_edges == 1
    mixed = made({"source": ["1"], "target": [2]}, None)
    assert mixed.ids.tolist() == [1, 2]
    with pytest.raises(
        InputError, match="edges use ids such as '01', but the nodes have ids such as 1 and 2"
    ):
        made({"source": ["01"], "target": ["2"]}, {"id": [1, 2], "a": [0, 1]})
    with pytest.warns(InputWarning, match="1 of 2 edges refers to a node .* such as 2 "):
        graph = made({"source": [1, 1], "target": [2, 7]}, {"id": ["1", "b", "7"], "a": [0, 1, 2]})
    assert (graph.ids.tolist(), graph.n_edges) == (["1", "b", "7"], 1)


def test_integers_stored_as_floats_because_of_a_missing_value(made):
    graph = made({"source": [1.0, 2.0], "target": [2, 3]}, {"id": [1.0, 2.0, 3.0], "a": [0, 1, 2]})
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.n_edges == 2


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this Arrow has no UUIDs")
def test_uuids_become_text(tmp_path):
    ids = [uuid.UUID(int=at + 7) for at in range(3)]
    edges = pd.DataFrame({"source": ids[:2], "target": ids[1:]})
    nodes = pd.DataFrame({"id": ids, "a": [0, 1, 2]})
    graph = from_tables(edges, nodes)
    assert graph.ids.tolist() == [str(each) for each in ids]
    assert graph.n_edges == 2
    edges.astype(str).to_csv(tmp_path / "e.csv", index=False)
    nodes.to_csv(tmp_path / "n.csv", index=False)
    same(read_graph(tmp_path / "e.csv", tmp_path / "n.csv"), graph)


def test_ids_that_cannot_be_stored():
    large = pa.table({"source": pa.array([2**63], pa.uint64()), "target": pa.array([1])})
    with pytest.raises(InputError, match="column 'source': an id does not fit in 64 bits"):
        from_tables(large)
    halves = pa.table({"source": [0.5], "target": [1.5]})
    with pytest.raises(InputError, match="'source': ids of type double cannot be used"):
        from_tables(halves)


def test_ids_with_white_space_stay_as_they_are():
    ids = [" a", "a b", "b "]
    graph = from_tables(pa.table({"source": ids[:2], "target": ids[1:]}), pa.table({"id": ids}))
    assert graph.ids.tolist() == ids


def test_tables_without_rows():
    none = pd.DataFrame({"source": [], "target": []})
    assert from_tables(none, pd.DataFrame({"id": [1, 2], "a": [0, 1]})).n_edges == 0
    with pytest.raises(InputError, match="has no edges, and there is no node table"):
        from_tables(none)
    with pytest.raises(InputError, match="node table has no rows"):
        from_tables(none, pd.DataFrame({"id": [], "a": []}))


def test_ids_in_text_files_are_matched_by_spelling(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\n1,2\n01,2\n")
    write = parquet(tmp_path)
    nodes = write({"id": [1, 2], "a": [0, 1]})
    with pytest.warns(InputWarning, match=r"1 of 2 edges .* such as '01' \(line 3\)"):
        assert read_graph(tmp_path / "e.csv", nodes).n_edges == 1
    with pytest.warns(InputWarning, match="1 node is added"):
        both = read_graph(tmp_path / "e.csv", nodes, unknown_nodes="add")
    assert both.ids.tolist() == ["1", "2", "01"]
    (tmp_path / "n.csv").write_text("id,a\n1,0\n2,1\n")
    edges = write({"source": [1], "target": [2]}, "edges")
    assert read_graph(edges, tmp_path / "n.csv").ids.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        (EDGES, {"id": ["a", "b", "a"]}, "row 2, column 'id': 'a' is also the id on row 0"),
        (EDGES, {"id": ["a", None, "b"]}, "row 1, column 'id': the missing value is not an id"),
        (EDGES, {"id": [1.0, 2.5]}, "column 'id': ids of type double cannot be used"),
        (EDGES, {"id": [True, False]}, "ids of type bool cannot be used"),
        (EDGES, {"name": ["a"]}, "none of the 3 edges joins two nodes"),
        (EDGES, NODES | {"size": [1.0, np.inf, 2]}, "row 1, column 'size': inf is not finite"),
        (EDGES | {"weight": [1, -1, 2]}, NODES, "row 1, column 'weight': -1 is not a positive"),
        (EDGES | {"weight": [1, None, 2]}, NODES, "row 1, column 'weight': .* is not a positive"),
        (EDGES | {"weight": [[1], [2], [3]]}, NODES, "column 'weight': values of type .*list"),
        ({"source": ["a"]}, NODES, "has no two columns for the two ends of an edge"),
        ({"source": ["a"], "target": [None]}, NODES, "row 0, column 'target': the missing value"),
        (EDGES, NODES | {"text": [["a", None], [], []]}, "row 0, .* contains a missing word"),
        ({"source": ["a", "b"], "target": ["b", "a"], "weight": [1.0, 2.0]}, NODES,
         "edge.*: the undirected edge between"),
    ],
)  # fmt: skip
def test_wrong_tables_are_refused_in_one_sentence_with_the_place(made, edges, nodes, words):
    with pytest.raises(InputError, match=words) as caught:
        made(edges, nodes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": ["none"]}, "has no column 'none'"),
        ({"words": ["none"]}, "has no column 'none'"),
        ({"label": "none"}, "has no column 'none'"),
        ({"weight": "none"}, "has no column 'none'"),
        ({"target": "source"}, "must be different columns"),
        ({"words": ["town"], "categories": ["town"]}, "cannot be both words and category"),
        ({"kinds": {"town": "moment"}}, "cannot be read as 'moment'"),
        ({"kinds": {"town": "number"}}, "row 0, column 'town': 'Ulm' is not a number"),
        ({"kinds": {"size": "boolean"}}, "row 0, column 'size': 1.5 is neither true nor false"),
        ({"words": ["size"]}, "column 'size': values of type double cannot be used here"),
        ({"categories": ["text"]}, "column 'text': values of type .*list"),
    ],
)
def test_wrong_arguments_are_refused(made, options, words):
    with pytest.raises(InputError, match=words):
        made(**options)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_text_files_may_be_compressed(tmp_path, ending, separator):
    kind = ".csv" if separator == "," else ".tsv"
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    pack[".zst"] = lambda raw: pa.compress(raw, "zstd", asbytes=True)
    for name, text in {
        "nodes": "id,size,town\na,1,Ulm\nb,,\nc,3,Bern\n",
        "edges": "source,target\na,b\n",
        "wrong": "id,size\na,1\nb,inf\n",
    }.items():
        raw = text.replace(",", separator).encode()
        (tmp_path / f"{name}{kind}{ending}").write_bytes(pack[ending](raw))
    edges = tmp_path / f"edges{kind}{ending}"
    graph = read_graph(edges, tmp_path / f"nodes{kind}{ending}")
    assert graph.attributes["size"].tolist() == [1, None, 3]
    assert graph.attributes["town"].tolist() == ["Ulm", None, "Bern"]
    with pytest.raises(InputError, match="line 3, column 'size': 'inf' is not finite"):
        read_graph(edges, tmp_path / f"wrong{kind}{ending}")
    if ending:
        edges.write_bytes(b"source,target\na,b\n")
        with pytest.raises(
            InputError, match=r"cannot be read: .*it may be truncated or not a"
        ) as caught:
            read_graph(edges)
        assert "\n" not in str(caught.value)
        packed = pack[ending]((f"source{separator}target\n" + f"a{separator}b\n" * 5000).encode())
        edges.write_bytes(packed[: len(packed) // 2])
        with pytest.raises(InputError, match=r"edges.*cannot be read"):
            read_graph(edges)


def test_how_csv_cells_are_read(tmp_path):
    rows = [
        "id,n,e,b,t,day,hour,gone",
        "1,1,1e3,true,x,2024-01-01,10:30,",
        '2,,nan,False,"",2024-01-02,10:31,',
        "3,+3,.5,,NA,,,",
    ]
    (tmp_path / "n.csv").write_text("\n".join(rows))
    (tmp_path / "e.csv").write_text("source,target\n")
    found = read_graph(tmp_path / "e.csv", tmp_path / "n.csv").attributes
    assert found["n"].tolist() == [1, None, 3]
    assert found["e"].tolist() == [1000, None, 0.5]
    assert found["b"].tolist() == [True, False, None]
    assert found["t"].tolist() == ["x", None, "NA"]
    assert found["day"].tolist() == [19723, 19724, None]
    assert found["hour"].tolist() == [10.5, pytest.approx(10 + 31 / 60), None]
    assert found["gone"].tolist() == [None, None, None]
    noted = read_graph(
        tmp_path / "e.csv",
        tmp_path / "n.csv",
        categories=["n"],
        words=["t"],
        kinds={"b": "boolean"},
    ).attributes
    assert noted["n"].tolist() == ["1", None, "+3"]
    assert noted["t"].tolist() == [{"x": 1.0}, {}, {"NA": 1.0}]


def test_a_word_among_numbers_counts_as_missing(tmp_path):
    (tmp_path / "n.csv").write_text("id,a\n1,1.5\n2,NA\n3,-2\n4,1e3\n")
    (tmp_path / "e.csv").write_text("source,target\n")
    column = read_graph(tmp_path / "e.csv", tmp_path / "n.csv").attributes["a"]
    assert column.tolist() == [1.5, None, -2, 1000]
    rows = "".join(f"{row},{row % 7}.5\n" for row in range(3, 40))
    (tmp_path / "n.csv").write_text(f"id,a\n1,1.5\n2,twelve\n{rows}")
    said = r"1 of its cells are no number and count as missing, such as 'twelve' \(line 3\)"
    with pytest.warns(InputWarning, match=said):
        column = read_graph(tmp_path / "e.csv", tmp_path / "n.csv").attributes["a"]
    assert column.kind == "number"
    assert column.tolist()[:3] == [1.5, None, 3.5]
    read = read_graph(tmp_path / "e.csv", tmp_path / "n.csv", categories=["a"])
    assert read.attributes["a"].tolist()[1] == "twelve"
    (tmp_path / "n.csv").write_text("id,a\n1,x\n2,y\n3,4\n")
    with pytest.raises(InputError, match="line 2, column 'a': 'x' is not a number"):
        read_graph(tmp_path / "e.csv", tmp_path / "n.csv", kinds={"a": "number"})


@pytest.mark.parametrize("row_group_size", [1, 2, 100])
def test_types_of_parquet(tmp_path, row_group_size):
    moments = [datetime.datetime(1970, 1, 2, 12), None, datetime.datetime(1970, 1, 1)]
    columns = {
        "id": pa.array([3, 1, 2], pa.uint16()),
        "f2": pa.array([np.float16(1), None, np.float16(2)], pa.float16()),
        "f4": pa.array([1, 2.5, 2], pa.float32()),
        "u8": pa.array([1, None, 2], pa.uint64()),
        "money": pa.array([1, None, 2], pa.decimal128(9, 2)),
        "when": pa.array(moments, pa.timestamp("ns")),
        "cat": pa.array([7, None, 8]).dictionary_encode(),
        "map": pa.array([{"a": 1.5, "b": 2}, None, {}], pa.map_(pa.string(), pa.float64())),
        "fixed": pa.array([["a", "b"], ["a", "a"], ["b", "b"]], pa.list_(pa.string(), 2)),
        "none": pa.nulls(3),
        "label": pa.array([True, None, False]),
    }
    path = parquet(tmp_path)(columns, row_group_size=row_group_size)
    edges = parquet(tmp_path)({"source": pa.nulls(0), "target": pa.nulls(0)}, "edges")
    graph = read_graph(edges, path)
    back = {name: graph.attributes[name].tolist() for name in graph.attributes}
    assert back == {
        "f2": [1, None, 2],
        "f4": [1, 2.5, 2],
        "u8": [1, None, 2],
        "money": [1, None, 2],
        "when": [1.5, None, 0],
        "cat": [7, None, 8],
        "map": [{"a": 1.5, "b": 2}, {}, {}],
        "fixed": [{"a": 1, "b": 1}, {"a": 2}, {"b": 2}],
        "none": [None] * 3,
    }
    assert graph.attributes["f4"].values.dtype == np.float32
    assert graph.classes == (False, True)


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 20, reason="Arrow before 20 cannot write it"
)
def test_a_missing_list_of_fixed_size(tmp_path):
    words = pa.array([["a", "b"], None], pa.list_(pa.string(), 2))
    nodes = parquet(tmp_path)({"id": [1, 2], "words": words})
    graph = read_graph(parquet(tmp_path)({"source": [1], "target": [2]}, "edges"), nodes)
    assert graph.attributes["words"].tolist() == [{"a": 1, "b": 1}, {}]


def test_types_that_cannot_be_attributes_are_left_out():
    nodes = pa.table({"id": [1, 2], "odd": pa.array([b"x", None])})
    with pytest.warns(InputWarning, match=r"1 node column is ignored: odd \(values of type binary"):
        graph = from_tables(pa.table({"source": [1], "target": [2]}), nodes)
    assert graph.attributes is None


@pytest.mark.parametrize(
    ("values", "made"),
    [
        (pa.array([3600, None], pa.time32("s")), {"odd": [1.0, None]}),
        (pa.array([86_400, None], pa.duration("s")), {"odd": [1.0, None]}),
        (pa.array([{"a": 1, "b": "x"}, None]), {"odd.a": [1.0, None], "odd.b": ["x", None]}),
        (pa.array([[1, 2], None]), {"odd": [[1.0, 2.0], None]}),
        (pa.array([[1, 2], [3]]), {"odd": [{"1": 1.0, "2": 1.0}, {"3": 1.0}]}),
        (pa.array([[True], [False, None]]), {"odd": [{"true": 1.0}, {"false": 1.0}]}),
        (
            pa.array([[("k", "v")], []], pa.map_(pa.string(), pa.string())),
            {"odd": [{"k=v": 1.0}, {}]},
        ),
    ],
    ids=str,
)
def test_nested_types(values, made):
    nodes = pa.table({"id": [1, 2], "odd": values})
    graph = from_tables(pa.table({"source": [1], "target": [2]}), nodes)
    assert {name: graph.attributes[name].tolist() for name in graph.attributes} == made


@pytest.mark.parametrize("raw", [b"", b"PAR1", b"nonsense" * 20])
def test_files_that_are_not_parquet(tmp_path, raw):
    (tmp_path / "e.parquet").write_bytes(raw)
    with pytest.raises(InputError, match=r"e\.parquet cannot be read as Parquet") as caught:
        read_graph(tmp_path / "e.parquet")
    assert "\n" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_damaged_parquet_is_refused_or_harmless(tmp_path, data):
    path = parquet(tmp_path)(EDGES, "edges")
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(
        raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # other ids may make loops and repeats
        try:
            read_graph(path)
        except InputError as error:
            refused = str(error)
            assert "\n" not in refused


@pytest.mark.parametrize("count", [1e300, 1e39, -1e39, float("inf"), float("nan")])
def test_word_counts_that_are_not_finite_are_refused(made, count):
    nodes = pa.table(
        {
            "id": ["a", "b", "c"],
            "text": pa.array(
                [[("u", 1.0)], [("v", 2.0), ("w", count)], []], pa.map_(pa.string(), pa.float64())
            ),
        }
    )
    with pytest.raises(
        InputError, match=r"row 1, column 'text': .* contains a count that is not a"
    ):
        from_tables(pa.table(EDGES), nodes)


# --- frames --------------------------------------------------------------------------------------


class SpeaksArrow:
    """Anything with the stream of the Arrow C interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_accepted_data_frames():
    assert from_tables(SpeaksArrow(pa.table(EDGES))).n_edges == 3
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=pd.Index(["a", "b", "c"], name="id"))
    graph = from_tables(pd.DataFrame(EDGES, index=[7, 8, 9]), frame)
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.attributes.names == ("a",)
    town = pd.Categorical(["x", "y", "x"])
    graph = from_tables(pd.DataFrame(EDGES), frame.assign(a=town))
    assert graph.attributes["a"].tolist() == ["x", "y", "x"]
    for wrong, words in [
        ([(1, 2)], "must be a pandas or Polars data frame or an Arrow table, got list"),
        (
            pd.DataFrame([[1, 2]]),
            "column 1 of the edge table is named 0; column names must be text",
        ),
        (pd.DataFrame([[1, 2]], columns=[None, "a"]), "column 1 of the edge table has no name"),
        (pd.DataFrame([[1, 2]], columns=["source", "source"]), "two columns named 'source'"),
        (pa.table({"source": pa.nulls(0), "target": pa.nulls(0)}), "has no edges, and there is no"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            from_tables(wrong)
        assert "\n" not in str(caught.value)


def test_a_graph_does_not_change_with_its_frames():
    numbers = np.array([1.0, 2.0, 4.0])
    for form in (pa.table, lambda columns: pd.DataFrame(columns, copy=False)):
        nodes = form({"id": ["a", "b", "c"], "size": numbers})
        graph = from_tables(form(EDGES), nodes)
        numbers += 1
        assert graph.attributes["size"].tolist() == (numbers - 1).tolist()


def same(one: Graph, two: Graph) -> None:
    """Two graphs that are the same in all that tables can hold."""
    assert one.ids.tolist() == two.ids.tolist()
    assert one.ids.dtype == two.ids.dtype
    assert (one.directed, one.weighted, one.classes) == (two.directed, two.weighted, two.classes)
    assert (one.adjacency != two.adjacency).nnz == 0
    assert (one.labels is None) == (two.labels is None)
    assert one.labels is None or one.labels.tolist() == two.labels.tolist()
    assert (one.attributes is None) == (two.attributes is None)
    if one.attributes is not None:
        assert one.attributes.kinds == two.attributes.kinds
        for name in one.attributes:
            assert one.attributes[name].tolist() == two.attributes[name].tolist(), name
            assert one.attributes[name].values.dtype == two.attributes[name].values.dtype
    assert one.fingerprint() == two.fingerprint()


@st.composite
def attributed(draw, kinds=("number", "boolean", "category", "words")) -> Graph:
    n = draw(st.integers(1, 6))
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=4)
    ids = draw(st.lists(text, min_size=n, max_size=n, unique=True)) if draw(st.booleans()) else None
    chosen = draw(st.lists(st.sampled_from(kinds), max_size=3))
    values = VALUES | {"category": st.none() | text}
    columns = {
        f"c{at}": draw(st.lists(values[kind], min_size=n, max_size=n))
        for at, kind in enumerate(chosen)
    }
    kinds_of = {f"c{at}": kind for at, kind in enumerate(chosen)}
    columns["size"] = list(range(n))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=9))
    pairs = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
    table = Attributes.from_columns(columns, kinds=kinds_of) if draw(st.booleans()) else None
    return Graph.from_edge_index(
        None,
        np.array(pairs, dtype=np.int64).reshape(-1, 2).T,
        draw(st.none() | st.just([0.5 + at for at in range(len(pairs))])),
        attributes=table,
        ids=range(10, 10 + n) if ids is None else ids,
        labels=draw(
            st.none() | st.lists(st.none() | st.just("x") | st.just("y"), min_size=n, max_size=n)
        ),
        directed=draw(st.booleans()),
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attributed())
def test_tables_round_trip(tmp_path, graph):
    edges, nodes = to_tables(graph)
    same(from_tables(edges, nodes, directed=graph.directed), graph)
    frames = pl.from_arrow(edges), pl.from_arrow(nodes)
    same(from_tables(*frames, directed=graph.directed), graph)
    pq.write_table(nodes, tmp_path / "n.parquet")
    pq.write_table(edges, tmp_path / "e.parquet")
    same(read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet", directed=graph.directed), graph)
    assert pickle.loads(pickle.dumps(graph)).fingerprint() == graph.fingerprint()


@settings(max_examples=40)
@given(attributed(kinds=("number", "boolean", "category")))
def test_round_trip_through_pandas(graph):
    edges, nodes = to_tables(graph)
    frames = edges.to_pandas(), nodes.to_pandas()
    kinds = None if graph.attributes is None else graph.attributes.kinds
    back = from_tables(*frames, directed=graph.directed, kinds=kinds)
    assert back.fingerprint() == graph.fingerprint()
    assert back.classes == graph.classes


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attributed(kinds=("number", "boolean", "category")))
def test_round_trip_through_csv(tmp_path, graph):
    for name, table in zip(("e", "n"), to_tables(graph), strict=True):
        flat = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table]
        pyarrow.csv.write_csv(pa.table(flat, table.column_names), tmp_path / f"{name}.csv")
    kinds = None if graph.attributes is None else graph.attributes.kinds
    back = read_graph(tmp_path / "e.csv", tmp_path / "n.csv", directed=graph.directed, kinds=kinds)
    assert list(map(str, back.ids.tolist())) == list(map(str, graph.ids.tolist()))
    np.testing.assert_array_equal(back.adjacency.toarray(), graph.adjacency.toarray())
    if graph.attributes is not None:
        for name in graph.attributes:
            assert back.attributes[name].tolist() == graph.attributes[name].tolist(), name


def test_features_are_written_as_numbers():
    x = np.array([[1.5, 0], [0, 2]])
    _, nodes = to_tables(Graph(x, feature_names=["a", "b"]))
    assert nodes.to_pydict() == {"id": [0, 1], "a": [1.5, 0], "b": [0, 2]}
    _, nodes = to_tables(Graph(sp.csr_array(x)))
    assert nodes["features"].to_pylist() == [[("feature 0", 1.5)], [("feature 1", 2.0)]]
    with pytest.raises(InputError, match="an attribute is named 'id'"):
        to_tables(Graph(attributes={"id": [1, 2]}))
    edges, _ = to_tables(Graph.from_edges(x, [(1, "a")], ids=[1, "a"]))
    assert edges.to_pydict() == {"source": ["1"], "target": ["a"]}
    with pytest.raises(InputError, match=r"the node id 0\.5 cannot be stored"):
        to_tables(Graph(x, ids=[0.5, "a"]))


@pytest.mark.parametrize("row_group", [1, 3, 100])
@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string())])
def test_lists_of_words_in_parquet(tmp_path, monkeypatch, row_group, kind):
    monkeypatch.setattr(parquet_reader, "_BATCH", 2)
    monkeypatch.setattr(columns, "_ROWS", 2)
    rows = [["b", "a", "b"], None, [], ["é"], ["a"], ["c", "b"], ["b"]]
    nodes = pa.table({"id": range(7), "w": pa.array(rows, kind), "n": [0.5] * 7})
    pq.write_table(nodes, tmp_path / "n.parquet", row_group_size=row_group)
    pq.write_table(pa.table({"source": [0], "target": [1]}), tmp_path / "e.parquet")
    graph = read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet")
    column = graph.attributes["w"]
    assert column.vocabulary == ("a", "b", "c", "é")
    assert column.tolist() == [dict(Counter(row or [])) for row in rows]
    assert column.values.indices.dtype == column.values.indptr.dtype == np.int32
    assert graph.attributes["n"].tolist() == [0.5] * 7


def test_words_as_an_arrow_dictionary():
    words = pa.DictionaryArray.from_arrays([2, 0, 2, 1], ["b", None, "a", "unused"])
    lists = pa.ListArray.from_arrays([0, 2, 3, 4], words)
    edges = pa.table({"source": [0], "target": [1]})
    nodes = pa.table({"id": [0, 1, 2], "w": lists})
    column = from_tables(edges, nodes.slice(0, 2)).attributes["w"]
    assert column.vocabulary == ("a", "b")
    assert column.tolist() == [{"a": 1, "b": 1}, {"a": 1}]
    with pytest.raises(InputError, match=r"row 2, column 'w'.*contains a missing word"):
        from_tables(edges, nodes)


@pytest.mark.parametrize(
    "kinds", list(itertools.product([pa.string(), pa.large_string()], repeat=3))
)
def test_text_ids_without_objects(tmp_path, kinds):
    ids, source, target = ["01", "1", "b"], ["b", "01", "b"], ["1", "1", "01"]
    nodes = pa.table({"id": pa.array(ids, kinds[0])})
    edges = pa.table({"source": pa.array(source, kinds[1]), "target": pa.array(target, kinds[2])})
    pq.write_table(nodes, tmp_path / "n.parquet")
    pq.write_table(edges, tmp_path / "e.parquet", row_group_size=2)
    wanted = Graph.from_edges(None, list(zip(source, target, strict=True)), ids=ids)
    for found in (
        read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet"),
        from_tables(edges, nodes),
        from_tables(edges).subgraph(ids),
    ):
        assert found.ids.dtype == np.dtypes.StringDType()
        assert found.fingerprint() == wanted.fingerprint()
    assert from_tables(edges).ids.tolist() == ["b", "1", "01"]


def test_reading_takes_little_more_than_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr("graphgate.graph.edges._SMALL", 0)
    n, e = 20_000, 200_000
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, n, (2, e))
    name = pa.array([f"node {at}" for at in range(n)])
    edges = {"source": name.take(pa.array(source)), "target": name.take(pa.array(target))}
    pq.write_table(pa.table(edges), tmp_path / "e.parquet")
    words = pa.FixedSizeListArray.from_arrays(name.take(pa.array(source % 99)), 10)
    pq.write_table(
        pa.table({"id": name, "w": words.cast(pa.list_(pa.string()))}), tmp_path / "n.parquet"
    )
    tracemalloc.start()
    with pytest.warns(InputWarning, match="edges include"):
        graph = read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet")
    left, peak = tracemalloc.get_traced_memory()  # of NumPy and Python, not of Arrow
    tracemalloc.stop()
    entries = graph.adjacency.nnz + graph.attributes["w"].values.nnz
    assert left < 8.5 * entries + 30 * n
    assert peak < left + 32 * e


def test_a_missing_word_is_found_in_any_block_of_rows(monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 2)
    nodes = pa.table({"id": range(4), "w": [["a"], ["b"], ["a"], ["b", None]]})
    with pytest.raises(InputError, match=r"row 3, column 'w'.*contains a missing word"):
        from_tables(pa.table({"source": [0], "target": [1]}), nodes)


# --- what Arrow cannot convert -------------------------------------------------------------------


def attribute(column: pa.Array, kind: str | None = None) -> list:
    n = len(column)
    edges = pa.table({"source": [0], "target": [n - 1]})
    nodes = pa.table({"id": range(n), "a": column})
    return from_tables(edges, nodes, kinds={"a": kind} if kind else None).attributes["a"].tolist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Bern"])
def test_timestamps_of_every_unit_are_days(unit, zone):
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    half = 43_200 * second
    moments = pa.array([half, None, -half, half + (unit == "ns")], pa.int64())
    found = attribute(moments.cast(pa.timestamp(unit, zone)))
    assert found == [0.5, None, -0.5, pytest.approx(0.5)]


def test_dates_and_moments_far_away_are_days():
    assert attribute(pa.array([1, None], pa.date32())) == [1.0, None]
    assert attribute(pa.array([86_400_000, None], pa.date64())) == [1.0, None]
    # 300,000 years do not fit into microseconds.
    far = pa.array([9_467_085_600_000, 0], pa.timestamp("s"))
    assert attribute(far) == [9_467_085_600_000 / 86_400, 0.0]


def test_dictionaries_whose_text_would_take_more_than_two_gigabytes():
    """Codes are used as they are: three values of a megabyte in 3,000 rows."""
    words = pa.array([letter * 2**20 for letter in "abc"])
    codes = pa.array(np.arange(3000, dtype=np.int32) % 3)
    found = attribute(pa.DictionaryArray.from_arrays(codes, words))
    assert [value[0] for value in found] == ["a", "b", "c"] * 1000


def test_dictionaries_with_gaps_duplicates_and_unused_values():
    codes = pa.array([0, 1, 2, None, 4, 3], pa.int8())
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "a", None, "c", "unused"]))
    assert attribute(text) == ["a", "b", "a", None, "c", None]
    graph = from_tables(
        pa.table({"source": [0], "target": [1]}), pa.table({"id": range(6), "a": text})
    )
    assert graph.attributes["a"].vocabulary == ("a", "b", "c")
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([1.5, float("nan"), 2]))
    assert attribute(numbers) == [1.5, None, 2.0]
    decimals = pa.DictionaryArray.from_arrays(
        pa.array([0, 1]), pa.array([Decimal("1.5"), None], pa.decimal128(3, 1))
    )
    assert attribute(decimals) == [1.5, None]
    dates = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([1, 2], pa.date32()))
    assert attribute(dates) == attribute(dates, "number") == [1.0, 2.0]
    for kind in (None, "category", "words", "number"):
        lists = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([["a"]]))
        with pytest.raises(
            InputError, match=r"column 'a': values of type dictionary.* cannot be used"
        ):
            attribute(lists, kind)
    assert attribute(
        pa.DictionaryArray.from_arrays(codes, pa.array(["1", "2", "3", "4", "5"])), "number"
    ) == [
        1,
        2,
        3,
        None,
        5,
        4,
    ]


@pytest.mark.parametrize("weights", [["2", " 3 "], [2, 3], [Decimal("2"), Decimal("3")]])
def test_weights_in_dictionaries(weights):
    coded = pa.array(weights).dictionary_encode()
    graph = from_tables(pa.table({"source": [0, 1], "target": [1, 2], "weight": coded}))
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]


def test_words_of_a_column_without_values():
    assert attribute(pa.nulls(2), "words") == [{}, {}]


def test_labels_of_a_type_that_cannot_be_used():
    nodes = pa.table({"id": [0, 1], "label": pa.array([1, 2], pa.date32())})
    with pytest.raises(InputError, match=r"'label': values of type date32.*text or numbers as lab"):
        from_tables(pa.table({"source": [0], "target": [1]}), nodes)


def test_ids_and_labels_in_dictionaries():
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"]))
    graph = from_tables(
        pa.table({"source": ids.slice(0, 1), "target": ids.slice(1, 1)}),
        pa.table({"id": ids, "label": ids}),
    )
    assert graph.ids.tolist() == graph.label_values() == ["a", "b"]
    missing = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(InputError, match="is not an id; give every row an id"):
        from_tables(pa.table({"source": ids, "target": ids}), pa.table({"id": missing}))


def test_ids_of_a_megabyte_are_written_and_read(tmp_path):
    long = ["a" * 2**20, 'b,"\n' * 2**18]
    graph = from_tables(pa.table({"source": long[:1], "target": long[1:]}))
    for ending in (".csv", ".parquet"):
        assert read_graph(*write_graph(tmp_path, graph, ending)).ids.tolist() == long
    (tmp_path / "e.csv").write_text(f"source,target,weight\na,{long[0]},x\n")
    with pytest.raises(InputError, match="line 2, column 'weight': 'x' is not a number"):
        read_graph(tmp_path / "e.csv")
