"""The command line: what it writes, what it prints, and how it fails."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from command_lines import amended
from forks import Fork
from rounding import assert_equal_to_rounding
from safetensors import safe_open
from typer.testing import CliRunner

import graphgate
from graphgate import GATE, Graph, InputError, LinearGATE, cli, read_graph
from graphgate.datasets import bundled, citation
from graphgate.io.tensors import read_tensors, write_tensors
from graphgate.paper.commands import paper
from graphgate.paper.experiments import evaluation as evaluations
from graphgate.paper.experiments import experiment as experiments
from graphgate.paper.experiments.experiment import find_experiment

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\ne,a\n"
NODES = "id,p,q,r\na,1,0,2\nb,0,1,0\nc,3,1,0\nd,0,0,1\ne,1,1,1\n"
SMALL = ["--method", "gate", "--dims", "4,2", "--epochs", "5"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The folder that commands run in: two tables, no data folder, an empty cache."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GRAPHGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def refused(run, folder):
    """Runs a command that must fail: one line, exit code 2, and every file as it was before."""

    def refused(*arguments) -> str:
        before = snapshot(folder)
        code, _, err = run(*arguments)
        assert code == 2, err
        # What was read, an option that selects a method, and what will be done.
        said = ("Graph(", "--", "note: plan: ")
        lines = [line for line in err.splitlines() if not line.startswith(said)]
        assert len(lines) == 1, err
        assert lines[0].startswith("graphgate: ")
        assert snapshot(folder) == before
        return lines[0]

    return refused


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(file.relative_to(folder)): file.read_bytes() if file.is_file() else None
        for file in folder.rglob("*")
    }


def embed_options(out: str = "out.parquet") -> list[str]:
    return ["embed", "edges.csv", "--nodes", "nodes.csv", "--out", out, *SMALL]


def vectors(path: str) -> np.ndarray:
    """Of a parquet file that a command wrote, (N, D)."""
    return np.array(pyarrow.parquet.read_table(path)["embedding"].to_pylist(), dtype=np.float32)


# --- embed and transform -------------------------------------------------------------------------


@pytest.mark.numerical
def test_embed_then_transform_gives_the_same_vectors(run):
    code, out, err = run(*embed_options(), "--model", "m.safetensors")
    assert code == 0, err
    assert out == ("wrote 5 vectors of size 2 to out.parquet\nwrote the model to m.safetensors\n")
    assert err.startswith("Graph(5 nodes, 5 undirected edges, 3 attributes (p, q, r))\n")
    code, out, err = run(
        *("transform", "m.safetensors", "edges.csv", "--nodes", "nodes.csv"),
        *("--out", "again.parquet"),
    )
    assert (code, out) == (0, "wrote 5 vectors of size 2 to again.parquet\n")
    assert err == "Graph(5 nodes, 5 undirected edges, 3 attributes (p, q, r))\n"
    assert_equal_to_rounding(vectors("again.parquet"), vectors("out.parquet"))
    assert sorted(os.listdir()) == [
        *("again.parquet", "edges.csv", "m.safetensors", "nodes.csv", "out.parquet"),
    ]


@pytest.mark.numerical
def test_embed_writes_what_the_library_computes(run):
    run(*embed_options(), "--structure-weight", "3", "--seed", "7", "--learning-rate", "0.1")
    gate = GATE((4, 2), epochs=5, structure_weight=3.0, learning_rate=0.1, random_state=7)
    gate.fit(read_graph("edges.csv", "nodes.csv"))
    assert vectors("out.parquet").tobytes() == gate.embedding_.tobytes()
    ids = pyarrow.parquet.read_table("out.parquet")["node_id"].to_pylist()
    assert ids == ["a", "b", "c", "d", "e"]


def test_warnings_are_plain_notes(run):
    Path("edges.csv").write_text(EDGES + "a,z\n")
    code, _, err = run(
        *amended(embed_options(), "--preset", "authors", "--epochs", "3", "--learning-rate", "0.1")
    )
    assert code == 0
    assert "note: edges.csv: 1 of 6 edges refers to a node that is not in nodes.csv" in err
    assert "\nnote: the loss was still falling after 3 epochs" in err
    assert "Warning" not in err


def test_every_option_reaches_the_method(run, monkeypatch):
    asked = []

    class Stop(InputError):
        pass

    class Spy:
        def __init__(self, dims, **settings):
            asked.append({"dims": dims} | settings)

        def prepare(self, graph):
            asked.append(graph)
            raise Stop("enough")

    monkeypatch.setattr("graphgate.estimators.gate.GATE", Spy)
    code, _, _ = run(
        *("embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.csv", "--directed"),
        *("--dims", "9,8,7", "--preset", "paper", "--structure-weight", "2.5"),
        *("--activation", "relu", "--epochs", "11", "--learning-rate", "0.5"),
        *("--patience", "3", "--seed", "6", "--checkpoint", "c.safetensors"),
        *("--device", "cpu", "--dtype", "float64", "--force"),
    )
    assert code == 2
    settings, graph = asked
    assert graph.directed
    assert settings == {
        "dims": (9, 8, 7),
        "preset": "paper",
        "structure_weight": 2.5,
        "activation": "relu",
        "epochs": 11,
        "learning_rate": 0.5,
        "patience": 3,
        "random_state": 6,
        "checkpoint": Path("c.safetensors"),
        "device": "cpu",
        "dtype": "float64",
        "scale": True,
    }


def test_csv_and_parquet_contain_the_same_numbers(run):
    run(*embed_options("out.csv"))
    run(*embed_options("out.parquet"))
    text = Path("out.csv").read_text().splitlines()
    assert text[0] == "node_id,e0,e1"
    table = pyarrow.csv.read_csv("out.csv")
    assert table["node_id"].to_pylist() == ["a", "b", "c", "d", "e"]
    numbers = np.stack([table["e0"].to_numpy(), table["e1"].to_numpy()], axis=1)
    assert np.array_equal(numbers.astype(np.float32), vectors("out.parquet"))


def test_transform_embeds_unseen_nodes(run):
    run(*embed_options(), "--model", "m.safetensors")
    Path("new_nodes.csv").write_text("id,p,q,r\nu,2,2,0\nv,0,1,1\n")
    Path("new_edges.csv").write_text("source,target\nu,v\n")
    code, _, err = run(
        *("transform", "m.safetensors", "new_edges.csv", "--nodes", "new_nodes.csv"),
        *("--out", "new.parquet"),
    )
    assert code == 0, err
    columns = {"p": [2, 0], "q": [2, 1], "r": [0, 1]}
    graph = Graph.from_edges(None, [(0, 1)], attributes=columns)
    expected = GATE.load("m.safetensors").transform(graph)
    assert_equal_to_rounding(vectors("new.parquet"), expected)


def test_transform_reads_edges_as_the_model_was_trained(run):
    run(*embed_options(), "--directed", "--model", "m.safetensors")
    code, _, err = run(
        *("transform", "m.safetensors", "edges.csv", "--nodes", "nodes.csv"),
        *("--out", "again.parquet"),
    )
    assert code == 0, err
    assert_equal_to_rounding(vectors("again.parquet"), vectors("out.parquet"))
    run(*embed_options("other.parquet"))
    assert not np.allclose(vectors("other.parquet"), vectors("out.parquet"), rtol=1e-3)


def test_an_existing_output_is_replaced(run):
    Path("out.parquet").write_bytes(b"old")
    assert run(*embed_options())[0] == 0
    assert vectors("out.parquet").shape == (5, 2)


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dims", "4,x"], "--dims takes integers such as 512,512, got '4,x'"),
        (["--dims", ""], "--dims takes integers"),
        (["--dims", "4,,2"], "--dims takes integers"),
        (["--dims", "4,0"], "each of dims == 0, must be >= 1"),
        (["--dims", "-3"], "each of dims == -3, must be >= 1"),
        (["--preset", "ours"], "unknown preset 'ours'; use one of authors, paper"),
        (["--activation", "step"], "unknown activation 'step'"),
        (["--device", "cuda:99"], "the device 'cuda:99' cannot be used"),
        (["--device", "toaster"], "the device 'toaster' cannot be used"),
        (["--device", "meta"], "the device 'meta' cannot be used"),
        (["--dtype", "float8"], "dtype must be one of float32, float64, got 'float8'"),
        (["--epochs", "0"], "epochs == 0, must be >= 1"),
        (["--learning-rate", "0"], "learning_rate must be positive"),
        (["--learning-rate", "nan"], "learning_rate must not be NaN"),
        (["--learning-rate", "inf"], "learning_rate must be positive"),
        (["--structure-weight", "-1"], "structure_weight must be finite and ≥ 0"),
        (["--patience", "0"], "patience == 0, must be >= 1"),
        (["--seed", "-1"], "random_state == -1, must be >= 0"),
        (["--out", "no/out.parquet"], "no does not exist"),
        (["--out", "out.pkl"], "must end in .parquet, .csv"),
        (["--out", "."], "is a folder"),
        (["--model", "no/m.safetensors"], "no does not exist"),
        (["--model", "m.pkl"], "must end in .safetensors"),
        (["--checkpoint", "no/c.safetensors"], "no does not exist"),
        (["--nodes", "none.csv"], "none.csv does not exist"),
        (["--nodes", "."], "is a folder"),
        (["--preset", "paper", "--learning-rate", "1e6"], "training diverged"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_of_embed(refused, options, words):
    assert words in refused(*amended(embed_options(), *options))


def test_a_run_that_diverges_in_its_last_epoch(run):
    deep = ",".join("4" * 14)  # so that finite weights give vectors that are not
    diverging = ["--dims", deep, "--preset", "paper", "--learning-rate", "1e6", "--epochs", "1"]
    code, _, err = run(*amended(embed_options(), *diverging))
    assert (code, "not finite" in err.splitlines()[-1]) == (2, True)


def test_a_step_that_does_not_fit_the_precision(refused):
    words = refused(*embed_options(), "--preset", "paper", "--learning-rate", "1e39")
    assert "learning_rate must be positive and at most 1e6" in words


def test_the_output_is_not_the_input(refused):
    assert "nodes.csv" in refused(*embed_options("nodes.csv"))


def test_the_model_is_not_the_checkpoint(refused):
    twice = ["--model", "m.safetensors", "--checkpoint", "m.safetensors"]
    assert "m.safetensors is given twice" in refused(*embed_options(), *twice)


def test_a_missing_edge_file(refused):
    words = refused("embed", "none.csv", "--nodes", "nodes.csv", "--out", "out.csv")
    assert "none.csv does not exist" in words


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("nodes.csv", "", "is empty"),
        ("nodes.csv", NODES.replace("3,1,0", "3,inf,0"), "line 4"),
        ("nodes.csv", NODES.replace("3,1,0", "3,1"), "line 4"),
        ("nodes.csv", NODES + "a,1,1,1\n", "ids must be unique"),
        ("nodes.csv", b"\x89PNG\r\n\x1a\n\0\0\xff", "nodes.csv"),
        ("edges.csv", EDGES + "a,\n", "the empty cell is not an id"),
        ("edges.csv", "source,target,weight\na,b,-1\n", "weight"),
    ],
)
def test_wrong_tables(refused, file, content, words):
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    message = refused(*embed_options())
    assert words in message
    assert file in message


@pytest.fixture
def model(run) -> str:
    run(*embed_options(), "--model", "m.safetensors")
    os.remove("out.parquet")
    return "m.safetensors"


def transform_options(model: str = "m.safetensors") -> list[str]:
    return ["transform", model, "edges.csv", "--nodes", "nodes.csv", "--out", "new.parquet"]


def test_a_file_that_is_not_a_model(refused, model):
    Path("other.csv").write_text("id\n1\n")
    assert "other.csv is not a graphgate model file" in refused(*transform_options("other.csv"))
    assert "none.safetensors does not exist" in refused(*transform_options("none.safetensors"))
    assert ". is a folder" in refused(*transform_options("."))
    raw = Path(model).read_bytes()
    Path(model).write_bytes(raw[: len(raw) // 2])
    assert "is not a graphgate model file, or it is damaged" in refused(*transform_options())


def test_a_checkpoint_is_not_a_model(refused, run):
    run(*embed_options(), "--checkpoint", "c.safetensors")
    assert "its header says 'checkpoint'" in refused(*transform_options("c.safetensors"))


def test_a_model_of_other_features(refused, model):
    Path("nodes.csv").write_text("id,p\na,1\nb,1\nc,1\nd,1\ne,1\n")
    assert "lack the column 'q' (number)" in refused(*transform_options())
    Path("nodes.csv").write_text("id,p,q,r\na,x,1,1\n")
    Path("edges.csv").write_text("source,target\n")
    assert "column 'p': 'x' is not a number" in refused(*transform_options())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "no/new.csv"], "no does not exist"),
        (["--out", "new.safetensors"], "must end in"),
        (["--device", "toaster"], "the device 'toaster' cannot be used"),
        (["--nodes", "none.csv"], "none.csv does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_of_transform(refused, model, options, words):
    assert words in refused(*amended(transform_options(model), *options))


def test_a_full_disk(run, monkeypatch, folder):
    def full(*arguments):
        raise OSError(28, os.strerror(28))

    before = snapshot(folder)
    monkeypatch.setattr("graphgate.io.files.os.replace", full)
    code, _, err = run(*embed_options())
    assert code == 2
    assert err.splitlines()[-1] == (
        "graphgate: out.parquet cannot be written: No space left on device"
    )
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "failing",
    [
        pytest.param(lambda: np.ones(2**50), id="numpy"),
        pytest.param(
            lambda: torch.ones(2**50),
            id="torch",
        ),
    ],
)
def test_too_little_memory(refused, monkeypatch, failing):
    monkeypatch.setattr("graphgate.estimators.gate.GATE.fit", lambda self, graph: failing())
    assert "not enough memory" in refused(*embed_options())


USAGE = [
    ["embed"],
    ["embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.csv", "--epochs", "many"],
    ["embed", "edges.csv", "--nodes", "nodes.csv", "--out", "o.csv", "--speed", "9"],
    ["transform", "m.safetensors"],
    ["similar"],
    ["similar", "z.csv", "--node", "a", "--top", "0"],
    ["cluster", "z.csv", "--clusters", "0"],
    ["classify", "z.csv", "--folds", "1"],
    ["estimate"],
    ["estimate", "--nodes-count", "10"],
    ["estimate", "edges.csv", "--nodes", "nodes.csv", "--features", "3"],
    ["evaluate"],
    ["evaluate", "--dataset", "cora", "--runs", "0"],
    ["evaluate", "--dataset", "cora", "--seed", "-1"],
    ["reproduce"],
    ["data", "destroy"],
    ["demo", "--runs", "0"],
    ["embroider"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage_errors(run, folder, arguments):
    before = snapshot(folder)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("graphgate: ")
    assert err.endswith(" --help`\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert snapshot(folder) == before


# --- interrupted and resumed ---------------------------------------------------------------------


def test_an_interrupt_outside_training_is_reported(run, monkeypatch):
    def interrupt(self, graph):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphgate.estimators.gate.GATE.fit", interrupt)
    code, _, err = run(*embed_options())
    assert code == 130
    assert err.splitlines()[-1] == "interrupted"


def checkpoint_losses(path: str) -> list[float]:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["graphgate"])["history"]["loss"]


def test_ctrl_c_saves_what_was_learned_and_the_run_can_resume(run, folder):
    # A shell that starts tests in the background has its children ignore SIGINT.
    process = Fork(
        *amended(embed_options(), "--preset", "authors", "--epochs", "100000000"),
        *("--checkpoint", "c.safetensors"),
        prepare=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 100
    while not Path("c.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send(signal.SIGINT)
    code, out, err = process.wait()
    done = len(checkpoint_losses("c.safetensors"))
    assert code == 130, err
    assert out == "wrote 5 vectors of size 2 to out.parquet\n"
    assert f"wrote the result of {done} epochs" in err
    assert "Traceback" not in err
    assert sorted(os.listdir()) == ["c.safetensors", "edges.csv", "nodes.csv", "out.parquet"]

    half, losses = vectors("out.parquet"), checkpoint_losses("c.safetensors")
    more = ["--preset", "authors", "--epochs", str(done + 30)]
    resumed = amended(embed_options("resumed.parquet"), *more)
    code, _, err = run(*resumed, "--checkpoint", "c.safetensors")
    assert code == 0, err
    assert checkpoint_losses("c.safetensors")[:done] == losses
    assert len(checkpoint_losses("c.safetensors")) == done + 30
    run(*amended(embed_options("straight.parquet"), *more))
    assert vectors("resumed.parquet").tobytes() == vectors("straight.parquet").tobytes()
    assert not np.array_equal(half, vectors("resumed.parquet"))


def test_a_checkpoint_of_another_run(refused, run):
    run(*embed_options(), "--checkpoint", "c.safetensors")
    schema = {"run": str, "history": dict, "finished": bool}
    header, tensors = read_tensors("c.safetensors", "checkpoint", schema)
    write_tensors("c.safetensors", "checkpoint", header | {"finished": False}, tensors)
    for other in (["--seed", "1"], ["--learning-rate", "0.5"], ["--dims", "3,2"], ["--directed"]):
        words = refused(*amended(embed_options(), "--checkpoint", "c.safetensors", *other))
        assert "belongs to another run" in words
    past = refused(*amended(embed_options(), "--checkpoint", "c.safetensors", "--epochs", "2"))
    assert "is at epoch 5, past the 2 requested" in past
    Path("nodes.csv").write_text(NODES.replace("3,1,0", "3,1,1"))
    assert "belongs to another run" in refused(*embed_options(), "--checkpoint", "c.safetensors")


def test_a_finished_checkpoint_makes_room_for_new_data(run):
    run(*embed_options(), "--checkpoint", "c.safetensors")
    Path("nodes.csv").write_text(NODES.replace("3,1,0", "3,1,1"))
    code, _, err = run(*embed_options("new.parquet"), "--checkpoint", "c.safetensors")
    assert code == 0, err
    assert "note: replacing the checkpoint c.safetensors, which belongs to another run that" in err
    run(*embed_options("fresh.parquet"))
    assert vectors("new.parquet").tobytes() == vectors("fresh.parquet").tobytes()
    code, _, err = run(*embed_options("again.parquet"), "--checkpoint", "c.safetensors")
    assert "note: resuming the checkpoint c.safetensors after epoch 5 of 5\n" in err
    assert vectors("again.parquet").tobytes() == vectors("fresh.parquet").tobytes()


def test_a_file_that_is_not_a_checkpoint(refused):
    Path("c.safetensors").write_bytes(b"something else")
    words = refused(*embed_options(), "--checkpoint", "c.safetensors")
    assert "is not a graphgate checkpoint file" in words


# --- evaluate ------------------------------------------------------------------------------------


@pytest.fixture
def two_epochs(monkeypatch):
    """For a command that has no --set."""

    def quick(method, dataset, setting):
        found = find_experiment(method, dataset, setting)
        return replace(found, params={**found.params, "epochs": 2})

    for module in (evaluations, experiments):
        monkeypatch.setattr(module, "find_experiment", quick)


@pytest.fixture
def small_data(monkeypatch):
    """A graph of 30 nodes under every dataset's name; settings as the commands use them."""
    rng = np.random.default_rng(0)
    turn = np.arange(30) % 3

    def load(name, folder=None):
        citation.check_name(name)
        graph = Graph(
            rng.random((30, 4)),
            np.triu(rng.random((30, 30)) < 0.2, 1),
            labels=["a_b", "c", "d"] * 5 + ["c", "d", "a_b"] * 5,
            splits={"train": turn == 0, "val": turn == 1, "test": turn == 2},
        )
        return citation.Dataset(name, graph, "seeded", "made here", graph.n_edges, 0)

    monkeypatch.setattr(citation, "load_dataset", load)


PROMISED = {
    *("method", "dataset", "setting", "split", "preset", "runs", "mean", "std", "paper"),
    "versions",
}


def test_evaluate_on_cora(run):
    arguments = [
        *("evaluate", "--dataset", "cora", "--runs", "1", "--json", "out.json"),
        *("--set", "epochs=2"),
    ]
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "83.2 ± 0.6" in out
    assert "not the public split" in err
    result = json.loads(Path("out.json").read_text("utf-8"))
    assert set(result) >= PROMISED
    assert (result["method"], result["dataset"]) == ("gate", "cora")
    assert (result["setting"], result["split"]) == ("transductive", "seeded")
    assert (result["preset"], result["std"]) == ("authors", None)
    assert result["paper"] == {"mean": 83.2, "std": 0.6}
    (only,) = result["runs"]
    assert set(only) == {
        *("seed", "accuracy", "macro_f1", "val_accuracy", "seconds", "peak_memory_mb", "threads"),
    }
    assert result["params"]["epochs"] == 2
    assert only["seed"] == 0
    assert only["accuracy"] == result["mean"]
    assert 20 < only["accuracy"] <= 100
    assert result["command"] == " ".join(["graphgate", *arguments])


def test_evaluate_inductively(run, small_data):
    code, out, err = run(
        *("evaluate", "--dataset", "citeseer", "--setting", "inductive", "--preset", "paper"),
        *("--runs", "2", "--seed", "5", "--probe", "one-vs-rest", "--unseen", "test,val"),
        *("--json", "out.json", "--jobs", "1", "--set", "epochs=2"),
    )
    assert code == 0, err
    assert "71.5 ± 0.7" in out
    result = json.loads(Path("out.json").read_text("utf-8"))
    assert [one["seed"] for one in result["runs"]] == [5, 6]
    assert (result["probe"], result["unseen"]) == ("one-vs-rest", ["test", "val"])
    accuracies = [one["accuracy"] for one in result["runs"]]
    assert result["mean"] == pytest.approx(np.mean(accuracies), abs=1e-4)
    assert result["std"] == pytest.approx(np.std(accuracies, ddof=1), abs=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dataset", "ogbn"], "unknown dataset 'ogbn'; use one of cora"),
        (["--dataset", "Cora"], "unknown dataset 'Cora'"),
        (["--method", "gatt"], "unknown method 'gatt'"),
        (["--method", "gcn", "--preset", "paper"], "the method 'gcn' has no presets"),
        (["--method", "gcn", "--setting", "inductive"], "'gcn' has no inductive setting on cora"),
        (["--method", ":"], "unknown method ':'"),
        (["--set", "epochs"], "--set takes NAME=VALUE, got 'epochs'"),
        (["--set", "epochs=2", "--set", "epochs=3"], "--set gives epochs twice"),
        (["--set", "epochs=0"], "epochs == 0, must be >= 1"),
        (["--set", "epochs=many"], "epochs must be an instance of int, not str"),
        (["--set", "speed=9"], "the method 'gate' cannot be created"),
        (["--setting", "semi"], "unknown setting 'semi'"),
        (["--preset", "ours"], "unknown preset 'ours'"),
        (["--probe", "svm"], "unknown probe 'svm'"),
        (["--setting", "inductive", "--unseen", "dev"], "no split 'dev'"),
        (["--unseen", "test"], "the setting 'transductive' hides no nodes; omit unseen"),
        (["--setting", "links", "--probe", "multinomial"], "'links' has no choice of a probe"),
        (["--method", "gcn", "--probe", "multinomial"], "'gcn' classifies nodes without a probe"),
        (["--json", "no/out.json"], "no does not exist"),
        (["--json", "out.txt"], "must end in .json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_of_evaluate(refused, small_data, options, words):
    given = ["evaluate", "--dataset", "cora", "--runs", "1", "--json", "o.json"]
    assert words in refused(*amended(given, *options))


def test_an_interrupted_evaluation_writes_nothing(run, small_data, monkeypatch, folder):
    def interrupt(self, graph):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphgate.estimators.gate.GATE.fit", interrupt)
    before = snapshot(folder)
    code, out, err = run("evaluate", "--dataset", "cora", "--runs", "1", "--json", "out.json")
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert snapshot(folder) == before


# --- figures and the page ------------------------------------------------------------------------


def test_a_page_needs_an_output(refused):
    assert "give --out page.html, or --serve" in refused("explore")
    assert "must end in .html" in refused("explore", "--out", "page.txt")
    given = ("explore", "--nodes", "nodes.csv", "--out", "p.html")
    assert "no edges are given; add EDGES" in refused(*given)


def test_figures_of_nodes_without_edges(refused):
    assert "no edges are given; add EDGES" in refused("figures", "--nodes", "nodes.csv")


@pytest.mark.parametrize(
    "command", [["figures", "--out", "f"], ["explore", "--out", "p.html"], ["links"], ["outliers"]]
)
def test_a_graph_is_given_once(refused, command):
    given = ["--dataset", "citeseer"]
    assert "give either EDGES or --dataset NAME" in refused(*command, "edges.csv", *given)
    for option, value in (("--category", "x"), ("--directed", None), ("--unknown-nodes", "drop")):
        message = refused(*command, *given, option, *([value] if value else []))
        assert f"{option} says how EDGES are read; omit it, or give EDGES" in message


def test_figures_and_page_of_a_users_graph(run):
    code, _, err = run("figures", "edges.csv", "--nodes", "nodes.csv", "--out", "f")
    assert code == 0, err
    names = {path.name for path in Path("f").iterdir()}
    assert {"edges-nodes.png", "edges-edges.svg", "edges-losses.png"} <= names
    code, _, err = run("explore", "edges.csv", "--nodes", "nodes.csv", "--out", "page.html")
    assert code == 0, err
    assert Path("page.html").read_bytes().startswith(b"<!doctype html>")


# --- data ----------------------------------------------------------------------------------------


def test_data_list(run):
    code, out, err = run("data", "list")
    assert (code, err) == (0, "")
    (cora,) = [line.split() for line in out.splitlines() if "cora" in line]
    assert cora[1:3] == ["2,708", "5,429"]
    (pubmed,) = [line.split() for line in out.splitlines() if "pubmed" in line]
    assert pubmed[1:3] == ["19,717", "44,338"]
    assert "140/500/1000" in out


def test_data_verify(run):
    code, out, err = run("data", "verify", "cora")
    assert (code, err) == (0, "")
    (bundled_row,) = [line.split() for line in out.splitlines() if "cora.npz" in line]
    assert bundled_row[1] == "ok"
    assert "cora, 8 files" in out  # of the public files, none is in the empty cache
    assert "missing" in out


def test_data_verify_names_what_is_missing(run, fake_cora, monkeypatch):
    monkeypatch.setenv("GRAPHGATE_DATA", str(fake_cora))
    (fake_cora / "ind.cora.ty").unlink()
    code, out, _ = run("data", "verify", "cora")
    assert code == 0
    (row,) = [line.split() for line in out.splitlines() if "ind.cora.ty" in line]
    assert row[1] == "missing"


def test_version(run):
    assert run("--version")[:2] == (0, f"graphgate {graphgate.__version__}\n")


def test_data_verify_finds_an_altered_file(run, monkeypatch):
    raw = bundled.bundled_bytes("cora")
    monkeypatch.setattr(bundled, "bundled_bytes", lambda name: raw[:-1] + b"?")
    code, out, err = run("data", "verify", "cora")
    assert code == 2
    assert "altered" in out
    assert err.startswith("graphgate: cora.npz (bundled with the package) is altered")
    assert err.count("\n") == 1


def test_data_verify_finds_an_altered_download(run, fake_cora, monkeypatch):
    monkeypatch.setenv("GRAPHGATE_DATA", str(fake_cora))
    assert run("data", "verify", "cora")[0] == 0
    (fake_cora / "ind.cora.x").write_bytes(b"other")
    code, _, err = run("data", "verify", "cora")
    assert code == 2
    assert err.startswith("graphgate: ind.cora.x (")


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_an_unknown_dataset(refused, command):
    assert "unknown dataset 'ogbn'" in refused("data", command, "ogbn")


def test_nothing_is_fetched_if_one_name_is_wrong(refused, monkeypatch):
    monkeypatch.setattr(citation, "fetch_dataset", lambda *a, **k: pytest.fail("fetched"))
    assert "unknown dataset 'ogbn'" in refused("data", "fetch", "cora", "ogbn")


def test_fetch_reports_where_the_files_are(run, monkeypatch, tmp_path):
    asked = []

    def fetch(name, folder):
        asked.append((name, folder))
        return folder or tmp_path / "cache"

    monkeypatch.setattr(citation, "fetch_dataset", fetch)
    code, out, _ = run("data", "fetch", "cora", "--folder", "there")
    assert (code, out) == (0, "cora is in there\n")
    run("data", "fetch")
    assert asked[1:] == [(name, None) for name in ("cora", "citeseer", "pubmed")]


def test_a_missing_data_folder(refused, monkeypatch):
    monkeypatch.setenv("GRAPHGATE_DATA", "nowhere")
    assert "nowhere (from $GRAPHGATE_DATA) does not exist" in refused("data", "list")


# --- demo ----------------------------------------------------------------------------------------


def test_the_demo_writes_everything_it_promises(run, small_data, two_epochs):
    code, out, err = run("demo", "--paper", "--out", "made/here", "--runs", "1")
    assert code == 0, err
    names = sorted(os.listdir("made/here"))
    assert names == sorted(
        f"{name}.{ending}"
        for name in ("cora", "citeseer")
        for ending in ("html", "json", "parquet", "png", "safetensors")
    )
    for name in names:
        assert f"wrote made/here/{name}\n" in out
    table = pyarrow.parquet.read_table("made/here/cora.parquet")
    assert table.column_names == ["node_id", "embedding", "label"]
    assert table["label"].to_pylist()[:3] == ["a_b", "c", "d"]
    assert GATE.load("made/here/cora.safetensors").dims == (512, 512)
    assert Path("made/here/cora.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads(Path("made/here/citeseer.json").read_text("utf-8"))
    assert [result["setting"] for result in results] == ["transductive", "inductive"]
    assert results[0]["paper"] == {"mean": 71.8, "std": 0.8}
    assert "83.2 ± 0.6" in out
    assert "82.5 ± 0.5" in out
    assert "made/here/cora.html or made/here/citeseer.html in a browser" in out.splitlines()[-1]


def test_the_demo_of_the_linear_method(run, small_data):
    code, out, err = run("demo", "--out", "made")
    assert code == 0, err
    assert isinstance(graphgate.load_model("made/cora.safetensors"), LinearGATE)
    assert "cora: The neighborhood of a node predicts" in out
    results = json.loads(Path("made/citeseer.json").read_text("utf-8"))
    assert [result["method"] for result in results] == ["linear", "linear"]


def test_a_demo_folder_that_cannot_be_created(refused, small_data):
    Path("file").write_text("")
    assert "the folder file cannot be created" in refused("demo", "--out", "file")


# --- help ----------------------------------------------------------------------------------------

COMMANDS = [
    [],
    ["embed"],
    ["transform"],
    ["store"],
    *(
        ["store", name]
        for name in ("create", "add", "remove", "info", "history", "rollback", "prune", "check")
    ),
    *(["store", name] for name in ("export", "refresh", "refit", "erase", "drift", "similar")),
    ["inspect"],
    ["estimate"],
    ["similar"],
    ["cluster"],
    ["classify"],
    ["links"],
    ["predict-links"],
    ["recommend"],
    ["outliers"],
    ["serve"],
    ["onnx"],
    ["evaluate"],
    ["reproduce"],
    ["figures"],
    ["explore"],
    ["demo"],
    ["data"],
    ["data", "list"],
    ["data", "export"],
    ["data", "fetch"],
    ["data", "verify"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_an_example(command):
    done = CliRunner().invoke(cli.app, [*command, "--help"])
    assert done.exit_code == 0
    assert f"Example: graphgate {' '.join(command)}".rstrip() in " ".join(done.output.split())


def test_the_list_of_commands_is_complete():
    names = {
        c.name or c.callback.__name__.replace("_", "-")
        for app in (cli.app, paper)
        for c in app.registered_commands
    }
    for group in (cli.data.data, cli.store.store):
        names |= {c.name or c.callback.__name__ for c in group.registered_commands}
    listed = {command[-1] for command in COMMANDS if command}
    assert names == {name.removesuffix("_data") for name in listed} - {"data", "store"}


# --- as a program --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_program_itself(folder):
    """How it fails; how it succeeds is tested with `embed --repeat`, in another process too."""
    before = snapshot(folder)
    diverging = [*embed_options("out.csv"), "--preset", "paper", "--learning-rate", "1e6"]
    command = [sys.executable, "-m", "graphgate", *diverging]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    graph, plan, line = done.stderr.splitlines()
    assert plan.startswith("note: plan: GATE on the whole graph at once; about 24")
    assert plan.endswith(", less than a second")
    assert graph == "Graph(5 nodes, 5 undirected edges, 3 attributes (p, q, r))"
    assert line.startswith("graphgate: training diverged")
    assert snapshot(folder) == before
