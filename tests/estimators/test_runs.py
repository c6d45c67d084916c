"""A run as a folder, and the same run again, from Python and from the command line."""

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_values import VALUES

from graphgate import (
    GATE,
    Graph,
    InputError,
    LinearGATE,
    MemoryLimitError,
    ReadingOptions,
    read_graph,
    read_run,
    rerun,
    write_run,
)
from graphgate.estimators.runs import embedding_sha256, largest_difference
from graphgate.io.embeddings import read_embedding

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\ne,a\n"
NODES = "id,p,q,r,label\na,1,0,2,x\nb,0,1,0,y\nc,3,1,0,\nd,0,0,1,x\ne,1,1,1,y\n"
FILES = ["attention.parquet", "embedding.parquet", "history.json", "model.safetensors", "run.json"]
SETTINGS = [
    "--method",
    "gate",
    "--dims",
    "4,2",
    "--epochs",
    "5",
    "--learning-rate",
    "0.01",
    "--seed",
    "3",
]
INPUT = {"path": "a\0b", "sha256": ""}
INPUTS = {"edges": "edges.csv", "nodes": "nodes.csv"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fitted(**settings) -> GATE:
    settings = {"epochs": 5, "learning_rate": 0.01, "random_state": 3} | settings
    return GATE((4, 2), **settings).fit(read_graph("edges.csv", "nodes.csv"))


@pytest.fixture
def made(run) -> Path:
    code, out, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 0, err
    assert out == "wrote the run to r\n"
    return Path("r")


def test_the_folder_holds_the_run(made):
    assert sorted(os.listdir(made)) == FILES
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv", "r"]
    gate = fitted()
    found = read_embedding(made / "embedding.parquet")
    assert found.vectors.tobytes() == gate.embedding_.tobytes()
    assert found.labels == ["x", "y", None, "x", "y"]
    again = GATE.load(made / "model.safetensors").transform(read_graph("edges.csv", "nodes.csv"))
    np.testing.assert_allclose(again, gate.embedding_, rtol=1e-5, atol=1e-6)
    assert len(pyarrow.parquet.read_table(made / "attention.parquet")) == 15  # 2·5 edges, 5 nodes
    history = json.loads((made / "history.json").read_text())
    assert history == {"stopped": "epochs"} | gate.history_.series


def test_the_record_holds_all_that_decides_the_run(made):
    stored = json.loads((made / "run.json").read_text())
    assert stored["settings"]["dims"] == [4, 2]
    assert stored["settings"]["random_state"] == 3
    assert stored["settings"].keys() == GATE().get_params().keys() - {
        *("checkpoint", "checkpoint_every", "progress"),
    }
    assert stored["command"].startswith("graphgate embed edges.csv --nodes nodes.csv --run r")
    assert stored["inputs"] == {
        name: {
            "path": f"../{name}.csv",
            "sha256": hashlib.sha256(Path(f"{name}.csv").read_bytes()).hexdigest(),
        }
        for name in ("edges", "nodes")
    }
    history = json.loads((made / "history.json").read_text())
    metrics = stored["metrics"]
    assert metrics["losses"] == {
        name: values[-1] for name, values in history.items() if name != "stopped"
    }
    assert (metrics["epochs"], metrics["stopped"]) == (5, "epochs")
    assert metrics["seconds"] > 0
    assert metrics["peak_memory_mb"] > 1
    assert stored["versions"]["torch"] == version("torch")
    assert stored["processor"].endswith(torch.backends.cpu.get_cpu_capability())
    assert (stored["threads"], stored["processes"]) == (torch.get_num_threads(), 1)


# --- from Python ---------------------------------------------------------------------------------


def test_a_run_of_python_is_written_read_and_repeated():
    gate = fitted()
    write_run("r", gate, read_graph("edges.csv", "nodes.csv"), inputs=INPUTS)
    record = read_run("r")
    assert GATE(**record.settings).get_params() == gate.get_params()
    assert (record.settings["dims"], record.threads) == ((4, 2), torch.get_num_threads())
    again = rerun("r")
    assert (again.identical, again.difference, again.changed, again.moved) == (True, 0, (), ())
    assert again.gate.embedding_.tobytes() == gate.embedding_.tobytes()
    assert again.inputs == {name: Path(path) for name, path in INPUTS.items()}


def test_how_files_are_read_is_part_of_the_run():
    Path("other.csv").write_text(EDGES.replace("source", "from"))
    options = {"source": "from", "drop": "p", "directed": True}
    graph = read_graph("other.csv", "nodes.csv", **options)
    gate = GATE((4, 2), epochs=2, random_state=0).fit(graph)
    inputs = {"edges": "other.csv", "nodes": "nodes.csv"}
    write_run("r", gate, graph, inputs=inputs, reading=options)
    again = rerun("r")
    assert again.identical
    assert (again.graph.directed, again.gate.n_features_in_) == (True, 2)


def test_changed_content_of_an_input_is_reported(made):
    Path("nodes.csv").write_text(NODES.replace("3,1,0", "3,1,1"))
    again = rerun("r")
    assert (again.identical, again.changed, again.reproduced) == (False, ("nodes",), False)


def test_an_input_that_the_run_did_not_have_has_changed():
    """A table of nodes where the run had none is another input, however it reads."""
    graph = read_graph("edges.csv")
    gate = GATE((4, 2), epochs=2, random_state=0).fit(graph)
    write_run("r", gate, graph, inputs={"edges": "edges.csv"})
    assert rerun("r").changed == ()
    assert rerun("r", nodes="nodes.csv").changed == ("nodes",)


def test_a_run_that_does_not_fit_into_memory_needs_force(made, monkeypatch):
    monkeypatch.setattr("graphgate.estimators.embedder.available_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitError):
        rerun("r")
    assert rerun("r", force=True).identical


def test_it_runs_with_the_threads_of_the_run(made, monkeypatch):
    stored = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps(stored | {"threads": 2}))
    seen = []
    fit = GATE.fit

    def spy(self, graph):
        seen.append(torch.get_num_threads())
        return fit(self, graph)

    monkeypatch.setattr(GATE, "fit", spy)
    before = torch.get_num_threads()
    rerun("r")
    assert seen == [2]
    assert torch.get_num_threads() == before


def test_an_interrupted_run_can_be_repeated():
    gate = fitted(epochs=3, clip_norm=float("inf"), dtype=torch.float64)
    gate.epochs, gate.history_.stopped = 500, "interrupted"
    write_run("r", gate, read_graph("edges.csv", "nodes.csv"), inputs=INPUTS)
    settings = read_run("r").settings
    assert (settings["epochs"], settings["clip_norm"]) == (3, float("inf"))
    assert rerun("r").identical


def test_a_failure_leaves_nothing(run, monkeypatch):
    def full(*arguments):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("graphgate.estimators.fitted.write_attention", full)
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 2
    assert "r cannot be written: No space left on device" in err
    assert sorted(os.listdir()) == ["edges.csv", "nodes.csv"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stored: "no json", "it is not JSON"),
        (lambda stored: json.dumps([1]), "is not a JSON object"),
        (lambda stored: json.dumps({**stored, "threads": "two"}), "has the wrong type"),
        (lambda stored: json.dumps({**stored, "inputs": {"edges": "x"}}), "is not a JSON object"),
        (lambda stored: json.dumps({**stored, "settings": {}}), "its params lacks"),
        (lambda stored: json.dumps({**stored, "method": "cake"}), "its method is 'cake'"),
        (lambda stored: json.dumps({**stored, "inputs": {}}), "its inputs are not edges"),
        (
            lambda stored: json.dumps(
                {**stored, "settings": stored["settings"] | {"epochs": 10**10}}
            ),
            "more than 1,000,000 epochs",
        ),
        (
            lambda stored: json.dumps(
                {**stored, "inputs": {"edges": {"path": "a\0b", "sha256": ""}}}
            ),
            "are no longer at",
        ),
        (
            lambda stored: json.dumps({**stored, "settings": stored["settings"] | {"speed": 9}}),
            "its params has an unknown field 'speed'",
        ),
        (lambda stored: json.dumps({**stored, "reading": {"speed": 9}}), "unknown reading option"),
        (lambda stored: "[" * 100_000, "it is not JSON"),
        (lambda stored: json.dumps({**stored, "metrics": {"loss": math.nan}}), "it is not JSON"),
        (lambda stored: json.dumps({**stored, "inputs": {}}), "inputs are not edges"),
        (
            lambda stored: json.dumps({**stored, "inputs": stored["inputs"] | {"x": INPUT}}),
            "inputs are not edges",
        ),
        (lambda stored: json.dumps({**stored, "inputs": {"edges": INPUT}}), "no longer at"),
        (lambda stored: json.dumps({**stored, "threads": 0}), "asks for 0 threads"),
        (lambda stored: json.dumps({**stored, "threads": 1025}), "asks for 1025 threads"),
        (lambda stored: json.dumps({**stored, "reading": {"drop": [["x"]]}}), "names of columns"),
        (lambda stored: json.dumps({**stored, "reading": {"drop": 3}}), "names of columns"),
        (lambda stored: json.dumps({**stored, "reading": {"id": ["x"]}}), "the name of a column"),
        (lambda stored: json.dumps({**stored, "reading": {"label": 3}}), "the name of a column"),
        (lambda stored: json.dumps({**stored, "reading": {"directed": 1}}), "true, false or None"),
        *(
            (
                lambda stored, change=change: json.dumps(
                    {**stored, "settings": stored["settings"] | change}
                ),
                words,
            )
            for change, words in [
                ({"epochs": 10**10}, "asks for more than 1,000,000 epochs"),
                ({"epochs": 1e300}, "has the wrong type"),
                ({"epochs": 1.5}, "has the wrong type"),
                ({"preset": ["paper"]}, "'params.preset' in its header has the wrong type"),
                ({"attention": {"x": 1}}, "'params.attention' in its header has the wrong type"),
                ({"attention": "none"}, "none"),
                ({"dims": 3}, "'params.dims' in its header has the wrong type"),
                ({"dims": [[3]]}, "'params.dims.0' in its header has the wrong type"),
                ({"dims": [-3]}, "each of dims"),
                ({"random_state": 10**400}, "random_state"),
            ]
        ),
    ],
)
def test_what_is_not_a_record_is_refused(made, change, words):
    stored = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(change(stored))
    with pytest.raises(InputError, match=words):
        rerun("r")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_record_is_read_or_refused(folder, data):
    """One field of the record, or of what it holds, has another value."""
    if not Path("r").exists():
        graph = read_graph("edges.csv", "nodes.csv")
        write_run("r", fitted(epochs=1), graph, inputs=INPUTS)
        shutil.copy("r/run.json", "good.json")
    stored = json.loads(Path("good.json").read_text())
    place = stored
    while data.draw(st.booleans()) and any(
        place[name] and isinstance(place[name], dict) for name in place
    ):
        inner = sorted(name for name in place if isinstance(place[name], dict) and place[name])
        place = place[data.draw(st.sampled_from(inner))]
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(VALUES)
    Path("r/run.json").write_text(json.dumps(stored))
    message = ""
    try:
        record = read_run("r")
        ReadingOptions.from_dict(record.reading)
    except InputError as error:
        message = str(error)
    assert "\n" not in message


def test_what_is_not_the_folder_of_a_run_is_refused():
    for path in ("none", "edges.csv"):
        with pytest.raises(InputError, match=f"{path} is not a run folder"):
            read_run(path)


@pytest.mark.parametrize("scratch", [None, Path("scratch")])
def test_a_linear_run_is_written_and_repeated(scratch):
    """Where intermediate results were kept is not part of the run."""
    graph = read_graph("edges.csv", "nodes.csv")
    gate = LinearGATE(2, random_state=0, scratch=scratch, progress=False).fit(graph)
    write_run("r", gate, graph, inputs=INPUTS)
    assert "scratch" not in read_run("r").settings
    assert rerun("r").identical
    assert json.loads(Path("r/report.json").read_text())["n_coordinates"] > 0


def test_edge_scores_of_a_linear_run():
    """One row per direction of each edge, with the probabilities of the estimator."""
    rng = np.random.default_rng(0)
    block = np.arange(60) % 2
    likely = np.where(block[:, None] == block, 0.4, 0.05)
    upper = np.triu(rng.random((60, 60)) < likely, 1)
    graph = Graph(rng.random((60, 5)), upper | upper.T)
    gate = LinearGATE(4, random_state=0, progress=False).fit(graph)
    write_run("r", gate, graph, inputs=INPUTS)
    table = pyarrow.parquet.read_table("r/edge_scores.parquet").to_pydict()
    pairs = list(zip(table["target"], table["source"], strict=True))
    assert pairs == [tuple(pair) for pair in np.argwhere(upper | upper.T).tolist()]
    scores = gate.encode(graph).edge_values.average.toarray()
    assert table["score"] == [scores[pair] for pair in pairs]
    assert not Path("r/attention.parquet").exists()


def test_an_input_that_has_gone_is_reported():
    graph = read_graph("edges.csv", "nodes.csv")
    with pytest.raises(InputError, match=r"gone\.csv cannot be read: No such file"):
        write_run("r", fitted(), graph, inputs={"edges": "gone.csv"})
    assert not Path("r").exists()


def test_a_seed_that_was_drawn_is_recorded():
    made = fitted(random_state=None)
    write_run("r", made, read_graph("edges.csv", "nodes.csv"), inputs=INPUTS)
    assert read_run("r").settings["random_state"] == made.seed_
    assert rerun("r").identical


def test_the_current_number_of_threads_is_recorded(monkeypatch):
    made = fitted()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    write_run("r", made, read_graph("edges.csv", "nodes.csv"), inputs=INPUTS)
    assert read_run("r").threads == 3


def test_the_digest_tells_single_from_double_precision():
    assert embedding_sha256(np.zeros(4, np.float32)) != embedding_sha256(np.zeros(2))


def test_the_largest_number_of_epochs(made):
    stored = json.loads((made / "run.json").read_text())
    for epochs in (1_000_000, 1_000_001):
        changed = {**stored, "settings": stored["settings"] | {"epochs": epochs}}
        (made / "run.json").write_text(json.dumps(changed))
        if epochs == 1_000_000:
            assert read_run("r").settings["epochs"] == epochs
        else:
            with pytest.raises(InputError, match="asks for more than 1,000,000 epochs"):
                read_run("r")


def test_a_folder_in_place_of_an_input_is_reported(made):
    Path("edges.csv").unlink()
    Path("edges.csv").mkdir()
    with pytest.raises(InputError, match=r"the edges of the run are no longer at edges\.csv"):
        rerun("r")


# --- from the command line -----------------------------------------------------------------------


@pytest.mark.numerical
def test_the_command_reports_a_bit_identical_rerun(run, made):
    code, out, err = run("embed", "--repeat", "r", "--out", "z.npz", "--run", "again")
    assert code == 0, err
    assert "edges: edges.csv has not changed since the run\n" in out
    assert "nodes: nodes.csv has not changed since the run\n" in out
    assert out.endswith("embedding: bit-identical to that of the run; largest difference 0\n")
    before = read_embedding(made / "embedding.parquet").vectors
    assert read_embedding("z.npz").vectors.tobytes() == before.tobytes()
    assert rerun("again").identical


def test_the_command_reports_what_has_changed(run, made):
    Path("nodes.csv").write_text(NODES.replace("3,1,0", "3,1,1"))
    code, out, _ = run("embed", "--repeat", "r")
    assert code == 1
    assert "edges.csv has not changed since the run\n" in out
    assert "nodes.csv has changed since the run\n" in out
    assert "embedding: NOT bit-identical to that of the run; largest difference " in out


def made_elsewhere(run: Path, by: float, **record) -> None:
    """As if another machine had made the run, whose vectors differ in direction."""
    table = pyarrow.parquet.read_table(run / "embedding.parquet")
    vectors = read_embedding(run / "embedding.parquet").vectors
    vectors = vectors + np.float32(by) * np.linalg.norm(vectors, axis=1).max() * vectors[::-1]
    at = table.schema.get_field_index("embedding")
    column = pyarrow.array(list(vectors), type=table.schema.field(at).type)
    pyarrow.parquet.write_table(
        table.set_column(at, table.schema.field(at), column), run / "embedding.parquet"
    )
    stored = json.loads((run / "run.json").read_text())
    digest = {"embedding_sha256": embedding_sha256(vectors)}
    (run / "run.json").write_text(json.dumps(stored | digest | record))


@pytest.mark.parametrize(
    ("record", "moved"),
    [
        ({"processor": "an older one"}, "other processor"),
        ({"processes": 2, "versions": {"torch": "2.10"}}, "other versions and other processes"),
    ],
)
@pytest.mark.parametrize(("by", "code", "verdict"), [(1e-5, 0, ""), (0.1, 1, "NOT ")])
def test_a_run_of_another_machine_is_repeated_to_rounding(
    run, made, record, moved, by, code, verdict
):
    made_elsewhere(made, by, **record)
    done, out, err = run("embed", "--repeat", "r")
    assert done == code, err
    last = out.splitlines()[-1]
    expected = f"embedding: {verdict}equal up to rounding to that of the run, which had {moved}; "
    assert last.startswith(expected)
    assert last.endswith(", at most 0.001")


def test_a_run_of_this_machine_is_repeated_to_the_bit(run, made):
    made_elsewhere(made, 1e-6)
    code, out, _ = run("embed", "--repeat", "r")
    assert code == 1
    assert "embedding: NOT bit-identical to that of the run; largest difference " in out


def test_an_embedding_that_is_not_the_recorded_one_is_refused(made):
    stored = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps(stored | {"embedding_sha256": "0"}))
    with pytest.raises(InputError, match=r"embedding\.parquet is not the embedding that .* desc"):
        rerun("r")


def test_rotations_are_no_difference():
    z = np.random.default_rng(0).normal(size=(30, 4))
    turned = z @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4))).Q
    assert largest_difference(z, turned) < 1e-12
    stretched = z * np.where(np.arange(30) == 7, 1.5, 1.0)[:, None]
    assert largest_difference(z, stretched) > 0.01
    z[3] = 0
    assert largest_difference(z, z) == 0
    assert largest_difference(z, z[:, :3]) == np.inf
    assert largest_difference(z[:0], z[:0]) == 0


def test_inputs_that_have_moved_are_given_again(run, made, folder):
    (folder / "data").mkdir()
    shutil.move("edges.csv", "data/e.csv")
    code, _, err = run("embed", "--repeat", "r")
    assert code == 2
    assert "the edges of the run are no longer at edges.csv" in err
    code, out, err = run("embed", "data/e.csv", "--repeat", "r")
    assert code == 0, err
    assert "embedding: bit-identical" in out


def test_run_and_data_can_move_together(run, made, folder):
    (folder / "there").mkdir()
    for name in ("edges.csv", "nodes.csv", "r"):
        shutil.move(name, "there")
    code, out, err = run("embed", "--repeat", "there/r")
    assert code == 0, err
    assert "embedding: bit-identical" in out


def test_a_folder_is_never_overwritten(run, made):
    code, _, err = run("embed", "edges.csv", "--nodes", "nodes.csv", "--run", "r", *SETTINGS)
    assert code == 2
    assert err.startswith("graphgate: r ")
    assert err.count("\n") == 1


def test_a_repeated_run_takes_no_settings(run, made):
    code, _, err = run("embed", "--repeat", "r", "--learning-rate", "0.1")
    assert code == 2
    assert "omit --learning-rate" in err


@pytest.mark.slow
def test_the_numbers_are_the_same_in_another_process(made):
    command = [sys.executable, "-m", "graphgate", "embed", "--repeat", "r"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(
        "embedding: bit-identical to that of the run; largest difference 0\n"
    )
    assert np.isfinite(read_embedding("r/embedding.parquet").vectors).all()
