"""The two methods on the command line: which one runs, and what only the linear one gives."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from rounding import assert_equal_to_rounding

from graphgate import GATE, LinearGATE, load_model, read_embedding, read_graph, write_graph
from graphgate.datasets.synthetic import community_graph

INPUT = ["edges.csv", "--nodes", "nodes.csv"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> tuple[bytes, bytes]:
    folder = tmp_path_factory.mktemp("tables")
    write_graph(folder, community_graph(120, 400, 12))
    return (folder / "edges.csv").read_bytes(), (folder / "nodes.csv").read_bytes()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, tables) -> Path:
    (tmp_path / "edges.csv").write_bytes(tables[0])
    (tmp_path / "nodes.csv").write_bytes(tables[1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.numerical
def test_embed_solves_the_linear_method_and_reports(run):
    code, out, err = run("embed", *INPUT, "--out", "z.parquet", "--model", "m.safetensors")
    assert code == 0, err
    gate = LinearGATE(random_state=0).fit(read_graph("edges.csv", "nodes.csv"))
    assert read_embedding("z.parquet").vectors.tobytes() == gate.embedding_.tobytes()
    assert out.splitlines()[:2] == gate.report_.sentences()[:2]
    code, _, err = run("transform", "m.safetensors", *INPUT, "--out", "again.parquet")
    assert code == 0, err
    again, z = (read_embedding(f"{name}.parquet").vectors for name in ("again", "z"))
    assert_equal_to_rounding(again, z)


def test_options_of_the_linear_method(run):
    options = ["--components", "5", "--no-structure", "--seed", "4", "--dtype", "float64"]
    assert run("embed", *INPUT, "--out", "z.npy", "--model", "m.safetensors", *options)[0] == 0
    assert np.load("z.npy").shape == (120, 5)
    found = load_model("m.safetensors").get_params()
    assert found == LinearGATE(5, structure=False, random_state=4, dtype="float64").get_params()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--dims", "4,2"], "--dims"),
        (["--preset", "paper"], "--preset"),
        (["--epochs", "3"], "--epochs"),
        (["--attention", "a.csv"], "--attention"),
        (["--checkpoint", "c.safetensors"], "--checkpoint"),
        (["--learning-rate", "0.001"], "--learning-rate"),
        (["--batch-size", "40"], "--batch-size"),
    ],
)
def test_an_option_of_gate_selects_it_and_is_refused_with_linear(run, options, name):
    small = [] if "--epochs" in options else ["--epochs", "2"]
    small += [] if "--dims" in options else ["--dims", "4,2"]
    output = ["--out", "z.npy", "--model", "m.safetensors"]
    code, _, err = run("embed", *INPUT, *output, *options, *small)
    assert code == 0, err
    assert "selects --method gate\n" in err
    assert isinstance(load_model("m.safetensors"), GATE)
    code, _, err = run("embed", *INPUT, "--out", "y.npy", "--method", "linear", *options)
    assert code == 2
    assert f"{name} is an option of --method gate; omit it, or use that method" in err
    assert not Path("y.npy").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "gate", "--scores", "s.csv"], "--scores is an option of --method linear"),
        (["--method", "gate", "--components", "3"], "--components is an option of --method linear"),
        (["--method", "solved"], "unknown method 'solved'; use linear or gate"),
        (["--components", "0"], "n_components"),
    ],
)
def test_refusals(run, options, words):
    code, _, err = run("embed", *INPUT, "--out", "z.npy", *options)
    assert code == 2
    assert words in err
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv"]


def test_the_table_and_the_page_show_edge_scores(run):
    outputs = ["--scores", "s.parquet", "--page", "p.html", "--reconstruction", "x.npz"]
    code, _, err = run("embed", *INPUT, "--out", "z.npy", *outputs)
    assert code == 0, err
    graph = read_graph("edges.csv", "nodes.csv")
    gate = LinearGATE(random_state=0).fit(graph)
    table = pyarrow.parquet.read_table("s.parquet").to_pydict()
    assert len(table["score"]) == 2 * graph.n_edges
    pairs = list(zip(table["source"], table["target"], strict=True))
    np.testing.assert_allclose(table["score"], gate.score_edges(pairs), rtol=1e-6)
    assert '"edgeTitle":"edge score percentile"' in Path("p.html").read_text("utf-8")
    with np.load("x.npz") as file:
        assert_equal_to_rounding(file["reconstruction"], gate.reconstruct(graph), 10)


def test_outputs_that_a_saved_model_does_not_have(run):
    assert run("embed", *INPUT, "--out", "z.npy", "--model", "m.safetensors")[0] == 0
    code, _, err = run(
        "transform", "m.safetensors", *INPUT, "--out", "y.npy", "--attention", "a.csv"
    )
    assert code == 2
    assert "--attention is an option of --method gate" in err
    code, _, err = run("transform", "m.safetensors", *INPUT, "--out", "y.npy", "--device", "cpu")
    assert code == 2
    assert "m.safetensors holds a LinearGATE, which has no device" in err


def test_a_run_is_repeated_bit_identically(run):
    code, _, err = run("embed", *INPUT, "--run", "r", "--components", "6")
    assert code == 0, err
    assert sorted(os.listdir("r")) == [
        *("edge_scores.parquet", "embedding.parquet", "model.safetensors"),
        *("report.json", "run.json"),
    ]
    assert json.loads(Path("r/run.json").read_text())["method"] == "linear"
    assert 0 <= json.loads(Path("r/report.json").read_text())["edge_auc"] <= 1
    code, out, _ = run("embed", "--repeat", "r")
    assert code == 0
    assert out.endswith("embedding: bit-identical to that of the run; largest difference 0\n")


def test_predicted_links(run):
    graph = read_graph("edges.csv", "nodes.csv")
    gate = LinearGATE(random_state=0).fit(graph)
    pairs, scores = gate.predict_links(n=7)
    code, out, err = run("predict-links", *INPUT, "--top", "7")
    assert code == 0, err
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert [str(pairs[0][0]), str(pairs[0][1]), f"{scores[0]:.4f}"] in rows
    code, out, err = run("predict-links", *INPUT, "--top", "7", "--out", "l.csv")
    assert (code, out) == (0, "wrote 7 proposed edges to l.csv\n")
    table = pyarrow.csv.read_csv("l.csv").to_pydict()
    assert table["probability"] == pytest.approx(scores.tolist())
    assert not {(u, v) for u, v in zip(table["source"], table["target"], strict=True)} & {
        (u, v) for u, v in graph.ids[np.argwhere(graph.adjacency.toarray())].tolist()
    }


def test_a_saved_gate_proposes_no_edges(run):
    options = ["--dims", "4,2", "--epochs", "2", "--model", "m.safetensors"]
    assert run("embed", *INPUT, "--out", "z.npy", *options)[0] == 0
    code, _, err = run("predict-links", *INPUT, "--model", "m.safetensors")
    assert code == 2
    assert "m.safetensors holds a GATE, which proposes no edges" in err


def test_a_page_of_either_method(run):
    assert run("explore", *INPUT, "--out", "p.html")[0] == 0
    assert '"edgeTitle":"edge score percentile"' in Path("p.html").read_text("utf-8")
    assert run("embed", *INPUT, "--out", "z.npy", "--model", "m.safetensors")[0] == 0
    code, _, err = run("explore", *INPUT, "--out", "q.html", "--model", "m.safetensors",
                       "--method", "linear")  # fmt: skip
    assert code == 2
    assert "the saved model has its method; omit --method" in err
    assert (
        run("figures", *INPUT, "--model", "m.safetensors", "--out", "f", "--formats", "png")[0] == 0
    )
    assert "edges-edges.png" in os.listdir("f")


def test_a_batch_size_that_is_none_is_refused(run):
    code, _, err = run("embed", *INPUT, "--out", "z.npy", "--batch-size", "some")
    assert code == 2
    assert "--batch-size takes an integer, auto or full, got 'some'" in err
