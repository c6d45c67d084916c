"""Messy tables: the first command works, and what it decided is not to be repeated."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from messy_tables import PAIRS
from rounding import assert_equal_to_rounding

from graphgate import load_model, read_embedding
from graphgate.io.table_files import write_table

FAST = ("--seed", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str) -> None:
    messy = PAIRS[name]()
    write_table("edges.csv", pa.table(messy.edges))
    write_table("nodes.csv", pa.table(messy.nodes))


@pytest.mark.parametrize("name", sorted(PAIRS.keys() - {"many_categories"}))
def test_the_shortest_command_works(run, name):
    write(name)
    code, out, err = run("embed", "edges.csv", "--nodes", "nodes.csv")
    assert code == 0, err
    assert "vectors of size" in out
    assert "edges-embedding.parquet" in out
    messy = PAIRS[name]()
    embedding = read_embedding("edges-embedding.parquet")
    assert len(embedding) == len(messy.nodes[messy.roles[2]])
    assert (embedding.reading.source, embedding.reading.target, embedding.reading.id) == messy.roles
    assert embedding.reading.kinds == messy.kinds


def test_inspect_tells_what_embed_would_do(run):
    write("dates")
    code, out, err = run("inspect", "edges.csv", "--nodes", "nodes.csv", "--json", "plan.json")
    assert code == 0, err
    assert "day-first date" in out
    messy = PAIRS["dates"]()
    plan = {row["name"]: row for row in json.loads(Path("plan.json").read_text())["columns"]}
    assert {name: plan[name]["kind"] for name in messy.kinds} == messy.kinds
    assert plan["gone"]["n_features"] == 2  # one says where it is missing
    code, out, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--kind", "paid=date")
    assert code == 0, err
    assert read_embedding("edges-embedding.parquet").reading.kinds["paid"] == "date"
    code, _, err = run("inspect", "edges.csv", "--nodes", "nodes.csv", "--kind", "paid=day")
    assert code == 2
    assert "the column 'paid' cannot be read as 'day'; use one of number," in err


def test_unclear_tables_are_told_a_command_that_works(run):
    rng = np.random.default_rng(0)
    ids = [f"n{at}" for at in range(30)]
    ends = {name: [ids[at] for at in rng.integers(0, 30, 90)] for name in ("one", "two", "three")}
    write_table("e f.csv", pa.table(ends))
    write_table("nodes.csv", pa.table({"which": ids, "age": list(range(5, 35))}))
    code, _, err = run("embed", "e f.csv", "--nodes", "nodes.csv")
    assert code == 2
    command = err.strip().rpartition("graphgate ")[2]
    assert command == "embed 'e f.csv' --nodes nodes.csv --source one --target two --id which"
    code, _, err = run(*shlex.split(command))
    assert code == 0, err


def test_later_tables_are_read_as_the_first_ones(run):
    """A batch of a few rows, in which nothing could be decided."""
    write("dates")
    code, _, err = run(
        *("embed", "edges.csv", "--nodes", "nodes.csv", *FAST, "--model", "m.safetensors")
    )
    assert code == 0, err
    messy = PAIRS["dates"]()
    assert load_model("m.safetensors").notes_["reading"]["kinds"] == messy.kinds
    ids = set(messy.nodes["node_id"][:3])
    pairs = [p for p in zip(*messy.edges.values(), strict=True) if ids.issuperset(p)]
    pairs = pairs or [tuple(messy.nodes["node_id"][:2])]
    write_table(
        "few_edges.csv", pa.table(dict(zip(messy.edges, zip(*pairs, strict=True), strict=True)))
    )
    write_table("few.csv", pa.table({name: column[:3] for name, column in messy.nodes.items()}))
    code, _, err = run(
        *("transform", "m.safetensors", "few_edges.csv", "--nodes", "few.csv", "--out", "z.npy")
    )
    assert code == 0, err
    code, _, err = run(
        "transform", "m.safetensors", "edges.csv", "--nodes", "nodes.csv", "--out", "all.npy"
    )
    assert code == 0, err
    expected = read_embedding("edges-embedding.parquet").vectors
    assert_equal_to_rounding(np.load("all.npy"), expected, 100)
    code, _, err = run(
        *("similar", "edges-embedding.parquet", "--node", "1000", "--top", "2"),
        *("--edges", "edges.csv", "--nodes", "nodes.csv"),
    )
    assert code == 0, err
    code, _, err = run(
        "cluster", "edges-embedding.parquet", "--clusters", "2", "--describe", "nodes.csv"
    )
    assert code == 0, err
