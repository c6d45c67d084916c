"""Names that are markup, formulas, escapes or very long: unchanged in files, harmless in others."""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate import (
    Graph,
    read_embedding,
    read_graph,
    spreadsheet_safe,
    write_embedding,
    write_graph,
)
from graphgate.io.spreadsheets import SAFE

NAMES = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'`&quot;",
    "line\u2028separator\u2029",
    "\x1b[31mred\x07",
    "=HYPERLINK(1)",
    "+1+1",
    "@SUM(1)",
    "-2+3",
    "\t=1",
    "nul\0inside",
    "\u202egpj.exe",
    'comma, "quote"\nand line',
    "x" * 1_000_000,
]
Z = np.arange(2.0 * len(NAMES)).reshape(-1, 2)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npz"])
def test_ids_and_labels_round_trip(tmp_path, ending):
    write_embedding(tmp_path / f"z{ending}", NAMES, Z, labels=NAMES[::-1])
    found = read_embedding(tmp_path / f"z{ending}")
    assert found.ids.tolist() == NAMES
    assert found.labels == NAMES[::-1]


def test_ids_round_trip_in_word2vec_text(tmp_path):
    names = [name for name in NAMES if name.split() == [name]]
    assert len(names) >= 8
    write_embedding(tmp_path / "z.txt", names, Z[: len(names)])
    assert read_embedding(tmp_path / "z.txt").ids.tolist() == names


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_graphs_round_trip(tmp_path, ending):
    """Ids, labels and names of columns."""
    x = np.arange(2.0 * len(NAMES)).reshape(-1, 2)
    columns = ["<script>alert(1)</script>", "=1+1"]
    pairs = list(pairwise(NAMES))
    graph = Graph.from_edges(x, pairs, ids=NAMES, labels=NAMES, feature_names=columns)
    again = read_graph(*write_graph(tmp_path, graph, ending))
    assert again.ids.tolist() == NAMES
    assert again.label_values() == NAMES
    assert list(again.attributes.names) == columns


@settings(max_examples=40)
@given(name=st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable()))
def test_any_name_round_trips(tmp_path_factory, name):
    path = tmp_path_factory.mktemp("any") / "z.parquet"
    write_embedding(path, [name, name + "2"], np.eye(2))
    assert read_embedding(path).ids.tolist() == [name, name + "2"]


# --- spreadsheets --------------------------------------------------------------------------------

FORMULAS = ["=HYPERLINK(1)", "+1+1", "@SUM(1)", "-2+3", "\t=1"]


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_formulas_are_guarded_where_that_is_asked(tmp_path):
    ids, labels = [*FORMULAS, "plain"], ["=x", "a=b", "-", "c", "d", "e"]
    z = -np.ones((6, 2))
    write_embedding(tmp_path / "plain.csv", ids, z, labels)
    with spreadsheet_safe():
        write_embedding(tmp_path / "safe.csv", ids, z, labels)
        write_embedding(tmp_path / "z.parquet", ids, z)
    head, *rows = cells(tmp_path / "safe.csv")
    assert [row[0] for row in rows] == [*(f"'{name}" for name in FORMULAS), "plain"]
    assert [row[-1] for row in rows] == ["'=x", "a=b", "'-", "c", "d", "e"]
    assert [row[1] for row in rows] == ["-1"] * 6  # numbers are no formulas
    assert head == ["node_id", "e0", "e1", "label"]
    assert [row[0] for row in cells(tmp_path / "plain.csv")[1:]] == ids
    assert read_embedding(tmp_path / "z.parquet").ids.tolist() == ids
    assert not SAFE.get()


def test_the_commands_guard_formulas(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("source,target\n=1+1,b\nb,@c\n")
    for more, first in ([["--spreadsheet-safe"], "'=1+1"], [[], "=1+1"]):
        code, _, err = run("embed", "e.csv", "--out", "z.csv", *more)
        assert code == 0, err
        assert cells(Path("z.csv"))[1][0] == first
    code, _, err = run("similar", "z.csv", "--out", "s.csv", "--spreadsheet-safe")
    assert code == 0, err
    assert cells(Path("s.csv"))[1][0] == "'=1+1"
    run("similar", "z.csv", "--node", "b")
    assert not SAFE.get()
