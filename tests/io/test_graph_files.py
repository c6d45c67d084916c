"""Files with a whole graph, alone and beside tables and matrices."""

import bz2
import gzip
import io
import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from graphgate import InputError, limits
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


# Letters, signs of markup and of the formats, beyond ASCII; at least one is not a digit.
NAMES = st.text("ab07_.-<>&'=[]{};,é中😀", min_size=1, max_size=6).map(lambda name: f"x{name}")
WEIGHTS = st.floats(1e-3, 1e3).map(lambda weight: float(f"{weight:.6g}"))


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(NAMES, min_size=2, max_size=6, unique=True),
    ends=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), WEIGHTS), min_size=1),
    directed=st.booleans(),
)
def test_any_names_edges_and_weights(tmp_path, name, names, ends, directed):
    """Nodes without edges are kept where the format lists nodes."""
    g = (nx.DiGraph if directed else nx.Graph)()
    if name != "g.edgelist":
        g.add_nodes_from(names)
    for u, v, weight in ends:
        if u % len(names) != v % len(names):
            known = {} if name == "g.adjlist" else {"weight": weight}
            g.add_edge(names[u % len(names)], names[v % len(names)], **known)
    if not g.size():
        reject()
    WRITERS[name](g, tmp_path / name)
    said = None if name in DIRECTED_BY_THE_FILE else directed
    same_edges(read_graph(tmp_path / name, directed=said), g)


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
def test_parallel_edges_cause_a_warning(tmp_path, name):
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


GML = """graph [ directed 1 node [ id 3 label "x" ] node [ id 5 label "{}" ]
edge [ source 3 target 5 ] ]"""


def test_gml_nodes_are_named_by_their_labels_where_possible(tmp_path):
    graph = read(tmp_path, "g.gml", GML.format("é"))
    assert graph.ids.tolist() == ["x", "é"]  # UTF-8, too, which NetworkX alone refuses
    assert graph.directed
    with pytest.warns(InputWarning, match="1 node attribute is ignored: label"):
        twice = read(tmp_path, "g.gml", GML.format("x"))
    assert twice.ids.tolist() == [3, 5]


@pytest.mark.parametrize(
    "content",
    [
        '<graph edgedefault="directed"><node id="a"/></graph><graph><node id="b"/></graph>',
        '<graph edgedefault="directed"><node id="a"><graph><node id="b"/></graph></node></graph>',
    ],
    ids=["two graphs", "a group"],
)
def test_graphml_that_networkx_would_read_in_part(tmp_path, content):
    xml = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n{content}</graphml>'
    with pytest.raises(InputError, match="line 2: a second graph begins; save every graph in a"):
        read(tmp_path, "g.graphml", xml)


def test_the_weights_of_a_matrix_may_be_ignored(tmp_path):
    near = sp.csr_array([[0, 2.0], [2.0, 0]])
    sp.save_npz(tmp_path / "g.npz", near)
    assert read_graph(tmp_path / "g.npz").weighted
    assert not read_graph(tmp_path / "g.npz", weight=None).weighted


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
    with pytest.raises(InputError, match="line 1: an XML entity is declared"):
        read(tmp_path, name, text.replace("blue", "&b;"))


def test_files_of_other_formats(tmp_path):
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
def test_damaged_and_foreign_files_are_refused_in_one_sentence(tmp_path, name, data):
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


# --- beside tables and matrices -------------------------------------------------------------------

NODES = "id,size,label\na,1,x\nb,2,y\nc,3,\nalone,4,x\n"
EDGES = "a b 0.5\nb c 2\n"


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            sp.save_npz(path, content)
        return path

    return write


def test_an_edge_list_and_a_table_of_nodes(file):
    graph = read_graph(file("g.edgelist", EDGES), file("n.csv", NODES))
    assert graph.ids.tolist() == ["a", "b", "c", "alone"]
    assert graph.attributes.names == ("size",)
    assert graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.adjacency[0, 1] == 0.5
    assert graph.n_edges == 2
    assert not graph.directed
    assert read_graph(file("g.edgelist", EDGES), file("n.csv", NODES), directed=True).directed


def test_edges_to_unknown_nodes_follow_the_option(file):
    edges, nodes = file("g.edgelist", EDGES + "c z 1\n"), file("n.csv", NODES)
    with pytest.warns(InputWarning, match=r"1 of 3 edges refers to a node that is not in .*n\.csv"):
        assert read_graph(edges, nodes).n_edges == 2
    with pytest.warns(InputWarning, match="1 node is added"):
        assert read_graph(edges, nodes, unknown_nodes="add").ids.tolist()[-1] == "z"
    with pytest.raises(
        InputError, match=r"g\.edgelist, line 3, column 'target': 'z' is not the id"
    ):
        read_graph(edges, nodes, unknown_nodes="refuse")


def test_numbers_match_text_with_the_same_digits(file):
    nodes = file("n.csv", "id,size\n1,5\n2,6\nx,7\n")
    assert read_graph(file("g.txt", "1 2\n"), nodes).n_edges == 1
    whole = read_graph(file("g.txt", "1 2\n"), file("w.csv", "id,size\n1,5\n2,6\n"))
    assert whole.ids.tolist() == [1, 2]


def test_graphml_alone_and_beside_a_table(file, tmp_path):
    g = nx.DiGraph([("a", "b"), ("b", "c")])
    for at, node in enumerate(g):
        g.nodes[node].update(text=f"red w{at}", label="xyx"[at], code=at % 2, name="n")
    nx.write_graphml(g, tmp_path / "g.graphml")
    alone = read_graph(tmp_path / "g.graphml", words="text", categories=["code"], drop=["name"])
    assert alone.attributes.kinds == {"text": "words", "code": "category"}
    assert alone.classes == ("x", "y")
    assert alone.directed
    assert not read_graph(tmp_path / "g.graphml", words="text", directed=False).directed
    assert read_graph(tmp_path / "g.graphml", label="name", words="text").classes == ("n",)
    with pytest.warns(
        InputWarning, match=r"node attributes are ignored: text, .*; those in .*n\.csv are used"
    ):
        beside = read_graph(tmp_path / "g.graphml", file("n.csv", NODES))
    assert beside.attributes.names == ("size",)
    assert beside.directed
    with pytest.raises(InputError, match=r"g\.graphml has no column 'nam'"):
        read_graph(tmp_path / "g.graphml", words=["nam"])
    with pytest.raises(InputError, match=r"g\.graphml has no column 'club'"):
        read_graph(tmp_path / "g.graphml", label="club")


def test_labels_of_gml_are_names(tmp_path):
    nx.write_gml(nx.karate_club_graph(), tmp_path / "g.gml")
    graph = read_graph(tmp_path / "g.gml", label="club")
    assert graph.classes == ("Mr. Hi", "Officer")
    assert graph.ids.tolist() == list(range(34))
    assert read_graph(tmp_path / "g.gml").attributes.names == ("club",)


X = np.array([[1.0, 0], [2, 3], [4, 5]])


def test_matrices_of_features(file):
    x = file("x.npy", X)
    adjacency = sp.csr_array(np.array([[0, 2.0, 0], [0, 0, 1], [0, 0, 0]]))
    graph = read_graph(file("a.npz", adjacency), x)
    assert graph.directed
    assert (graph.x == X).all()
    for name, text in (("e.csv", "source,target\n0,1\n1,2\n"), ("e.txt", "0 1\n1 2\n")):
        graph = read_graph(file(name, text), x)
        assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        assert (graph.x == X).all()
        assert graph.ids.tolist() == [0, 1, 2]
    with pytest.warns(InputWarning, match=r"1 of 2 edges refers to a node that is not in .*x\.npy"):
        assert read_graph(file("e.txt", "0 1\n1 3\n"), x).n_edges == 1
    assert read_graph(file("a.npz", adjacency)).x is None


def test_inputs_that_do_not_fit_together(file):
    adjacency, x = file("a.npz", sp.eye_array(3, k=1)), file("x.npy", X)
    with pytest.raises(InputError, match=r"a\.npz is a matrix without node ids"):
        read_graph(adjacency, file("n.csv", NODES))
    with pytest.raises(InputError, match="has neither labels nor named attributes"):
        read_graph(adjacency, x, drop=["a"])
    with pytest.raises(InputError, match="must be drop or refuse, because"):
        read_graph(file("e.txt", "0 1\n"), x, unknown_nodes="add")
    with pytest.raises(InputError, match=r"x\.npy: features contain NaN"):
        read_graph(file("e.txt", "0 1\n"), file("x.npy", X * np.nan))
    with pytest.raises(
        InputError, match=r"g\.txt, line 1, column 'weight': -1.0 is not a positive"
    ):
        read_graph(file("g.txt", "a b -1\n"), file("n.csv", NODES))
    with pytest.raises(InputError, match="does not have the ending of a table: use"):
        read_graph(file("g.doc", "a b\n"))


# --- files that other readers accept -------------------------------------------------------------

BEGIN_GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<graph edgedefault="directed">\n'
)
BEGIN_GEXF = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph>\n<nodes>'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.graphml", f"{BEGIN_GRAPHML}<node/></graph></graphml>", "line 3: the node lacks its id"),
        (
            "g.graphml",
            f'{BEGIN_GRAPHML}<node id="a"/>\n<edge source="a"/></graph></graphml>',
            "line 4: the edge lacks its target",
        ),
        (
            "g.graphml",
            f'{BEGIN_GRAPHML}<node id="a"/>\n<node id="a"/></graph></graphml>',
            "line 4: the id 'a' is that of an earlier node; ids must be unique",
        ),
        ("g.gexf", f"{BEGIN_GEXF}<node/></nodes></graph></gexf>", "line 2: the node lacks its id"),
        (
            "g.gexf",
            f'{BEGIN_GEXF}<node id="a"/></nodes><edges><edge target="a"/></edges></graph></gexf>',
            "lacks its source",
        ),
        ("g.gml", 'graph [ node [ id 0 label "&#55296;" ] ]', "&#55296; is not a character"),
        ("g.gml", 'graph [ node [ id 0 label "&#xDfFf;" ] ]', "&#xDfFf; is not a character"),
        ("g.gml", 'graph [ node [ id 0 label "&#1114112;" ] ]', "is not a character"),
        ("g.gml", f'graph [ node [ id 0 label "&#{"9" * 50};" ] ]', "is not a character"),
        ("g.gml", f"graph [ node [ id 0 a 1{'0' * 400} ] ]", "is too large for a number"),
        ("g.edgelist", f"a b {{'weight': 1{'0' * 400}}}", "is not a weight"),
        ("g.edgelist", f"a b 1{'0' * 400}", "is not a positive finite number"),
    ],
)
def test_incomplete_and_impossible_values_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words):
        read_graph(tmp_path / name)


def test_characters_by_number_are_read(tmp_path):
    (tmp_path / "g.gml").write_text('graph [ node [ id 0 label "&#233;&#x1F600;" ] ]')
    assert read_graph(tmp_path / "g.gml").ids.tolist() == ["é😀"]


KEY = '<key id="k{0}" for="node" attr.name="a{0}" attr.type="int"><default>1</default></key>'


def repeated(form: str) -> str:
    return "".join(form.format(at) for at in range(50))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.gml", f"graph [ {repeated('node [ id {0} a{0} 1 ] ')} ]"),
        ("g.net", f"*Vertices 50\n1 a 0 0 box {repeated('a{0} 1 ')}\n"),
        (
            "g.graphml",
            BEGIN_GRAPHML.replace("<graph ", f"{repeated(KEY)}<graph ")
            + repeated('<node id="{0}"/>')
            + "</graph></graphml>",
        ),
    ],
    ids=["gml", "pajek", "graphml-defaults"],
)
@pytest.mark.filterwarnings("ignore:.*1 part is ignored. labels:graphgate.errors.InputWarning")
@pytest.mark.filterwarnings("ignore:.*50 node columns are ignored:graphgate.errors.InputWarning")
def test_values_of_attributes_are_bounded(tmp_path, name, content):
    """2,500 values, most of them missing or defaults, in a file of a few kilobytes."""
    (tmp_path / name).write_text(content)
    assert read_graph(tmp_path / name).n_nodes == 50
    with (
        limits(text=0.02, nodes=1),
        pytest.raises(InputError, match="claims 2,500 values of attributes"),
    ):
        read_graph(tmp_path / name)
