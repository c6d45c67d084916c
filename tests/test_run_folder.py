"""A run as a folder, and the same run again."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch

from graphgate import GATE, read_graph
from graphgate.errors import InputError
from graphgate.estimators.runs import read_run, write_run
from graphgate.io.embeddings import read_embedding

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\ne,a\n"
NODES = "id,p,q,r,label\na,1,0,2,x\nb,0,1,0,y\nc,3,1,0,\nd,0,0,1,x\ne,1,1,1,y\n"
FILES = ["attention.parquet", "embedding.parquet", "history.json", "model.safetensors", "run.json"]
SETTINGS = ["--dims", "4,2", "--epochs", "5", "--learning-rate", "0.01", "--seed", "3"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def made(run) -> Path:
    code, out, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 0, err
    assert out == "wrote the run to r\n"
    return Path("r")


def test_the_folder_holds_the_run(made, folder):
    assert sorted(os.listdir(made)) == FILES
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv", "r"]
    gate = GATE((4, 2), epochs=5, learning_rate=0.01, random_state=3)
    gate.fit(read_graph("edges.csv", "nodes.csv"))
    found = read_embedding(made / "embedding.parquet")
    assert found.vectors.tobytes() == gate.embedding_.tobytes()
    assert found.labels == ["x", "y", None, "x", "y"]
    again = GATE.load(made / "model.safetensors").transform(read_graph("edges.csv", "nodes.csv"))
    assert again.tobytes() == gate.embedding_.tobytes()
    assert len(pyarrow.parquet.read_table(made / "attention.parquet")) == 15  # 2·5 edges, 5 nodes
    history = json.loads((made / "history.json").read_text())
    assert history == {"stopped": "epochs"} | gate.history_.series


def test_the_record_says_all_that_decides_the_run(made):
    told = json.loads((made / "run.json").read_text())
    assert told["settings"]["dims"] == [4, 2]
    assert told["settings"]["random_state"] == 3
    assert told["settings"].keys() == GATE().get_params().keys() - {
        *("checkpoint", "checkpoint_every", "progress"),
    }
    assert told["command"].startswith("graphgate embed edges.csv --nodes nodes.csv --run r")
    assert told["inputs"] == {
        name: {
            "path": f"../{name}.csv",
            "sha256": hashlib.sha256(Path(f"{name}.csv").read_bytes()).hexdigest(),
        }
        for name in ("edges", "nodes")
    }
    history = json.loads((made / "history.json").read_text())
    metrics = told["metrics"]
    assert metrics["losses"] == {
        name: values[-1] for name, values in history.items() if name != "stopped"
    }
    assert (metrics["epochs"], metrics["stopped"]) == (5, "epochs")
    assert metrics["seconds"] > 0
    assert metrics["peak_memory_mb"] > 1
    assert told["versions"]["torch"] == torch.__version__


def test_the_same_again(run, made):
    code, out, err = run("embed", "--repeat", "r", "--out", "z.npz")
    assert code == 0, err
    assert "edges: edges.csv is unchanged\n" in out
    assert "nodes: nodes.csv is unchanged\n" in out
    assert out.endswith("embedding: bit-identical to the run's\n")
    before = read_embedding(made / "embedding.parquet").vectors
    assert read_embedding("z.npz").vectors.tobytes() == before.tobytes()


def test_another_input_is_told(run, made):
    Path("nodes.csv").write_text(NODES.replace("3,1,0", "3,1,1"))
    code, out, _ = run("embed", "--repeat", "r")
    assert code == 1
    assert "edges.csv is unchanged\n" in out
    assert "nodes.csv has CHANGED\n" in out
    assert "embedding: NOT bit-identical to the run's" in out


def test_other_versions_are_named_where_the_bytes_differ(run, made):
    told = json.loads((made / "run.json").read_text())
    told["versions"]["torch"] = "0.1"
    told["embedding_sha256"] = "0" * 64
    (made / "run.json").write_text(json.dumps(told))
    code, out, _ = run("embed", "--repeat", "r")
    assert code == 1
    assert f"torch: version 0.1 then, {torch.__version__} now\n" in out


def test_inputs_that_moved_are_named_anew(run, made, folder):
    (folder / "data").mkdir()
    shutil.move("edges.csv", "data/e.csv")
    code, _, err = run("embed", "--repeat", "r")
    assert code == 2
    assert "the edges of the run are not at" in err
    code, out, err = run("embed", "data/e.csv", "--repeat", "r")
    assert code == 0, err
    assert "bit-identical" in out


def test_run_and_data_can_move_together(run, made, folder, monkeypatch):
    (folder / "there").mkdir()
    for name in ("edges.csv", "nodes.csv", "r"):
        shutil.move(name, "there")
    code, out, err = run("embed", "--repeat", "there/r")
    assert code == 0, err
    assert "bit-identical" in out


def test_it_runs_with_the_threads_of_the_run(run, made, monkeypatch):
    told = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps(told | {"threads": 2}))
    asked = []
    fit = GATE.fit

    def spy(self, graph):
        asked.append(torch.get_num_threads())
        return fit(self, graph)

    monkeypatch.setattr(GATE, "fit", spy)
    before = torch.get_num_threads()
    assert run("embed", "--repeat", "r")[0] == 0
    assert asked == [2]
    assert torch.get_num_threads() == before


def test_an_interrupted_run_can_be_had_again(run, folder):
    graph = read_graph("edges.csv", "nodes.csv")
    gate = GATE((4, 2), epochs=3, random_state=0, clip_norm=float("inf"), dtype=torch.float64)
    gate.fit(graph)
    gate.epochs, gate.history_.stopped = 500, "interrupted"
    inputs = {"edges": Path("edges.csv"), "nodes": Path("nodes.csv")}
    write_run(
        *("r", gate, graph),
        inputs=inputs,
        reading={},
        command="",
        threads=torch.get_num_threads(),
        seconds=1.0,
        peak_memory_mb=1.0,
    )
    settings = read_run("r").settings
    assert (settings["epochs"], settings["clip_norm"]) == (3, float("inf"))
    assert run("embed", "--repeat", "r")[0] == 0


def test_a_folder_is_never_written_over(run, made):
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 2
    assert err == "graphgate: r already exists; choose a new folder, or remove it first\n"


def test_a_failure_leaves_nothing(run, monkeypatch, folder):
    def full(*arguments):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("graphgate.estimators.runs.write_attention", full)
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 2
    assert "r cannot be written: No space left on device" in err
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: "no json", "it is no JSON"),
        (lambda told: json.dumps([1]), "is not a JSON object"),
        (lambda told: json.dumps({**told, "threads": "two"}), "has the wrong type"),
        (lambda told: json.dumps({**told, "inputs": {"edges": "x"}}), "is not a JSON object"),
        (lambda told: json.dumps({**told, "settings": {}}), "not those of GATE"),
        (
            lambda told: json.dumps({**told, "settings": told["settings"] | {"speed": 9}}),
            "not those of GATE",
        ),
    ],
)
def test_what_is_no_record(run, made, change, words):
    told = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(change(told))
    code, _, err = run("embed", "--repeat", "r")
    assert code == 2
    assert words in err
    assert err.count("\n") == 1


def test_what_is_no_folder_of_a_run(run):
    code, _, err = run("embed", "--repeat", "none")
    assert (code, err) == (
        2,
        "graphgate: none is no folder of a run: there is no run.json in it\n",
    )
    with pytest.raises(InputError):
        read_run("edges.csv")


def test_a_repeated_run_takes_no_settings(run, made):
    code, _, err = run("embed", "--repeat", "r", "--learning-rate", "0.1")
    assert code == 2
    assert "omit --learning-rate" in err


def test_the_numbers_are_the_same_in_another_process(made, folder):
    command = [sys.executable, "-m", "graphgate", "embed", "--repeat", "r"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("embedding: bit-identical to the run's\n")
    assert np.isfinite(read_embedding("r/embedding.parquet").vectors).all()
