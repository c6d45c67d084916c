"""`graphgate store`, `embed --store`, and `transform` with the graph that nodes are new to."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from graphgate import Store, load_model, read_embedding, read_graph

ROWS = [f"n{at},{at % 7},{'Ulm' if at % 3 else 'Bern'}" for at in range(30)]
PAIRS = sorted({f"n{at},n{at // by}" for at in range(2, 30) for by in (2, 3)})
NODES = "\n".join(["id,age,town", *ROWS, ""])
EDGES = "\n".join(["source,target", *PAIRS, ""])
NEW_NODES = "id,age,town\nx,3,Ulm\ny,4,Bern\n"
NEW_EDGES = "source,target\nx,n3\ny,n8\nx,y\n"
TABLES = {
    "edges.csv": EDGES,
    "nodes.csv": NODES,
    "new_edges.csv": NEW_EDGES,
    "new_nodes.csv": NEW_NODES,
    "lost.csv": "source,target\nx,n3\nx,nobody\nno one,n2\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_store_from_the_first_table_to_the_last(run):
    def done(*arguments) -> str:
        code, out, err = run("store", *arguments)
        assert code == 0, err
        return out

    created = done("create", "s", "edges.csv", "--nodes", "nodes.csv", "--components", "4")
    assert "created s with 30 vectors of size 4" in created
    added = ("add", "s", "--edges", "new_edges.csv", "--nodes", "new_nodes.csv")
    report = "2 nodes added, 0 removed, 0 with other attributes or labels, 3 edges changed"
    assert f"version 2: {report}" in done(*added, "--out", "a.csv")
    changed = read_embedding("a.csv")
    assert changed.ids.tolist()[:2] == ["x", "y"]
    assert 2 < len(changed.ids) < 32
    assert "version 2: nothing has changed" in done(*added, "--only", "new", "--out", "b.csv")
    assert len(Path("b.csv").read_text().splitlines()) == 1
    assert "2 nodes and 3 edges have changed since" in done("info", "s", "--json", "i.json")
    assert "measured: cosine to the exact vector" in done("info", "s", "--measure")
    assert json.loads(Path("i.json").read_text())["n_nodes"] == 32
    assert "all 32 vectors are exact" in done("refresh", "s")
    assert "a refit was" in done("refit", "s", "--json", "d.json")
    assert json.loads(Path("d.json").read_text())["n_shared"] == 32
    assert "versions 2 to 4: 32 nodes in both" in done("drift", "s", "--since", "2")
    assert "1 removed" in done("remove", "s", "--node", "x")
    assert "version 6 is version 1 again" in done("rollback", "s", "1")
    assert "rollback" in done("history", "s")
    done("export", "s", "--out", "z.npz", "--graph", "g", "--model", "m.safetensors")
    graph = read_graph("g/edges.parquet", "g/nodes.parquet")
    assert graph.fingerprint() == read_graph("edges.csv", "nodes.csv").fingerprint()
    vectors = load_model("m.safetensors").transform(graph)
    np.testing.assert_allclose(read_embedding("z.npz").vectors, vectors, atol=1e-6)
    near = done("similar", "s", "--node", "n4", "--top", "3", "--where", "town = 'Bern'")
    assert len([line for line in near.splitlines() if line.split()[:1] == ["n4"]]) == 3
    near = done(
        "similar", "s", "--nodes", "new_nodes.csv", "--edges", "new_edges.csv", "--top", "2"
    )
    assert [line.split()[0] for line in near.splitlines() if line.split()[:1]][2:] == [*"xxyy"]
    assert "version 7: 2 versions are kept" in done("prune", "s", "--keep", "2")
    code, _, err = run("store", "rollback", "s", "1")
    assert (code, "version 1 was pruned; there are 6 to 7" in err) == (2, True), err
    Path("ids.txt").write_text("n7\nn8\n")
    erased = done("erase", "s", "n3", "--ids", "ids.txt")
    assert "version 8: 3 nodes are erased, and all older versions with them" in erased
    assert "fitted from scratch on the other 27 nodes" in erased
    assert len(Store.open("s").history()) == 1
    code, _, err = run("store", "erase", "s", "n3")
    assert (code, "no version of the store has a node 'n3'" in err) == (2, True), err
    code, _, err = run("store", "erase", "s")
    assert (code, "no node to erase is given" in err) == (2, True), err


def test_embed_makes_a_store(run):
    code, out, err = run(
        *("embed", "edges.csv", "--nodes", "nodes.csv", "--store", "s"),
        *("--method", "gate", "--dims", "4,2", "--epochs", "3"),
    )
    assert code == 0, err
    assert "created the store s" in out
    assert Store.open("s").info().method == "GATE"
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--store", "s")
    assert (code, "s already exists" in err) == (2, True)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    return Store.create(folder / "s", read_graph(folder / "edges.csv", folder / "nodes.csv")).path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "s"], "there is nothing to add"),
        (["add", "s", "--edges", "lost.csv"], "lost.csv: the edges refer to 3 nodes that are not"),
        (["add", "none", "--edges", "lost.csv"], "none does not exist"),
        (["add", ".", "--edges", "lost.csv"], ". is not a store"),
        (["add", "s", "--only", "few"], "--only takes all or new"),
        (["remove", "s"], "nothing to remove is given"),
        (["remove", "s", "--node", "q"], "the store has no node 'q'"),
        (["rollback", "s", "7"], "there is no version 7; there are 1 to 1"),
        (["similar", "s"], "give either --node ID or --nodes FILE"),
        (["similar", "s", "--node", "n1", "--where", "size >"], "the condition 'size >' cannot"),
        (
            ["similar", "s", "--node", "n1", "--where", "repeat('a', 1500000000) = 'a'"],
            "character 1 is 'repeat', which is not a column; the columns are age, town, _id",
        ),
        (["export", "s"], "no output is given"),
        (["create", "s", "edges.csv", "--nodes", "nodes.csv"], "s already exists"),
        (["create", "t", "edges.csv"], "edges.csv: a store needs nodes with attributes"),
    ],
)
def test_what_is_refused(run, stored, arguments, words):
    shutil.copytree(stored, "s")
    code, _, err = run("store", *arguments)
    assert code == 2, err
    assert words in err
    assert len(Store.open("s").history()) == 1
    assert not Path("t").exists()


# --- transform -----------------------------------------------------------------------------------


@pytest.fixture
def model(run) -> str:
    code, _, err = run(
        *("embed", "edges.csv", "--nodes", "nodes.csv", "--out", "z.csv"),
        *("--model", "m.safetensors", "--components", "4"),
    )
    assert code == 0, err
    return "m.safetensors"


def test_transform_refuses_edges_to_nodes_in_no_table(run, model):
    given = ("--nodes", "new_nodes.csv", "--out", "new.csv")
    code, _, err = run("transform", model, "new_edges.csv", *given)
    assert code == 2
    assert "column 'target': 'n3' is not the id of a node, nor is 'n8'" in err
    assert "pass the graph they are in with --with" in err
    assert not Path("new.csv").exists()
    code, _, err = run("transform", model, "new_edges.csv", *given, "--unknown-nodes", "drop")
    assert code == 0, err


def test_transform_with_the_old_graph(run, model):
    given = ("--nodes", "new_nodes.csv", "--with", "edges.csv", "--with-nodes", "nodes.csv")
    code, out, err = run(
        "transform", model, "new_edges.csv", *given, "--only", "new", "--out", "new.csv"
    )
    assert code == 0, err
    assert "wrote 2 vectors" in out
    Path("all_edges.csv").write_text(EDGES + NEW_EDGES.partition("\n")[2])
    Path("all_nodes.csv").write_text(NODES + NEW_NODES.partition("\n")[2])
    whole = read_graph("all_edges.csv", "all_nodes.csv")
    expected = load_model(model).transform(whole, nodes=["x", "y"])
    found = read_embedding("new.csv")
    assert found.ids.tolist() == ["x", "y"]
    np.testing.assert_allclose(found.vectors, expected, atol=1e-6)
    code, _, err = run("transform", model, "lost.csv", *given, "--out", "lost.parquet")
    assert code == 2
    assert "2 nodes that are not in either graph: 'nobody', 'no one'" in err


def test_options_that_need_the_old_graph(run, model):
    for options in (["--only", "new"], ["--with-nodes", "nodes.csv"]):
        code, _, err = run("transform", model, "edges.csv", *options, "--out", "new.csv")
        assert (code, "needs the edges of the old graph" in err) == (2, True)


# --- what batches need ---------------------------------------------------------------------------


def test_batches_need_neither_the_label_nor_dropped_columns(run):
    rows = [f"{row},{'ab'[at % 2]},n{at}" for at, row in enumerate(ROWS)]
    Path("labeled.csv").write_text("\n".join(["id,age,town,kind,name", *rows, ""]))
    created = run(
        *("store", "create", "s", "edges.csv", "--nodes", "labeled.csv", "--components", "4"),
        *("--label", "kind", "--drop", "name"),
    )
    assert created[0] == 0, created[2]
    added = run("store", "add", "s", "--nodes", "new_nodes.csv", "--edges", "new_edges.csv")
    assert (added[0], "2 nodes added" in added[1]) == (0, True), added[2]
    Path("all.csv").write_text("id,age,town,kind,name\nn1,50,Ulm,b,n1\nz,3,Ulm,a,z\n")
    assert "1 with other attributes or labels" in run("store", "add", "s", "--nodes", "all.csv")[1]
    Path("all.csv").write_text("id,age,town,kind\nz,3,Ulm,b\n")
    relabeled = run("store", "add", "s", "--nodes", "all.csv")[1]  # which moves no vector
    assert "1 with other attributes or labels, 0 edges changed, 0 further vectors" in relabeled
    from graphgate.service.messages import NewEdge, NewNode
    from graphgate.service.served import Follower

    node = NewNode(id="w", attributes={"age": 3.0, "town": "Bern"})
    labeled = NewNode(id="v", attributes={"age": 3.0, "town": "Bern"}, label="b")
    Follower(Path("s")).add([node], [NewEdge(source="w", target="x")])
    Follower(Path("s")).add([labeled], [])
    store = Store.open("s")
    labels = [node["_label"] for node in store.nodes(["n1", "x", "w", "z", "v", "n2"])]
    assert labels == ["b", None, None, "b", "b", "a"]
    assert "name" not in store.nodes("z")[0]


# --- damage --------------------------------------------------------------------------------------


def test_a_check_lists_what_is_damaged(run, stored):
    shutil.copytree(stored, "s")
    code, out, err = run("store", "check", "s", "--json", "c.json")
    assert (code, "no damage was found" in out) == (0, True), err
    assert json.loads(Path("c.json").read_text())["problems"] == []
    model = Path("s/models/000001.safetensors")
    model.write_bytes(model.read_bytes()[:-1] + b"?")
    code, out, err = run("store", "check", "s", "--json", "c.json")
    assert (code, "s is damaged: models/000001.safetensors is damaged" in err) == (2, True)
    assert len(json.loads(Path("c.json").read_text())["problems"]) == 1


def test_history_is_in_its_json(run, stored):
    assert run("store", "history", stored, "--json", "h.json")[0] == 0
    result = json.loads(Path("h.json").read_text())
    assert [row["action"] for row in result["history"]] == ["create"]
    assert result["versions"]["graphgate"]


def test_an_error_names_a_file_once(run, stored):
    Path("bad.csv").write_text("id,age,town\nz1,old,Ulm\n")
    _, _, err = run("store", "add", str(stored), "--nodes", "bad.csv")
    assert err.count("bad.csv") == 1
    Path("lacking.csv").write_text("id,age\nz1,1\n")
    _, _, err = run("store", "add", str(stored), "--nodes", "lacking.csv")
    assert err.count("lacking.csv") == 1
