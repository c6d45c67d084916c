"""Files that hold a whole graph: GraphML, GML, GEXF, Pajek, edge lists, adjacency lists."""

import bz2
import gzip
import io
import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphgate import InputError
from graphgate.errors import InputWarning
from graphgate.io.files import read_bytes
from graphgate.io.graph_files import GRAPH_ENDINGS, read_graph

WRITERS = {
    "g.graphml": nx.write_graphml,
    "g.gml": nx.write_gml,
    "g.gexf": nx.write_gexf,
    "g.net": nx.write_pajek,
    "g.edgelist": nx.write_edgelist,
    "g.adjlist": nx.write_adjlist,
}
WEIGHTED = [name for name in WRITERS if name != "g.adjlist"]
ATTRIBUTED = ["g.graphml", "g.gml", "g.gexf"]
DIRECTED_BY_THE_FILE = ["g.graphml", "g.gml", "g.gexf", "g.net"]


def random_networkx(seed, *, directed=False, weighted=False):
    """Nodes named by text and in a mixed order; every one has an edge."""
    kind = nx.DiGraph if directed else nx.Graph
    rng = np.random.default_rng(seed)
    names = [f"n{at}" for at in rng.permutation(9)]
    g = kind()
    g.add_nodes_from(names)
    ends = [*pairwise(names), *rng.choice(names, (6, 2)).tolist()]
    for u, v in ends:
        if u != v and not g.has_edge(u, v):
            g.add_edge(
                str(u), str(v), **({"weight": float(rng.integers(2, 9))} if weighted else {})
            )
    return g


def same_edges(graph, g):
    ids = graph.ids.tolist()
    assert sorted(ids) == sorted(g)
    expected = nx.to_scipy_sparse_array(g, nodelist=ids, format="csr")
    assert (graph.adjacency != expected).nnz == 0
    assert graph.directed == g.is_directed()


# --- what NetworkX writes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("directed", [False, True])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_edges_that_networkx_writes(tmp_path, name, directed, seed):
    g = random_networkx(seed, directed=directed, weighted=name in WEIGHTED)
    WRITERS[name](g, tmp_path / name)
    said = None if name in DIRECTED_BY_THE_FILE else directed
    graph = read_graph(tmp_path / name, directed=said)
    same_edges(graph, g)
    assert graph.weighted == (name in WEIGHTED)


@pytest.mark.parametrize("name", ATTRIBUTED)
def test_attributes_that_networkx_writes(tmp_path, name):
    g = random_networkx(3)
    for at, node in enumerate(g):
        g.nodes[node].update(size=at + 0.5, count=at, town=["Ulm", "Bern"][at % 2])
        if name != "g.gml":  # NetworkX's GML has no booleans
            g.nodes[node]["old"] = at % 3 == 0
    WRITERS[name](g, tmp_path / name)
    graph = read_graph(tmp_path / name, label="town")
    assert graph.ids.tolist() == list(g)
    assert graph.classes == ("Bern", "Ulm")
    table = graph.attributes
    assert table.column("size").tolist() == [at + 0.5 for at in range(9)]
    assert table.column("count").tolist() == list(range(9))
    assert set(table.names) == {"size", "count", *(["old"] if name != "g.gml" else [])}
    if name != "g.gml":
        assert table.kinds["old"] == "boolean"
    rest = [column for column in table.names if column != "size"]
    only = read_graph(tmp_path / name, drop=[*rest, "town"])
    assert (only.attributes.names, only.labels) == (("size",), None)
    assert read_graph(tmp_path / name, drop=["size", *rest, "town"]).attributes is None


def test_attributes_may_be_left_out_or_be_words(tmp_path):
    g = nx.path_graph(30)
    for node in g:
        g.nodes[node].update(name=f"node {node}", text=f"red w{node}", size=1.0 * node)
        g.nodes[node]["graphics"] = {"x": 1.0, "y": 2.0}
    nx.write_gml(g, tmp_path / "g.gml")
    graph = read_graph(tmp_path / "g.gml", drop="name", kinds={"text": "words"})
    assert graph.attributes.kinds == {"text": "words", "size": "number"}
    assert graph.attributes.column("text").tolist()[3] == {"red": 1, "w3": 1}
    with pytest.raises(InputError, match="has no column 'nam'"):
        read_graph(tmp_path / "g.gml", drop="nam")


def test_without_networkx(tmp_path, monkeypatch):
    nx.write_gml(nx.path_graph(3), tmp_path / "g.gml")
    nx.write_edgelist(nx.path_graph(3), tmp_path / "g.edgelist")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"reading .*g\.gml needs NetworkX"):
        read_graph(tmp_path / "g.gml")
    assert read_graph(tmp_path / "g.edgelist").n_edges == 2


@pytest.mark.parametrize("name", WRITERS)
def test_integers_stay_integers(tmp_path, name):
    WRITERS[name](nx.path_graph(4), tmp_path / name)
    graph = read_graph(tmp_path / name)
    assert graph.ids.tolist() == [0, 1, 2, 3]
    assert graph.ids.dtype == np.int64
    assert graph.n_edges == 3


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf", "g.net"])
def test_parallel_edges_are_noted(tmp_path, name):
    g = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    WRITERS[name](g, tmp_path / name)
    with pytest.warns(
        InputWarning, match="3 edges include 1 between nodes that are already joined"
    ):
        assert read_graph(tmp_path / name).n_edges == 2


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
    ],
)
@pytest.mark.parametrize("name", ["g.graphml", "g.edgelist"])
def test_compressed_files(tmp_path, name, ending, compress):
    g = random_networkx(1)
    WRITERS[name](g, tmp_path / name)
    packed = compress((tmp_path / name).read_bytes())
    (tmp_path / f"{name}{ending}").write_bytes(packed)
    same_edges(read_graph(tmp_path / f"{name}{ending}"), g)
    (tmp_path / f"{name}{ending}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=f"may be truncated or not a {ending} file"):
        read_bytes(tmp_path / f"{name}{ending}")


# --- each format's own ---------------------------------------------------------------------------


def read(tmp_path, name, text, **options):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_graph(tmp_path / name, **options)


def test_edge_lists(tmp_path):
    graph = read(tmp_path, "g.txt", "# from SNAP\n# a\tb\n\n10\t2\n2 7 # a comment\r\n7 10\n")
    assert graph.ids.tolist() == [10, 2, 7]
    assert graph.n_edges == 3
    assert not graph.weighted
    graph = read(tmp_path, "g.edges", "a b 0.5\nb c 2\n", directed=True)
    assert graph.adjacency.toarray().tolist() == [[0, 0.5, 0], [0, 0, 2], [0, 0, 0]]
    graph = read(tmp_path, "g.edgelist", "a b {}\nb c {'color': 'red'}\n")
    assert not graph.weighted


def test_a_heading_of_an_edge_list_is_left_out_and_noted(tmp_path):
    with pytest.warns(InputWarning, match=r"line 2: 'from to weight' is read as a heading"):
        graph = read(tmp_path, "g.txt", "# all\nfrom to weight\n1 2 0.5\n2 3 1\n")
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.adjacency[0, 1] == 0.5
    assert read(tmp_path, "g.txt", "from to\nto 2\n2 3\n").n_nodes == 4  # names like others


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n", r"comma-separated table must end in \.csv"),
        ("a b\nc\n", "line 2: 'c' names one node"),
        (
            "a b 1\n\nb c\n",
            "line 3, column 'weight': the missing value is not a positive finite number",
        ),
        ("a b x y\n", "line 1: 'x y' after source and target is not a weight"),
        ("a b {'weight': }\n", "line 1: .* is not a weight"),
        ("a b {'weight': 'x'}\n", "line 1: .* is not a weight"),
        ("a b -1\n", "line 1, column 'weight': -1.0 is not a positive"),
        ("a b nan\n", "line 1, column 'weight': nan is not"),
        ("a b 1\nb a 2\n", "weight 1.0 in one direction and 2.0 in the other"),
        ("# nothing\n", "contains no edge"),
        ("a\0b c\n", "is not text: it contains zero bytes"),
    ],
)
@pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning")
def test_edge_lists_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"g\.edgelist.*{message}"):
        read(tmp_path, "g.edgelist", text)


def test_adjacency_lists(tmp_path):
    graph = read(tmp_path, "g.adjlist", "# all\na b c\n   \nb\nd\n")
    assert graph.ids.tolist() == ["a", "b", "c", "d"]
    assert graph.n_edges == 2
    with pytest.raises(InputError, match="contains no node"):
        read(tmp_path, "g.adjlist", "# all\n")


PAJEK = """\
*Network "all of it"
% a comment
*Vertices 4
1 "Ann Lee" 0.1 0.2 0.5 box age 31 town "New Ulm"
2 "Bob" 0.1 0.2
3 Eve
4 "It's D."
"""


def test_pajek_labels_and_attributes(tmp_path):
    graph = read(tmp_path, "g.net", PAJEK + "*Edges\n1 2 2.5\n3 4\n")
    assert graph.ids.tolist() == ["Ann Lee", "Bob", "Eve", "It's D."]
    assert not graph.directed
    assert graph.adjacency[0, 1] == 2.5
    assert graph.adjacency[2, 3] == 1
    assert graph.attributes.column("age").tolist() == [31, None, None, None]
    assert graph.attributes.column("town").tolist() == ["New Ulm", None, None, None]


def test_pajek_arcs_edges_and_both(tmp_path):
    arcs = read(tmp_path, "g.net", PAJEK + "*Arcs\n1 2\n", drop=["age", "town"])
    assert arcs.directed
    assert arcs.n_edges == 1
    both = read(
        tmp_path, "g.net", PAJEK + '*Arcs :1 "likes"\n1 2\n*Edges\n3 4\n', drop=["age", "town"]
    )
    assert both.directed
    expected = [[0, 1, 0, 0], [0] * 4, [0, 0, 0, 1], [0, 0, 1, 0]]
    assert both.adjacency.toarray().tolist() == expected
    lists = read(
        tmp_path, "g.net", PAJEK + "*Arcslist\n1 2 3\n*edgeslist\n3 4\n", drop=["age", "town"]
    )
    assert lists.adjacency.toarray().tolist() == [[0, 1, 1, 0], *expected[1:]]
    none = read(tmp_path, "g.net", "*Vertices 3\n*Arcs\n*Edges\n1 2\n2 3\n")  # as Pajek writes it
    assert (none.directed, none.n_edges) == (False, 2)


def test_pajek_without_labels_and_with_labels_twice(tmp_path):
    assert read(tmp_path, "g.net", "*vertices 3\n*edges\n1 3\n").ids.tolist() == [1, 2, 3]
    text = '*vertices 2\n1 "same"\n2 "same"\n*edges\n1 2\n'
    assert read(tmp_path, "g.net", text).ids.tolist() == [1, 2]


def test_pajek_matrices(tmp_path):
    head = "*vertices 2\n*matrix\n"
    graph = read(tmp_path, "g.net", head + "0 3\n3 0\n")
    assert not graph.directed
    assert graph.adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    assert read(tmp_path, "g.net", head + "0 3\n0 0\n").directed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", "line 1: '1 2' is in no section"),
        ("*vertices\n", "line 1: .*must give their number"),
        ("*vertices x\n", "line 1: .*must give their number"),
        ("*vertices 4000000000\n", "far too short for 4,000,000,000 vertices"),
        ("*vertices 2\n*vertices 2\n", "line 2: a second"),
        ("*vertices 4 2\n", "two-mode networks"),
        ("*edges\n1 2\n", "line 1: .* comes before"),
        ("*partition x\n", "line 1: the section '.partition' is not one of"),
        ("*vertices 2\n1 a\n1 b\n", "line 3: the vertex 1 is given twice"),
        ("*vertices 2\n3 a\n", "line 2: '3' is not the number of a vertex, 1 to 2"),
        ("*vertices 2\n*edges\n1 x\n", "line 3: 'x' is not the number"),
        ("*vertices 2\n*edges\n1\n", "line 3: an edge needs two"),
        ("*vertices 2\n*edges\n1 2 much\n", "line 3: 'much' is not a number"),
        ("*vertices 2\n*matrix\n1 2\n", "is not 2 × 2"),
        ("*network x\n", "it has no .Vertices"),
    ],
)
def test_pajek_files_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"g\.net.*{message}"):
        read(tmp_path, "g.net", text)


GML = """graph [ directed 1 node [ id 3 label "x" ] node [ id 5 label "{}" ]
edge [ source 3 target 5 ] ]"""


def test_gml_is_named_by_its_labels_where_it_can_be(tmp_path):
    graph = read(tmp_path, "g.gml", GML.format("é"))
    assert graph.ids.tolist() == ["x", "é"]  # UTF-8, too, which NetworkX alone refuses
    assert graph.directed
    twice = read(tmp_path, "g.gml", GML.format("x"))
    assert twice.ids.tolist() == [3, 5]


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>{doctype}
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="color" attr.type="string"><default>red</default></key>
<key id="d1" for="edge" attr.name="weight" attr.type="double"><default>2.5</default></key>
<graph edgedefault="directed">
<node id="a"><data key="d0">blue</data></node><node id="b"/>
<edge source="a" target="b"/></graph></graphml>"""


def test_defaults_of_graphml_are_filled_in(tmp_path):
    graph = read(tmp_path, "g.graphml", GRAPHML.format(doctype=""), label="color")
    assert graph.classes == ("blue", "red")
    assert graph.labels.tolist() == [0, 1]
    assert graph.adjacency.toarray().tolist() == [[0, 2.5], [0, 0]]


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf"])
@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/hostname">',
        '<!ENTITY % a SYSTEM "http://example.org/a.dtd"> %a;',
    ],
)
def test_xml_entities_are_refused(tmp_path, name, entities):
    text = GRAPHML.format(doctype=f"<!DOCTYPE graphml [{entities}]>")
    with pytest.raises(InputError, match="declares XML entities, which are not read"):
        read(tmp_path, name, text.replace("blue", "&b;"))


def test_files_of_other_kinds(tmp_path):
    with pytest.raises(InputError, match=r"the ending of a graph: \.npz, \.mtx, \.graphml"):
        read(tmp_path, "g.doc", "a b\n")
    with pytest.raises(InputError, match="does not exist"):
        read_graph(tmp_path / "no.gml")
    (tmp_path / "g.txt").write_bytes(b"a \xff\n")
    with pytest.raises(InputError, match="is not UTF-8 text: byte 2 is 0xff"):
        read_graph(tmp_path / "g.txt")
    with pytest.raises(InputError, match="contains a graph without nodes"):
        read(tmp_path, "g.gml", "graph [ ]")
    with pytest.raises(InputError, match=r"has no column 'club'"):
        read(tmp_path, "g.gml", GML.format("y"), label="club")


@pytest.mark.parametrize("ending", GRAPH_ENDINGS)
def test_every_ending_is_that_of_a_graph(tmp_path, ending):
    with pytest.raises(InputError, match="does not exist"):
        read_graph(tmp_path / f"a{ending}.gz")


# --- damage --------------------------------------------------------------------------------------


def small_files() -> dict[str, bytes]:
    g = random_networkx(0, weighted=True)
    for at, node in enumerate(g):
        g.nodes[node]["size"] = at + 0.5
    files = {}
    for name, write in WRITERS.items():
        file = io.BytesIO()
        write(_plain(g, name), file)
        files[name] = file.getvalue()
    return files


def _plain(g, name):
    if name in ATTRIBUTED:
        return g
    plain = g.copy()
    for node in plain:
        plain.nodes[node].clear()
    return plain


FILES = small_files()


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(FILES)), st.data())
@pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning")
def test_damaged_and_foreign_files_are_one_sentence(tmp_path, name, data):
    content = bytearray(FILES[name])
    how = data.draw(st.sampled_from(["cut", "bytes", "noise", "foreign"]))
    if how == "cut":
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    elif how == "noise":
        content = bytearray(data.draw(st.binary(max_size=60)))
    elif how == "foreign":
        content = bytearray(FILES[data.draw(st.sampled_from(sorted(FILES)))])
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / name
    path.write_bytes(bytes(content))
    message = None
    try:
        graph = read_graph(path)
    except InputError as error:
        message = str(error)
    if message is None:
        assert graph.n_nodes > 0
    else:
        assert str(path) in message
        assert "\n" not in message
