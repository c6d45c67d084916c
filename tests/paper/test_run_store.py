"""Run specifications and the folder of stored runs."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from experiment_runs import (
    a_run,
    a_spec,
    files,
    own,
    stored_lines,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_values import VALUES

from graphgate.datasets.citation import load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.paper.experiments import run_store
from graphgate.paper.experiments.experiment import SETTINGS, Experiment
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_equal_specifications_have_the_same_key():
    assert a_spec().key == a_spec().key
    assert a_spec(params={"dropout": 0.5, "epochs": 5}).key == a_spec().key
    assert a_spec().file == Path("cora/gcn.jsonl")


CHANGES = [
    {"method": "gat"},
    {"dataset": "pubmed"},
    {"setting": "transductive"},
    {"split": "random"},
    {"params": {"epochs": 6, "dropout": 0.5}},
    {"params": {"epochs": 5}},
    {"params": {"epochs": 5, "dropout": 0.5, "hidden": 16}},
    {"probe": "multinomial"},
    {"unseen": ("test", "val")},
    {"seed": 4},
    {"code": "0a1b"},
]


def test_every_field_changes_the_key():
    assert {key for change in CHANGES for key in change} == {
        field.name for field in dataclasses.fields(RunSpec)
    }
    keys = [a_spec().key, *(a_spec(**change).key for change in CHANGES)]
    assert len(set(keys)) == len(keys)
    assert a_spec(method="a/b:C").key != a_spec(method="a-b:C").key


@pytest.mark.parametrize(
    "method", ["../../up:Class", "/etc/passwd:Class", "..:..", "a b\\c:D\n", "modül:Klaße", "a.b:C"]
)
def test_unusual_method_names_stay_in_the_folder(method, empty_folder):
    given = a_spec(method=method)
    results = RunStore(empty_folder / "runs")
    results.add(given, a_run())
    (file,) = [path for path in empty_folder.rglob("*") if path.is_file()]
    assert file.resolve() == (empty_folder / "runs" / given.file).resolve()
    assert file.resolve().is_relative_to((empty_folder / "runs" / "cora").resolve())
    assert results.find(given) == a_run()


def test_a_stored_run_is_found_again():
    results = RunStore("runs")
    assert results.find(a_spec()) is None
    assert results.datasets() == []
    results.add(a_spec(), a_run())
    results.add(a_spec(seed=4), a_run(val=None, seed=4))
    for store in (results, RunStore("runs")):
        assert store.find(a_spec()) == a_run()
        assert store.find(a_spec(seed=4)) == a_run(val=None, seed=4)
    for change in CHANGES[:-2]:
        assert results.find(a_spec(**change)) is None, change
    assert files() == [Path("runs/cora/gcn.jsonl")]
    assert results.datasets() == ["cora"]
    assert all(json.loads(line)["versions"]["graphgate"] for line in stored_lines())


def test_the_first_of_equal_runs_counts():
    """Two processes may have made the same run."""
    RunStore("runs").add(a_spec(), a_run(80.0))
    later = RunStore("runs")
    later.add(a_spec(), a_run(90.0))
    assert later.find(a_spec()) == RunStore("runs").find(a_spec()) == a_run(80.0)


def altered(**changes) -> str:
    content = a_spec().fields() | {"run": a_run().to_dict()}
    return json.dumps(content | changes)


def store_line(line: str) -> Path:
    """A file with a good run, and this line as its second."""
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True, exist_ok=True)
    good = a_spec(seed=9).fields() | {"run": a_run(seed=9).to_dict()}
    path.write_bytes(f"{json.dumps(good)}\n{line}\n".encode("latin1"))
    return path


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "\xff",
        altered()[:-9],
        altered(seed=4),
        altered(method="gat"),
        altered(dataset="pubmed"),
        altered(setting="links"),
        altered(setting="semi"),
        altered(speed=3),
        altered(run={}),
        altered(run=None),
        altered(run={**a_run().to_dict(), "speed": 1}),
        altered(run={"seed": 3, "accuracy": 80.0}),
        altered(run={"seed": 3, "stopped": 20}),
    ],
)
def test_a_damaged_or_misplaced_line_is_refused(line):
    path = store_line(line)
    with pytest.raises(InputError) as refused:
        RunStore("runs").find(a_spec())
    message = str(refused.value)
    assert message.startswith(f"line 2 of {path} is not")
    assert message.endswith("; remove it")
    assert "\n" not in message


def test_what_a_killed_process_left_is_ignored_and_then_removed():
    path = store_line(altered())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"method": "gc')
    results = RunStore("runs")
    assert results.find(a_spec()) == a_run()
    results.add(a_spec(seed=5), a_run(seed=5))
    *_, last = path.read_bytes().removeprefix(whole).splitlines()
    assert path.read_bytes() == whole + last + b"\n"
    assert RunStore("runs").find(a_spec(seed=5)) == a_run(seed=5)


def test_processes_add_to_the_same_file():
    pids = []
    for first in (0, 100):
        if (pid := os.fork()) == 0:
            try:
                for seed in range(first, first + 50):
                    RunStore("runs").add(a_spec(seed=seed), a_run(seed=seed))
                os._exit(0)
            finally:
                os._exit(1)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
    results = RunStore("runs")
    for seed in (*range(50), *range(100, 150)):
        assert results.find(a_spec(seed=seed)) == a_run(seed=seed)
    assert len(stored_lines()) == 100


def test_a_stopped_run_is_stored():
    spec = RunSpec.of(Experiment("gae", "towns", "quality"), "whole", {}, 3)
    stopped = RunResult(3, dict.fromkeys(SETTINGS["quality"].all), stopped="> 20 min")
    RunStore("runs").add(spec, stopped)
    assert RunStore("runs").find(spec) == stopped


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["run", "seed", *a_run().to_dict()]), VALUES)
def test_any_value_is_read_or_refused(name, value):
    inner = name in a_run().to_dict() and name != "seed"
    change = {"run": a_run().to_dict() | {name: value}} if inner else {name: value}
    store_line(altered(**change))
    message = "remove it"
    try:
        RunStore("runs").find(a_spec())
    except InputError as error:
        message = str(error)
    assert "remove it" in message
    assert "\n" not in message


def test_the_unaltered_line_is_accepted():
    store_line(altered())
    assert RunStore("runs").find(a_spec()) == a_run()


def test_a_folder_that_cannot_be_created():
    Path("runs").write_text("a file")
    with pytest.raises(InputError, match="runs"):
        RunStore("runs").add(a_spec(), a_run())


def test_a_random_split_is_drawn_by_the_seed(monkeypatch):
    dataset, handed = load_dataset("citeseer"), []
    monkeypatch.setattr(
        run_store, "run_classification", lambda method, graph, setting, **_: handed.append(graph)
    )
    for seed in (0, 1):
        RunSpec.of(own(dataset="citeseer"), "random", {}, seed).run(dataset)
        for name, mask in random_split(dataset.graph.labels, seed).items():
            assert np.array_equal(handed[seed].splits[name], mask)
            assert not np.array_equal(dataset.graph.splits[name], mask)
        assert handed[seed].fingerprint() == dataset.graph.fingerprint()


def test_code_that_has_changed_is_refused():
    with pytest.raises(InputError, match="the source of gae has changed since the runs began"):
        a_spec(method="gae", code="0a1b").run(load_dataset("cora"))


@pytest.mark.parametrize("method", ["gate", "gate-edges"])
def test_a_method_gets_features_unless_it_uses_none(monkeypatch, method):
    dataset, handed = load_dataset("cora"), []
    monkeypatch.setattr(
        run_store, "run_classification", lambda method, graph, setting, **_: handed.append(graph)
    )
    experiment = Experiment(method, "cora", "transductive")
    RunSpec.of(experiment, dataset.split, {"preset": "authors"}, 0).run(dataset)
    expected = dataset if method == "gate" else dataset.without_features()
    assert handed[0].fingerprint() == expected.graph.fingerprint()


@pytest.mark.parametrize("setting", ["clustering", "links"])
def test_settings_without_a_classifier(monkeypatch, setting):
    """The dataset is loaded by its name."""
    monkeypatch.setattr(run_store, f"run_{setting}", lambda method, graph, **given: (graph, given))
    spec = RunSpec.of(Experiment("gate", "cora", setting), "public", {"preset": "authors"}, 5)
    graph, given = spec.run()
    assert graph.fingerprint() == load_dataset("cora").graph.fingerprint()
    assert given == {"seed": 5} | ({"algorithm": "kmeans"} if setting == "clustering" else {})


def test_every_file_is_read_once():
    RunStore("runs").add(a_spec(), a_run())
    results = RunStore("runs")
    assert results.find(a_spec()) == a_run()
    files()[0].unlink()
    assert results.find(a_spec()) == a_run()
    assert RunStore("runs").find(a_spec()) is None


def test_splits_with_stored_runs():
    results = RunStore("runs")
    results.add(a_spec(method="a/b:C", split="public"), a_run())
    assert results.has_split("a/b:C", "cora", "public")
    assert not results.has_split("a/b:C", "cora", "random")
    assert not results.has_split("a/b:C", "pubmed", "public")
