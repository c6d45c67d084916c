"""The commands that answer from an embedding, and the one that estimates."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from command_lines import amended
from rounding import assert_equal_to_rounding

from graphgate.compute.machine import format_bytes
from graphgate.compute.speed import format_seconds
from graphgate.estimators import embedder
from graphgate.estimators.base import inner_products
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.link_split import split_links
from graphgate.io.embeddings import write_embedding
from graphgate.io.graph_files import read_graph
from graphgate.tasks.link_metrics import link_quality
from graphgate.tasks.links import evaluate_links

RNG = np.random.default_rng(0)
LABELS = np.arange(30) % 3
Z = (RNG.normal(size=(30, 4)) + 9 * np.eye(4)[LABELS]).astype(np.float32)
IDS = [f"n{i}" for i in range(30)]
NAMES = [None if i % 10 == 9 else "xyz"[label] for i, label in enumerate(LABELS)]
COUNTS = ["--nodes-count", "300", "--edges-count", "900", "--features", "20"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """An embedding with labels and one without, and a graph of 30 nodes."""
    monkeypatch.chdir(tmp_path)
    write_embedding("z.parquet", IDS, Z, NAMES)
    write_embedding("bare.txt", IDS, Z)
    rows = [f"{i},{z[0]},{z[1]},{name or ''}" for i, z, name in zip(IDS, Z, NAMES, strict=True)]
    Path("nodes.csv").write_text("\n".join(["id,p,q,label", *rows]) + "\n")
    pairs = [f"n{u},n{v}" for u in range(30) for v in range(u) if (u * v) % 4 == 1 or v == u - 1]
    Path("edges.csv").write_text("\n".join(["source,target", *pairs]) + "\n")
    return tmp_path


@pytest.fixture
def refused(run):
    """Runs a command that must fail: exit code 2, no file more or less, one line.

    Before it there may be another, which describes the graph that was read.
    """

    def refused(*arguments) -> str:
        before = sorted(os.listdir())
        code, _, err = run(*arguments)
        assert code == 2, err
        *read, last = err.splitlines()
        assert all(line.startswith("Graph(") for line in read[:1]), err
        assert len(read) <= 1, err
        assert last.startswith("graphgate: ")
        assert sorted(os.listdir()) == before
        return last

    return refused


def cells(out: str) -> list[list[str]]:
    """The rows of printed tables, words apart."""
    return [line.split() for line in out.splitlines() if line.strip() and "─" not in line]


# --- similar -------------------------------------------------------------------------------------


def test_similar_prints_the_nearest(run):
    code, out, err = run("similar", "bare.txt", "--node", "n4", "--node", "n0", "--top", "3")
    assert (code, err) == (0, "")
    heads, *rows = cells(out)
    assert heads == ["node", "rank", "similar", "cosine"]
    assert [row[:2] for row in rows] == [[n, str(r)] for n in ("n4", "n0") for r in (1, 2, 3)]
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    for name, _, other, cosine in rows:
        assert LABELS[int(name[1:])] == LABELS[int(other[1:])]
        assert float(cosine) == pytest.approx(unit[int(name[1:])] @ unit[int(other[1:])], abs=1e-4)


def test_similar_of_all_nodes_is_a_file(run, refused):
    assert "querying all nodes needs --out FILE" in refused("similar", "z.parquet")
    code, out, err = run("similar", "z.parquet", "--top", "2", "--out", "near.csv")
    assert (code, out, err) == (
        0,
        "wrote the 2 most similar nodes of each of 30 nodes to near.csv\n",
        "",
    )
    table = pyarrow.csv.read_csv("near.csv")
    assert table.column_names == ["node_id", "rank", "similar_id", "cosine"]
    assert table["node_id"].to_pylist() == [name for name in IDS for _ in range(2)]
    assert table["rank"].to_pylist() == [1, 2] * 30


def test_names_in_brackets_are_printed_as_they_are(run):
    write_embedding("odd.parquet", ["[red]a[/red]", "[b]"], Z[:2])
    _, out, _ = run("similar", "odd.parquet", "--node", "[b]")
    assert "[red]a[/red]" in out


def test_similarities_are_explained_by_a_model(run, refused):
    graph = read_graph("edges.csv", "nodes.csv")
    gate = LinearGATE(4, random_state=0, progress=False).fit(graph)
    gate.save("model.safetensors")
    write_embedding("own.parquet", graph.ids, gate.embedding_)
    query = ["similar", "own.parquet", "--node", "n4", "--top", "2"]
    inputs = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
    explained = [*query, *inputs, "--explain", "model.safetensors", "--json", "found.json"]
    code, out, _ = run(*explained)
    assert code == 0
    assert "because" in out
    for row in json.loads(Path("found.json").read_text())["similar"]:
        because = row["because"]
        assert set(because["sources"]) == {"p", "q", "(structure)"}
        for parts in because.values():
            assert sum(parts.values()) == pytest.approx(row["cosine"], abs=1e-5)
    assert run(*explained, "--out", "near.csv")[0] == 0
    assert "own " in pyarrow.csv.read_csv("near.csv")["because"][0].as_py()
    assert "add --edges FILE" in refused(*query, "--explain", "model.safetensors")
    GATE(dims=(4,), epochs=1, random_state=0, progress=False).fit(graph).save("other")
    words = refused(*query, *inputs, "--explain", "other")
    assert "are no sums of columns; use LinearGATE" in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.parquet", "--node", "n1"], "none.parquet does not exist"),
        (["nodes.csv", "--node", "n1"], "has no column 'node_id'"),
        (["z.pkl", "--node", "n1"], "must end in one of"),
        (["z.parquet", "--node", "n77"], "no node with id 'n77'"),
        (["z.parquet", "--out", "near.txt"], "must end in .parquet or .csv"),
        (["z.parquet", "--out", "no/near.csv"], "no does not exist"),
        (["z.parquet", "--out", "z.parquet"], "is given twice"),
    ],
)
def test_wrong_arguments_of_similar(refused, arguments, words):
    assert words in refused("similar", *arguments)


# --- cluster -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["kmeans", "gaussian-mixture"])
@pytest.mark.parametrize("source", [["z.parquet"], ["bare.txt", "--nodes", "nodes.csv"]])
def test_cluster_finds_the_classes(run, method, source):
    code, out, err = run(
        *("cluster", *source, "--method", method, "--out", "c.csv", "--json", "c.json")
    )
    assert (code, err) == (0, "")
    assert ["NMI", "ARI", "accuracy"] in cells(out)
    assert ["100.0", "100.0", "100.0"] in cells(out)
    table = pyarrow.csv.read_csv("c.csv")
    assert table["node_id"].to_pylist() == IDS
    found = np.array(table["cluster"].to_pylist())
    assert sorted(set(found)) == [1, 2, 3]
    assert all(len(set(found[label == LABELS])) == 1 for label in range(3))
    result = json.loads(Path("c.json").read_text())
    assert result["scores"] == {"nmi": 100.0, "ari": 100.0, "accuracy": 100.0}
    assert result["sizes"] == [10, 10, 10]
    assert result["command"].startswith("graphgate cluster")


def test_a_label_that_the_vectors_were_made_from_is_warned_of(run):
    """The file says which columns went in; others have other names, or do not say."""
    options = ("edges.csv", "--nodes", "nodes.csv", "--components", "2")
    code, _, err = run("embed", *options, "--drop", "q", "--label", "p", "--out", "in.parquet")
    assert code == 0
    assert "1 attribute (label)" in err
    for command in ("classify", "cluster"):
        _, _, err = run(command, "in.parquet", "--nodes", "nodes.csv", "--label", "label")
        assert "the column 'label' is one of those that the vectors were made from" in err
        _, _, err = run(command, "z.parquet", "--nodes", "nodes.csv")
        assert err == ""
    code, _, err = run("embed", *options, "--out", "without.npz")
    assert "2 attributes (p, q)" in err
    _, _, err = run("classify", "without.npz", "--nodes", "nodes.csv")
    assert err == ""


def test_clusters_without_labels(run):
    code, out, err = run("cluster", "bare.txt")
    assert (code, err) == (0, "")
    assert len(cells(out)) == 4  # three clusters, as there are
    code, out, err = run("cluster", "bare.txt", "--clusters", "4")
    assert (code, err) == (0, "")
    heads, *rows = cells(out)
    assert heads == ["cluster", "nodes"]
    assert sum(int(row[1]) for row in rows) == 30
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["z.parquet", "--method", "spectral"], "unknown method 'spectral'"),
        (["z.parquet", "--clusters", "31"], "the 30 nodes have only 30 distinct vectors"),
        (["z.parquet", "--nodes", "edges.csv"], "has no column 'id'"),
        (["z.parquet", "--out", "c.npz"], "must end in .parquet or .csv"),
        (["z.parquet", "--json", "c.txt"], "must end in .json"),
    ],
)
def test_wrong_arguments_of_cluster(refused, arguments, words):
    assert words in refused("cluster", *arguments)


# --- classify ------------------------------------------------------------------------------------


def test_classify_scores_and_predicts(run):
    code, out, err = run("classify", "z.parquet", "--out", "p.parquet", "--json", "p.json")
    assert (code, err) == (0, "")
    assert cells(out)[1][:4] == ["27", "3", "3", "5"]
    assert "100.0 ± 0.0" in out
    table = pyarrow.parquet.read_table("p.parquet")
    names = ["probability_x", "probability_y", "probability_z"]
    assert table.column_names == ["node_id", "label", *names]
    assert table["node_id"].to_pylist() == ["n9", "n19", "n29"]
    assert table["label"].to_pylist() == ["xyz"[LABELS[i]] for i in (9, 19, 29)]
    sums = np.sum([table[name].to_numpy() for name in names], axis=0)
    np.testing.assert_allclose(sums, 1)
    assert json.loads(Path("p.json").read_text())["accuracy"] == [100.0] * 5


def test_labels_from_a_table_with_columns_of_other_names(run, refused):
    table = pd.read_csv("nodes.csv")[["id", "label"]].rename(columns={"id": "who", "label": "team"})
    table.iloc[:-2].to_csv("teams.csv", index=False)
    named = ("--nodes", "teams.csv", "--id", "who", "--label", "team")
    for command in (["cluster"], ["classify", "--folds", "2"]):
        code, _, err = run(*command, "bare.txt", *named)
        assert code == 0, err
        assert f"note: teams.csv lacks 2 of {len(table)} nodes of the embedding, such as" in err
    assert "has no column 'id'" in refused("cluster", "bare.txt", "--nodes", "teams.csv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bare.txt"], "bare.txt has no labels to learn from"),
        (["z.parquet", "--folds", "10"], "the smallest class"),
        (["z.parquet", "--probe", "svm"], "unknown probe 'svm'"),
    ],
)
def test_wrong_arguments_of_classify(refused, arguments, words):
    assert words in refused("classify", *arguments)


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", ["dims=[6, 3]", "dims=6,3"])
def test_links_of_a_users_graph(run, dims):
    code, out, err = run(
        *("links", "edges.csv", "--nodes", "nodes.csv", "--seed", "3", "--json", "l.json"),
        *("--method", "gate", "--set", "epochs=4", "--set", dims),
    )
    assert code == 0, err
    graph = read_graph("edges.csv", "nodes.csv")
    split = split_links(graph, random_state=3)
    z = GATE((6, 3), epochs=4, random_state=3).fit(split.graph).embedding_
    test = link_quality(*(inner_products(z, p) for p in (split.test_edges, split.test_non_edges)))
    found = json.loads(Path("l.json").read_text())
    assert (found["auc"], found["ap"]) == (test["auc"], test["ap"])
    shown = ["—" if value is None else f"{value:.1f}" for value in test.values()]
    assert ["GATE", "edges", "test", *shown] in cells(out)
    assert "validation" in out
    assert "test, connected" in out


def test_links_of_other_splits(run, refused):
    table = pd.read_csv("edges.csv")
    table["day"] = pd.date_range("2024-01-01", periods=len(table)).strftime("%Y-%m-%d")
    table.to_csv("dated.csv", index=False)
    graph = read_graph("edges.csv", "nodes.csv")
    cases = {
        ("dated.csv", "--time", "day"): {
            "times": (table[["source", "target"]].values.tolist(), table["day"].to_numpy())
        },
        ("edges.csv", "--negatives", "heart", "--splits", "2"): {
            "negatives": "heart",
            "n_splits": 2,
        },
        ("edges.csv", "--test-edges", "held.csv"): {
            "test_edges": table[["source", "target"]].values[:9].tolist()
        },
    }
    table[:9].to_csv("held.csv", index=False)
    for (edges, *options), arguments in cases.items():
        code, out, err = run("links", edges, "--nodes", "nodes.csv", *options, "--json", "l.json")
        assert code == 0, err
        expected = evaluate_links(graph, LinearGATE(random_state=0, progress=False), **arguments)
        found = json.loads(Path("l.json").read_text())
        assert {name: found[name] for name in expected} == expected
        assert ("±" in out) == ("--splits" in options)
    pd.DataFrame({"source": ["n1"], "target": ["nobody"]}).to_csv("odd.csv", index=False)
    nodes = ("--nodes", "nodes.csv")
    assert "'nobody' is not the id" in refused(
        "links", "edges.csv", *nodes, "--test-edges", "odd.csv"
    )
    table.assign(day="soon").to_csv("soon.csv", index=False)
    code, _, err = run("links", "soon.csv", *nodes, "--time", "day")
    assert code == 2
    assert "neither numbers nor dates" in err
    assert "has no column 'when'" in refused("links", "edges.csv", *nodes, "--time", "when")
    assert "there is no column 'kind'" in refused("links", "edges.csv", *nodes, "--types", "kind")
    assert "holds no categories" in refused("links", "edges.csv", *nodes, "--types", "p")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no edges are given; add EDGES"),
        (["--nodes", "nodes.csv"], "no edges are given; add EDGES"),
        (["--dataset", "ogbn"], "unknown dataset 'ogbn'"),
        (["edges.csv", "--dataset", "cora"], "give either EDGES or --dataset NAME"),
        (["edges.csv", "--nodes", "nodes.csv", "--test", "0"], "test_size must be above 0"),
        (["edges.csv", "--nodes", "nodes.csv", "--method", "gatt"], "unknown method 'gatt'"),
        (
            ["edges.csv", "--nodes", "nodes.csv", "--method", "gcn"],
            "GCN is a classifier and gives no",
        ),
        (["edges.csv", "--nodes", "nodes.csv", "--set", "speed=9"], "cannot be created"),
    ],
)
def test_wrong_arguments_of_links(refused, arguments, words):
    assert words in refused("links", *arguments)


# --- estimate ------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [["edges.csv", "--nodes", "nodes.csv"], COUNTS])
def test_an_estimate(run, graph):
    options = ("--method", "gate", "--dims", "8,4", "--epochs", "7", "--json", "e.json")
    code, out, err = run("estimate", *graph, *options)
    assert code == 0
    assert err == ("" if "--nodes" not in graph else "Graph(30 nodes, 78 undirected edges, "
                   "2 attributes (p, q), 3 classes)\n")  # fmt: skip
    for words in ("graph", "fit, in addition", "each of 7 epochs"):
        assert words in out
    found = json.loads(Path("e.json").read_text())
    assert found["fits"] is True
    assert found["method"] == "gate"
    assert found["seconds"] > 0


@pytest.mark.parametrize("graph", [["edges.csv", "--nodes", "nodes.csv"], COUNTS])
def test_an_estimate_of_the_linear_method(run, graph):
    code, out, _ = run("estimate", *graph, "--json", "e.json")
    assert code == 0
    assert "epochs" not in out
    found = json.loads(Path("e.json").read_text())
    assert (found["method"], found["fits"]) == ("linear", True)
    assert found["seconds"] > 0


def test_an_estimate_of_what_does_not_fit(run, monkeypatch):
    monkeypatch.setattr("graphgate.estimators.embedder.available_bytes", lambda: 30 * 2**20)
    code, out, _ = run("estimate", *COUNTS, "--dims", "4096,4096", "--json", "e.json")
    assert code == 0
    found = json.loads(Path("e.json").read_text())
    dims = ",".join(map(str, found["fitting_dims"]))
    assert f"the run does not fit into memory; --dims {dims} would fit" in out
    assert not found["fits"]
    assert ["each", "of", "30", "epochs"] in [row[:4] for row in cells(out)]


def test_embed_prints_the_numbers_of_estimate(run, monkeypatch):
    """Both follow one plan, and the speed of the machine is measured once per process."""
    monkeypatch.setattr(embedder, "available_bytes", lambda: 2**34)
    for method in ("linear", "gate"):
        graph = ("edges.csv", "--nodes", "nodes.csv", "--method", method)
        run("estimate", *graph, "--json", "e.json")
        found = json.loads(Path("e.json").read_text())
        _, _, err = run("embed", *graph, "--out", f"{method}.csv")
        seconds = found["seconds"]
        time = "less than a second" if seconds < 1 else f"about {format_seconds(seconds)}"
        memory = format_bytes(found["training_bytes"])
        assert f"plan: {found['plan']}; about {memory} of memory, {time}\n" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*COUNTS, "--method", "gate", "--dims", "4,x"], "--dims takes integers"),
        ([*COUNTS, "--density", "2"], "between 0 and 1"),
        (amended(COUNTS, "--edges-count", "99999999"), "300 nodes cannot have"),
        ([*COUNTS, "--method", "gate", "--activation", "step"], "unknown activation 'step'"),
        ([*COUNTS, "--dtype", "float8"], "dtype must be one of"),
    ],
)
def test_wrong_arguments_of_estimate(refused, arguments, words):
    assert words in refused("estimate", *arguments)


def embed_options() -> list[str]:
    return ["embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.npz", "--epochs", "2"]


def test_embed_refuses_what_cannot_fit_unless_forced(run, monkeypatch):
    monkeypatch.setattr(embedder, "available_bytes", lambda: 25 * 2**20)
    code, _, err = run(*embed_options())
    assert code == 2
    line = err.splitlines()[-1]
    assert "of memory, but 25.0 MiB is available beside the " in line
    assert "; --dims 128,128 would fit; `graphgate embed --force`" in line
    assert not Path("o.npz").exists()
    assert run(*embed_options(), "--dims", "128,128")[0] == 0
    assert run(*embed_options(), "--force")[0] == 0


@pytest.mark.parametrize("method", ["linear", "gate"])
def test_a_limit_says_what_takes_the_memory_and_which_limit_would_do(run, method):
    options = ("embed", "edges.csv", "--nodes", "nodes.csv", "--method", method, "--out", "o.npz")
    code, _, err = run(*options, "--memory-limit", "2MiB")
    assert code == 2
    assert "but the memory limit leaves 0 bytes beside the " in err
    assert "--force" not in err
    enough = re.search(r"raise it to ([\d.]+) ([MG]iB)", err)
    assert run(*options, "--memory-limit", "".join(enough.groups()))[0] == 0


# --- all that embed can write --------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["links"], ["explore", "--out", "p.html"], ["figures", "--out", "f"]]
)
def test_no_command_trains_what_cannot_fit(refused, monkeypatch, command):
    monkeypatch.setattr(embedder, "available_bytes", lambda: 1000)
    name, *options = command
    message = refused(name, "edges.csv", "--nodes", "nodes.csv", *options)
    assert "the run needs about" in message


@pytest.mark.parametrize(
    ("command", "words"),
    [(["figures", "--formats", "bmp"], "unknown format 'bmp'")],
)
def test_wrong_figure_options_are_refused_before_training(refused, monkeypatch, command, words):
    monkeypatch.setattr(GATE, "fit", lambda *_: pytest.fail("trained in vain"))
    name, *options = command
    assert words in refused(name, "edges.csv", "--nodes", "nodes.csv", *options)


def test_embed_writes_every_requested_output(run):
    places = ["--attention", "a.csv", "--reconstruction", "x.npz", "--page", "page.html"]
    code, out, err = run(*embed_options(), "--dims", "4,2", *places, "--model", "m.safetensors")
    assert code == 0, err
    assert out.count("wrote ") == 5
    graph = read_graph("edges.csv", "nodes.csv")
    gate = GATE.load("m.safetensors")
    with np.load("x.npz") as file:
        assert_equal_to_rounding(file["reconstruction"], gate.reconstruct(graph))
        assert file["feature_names"].tolist() == ["p", "q"]
    with np.load("o.npz") as file:
        assert file["labels"].tolist() == [name or "" for name in NAMES]
    assert len(pyarrow.csv.read_csv("a.csv")) == 2 * graph.n_edges + 30
    assert Path("page.html").read_bytes().startswith(b"<!doctype html>")
    code, _, err = run(
        *("transform", "m.safetensors", "edges.csv", "--nodes", "nodes.csv", "--out", "z.npy"),
        *("--attention", "again.csv"),
    )
    assert code == 0, err
    again, first = (pyarrow.csv.read_csv(f"{name}.csv").to_pydict() for name in ("again", "a"))
    assert again.keys() == first.keys()
    for name, values in first.items():
        assert again[name] == (pytest.approx(values) if isinstance(values[0], float) else values)
    with np.load("o.npz") as file:
        assert_equal_to_rounding(np.load("z.npy"), file["embedding"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--attention", "a.npz"], "a.npz must end in .parquet or .csv"),
        (["--reconstruction", "x.txt"], "x.txt must end in .parquet, .csv or .npz"),
        (["--page", "page.pdf"], "page.pdf must end in .html"),
        (["--run", "no/r"], "no does not exist"),
        (["--attention", "o.csv", "--out", "o.csv"], "o.csv is given twice"),
    ],
)
def test_wrong_output_paths_of_embed(refused, options, words):
    assert words in refused(*amended(embed_options(), *options))


# --- recommendations -----------------------------------------------------------------------------


@pytest.fixture
def shop(folder):
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(60)] + [f"p{i}" for i in range(40)]
    kinds = ["customer"] * 60 + ["product"] * 40
    pd.DataFrame({"id": names, "kind": kinds}).to_csv("shop_nodes.csv", index=False)
    pairs = [(f"c{u}", f"p{v}") for u in range(60) for v in range(40) if rng.random() < 0.12]
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv("shop.csv", index=False)
    return ("shop.csv", "--nodes", "shop_nodes.csv")


def test_recommendations(run, shop):
    options = ("--node", "c3", "--node", "p1", "--among", "kind=product", "--top", "3")
    code, out, err = run("recommend", *shop, *options, "--json", "r.json", "--why")
    assert code == 0, err
    graph = read_graph(shop[0], shop[2])
    gate = LinearGATE(random_state=0, progress=False).fit(graph)
    expected = gate.recommend(["c3", "p1"], {"kind": "product"}, 3, why=True)
    rows = json.loads(Path("r.json").read_text())["recommendations"]
    assert [row["recommended"] for row in rows] == expected.neighbors.tolist()
    assert [row["node_id"] for row in rows] == ["c3"] * 3 + ["p1"] * 3
    assert rows[0]["terms"] == pytest.approx(dict(expected.reasons[0].terms))
    assert expected.neighbors[0] in out
    assert run("recommend", *shop, *options, "--out", "r.csv")[0] == 0
    table = pd.read_csv("r.csv")
    assert table["recommended"].tolist() == expected.neighbors.tolist()
    assert run("recommend", *shop, "--node", "c3", "--among", "p1", "--out", "r.csv")[0] == 0
    assert set(pd.read_csv("r.csv")["recommended"]) <= {"p1"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "no node is given; add --node ID"),
        (("--node", "nobody"), "no node with id 'nobody'"),
        (("--node", "c3", "--among", "kind=shop"), "no node has the category 'shop'"),
        (("--node", "c3", "--among", "kind=product", "--among", "p1"), "not both"),
        (("--node", "c3", "--among", "kind=a", "--among", "kind=b"), "gives a column twice"),
    ],
)
def test_wrong_recommendations(run, shop, options, words):
    code, _, err = run("recommend", *shop, *options)
    assert code == 2
    assert words in err
