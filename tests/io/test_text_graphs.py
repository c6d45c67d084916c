"""Edge lists, adjacency lists and Pajek's .net files."""

import pytest

from graphgate import InputError
from graphgate.errors import InputWarning
from graphgate.io.graph_files import read_graph


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
    with pytest.warns(InputWarning, match="1 edge attribute is ignored: color"):
        graph = read(tmp_path, "g.edgelist", "a b {}\nb c {'color': 'red'}\n")
    assert not graph.weighted


def test_the_heading_of_an_edge_list_is_dropped_with_a_warning(tmp_path):
    with pytest.warns(InputWarning, match=r"line 2: 'from to weight' is read as a header"):
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
    with pytest.warns(InputWarning, match="2 parts are ignored: coordinates, shapes"):
        graph = read(tmp_path, "g.net", PAJEK + "*Edges\n1 2 2.5\n3 4\n")
    assert graph.ids.tolist() == ["Ann Lee", "Bob", "Eve", "It's D."]
    assert not graph.directed
    assert graph.adjacency[0, 1] == 2.5
    assert graph.adjacency[2, 3] == 1
    assert graph.attributes.column("age").tolist() == [31, None, None, None]
    assert graph.attributes.column("town").tolist() == ["New Ulm", None, None, None]


@pytest.mark.filterwarnings("ignore:.*parts are ignored. coordinates:graphgate.errors.InputWarning")
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


def test_pajek_weights_and_loops(tmp_path):
    light = read(tmp_path, "g.net", "*vertices 3\n*edges\n1 2 0.5\n2 3\n")
    assert light.adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]]
    with pytest.warns(InputWarning, match="3 edges include 1 from a node to itself"):
        read(tmp_path, "g.net", "*vertices 3\n*arcs\n1 2\n2 3\n*edges\n3 3\n")


def test_pajek_without_labels_and_with_labels_twice(tmp_path):
    assert read(tmp_path, "g.net", "*vertices 3\n*edges\n1 3\n").ids.tolist() == [1, 2, 3]
    text = '*vertices 2\n1 "same"\n2 "same"\n*edges\n1 2\n'
    with pytest.warns(InputWarning, match=r"1 part is ignored: labels \(repeated or missing\)"):
        assert read(tmp_path, "g.net", text).ids.tolist() == [1, 2]


def test_pajek_vertices_are_named_by_numbers_if_a_label_is_missing(tmp_path):
    with pytest.warns(InputWarning, match=r"1 part is ignored: labels \(repeated or missing\)"):
        graph = read(tmp_path, "g.net", '*Vertices 3\n1 "a"\n2\n3 "c"\n*Edges\n1 2\n')
    assert graph.ids.tolist() == [1, 2, 3]


def test_pajek_matrices(tmp_path):
    head = "*vertices 2\n*matrix\n"
    graph = read(tmp_path, "g.net", head + "0 3\n3 0\n")
    assert not graph.directed
    assert graph.adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    assert read(tmp_path, "g.net", head + "0 3\n0 0\n").directed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", "line 1: '1 2' is not in a section"),
        ("*vertices\n", "line 1: .*must be followed by their number"),
        ("*vertices x\n", "line 1: .*must be followed by their number"),
        ("*vertices 4000000000\n", "claims 4,000,000,000 vertices"),
        ("*vertices 2\n*vertices 2\n", "line 2: there is a second"),
        ("*vertices 4 2\n", "two-mode networks"),
        ("*edges\n1 2\n", "line 1: .* comes before"),
        ("*partition x\n", "line 1: the section '.partition' is not one of"),
        ("*vertices 2\n1 a\n1 b\n", "line 3: the vertex 1 is listed twice"),
        ("*vertices 2\n3 a\n", "line 2: '3' is not a vertex number .1 to 2"),
        ("*vertices 2\n*edges\n1 x\n", "line 3: 'x' is not a vertex number"),
        ("*vertices 2\n*edges\n1 0\n", "line 3: '0' is not a vertex number .1 to 2"),
        ("*vertices 2\n*edges\n1\n", "line 3: an edge needs two"),
        ("*vertices 2\n*edges\n1 2 much\n", "line 3: 'much' is not a number"),
        ("*vertices 2\n*matrix\n1 2\n", "is not 2 × 2"),
        ("*network x\n", "it has no .Vertices"),
    ],
)
def test_pajek_files_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(InputError, match=rf"g\.net.*{message}"):
        read(tmp_path, "g.net", text)
