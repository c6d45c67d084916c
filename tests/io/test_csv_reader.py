"""CSV files of nodes and edges."""

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from graphgate.errors import InputError, InputWarning
from graphgate.io import csv_reader
from graphgate.io.csv_reader import SEPARATORS, CsvTable
from graphgate.io.files import decompressed
from graphgate.io.graph_files import read_graph

NODES = "id,a,b,label\n1,0.5,2,x\n2,1e3,-1,\n3,0,0,y\n"
EDGES = "source,target\n1,2\n"


@pytest.fixture
def read(tmp_path):
    """Writes both tables and reads the graph."""

    def read(nodes=NODES, edges=EDGES, **options):
        for name, content in (("nodes.csv", nodes), ("edges.csv", edges)):
            raw = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(raw)
        return read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv", **options)

    return read


def test_a_small_graph(read):
    graph = read()
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.ids.dtype == np.int64
    assert graph.x is None
    assert graph.attributes["a"].tolist() == [0.5, 1000, 0]
    assert graph.attributes["b"].tolist() == [2, -1, 0]
    assert graph.attributes.names == ("a", "b")
    assert graph.classes == ("x", "y")
    assert graph.labels.tolist() == [0, -1, 1]
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert not graph.weighted
    assert not graph.directed


@pytest.mark.parametrize(
    "nodes",
    [
        "\n\n" + NODES + "\n\n",
        "\ufeff" + NODES,
        NODES.replace("\n", "\r\n"),
        NODES.rstrip("\n"),
        NODES.replace("0.5", " 0.5 "),
        NODES.replace("x", '"x"'),
    ],
)
def test_spellings_of_the_same_table(read, nodes):
    assert read(nodes).fingerprint() == read().fingerprint()
    assert read(nodes).classes == ("x", "y")


def test_columns_may_be_in_any_order(read):
    graph = read(
        "label,b,id,a\nx,2,1,0.5\n,-1,2,1e3\ny,0,3,0\n", "target,source\n2,1\n", directed=True
    )
    assert graph.attributes.names == ("b", "a")
    assert [graph.attributes[name].tolist()[0] for name in "ba"] == [2, 0.5]
    assert graph.adjacency.toarray()[0, 1] == 1
    assert graph.n_edges == 1


@pytest.mark.parametrize("edges", ["source,target", "source,target\n", "source,target,weight\n"])
def test_a_table_without_edges_is_fine(read, edges):
    assert read(edges=edges).n_edges == 0


def test_weights_are_kept_and_added(read):
    with pytest.warns(
        InputWarning,
        match=r"4 edges include 1 of weight 0 \(left out\), 1 between nodes that are already joi",
    ):
        graph = read(edges="source,target,weight\n1,2,0.5\n1,2,1\n2,3,1\n3,1,0\n")
    assert graph.weighted
    assert graph.adjacency.toarray().tolist() == [[0, 1.5, 0], [1.5, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("rows", "directed", "noted"),
    [
        ("1,2\n2,1\n", False, "2 edges include 1 between nodes that are already joined (merged)"),
        ("1,2\n2,1\n", True, None),
        ("1,2\n1,1\n3,3\n", True, "3 edges include 2 from a node to itself (left out)"),
        ("1,2\n2,3\n", False, None),
    ],
)
def test_merged_and_dropped_rows_are_counted(read, recwarn, rows, directed, noted):
    read(edges=f"source,target\n{rows}", directed=directed)
    assert [str(each.message).partition(": ")[2] for each in recwarn] == ([noted] if noted else [])


def test_labels_written_as_integers_are_integers(read):
    assert read("id,a,label\n1,0,10\n2,0,9\n3,0,\n").classes == (9, 10)
    assert read("id,a,label\n1,0,10\n2,0,nine\n").classes == ("10", "nine")
    assert read("id,a,label\n1,0,\n2,0,\n").labels.tolist() == [-1, -1]
    assert read("id,a\n1,0\n2,0\n").labels is None


@pytest.mark.parametrize(
    "ids",
    [["01", "2"], ["1", "b"], ["1.0", "2"], ["+1", "2"], ["-0", "2"], ["1 ", "2"], ["1_0", "2"],
     ["9223372036854775808", "2"], ["٣", "2"], ["NA", "null"], ["ü", "é,"]],
)  # fmt: skip
def test_other_ids_stay_text(read, ids):
    quoted = [f'"{value}"' for value in ids]
    graph = read(f"id,a\n{quoted[0]},1\n{quoted[1]},2\n", f"source,target\n{','.join(quoted)}\n")
    assert graph.ids.tolist() == ids
    assert graph.n_edges == 1


@pytest.mark.parametrize("ids", [[0, -1], [9223372036854775807, -9223372036854775807]])
def test_canonical_integers_become_numbers(read, ids):
    graph = read(f"id,a\n{ids[0]},1\n{ids[1]},2\n", f"source,target\n{ids[0]},{ids[1]}\n")
    assert graph.ids.tolist() == ids
    assert graph.n_edges == 1


def test_a_quoted_line_end_is_part_of_the_cell_and_counts_as_a_line(read):
    table = 'id,a,label\n1,2,"two\nlines"\n2,3,"q""x"\n'
    assert read(table).classes == ('q"x', "two\nlines")
    with pytest.raises(InputError, match=r"nodes\.csv, line 4, column 'a': '-inf'"):
        read(table.replace("2,3", "2,-inf"))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("", r"is empty"),
        ("\n \n".replace(" ", ""), r"is empty"),
        ("id,a\n", r"has no rows"),
        ("id,a", r"has no rows"),
        ("name,a\n1,2\n", r"none of the 1 edges joins two nodes"),
        ("id;a\n1;2\n", r"its columns are 'id;a' \(columns must be separated by commas"),
        ("id,a,b,a\n1,2,3,4\n", r"has two columns named 'a'"),
        ("id,id,b\n1,2,3\n", r"has two columns named 'id'"),
        (",id,a\n0,1,2\n", r"column 1 of .*nodes\.csv has no name"),
        ("id,a\n\n1,2\n\n2,-inf\n", r", line 5, column 'a': '-inf' is not finite"),
        ("id,a\n1,2\n2,1\n1,5\n", r", line 4, column 'id': '1' is also the id on line 2"),
        ("id,a\n1,2\n,1\n", r", line 3, column 'id': the empty cell is not an id"),
        ("id,a\n1,2\n2\n", r", line 3: 1 cell\(s\), but the header names 2 columns"),
        ("id,a\n1,2\n2,3,4\n", r", line 3: 3 cell\(s\), but the header names 2 columns"),
        (b"id,a,label\n1,2,x\n2,1,\xe9\n", r", line 3: byte 0xe9 is not UTF-8"),
        (b"id,\xe9\n1,2\n", r", line 1: byte 0xe9 is not UTF-8"),
        (b"id,a\n1,2\n2,\xff\n", r", line 3: byte 0xff is not UTF-8"),
        (b"id," + b"a" * 20000 + b"\n1,2\n\xff,3\n", r", line 3: byte 0xff is not UTF-8"),
        ("id,a\n1,2\n".encode("utf-16"), r", line 1: byte 0xff is not UTF-8"),
        ('id,a\n1,2\n2,"1\n', r", line 3, column 'a': the quote that opens a cell is not"),
        ('id,a\n1,2\n2,"x\n3,4\n4,5\n', r", line 3, column 'a': the quote that opens a cell"),
    ],
)  # fmt: skip
def test_a_wrong_node_table_is_one_sentence_with_the_place(read, nodes, words):
    with pytest.raises(InputError, match=r"nodes\.csv.*|column 1") as caught:
        read(nodes)
    caught.match(words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ("", r"is empty"),
        ("source\n1\n", r"has no two columns for the two ends of an edge"),
        ("from,to,to\n1,2,2\n", r"has two columns named 'to'"),
        ("source,target,target\n1,2,2\n", r"has two columns named 'target'"),
        ("source,target\n1,2\n1,7\n", r", line 3, column 'target': '7' is not the id of a node"),
        ("source,target\n01,2\n", r", line 2, column 'source': '01' is not the id of a node"),
        ("source,target\n1,\n", r", line 2, column 'target': the empty cell is not an id"),
        ("source,target\n1,2,3\n", r", line 2: 3 cell\(s\)"),
        ("source,target,weight\n1,2,-3\n", r", line 2, column 'weight': '-3' is not a positive"),
        ("source,target,weight\n1,2,-0.5\n", r", line 2, column 'weight': '-0.5' is not a posi"),
        ("source,target,weight\n1,2,inf\n", r", line 2, column 'weight': 'inf' is not a positive"),
        ("source,target,weight\n1,2,nan\n", r", line 2, column 'weight': 'nan' is not a positive"),
        ("source,target,weight\n1,2,x\n", r", line 2, column 'weight': 'x' is not a number"),
        (
            "source,target,weight\n1,2,\n",
            r", line 2, column 'weight': the empty cell is not a positive",
        ),
        ("source,target,weight\n1,2,3\n2,1,4\n", r": the undirected edge between"),
        (b"source,target\n1,2\n\xff,2\n", r", line 3: byte 0xff is not UTF-8"),
    ],
)
def test_a_wrong_edge_table_is_one_sentence_with_the_place(read, edges, words):
    with pytest.raises(InputError, match=rf"edges\.csv{words}|edges\.csv {words}") as caught:
        read(edges=edges, unknown_nodes="refuse")
    assert "\n" not in str(caught.value)


def test_paths_that_are_not_files(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES)
    with pytest.raises(InputError, match=r"edges\.csv does not exist"):
        read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    with pytest.raises(InputError, match=r"is a folder; pass a file in it"):
        read_graph(tmp_path, tmp_path / "nodes.csv")
    (tmp_path / "nodes.doc").touch()
    with pytest.raises(
        InputError, match=r"nodes\.doc does not have the ending of a table: use \.csv or"
    ):
        read_graph(tmp_path / "nodes.doc")
    with pytest.raises(InputError, match=r"nodes\.csv.edges\.csv does not exist"):
        read_graph(tmp_path / "nodes.csv" / "edges.csv", tmp_path / "nodes.csv")


def test_many_rows_and_columns(read):
    rng = np.random.default_rng(0)
    x = rng.random((300, 400)).astype(np.float32)
    lines = [",".join([f"n{i}", *map(str, row)]) for i, row in enumerate(x.tolist())]
    edges = [f"n{i},n{(i + 1) % 300}" for i in range(300)]
    header = ",".join(["id", *(f"c{j}" for j in range(400))])
    graph = read("\n".join([header, *lines]), "\n".join(["source,target", *edges]))
    found = np.stack([graph.attributes[f"c{j}"].values for j in range(400)], axis=1)
    np.testing.assert_array_equal(found.astype(np.float32), x)
    assert graph.n_edges == 300


text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(text, min_size=1, max_size=5, unique_by=str.strip))
def test_any_text_is_an_id(tmp_path, ids):
    def quoted(value):
        return '"' + value.replace('"', '""') + '"'

    nodes, edges = tmp_path / "n.csv", tmp_path / "e.csv"
    nodes.write_text("id,a\n" + "".join(f"{quoted(i)},1\n" for i in ids), encoding="utf-8")
    pairs = [(ids[0], other) for other in ids[1:]]
    rows = "".join(f"{quoted(u)},{quoted(v)}\n" for u, v in pairs)
    edges.write_text("source,target\n" + rows, encoding="utf-8")
    graph = read_graph(edges, nodes)
    assert [str(i) for i in graph.ids.tolist()] == ids
    assert graph.n_edges == len(ids) - 1


# --- leading zeros -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["01000", "75001", "13001"], "category"),
        (["75001", "13001", "01000"], "category"),
        (["-01", "2", ""], "category"),
        (["+01", "2", "3"], "category"),
        (["007.5", "1.5", "2"], "category"),
        (["00", "1", "2"], "category"),
        ([" 01", "1", "2"], "category"),
        (['"01"', "1", "2"], "category"),
        (["0x1F", "0x12", "13"], "category"),  # Arrow would read 31 and 18
        (["0", "1", "2"], "number"),
        (["0.5", "-0.5", "0"], "number"),
        (["+1", "-2", "100"], "number"),
        (["1e-05", "2e+05", "1.05"], "number"),
        (["-0", "10", "1000"], "number"),
        (["2024-01-02", "2024-10-05", ""], "number"),  # dates
    ],
)
@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("last", [False, True])
def test_text_with_leading_zeros_stays_text(tmp_path, separator, last, cells, kind):
    names = ["id", "n", "cell"] if last else ["id", "cell", "n"]
    rows = [
        [str(at), "0.5", cell] if last else [str(at), cell, "0.5"] for at, cell in enumerate(cells)
    ]
    nodes = tmp_path / ("n.csv" if separator == "," else "n.tsv")
    nodes.write_text("\n".join(separator.join(row) for row in [names, *rows]))
    (tmp_path / "e.csv").write_text("source,target\n0,1\n")
    table = read_graph(tmp_path / "e.csv", nodes).attributes
    assert table.kinds == {"cell": kind, "n": "number"}
    if kind == "category":
        assert table["cell"].tolist() == [cell.strip('"') or None for cell in cells]


def test_leading_zeros_far_down_the_file_and_across_blocks(read, monkeypatch):
    monkeypatch.setattr(csv_reader, "_BLOCK", 64)  # bytes
    for at in (0, 1, 50, 97, 98, 99):
        cells = [str(1000 + row % 60) for row in range(100)]
        cells[at] = "00042"
        rows = [f"{row},{row % 7},{cell}\n" for row, cell in enumerate(cells)]
        table = read("id,a,zip\n" + "".join(rows)).attributes
        assert table["zip"].tolist() == cells
        assert table.kinds["a"] == "number"


@pytest.mark.parametrize(
    ("owner", "size"),
    [(csv_reader, "_BLOCK"), (csv_reader._Scan, "_PIECE")],
    ids=["block", "piece"],
)
def test_leading_zeros_at_the_edge_of_a_block(read, monkeypatch, owner, size):
    rows = "".join(f"{row},  -042\n" if row == 3 else f"{row},10{row:05}\n" for row in range(8))
    for block in range(16, 64):
        monkeypatch.setattr(owner, size, block)
        assert read("id,n\n" + rows).attributes.kinds == {"n": "category"}, block


def test_a_column_of_a_known_kind_is_read_as_that_kind(read):
    first = read("id,zip,n\n1,01000,3\n2,75001,4\n").attributes
    assert first.kinds == {"zip": "category", "n": "number"}
    later = read("id,zip,n\n1,75001,03\n2,13001,4\n", kinds=first.kinds).attributes
    assert later.kinds == first.kinds
    assert later["zip"].tolist() == ["75001", "13001"]
    assert later["n"].tolist() == [3, 4]  # a number although it is padded


@pytest.mark.filterwarnings("ignore:.*ignored")
def test_a_place_beside_bytes_that_are_no_text(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"source,target,ignored\na,,\xd3")
    with pytest.raises(InputError, match="line 2, column 'target': the empty cell is not an id"):
        read_graph(tmp_path / "e.csv")


def test_long_cells_are_named_and_pythons_own_limit_stays(read):
    before = csv.field_size_limit()
    long = "x" * (before + 1)
    with pytest.raises(InputError, match="line 2"):
        read(f"id,weight\n{long},1\n{long},2\n")
    assert csv.field_size_limit() == before


# --- quotes --------------------------------------------------------------------------------------

FIVE = ["1,2,x,0.5", "2,3,x,0.5", "3,1,x,0.5", "1,4,x,0.5", "2,4,x,0.5"]
WIDE = "id\n1\n2\n3\n4\n"


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("column", ["source", "target", "note", "more"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.filterwarnings("ignore::graphgate.errors.InputWarning")  # ignored columns
def test_an_unclosed_quote_is_refused_wherever_it_is(read, row, column, end):
    names = ["source", "target", "note", "more"]
    rows = list(FIVE)
    cells = rows[row].split(",")
    cells[names.index(column)] = '"' + cells[names.index(column)]
    rows[row] = ",".join(cells)
    text = "\n".join([",".join(names), *rows]) + end
    place = rf"edges\.csv, line {row + 2}, column '{column}': the quote that opens"
    with pytest.raises(InputError, match=place):
        read(WIDE, text)


def test_an_unclosed_quote_in_a_dropped_column_is_refused(read):
    nodes = 'id,a,note\n1,2,x\n2,3,"x\n3,4,x\n4,5,x\n'
    with pytest.raises(InputError, match=r"csv, line 3, column 'note': the quote that opens"):
        read(nodes, "source,target\n1,2\n", drop=["note"])
    with pytest.raises(InputError, match=r"line 1, column 'note': the quote that opens"):
        read('id,a,"note\n1,2,x\n2,3,x\n', drop=["note"])


def test_two_unclosed_quotes_do_not_swallow_the_rows_between_them(read):
    """The second quote seems to close the first."""
    nodes = 'id,a,note\n1,2,x\n2,3,"x\n3,4,x\n4,5,"y\n5,6,x\n'
    with pytest.raises(InputError, match=r"csv, line 3, column 'note': the quote that opens"):
        read(nodes, drop=["note"])


def test_the_line_of_a_quote_counts_the_lines_within_cells(read):
    nodes = 'id,note,a,more\n1,"two\nlines",2,x\n2,"three\nli\nnes",3,"x\n3,x,4,x\n'
    with pytest.raises(InputError, match=r"line 6, column 'more': the quote that opens"):
        read(nodes, drop=["note", "more"])


@pytest.mark.parametrize(
    "cells",
    [
        ['"a, b"', '"say ""hi"""', '"two\nlines"', '""""', '""'],
        ['5" pipe', 'x "y" z', 'a"', "'", "b"],  # quotes within a cell are text
        ['"ab"c', "d", "e", "f", "g"],
        ["a", "b", "c", "d", '"last\nline"'],
    ],
)
@pytest.mark.parametrize("block", [32, 1 << 24])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_quotes_of_good_files(read, monkeypatch, cells, block, start):
    monkeypatch.setattr(csv_reader, "_BLOCK", block)
    rows = [f"{at},{cell},{at}\n" for at, cell in enumerate(cells)]
    graph = read(start + '"id",note,a\n' + "".join(rows), "source,target\n0,1\n")
    assert graph.attributes["a"].tolist() == [0, 1, 2, 3, 4]
    expected = [row[1] or None for row in csv.reader(io.StringIO("".join(rows)))]
    assert graph.attributes["note"].tolist() == expected


@pytest.mark.parametrize("piece", [5, 8, 13, 1 << 18])
def test_good_files_are_opened_twice_and_walked_never(read, monkeypatch, piece):
    monkeypatch.setattr(csv_reader._Scan, "_PIECE", piece)
    opened = []
    monkeypatch.setattr(
        csv_reader, "decompressed", lambda path: opened.append(path) or decompressed(path)
    )
    monkeypatch.setattr(CsvTable, "_check_quotes", lambda *_: pytest.fail("walked"))
    read('\ufeff"id",a,note\n1,2.5,"x, ""y"""\n2,100,"two\nlines"\n')
    assert len(opened) == 4  # the header and the rows of two files


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.text(st.sampled_from('",\n\rab0'), max_size=40))
def test_any_text_is_read_as_by_python_or_refused(tmp_path, text):
    """Rows are never lost: what Arrow reads has as many rows as Python's strict reader finds."""
    (tmp_path / "t.csv").write_bytes(b"x,y\n" + text.encode())
    try:
        found = dict(CsvTable(tmp_path / "t.csv").columns(["x", "y"], {"x": "text", "y": "text"}))
    except InputError:
        return
    lines = io.StringIO("x,y\n" + text, newline="")
    rows = [row for row in csv.reader(lines) if row][1:]
    assert [row[0] or None for row in rows] == found["x"].to_pylist()


@given(
    st.lists(st.sampled_from([*',"\n\r\t .+-0x7a', "007", '","'])).map("".join),
    st.integers(1, 9),
    st.sampled_from(list(SEPARATORS.values())),
)
@settings(max_examples=300, deadline=None)
def test_the_scan_finds_what_patterns_find(text, size, separator):
    """Whatever the pieces are: quotes that do not alternate, and leading zeros."""
    assume(not re.search(r"[ \t]{12}", text))
    scan = csv_reader._Scan(io.BytesIO(text.encode()), separator)
    scan._PIECE = size
    content = b"".join(iter(lambda: scan.read(7), b"")).decode()
    assert content == text + "\n"
    around = "\n" + content
    edges = f'{separator}\r\n"'
    quotes = [at for at, sign in enumerate(around) if sign == '"']
    beside = [around[at + (1 if nth % 2 else -1)] for nth, at in enumerate(quotes)]
    assert scan.suspicious == (len(quotes) % 2 == 1 or any(sign not in edges for sign in beside))
    blanks = " \t".replace(separator, "")
    assert scan.padded == bool(re.search(f"[{edges}][{blanks}]*[-+]?0[0-9xX]", around))
