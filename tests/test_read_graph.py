"""`read_graph` on files that hold a whole graph, alone and beside tables and matrices."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from graphgate import InputError, read_graph
from graphgate.errors import InputWarning

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


def test_edges_to_unknown_nodes_by_the_rule(file):
    edges, nodes = file("g.edgelist", EDGES + "c z 1\n"), file("n.csv", NODES)
    with pytest.warns(InputWarning, match=r"1 of 3 edges names a node that .*n\.csv lacks"):
        assert read_graph(edges, nodes).n_edges == 2
    with pytest.warns(InputWarning, match="1 node is added"):
        assert read_graph(edges, nodes, unknown_nodes="add").ids.tolist()[-1] == "z"
    with pytest.raises(
        InputError, match=r"g\.edgelist, line 3, column 'target': 'z' is not the id"
    ):
        read_graph(edges, nodes, unknown_nodes="refuse")


def test_numbers_and_text_are_the_same_where_they_are_spelled_alike(file):
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
        InputWarning, match=r"the attributes text, .* are ignored, because .*n\.csv is given"
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
    with pytest.warns(InputWarning, match=r"1 of 2 edges names a node that .*x\.npy lacks"):
        assert read_graph(file("e.txt", "0 1\n1 3\n"), x).n_edges == 1
    assert read_graph(file("a.npz", adjacency)).x is None


def test_what_does_not_fit_together(file):
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
