"""Run specifications and the folder of stored runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from experiment_runs import (
    a_run,
    a_spec,
    files,
    own,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_values import VALUES

from graphgate.datasets.citation import load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.experiments import run_store
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.run_store import RunSpec, RunStore

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_equal_specifications_have_the_same_file():
    assert a_spec().file == a_spec().file
    assert a_spec(params={"dropout": 0.5, "epochs": 5}).file == a_spec().file
    assert a_spec().file.suffix == ".json"


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


def test_every_field_changes_the_file():
    assert {key for change in CHANGES for key in change} == {
        field.name for field in dataclasses.fields(RunSpec)
    }
    paths = [a_spec().file, *(a_spec(**change).file for change in CHANGES)]
    assert len(set(paths)) == len(paths)
    assert a_spec(method="a/b:C").file != a_spec(method="a-b:C").file


@pytest.mark.parametrize(
    "method", ["../../up:Class", "/etc/passwd:Class", "..:..", "a b\\c:D\n", "modül:Klaße", "a.b:C"]
)
def test_unusual_method_names_stay_in_the_folder(method, empty_folder):
    given = a_spec(method=method)
    results = RunStore(empty_folder / "runs")
    results.add(given, a_run())
    (found,) = [path for path in empty_folder.rglob("*") if path.is_file()]
    assert found.resolve() == (empty_folder / "runs" / given.file).resolve()
    assert found.resolve().is_relative_to((empty_folder / "runs" / "inductive" / "cora").resolve())
    assert results.find(given) == a_run()


def test_a_stored_run_is_found_again():
    results = RunStore("runs")
    assert results.find(a_spec()) is None
    for val in (70.0, None):
        results.add(a_spec(), a_run(val=val))
        assert RunStore("runs").find(a_spec()) == a_run(val=val)
    for change in CHANGES:
        assert results.find(a_spec(**change)) is None, change
    assert len(files()) == 1
    assert json.loads(Path(files()[0]).read_text("utf-8"))["versions"]["graphgate"]


def altered(**changes) -> str:
    content = a_spec().fields() | {"run": a_run().to_dict()}
    return json.dumps(content | changes)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "\xff",
        altered()[:-9],
        altered(seed=4),
        altered(params={"epochs": 6}),
        altered(method="gat"),
        altered(run={}),
        altered(run=None),
        altered(run={**a_run().to_dict(), "speed": 1}),
        altered(run={"seed": 3, "accuracy": 80.0}),
    ],
)
def test_a_damaged_or_misplaced_file_is_refused(content):
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("latin1"))
    with pytest.raises(InputError) as refused:
        RunStore("runs").find(a_spec())
    message = str(refused.value)
    assert str(path) in message
    assert "remove it" in message
    assert "\n" not in message


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["run", "seed", *a_run().to_dict()]), VALUES)
def test_any_value_is_read_or_refused(name, value):
    inner = name in a_run().to_dict() and name != "seed"
    change = {"run": a_run().to_dict() | {name: value}} if inner else {name: value}
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(altered(**change), encoding="utf-8")
    message = "remove it"
    try:
        RunStore("runs").find(a_spec())
    except InputError as error:
        message = str(error)
    assert "remove it" in message
    assert "\n" not in message


def test_the_unaltered_file_is_accepted():
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True)
    path.write_text(altered(), encoding="utf-8")
    assert RunStore("runs").find(a_spec()) == a_run()


def test_a_folder_that_cannot_be_created():
    Path("runs").write_text("a file")
    with pytest.raises(InputError, match="runs"):
        RunStore("runs").add(a_spec(), a_run())


def test_metrics_of_another_setting_are_refused():
    trial = RunSpec.of(Experiment("gae", "cora", "links"), "public", {}, 0)
    RunStore("runs").add(trial, a_run())
    with pytest.raises(InputError, match="does not contain the run that its name indicates"):
        RunStore("runs").find(trial)


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
    added = RunStore("runs")
    added.add(a_spec(), a_run())
    Path(files()[0]).unlink()
    assert results.find(a_spec()) == added.find(a_spec()) == a_run()
    assert RunStore("runs").find(a_spec()) is None


def test_splits_with_stored_runs():
    results = RunStore("runs")
    results.add(a_spec(method="a/b:C", split="public"), a_run())
    assert results.has_split("a/b:C", "cora", "public")
    assert not results.has_split("a/b:C", "cora", "random")
    assert not results.has_split("a/b:C", "pubmed", "public")
