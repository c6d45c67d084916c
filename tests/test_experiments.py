"""Experiments as data, runs as files, the runner that resumes, the table, and `reproduce`."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from graphgate.cli.given import settings_of
from graphgate.datasets.citation import Dataset, load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import InputError
from graphgate.experiments import grid as grid_module
from graphgate.experiments import run_store
from graphgate.experiments.experiment import Experiment, find_experiment
from graphgate.experiments.grid import ExperimentGrid, run_missing
from graphgate.experiments.methods import METHODS
from graphgate.experiments.parallel import run_unordered
from graphgate.experiments.protocol import RunResult
from graphgate.experiments.reproduce import TABLES, table_experiments
from graphgate.experiments.results_table import ResultsTable
from graphgate.experiments.run_store import RunSpec, RunStore
from graphgate.graph.graph import Graph


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The folder that everything runs in: no data folder, an empty cache."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GRAPHGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


# --- a method of one's own -----------------------------------------------------------------------

made: list[tuple[int, str]] = []  # (seed, form) of every run
broken: dict[int, BaseException] = {}  # seed -> what happens


class Drawn:
    """Vectors that depend on the seed; the better, the higher `level`."""

    def __init__(self, level: float = 0.5, form: str = "", random_state: int = 0) -> None:
        self.level, self.form, self.random_state = level, form, random_state

    def fit(self, graph: Graph) -> Drawn:
        made.append((self.random_state, self.form))
        if self.random_state in broken:
            raise broken[self.random_state]
        rng = np.random.default_rng(self.random_state)
        signal = np.asarray(graph.x.toarray()[:, :3])
        self.embedding_ = self.level * signal + 0.3 * rng.normal(size=signal.shape)
        return self


class Failing(Drawn):
    def fit(self, graph: Graph) -> Failing:
        raise ValueError("no vectors today")


def small_dataset(name: str) -> Dataset:
    """30 nodes whose first three features tell the class, under a dataset's name."""
    label, turn = np.arange(30) % 3, np.arange(30) // 3 % 3
    splits = {"train": turn == 0, "val": turn == 1, "test": turn == 2}
    graph = Graph(sp.csr_array(np.eye(3)[label]), labels=label, splits=splits)
    return Dataset(name, graph, "public", "made here", 0, 0)


@pytest.fixture
def small_data(monkeypatch):
    monkeypatch.setattr(run_store, "_dataset", small_dataset)
    made.clear()
    broken.clear()


def own(name: str = "Drawn", **changes) -> Experiment:
    return dataclasses.replace(
        Experiment(f"{__name__}:{name}", "cora", "transductive", n_runs=3), **changes
    )


def grid_of(
    *experiments: Experiment, n_runs: int | None = None, split: str = "public"
) -> ExperimentGrid:
    names = {experiment.dataset for experiment in experiments}
    return ExperimentGrid(experiments, RunStore("runs"), dict.fromkeys(names, split), n_runs)


def files() -> list[str]:
    """Names of the stored runs."""
    return sorted(str(file) for file in Path("runs").rglob("*") if file.is_file())


# --- trials --------------------------------------------------------------------------------------


def a_spec(**changes) -> RunSpec:
    fields = {
        **{"method": "gcn", "dataset": "cora", "setting": "inductive", "split": "public"},
        **{"params": {"epochs": 5, "dropout": 0.5}, "probe": "one-vs-rest"},
        **{"unseen": ("test",), "seed": 3},
    }
    return RunSpec(**fields | changes)


def a_run(accuracy: float = 80.0, val: float | None = 70.0, seed: int = 3) -> RunResult:
    metrics = {"accuracy": accuracy, "macro_f1": accuracy - 1, "val_accuracy": val}
    return RunResult(seed, metrics, 1.5, 200.0, 1)


def test_the_same_trial_has_the_same_file():
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


def test_another_trial_has_another_file():
    assert {key for change in CHANGES for key in change} == {
        field.name for field in dataclasses.fields(RunSpec)
    }
    paths = [a_spec().file, *(a_spec(**change).file for change in CHANGES)]
    assert len(set(paths)) == len(paths)
    assert a_spec(method="a/b:C").file != a_spec(method="a-b:C").file


@pytest.mark.parametrize(
    "method", ["../../up:Class", "/etc/passwd:Class", "..:..", "a b\\c:D\n", "modül:Klaße", "a.b:C"]
)
def test_odd_names_of_methods_stay_in_the_folder(method, folder):
    given = a_spec(method=method)
    results = RunStore(folder / "runs")
    results.add(given, a_run())
    (found,) = [path for path in folder.rglob("*") if path.is_file()]
    assert found.resolve() == (folder / "runs" / given.file).resolve()
    assert found.resolve().is_relative_to((folder / "runs" / "inductive" / "cora").resolve())
    assert results.find(given) == a_run()


def test_what_is_kept_is_found_again():
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
def test_a_file_that_is_damaged_or_another_s_is_refused(content):
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("latin1"))
    with pytest.raises(InputError) as refused:
        RunStore("runs").find(a_spec())
    message = str(refused.value)
    assert str(path) in message
    assert "remove it" in message
    assert "\n" not in message


def test_the_file_itself_is_what_the_test_above_alters():
    path = Path("runs") / a_spec().file
    path.parent.mkdir(parents=True)
    path.write_text(altered(), encoding="utf-8")
    assert RunStore("runs").find(a_spec()) == a_run()


def test_half_written_files_are_ignored(small_data):
    experiment = own()
    run_missing(grid_of(experiment), n_jobs=1)
    for file in files():
        path = Path(file)
        path.with_name(f".{path.name}.0a1b2c3d.part").write_text('{"method": ')
    assert run_missing(grid_of(experiment), n_jobs=1) == 0
    assert len(grid_of(experiment).evaluation(experiment).runs) == 3


def test_a_folder_that_cannot_be_made():
    Path("runs").write_text("a file")
    with pytest.raises(InputError, match="runs"):
        RunStore("runs").add(a_spec(), a_run())


# --- what a sweep chooses ------------------------------------------------------------------------


def swept(**changes) -> Experiment:
    return own(sweep={"form": ["a", "b", "c"]}, params={"level": 0.5}, **changes)


def keep(experiment: Experiment, scores: dict[str, list[tuple[float, float]]]) -> ExperimentGrid:
    """Stores (validation, test) accuracies of the seeds 0, 1, … of every form."""
    grid = grid_of(experiment)
    for form, pairs in scores.items():
        for seed, (val, test) in enumerate(pairs):
            settings = {"level": 0.5, "form": form}
            grid.store.add(RunSpec.of(experiment, "public", settings, seed), a_run(test, val, seed))
    return grid


def test_candidates_are_all_combinations():
    experiment = own(params={"level": 1.0, "form": "x"}, sweep={"form": ["a", "b"], "k": [1, 2]})
    assert experiment.candidates() == [
        {"level": 1.0, "form": form, "k": k} for form in ("a", "b") for k in (1, 2)
    ]
    assert own(params={"level": 1.0}).candidates() == [{"level": 1.0}]


def test_the_best_on_validation_nodes_is_chosen_whatever_test_nodes_say():
    scores = {"a": [(70, 99)], "b": [(71, 1)], "c": [(66, 100)]}
    experiment = swept()
    assert keep(experiment, scores).chosen_params(experiment) == {"level": 0.5, "form": "b"}


def test_the_first_of_equals_is_chosen():
    scores = {"a": [(60, 90)], "b": [(71, 10)], "c": [(71, 90)]}
    experiment = swept()
    assert keep(experiment, scores).chosen_params(experiment) == {"level": 0.5, "form": "b"}


def test_nothing_is_chosen_before_the_sweep_is_complete():
    experiment = swept()
    grid = keep(experiment, {"a": [(70, 70)] * 2, "b": [(70, 70)]})
    assert grid.chosen_params(experiment) is None
    assert grid.specs(experiment) == []
    assert grid.evaluation(experiment) is None
    assert keep(experiment, {"c": [(99, 99)]}).chosen_params(experiment)["form"] == "c"


def test_runs_after_those_of_the_sweep_do_not_change_the_choice():
    experiment = swept()
    scores = {"a": [(70, 70), (1, 1)], "b": [(69, 69), (99, 99)], "c": [(1, 1)]}
    assert keep(experiment, scores).chosen_params(experiment)["form"] == "a"


def test_without_a_sweep_nothing_has_to_be_chosen():
    experiment = own(params={"level": 0.7})
    assert grid_of(experiment).chosen_params(experiment) == {"level": 0.7}
    assert grid_of(experiment).sweep_specs() == []


# --- the runner ----------------------------------------------------------------------------------


def accuracies(grid: ExperimentGrid) -> list[list[tuple[int, float]]]:
    found = [grid.evaluation(experiment) for experiment in grid.experiments]
    return [
        [(run.seed, run.metrics["accuracy"]) for run in cell.runs] if cell else [] for cell in found
    ]


def test_every_run_is_made_once(small_data):
    grid = grid_of(own())
    assert run_missing(grid, n_jobs=1) == 3
    assert run_missing(grid, n_jobs=1) == 0
    assert sorted(made) == [(0, ""), (1, ""), (2, "")]
    assert [seed for seed, _ in accuracies(grid)[0]] == [0, 1, 2]
    more = grid_of(own(), n_runs=5)
    assert run_missing(more, n_jobs=1) == 2
    assert [seed for seed, _ in made[3:]] == [3, 4]
    assert accuracies(more)[0][:3] == accuracies(grid)[0]
    assert len({accuracy for _, accuracy in accuracies(more)[0]}) > 1  # seeds tell


def test_the_same_experiment_twice_is_run_once(small_data):
    assert run_missing(grid_of(own(), own()), n_jobs=1) == 3


def test_fewer_runs_than_are_stored(small_data):
    run_missing(grid_of(own()), n_jobs=1)
    assert len(accuracies(grid_of(own(), n_runs=2))[0]) == 2


def test_a_run_is_what_its_task_gives(small_data):
    experiment = own()
    run_missing(grid_of(experiment), n_jobs=1)
    for seed, accuracy in accuracies(grid_of(experiment))[0]:
        direct = RunSpec.of(experiment, "public", {}, seed).run()
        assert (direct.seed, direct.metrics["accuracy"]) == (seed, accuracy)


def test_an_interrupted_grid_goes_on_where_it_was(small_data):
    whole = grid_of(own(), swept())
    broken[1] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run_missing(whole, n_jobs=1)
    before = files()
    assert before
    made.clear()
    broken.clear()
    again = run_missing(whole, n_jobs=1)
    assert again == len(made) == len(files()) - len(before)
    interrupted = accuracies(whole)
    for file in files():
        os.remove(file)
    run_missing(whole, n_jobs=1)
    assert accuracies(whole) == interrupted
    assert [len(cell) for cell in interrupted] == [3, 3]


def test_a_failing_method_does_not_stop_the_others(small_data):
    grid = grid_of(own("Failing"), own())
    with pytest.raises(InputError) as told:
        run_missing(grid, n_jobs=1)
    message = str(told.value)
    assert "3 of 6 runs failed" in message
    assert ":Failing on cora, seed 0: ValueError: no vectors today" in message
    assert [len(cell) for cell in accuracies(grid)] == [0, 3]
    with pytest.raises(InputError, match="3 of 3 runs failed"):
        run_missing(grid, n_jobs=1)


def test_a_failing_run_does_not_stop_the_others(small_data):
    grid = grid_of(own())
    broken[1] = InputError("cannot be")
    with pytest.raises(InputError, match=r"1 of 3 runs failed.*seed 1: cannot be"):
        run_missing(grid, n_jobs=1)
    assert [seed for seed, _ in accuracies(grid)[0]] == [0, 2]
    broken.clear()
    made.clear()
    assert run_missing(grid, n_jobs=1) == 1
    assert made == [(1, "")]


def test_a_failing_candidate_leaves_the_choice_open(small_data):
    grid = grid_of(swept(), own())
    broken[0] = ValueError("no")
    with pytest.raises(InputError, match="4 of 6 runs failed"):
        run_missing(grid, n_jobs=1)
    assert [len(cell) for cell in accuracies(grid)] == [0, 2]


def test_the_order_in_which_runs_end_does_not_matter(small_data, monkeypatch):
    experiments = (own(), swept())
    run_missing(grid_of(*experiments), n_jobs=1)
    straight = accuracies(grid_of(*experiments))
    table = ResultsTable(grid_of(*experiments[:1]), ["cora"]).markdown()
    for file in files():
        os.remove(file)
    monkeypatch.setattr(
        grid_module,
        "run_unordered",
        lambda work, items, n_jobs: run_unordered(work, items[::-1], n_jobs=n_jobs),
    )
    made.clear()
    run_missing(grid_of(*experiments), n_jobs=1)
    assert [seed for seed, form in made if not form][:3] == [2, 1, 0]
    assert accuracies(grid_of(*experiments)) == straight
    assert ResultsTable(grid_of(*experiments[:1]), ["cora"]).markdown() == table


def test_the_runs_of_a_sweep_count(small_data):
    experiment = swept(n_runs=5)
    grid = grid_of(experiment)
    assert run_missing(grid, n_jobs=1) == 3 + 4
    chosen = grid.chosen_params(experiment)["form"]
    counts = Counter(form for _, form in made)
    assert counts == Counter({"a": 1, "b": 1, "c": 1}) + Counter({chosen: 4})
    assert max(Counter(made).values()) == 1
    evaluation = grid.evaluation(experiment)
    assert [run.seed for run in evaluation.runs] == [0, 1, 2, 3, 4]
    assert evaluation.spec.params == {"level": 0.5, "form": chosen}
    assert run_missing(grid, n_jobs=1) == 0


def test_a_sweep_finds_the_better_setting(small_data):
    experiment = own(sweep={"level": [0.0, 0.05, 5.0]}, n_runs=2)
    run_missing(grid_of(experiment), n_jobs=1)
    assert grid_of(experiment).chosen_params(experiment) == {"level": 5.0}


def test_a_split_that_is_not_here(small_data):
    with pytest.raises(InputError, match="is available with its public split, not the seeded one"):
        run_missing(grid_of(own(), split="seeded"), n_jobs=1)
    assert made == []


def test_inductive_runs_name_what_is_unseen(small_data):
    experiment = own(setting="inductive", unseen=("test", "val"))
    (first, *_) = grid_of(experiment).specs(experiment)
    assert first.unseen == ("test", "val")
    (first, *_) = grid_of(own(unseen=("test", "val"))).specs(own())
    assert first.unseen == ()  # nothing is, in the transductive setting


# --- random splits -------------------------------------------------------------------------------


def test_random_splits_have_planetoid_s_sizes():
    labels = np.random.default_rng(0).integers(-1, 4, 2400)
    splits = random_split(labels, 0)
    assert {name: int(mask.sum()) for name, mask in splits.items()} == {
        **{"train": 80, "val": 500, "test": 1000},
    }
    assert all(mask.shape == (2400,) and mask.dtype == bool for mask in splits.values())
    assert np.bincount(labels[splits["train"]]).tolist() == [20] * 4
    together = np.sum(list(splits.values()), axis=0)
    assert together.max() == 1
    assert (labels[together > 0] >= 0).all()


def test_random_splits_are_seeded():
    labels = np.arange(60) % 3
    one, two, three = (
        random_split(labels, seed, per_class=4, val=10, test=20) for seed in (0, 0, 1)
    )
    for name in ("train", "val", "test"):
        assert np.array_equal(one[name], two[name])
        assert not np.array_equal(one[name], three[name])


def test_all_nodes_may_be_used_up():
    splits = random_split(np.arange(12) % 2, 3, per_class=2, val=3, test=5)
    assert np.sum(list(splits.values()), axis=0).tolist() == [1] * 12


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(11) % 2,
        np.where(np.arange(12) == 5, -1, np.arange(12) % 2),
        np.array([0] * 30 + [1]),
        np.full(12, -1),
        np.empty(0, dtype=int),
    ],
    ids=["one short", "one without label", "a small class", "no label", "no node"],
)
def test_too_few_nodes_for_a_random_split(labels):
    with pytest.raises(InputError, match="too few for a split of 2 per class, 3 and 5"):
        random_split(labels, 0, per_class=2, val=3, test=5)


def test_a_random_split_is_that_of_the_seed(monkeypatch):
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


# --- tables --------------------------------------------------------------------------------------


def stored(experiment: Experiment, *values: float, split: str = "public") -> Experiment:
    grid = grid_of(experiment, split=split)
    for seed, value in enumerate(values):
        settings = dict(experiment.params)
        grid.store.add(RunSpec.of(experiment, split, settings, seed), a_run(value, seed=seed))
    return experiment


def cell(method: str, dataset: str, *values: float, split: str = "public", **changes) -> Experiment:
    fields = {"params": {"k": 1}, "published": {"accuracy": (80.0, 0.5)}} | changes
    return stored(Experiment(method, dataset, "transductive", **fields), *values, split=split)


def table_of(*cells: Experiment, split: str = "public"):
    return ResultsTable(grid_of(*cells, split=split), ["cora", "citeseer"])


def row(markdown: str, title: str) -> list[str]:
    (line,) = [line for line in markdown.splitlines() if f"| {title} |" in line]
    return [part.strip() for part in line.strip("|").split("|")]


def test_the_table_in_markdown():
    table = table_of(
        cell("gcn", "cora", 81.0, 84.0),
        cell("gcn", "citeseer", 78.2, published={"accuracy": (79.0, None)}),
        cell("gat", "cora", 78.4, 78.6),  # 1.5 below is still called reproduced
        cell("monet", "cora"),
        cell("monet", "citeseer", 70.0, published={}),
    )
    text = table.markdown()
    lines = text.splitlines()
    heads = ["ours (runs)", "paper", "difference"]
    assert row(text, "method") == [
        *("sees", "method"),
        *(f"Cora, {heads[0]}", *heads[1:], f"Citeseer, {heads[0]}", *heads[1:]),
    ]
    assert lines[1] == "| --- | --- |" + " ---: |" * 6
    assert row(text, "GCN") == [
        *("X, A, Y", "GCN"),
        *("82.5 ± 2.1 (2)", "80.0 ± 0.5", "+2.5"),
        *("78.2 (1)", "79.0", "-0.8"),
    ]
    assert row(text, "GAT")[2:] == ["78.5 ± 0.1 (2)", "80.0 ± 0.5", "-1.5", "", "", ""]
    assert row(text, "MoNet")[2:] == ["—", "80.0 ± 0.5", "—", "70.0 (1)", "—", "—"]
    assert len(lines) == 5  # no notes


def test_a_low_value_is_marked_and_explained():
    low = {"note": "fewer epochs", "departure": "at most 300 epochs"}
    table = table_of(
        cell("gcn", "cora", 78.4, **low),
        cell("gcn", "citeseer", 90.0, **low),
        cell("gat", "citeseer", 70.0),
        cell("monet", "cora", note="never low", published={}),
    )
    text = table.markdown()
    assert row(text, "GCN")[2:] == [
        *("78.4 (1)", "80.0 ± 0.5", "-1.6\\*", "90.0 (1)", "80.0 ± 0.5", "+10.0"),
    ]
    assert row(text, "GAT")[7] == "-10.0\\*"
    assert text.split("\n\n")[1].splitlines() == [
        "- \\* GCN, Cora: fewer epochs",
        "- \\* GAT, Citeseer: reason unknown",
        "- GCN: at most 300 epochs",
    ]


def test_a_value_on_another_split_is_not_compared():
    table = table_of(cell("gcn", "cora", 50.0, split="seeded"), split="seeded")
    assert row(table.markdown(), "GCN")[2:5] == ["50.0 (1)", "80.0 ± 0.5", "other split"]
    assert table.notes() == []


def test_the_table_in_latex():
    table = table_of(
        cell("gcn", "cora", 81.0, 84.0),
        cell("gcn", "citeseer", 70.0, note="100 % less"),
        cell(f"{__name__}:Drawn", "cora", published={}),
    )
    text = table.latex()
    assert r"\begin{tabular}{llrrrrrr}" in text
    assert r"Sees & Method & \multicolumn{3}{c}{Cora} & \multicolumn{3}{c}{Citeseer} \\" in text
    assert (
        r"X, A, Y & GCN & 82.5 $\pm$ 2.1 (2) & 80.0 $\pm$ 0.5 & +2.5 & "
        r"70.0 (1) & 80.0 $\pm$ 0.5 & -10.0* \\"
    ) in text.splitlines()
    assert r"? & test\_experiments:Drawn & --- & --- & --- &  &  &  \\" in text.splitlines()
    after = text.split(r"\end{tabular}")[1].strip().splitlines()
    assert len(after) == 1
    assert after[0].startswith("%")
    assert "GCN, Citeseer: 100 % less" in after[0]
    for line in text.splitlines():
        assert line.startswith(("\\", "%", "Sees")) or line.count("&") == 7


def test_the_table_as_data():
    table = table_of(cell("gcn", "cora", 81.0, 84.0), cell("gat", "cora"), cell("gat", "citeseer"))
    (found,) = table.to_list()
    assert (found["method"], found["dataset"]) == ("gcn", "cora")
    assert (found["mean"], found["std"]) == (82.5, 2.1213)
    assert found["paper"] == {"mean": 80.0, "std": 0.5}
    assert found["params"] == {"k": 1}
    assert [one["accuracy"] for one in found["runs"]] == [81.0, 84.0]


def test_rows_stand_in_the_order_of_the_list():
    def titles(table: str, methods=None) -> list[str]:
        cells = table_experiments(table, methods, ["cora", "citeseer"])
        return [title for _, title, _ in ResultsTable(grid_of(*cells), ["cora"]).rows]

    for table in ("transductive", "inductive"):
        expected = [
            method.title
            for method in METHODS.values()
            if "paper" in method.tables and find_experiment(method.name, "cora", table)
        ]
        assert titles(table) == expected
    mine = f"{__name__}:Drawn"
    assert titles("transductive", [mine, "gcn", "gate"]) == ["GATE", "GCN", mine]
    both = titles("formulations")
    assert [title for title in both if title.startswith("GATE, the paper's text")] == [
        *("GATE, the paper's text, transductive", "GATE, the paper's text, inductive"),
    ]


def test_the_cells_of_a_table():
    cells = table_experiments("transductive", None, ["citeseer", "cora"])
    assert {of.setting for of in cells} == {"transductive"}
    gate = [of.dataset for of in cells if of.method == "gate"]
    assert gate == ["citeseer", "cora"]
    assert "gate-paper" not in {of.method for of in cells}
    mine = table_experiments("inductive", ["a.b:C"], ["pubmed"])
    assert [(of.method, of.setting, of.n_runs) for of in mine] == [("a.b:C", "inductive", 5)]


@pytest.mark.parametrize(
    ("table", "methods", "datasets", "words"),
    [
        ("table 2", None, ["cora"], "there is no table 'table 2'; use one of transductive, ind"),
        ("transductive", ["gcnn"], ["cora"], "unknown method 'gcnn'; use one of raw, "),
        ("transductive", ["gcn", ""], ["cora"], "unknown method ''"),
        ("transductive", ["gcn"], ["ogbn"], "there is no dataset 'ogbn'"),
        ("transductive", ["a:B"], ["ogbn"], "there is no dataset 'ogbn'"),
        ("transductive", None, ["ogbn"], "there is no dataset 'ogbn'"),
        ("inductive", ["gat", "gcn"], ["cora"], "'inductive' has no cell of 'gcn'"),
    ],
)
def test_tables_that_are_not_there(table, methods, datasets, words):
    with pytest.raises(InputError, match=words):
        table_experiments(table, methods, datasets)


# --- other tasks ---------------------------------------------------------------------------------


def links_run(auc: float, ap: float, val: float = 50.0, seed: int = 0) -> RunResult:
    return RunResult(seed, {"auc": auc, "ap": ap, "val_auc": val, "val_ap": val}, 1.0, 1.0, 1)


def test_a_table_of_several_metrics():
    published = {"auc": (91.0, 0.02)}
    cells = [
        Experiment("gae", "cora", "links", published=published, note="too few epochs"),
        Experiment("gate", "cora", "links"),
    ]
    results = RunStore("runs")
    for seed, (auc, ap) in enumerate([(80.0, 70.0), (84.0, 72.0)]):
        results.add(RunSpec.of(cells[0], "public", {}, seed), links_run(auc, ap, seed=seed))
    table = ResultsTable(ExperimentGrid(cells, results, {"cora": "seeded"}), ["cora"])
    text = table.markdown()
    heads = ["Cora AUC, ours (runs)", "paper", "difference", "Cora AP, ours (runs)"]
    assert row(text, "method") == ["sees", "method", *heads]
    assert row(text, "GAE")[2:] == ["82.0 ± 2.8 (2)", "91.0 ± 0.0", "-9.0\\*", "71.0 ± 1.4 (2)"]
    assert row(text, "GATE")[2:] == ["—", "—", "—", "—"]
    assert "- \\* GAE, Cora: too few epochs" in text
    latex = table.latex()
    assert r"\multicolumn{3}{c}{Cora AUC} & \multicolumn{1}{c}{Cora AP}" in latex
    assert r"\begin{tabular}{llrrrr}" in latex
    (found,) = table.to_list()
    assert found["mean"] == 82.0
    assert found["metrics"]["ap"] == {"mean": 71.0, "std": 1.4142, "paper": None}
    assert (found["split"], found["probe"]) == ("held-out", "dot-product")


def test_several_metrics_on_several_graphs_are_a_table_each():
    cells = [Experiment("gae", name, "links", departure="less") for name in ("cora", "pubmed")]
    results = RunStore("runs")
    for seed, cell in enumerate(cells):
        results.add(RunSpec.of(cell, "public", {}, 0), links_run(80.0 + seed, 70.0))
    grid = ExperimentGrid(cells, results, {"cora": "public", "pubmed": "public"})
    first, second, notes = ResultsTable(grid, ["cora", "pubmed"]).markdown().split("\n\n")
    assert row(first, "method")[2:] == ["Cora AUC, ours (runs)", "Cora AP, ours (runs)"]
    assert row(second, "GAE")[2:] == ["81.0 (1)", "70.0 (1)"]
    assert notes == "- GAE: less"


def test_a_difference_of_nothing_has_no_minus():
    cell = Experiment("gae", "cora", "links", published={"auc": (80.04, None)})
    RunStore("runs").add(RunSpec.of(cell, "public", {}, 0), links_run(80.0, 70.0))
    table = ResultsTable(ExperimentGrid([cell], RunStore("runs"), {"cora": "public"}), ["cora"])
    assert row(table.markdown(), "GAE")[4] == "+0.0"


def test_a_sweep_of_links_is_chosen_by_the_links_held_out_for_it():
    experiment = Experiment("gae", "cora", "links", sweep={"k": [1, 2, 3]})
    grid = ExperimentGrid([experiment], RunStore("runs"), {"cora": "public"})
    for settings, (auc, val) in zip(
        experiment.candidates(), [(99.0, 60.0), (70.0, 80.0), (80.0, 70.0)], strict=True
    ):
        assert grid.chosen_params(experiment) is None
        grid.store.add(RunSpec.of(experiment, "public", settings, 0), links_run(auc, 1.0, val))
    assert grid.chosen_params(experiment) == {"k": 2}


def test_scores_of_another_setting_are_no_run_of_this_one():
    trial = RunSpec.of(Experiment("gae", "cora", "links"), "public", {}, 0)
    RunStore("runs").add(trial, a_run())
    with pytest.raises(InputError, match="is not the stored run that its name says"):
        RunStore("runs").find(trial)


KIPF_WELLING = {  # AUC and AP of their table 1
    "gae": {"cora": (91.0, 92.0), "citeseer": (89.5, 89.9), "pubmed": (96.4, 96.5)},
    "vgae": {"cora": (91.4, 92.6), "citeseer": (90.8, 92.0), "pubmed": (94.4, 94.7)},
}


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
@pytest.mark.parametrize("method", ["gate", "gae", "vgae"])
def test_the_experiments_of_other_tasks(method, dataset):
    for setting in ("clustering", "links"):
        experiment = find_experiment(method, dataset, setting)
        assert (experiment.n_runs, dict(experiment.sweep)) == (10, {})
        METHODS[method].make(experiment.params, 0)
        told = KIPF_WELLING.get(method, {}).get(dataset) if setting == "links" else None
        values = {metric: mean for metric, (mean, _) in experiment.published.items()}
        assert values == ({} if told is None else dict(zip(("auc", "ap"), told, strict=True)))


@pytest.mark.parametrize("table", ["clustering", "links"])
def test_other_tasks_are_run_kept_and_reported(run, module, table):
    wanted = [
        *("reproduce", table, "--methods", f"{module}:Sketch", "--datasets", "citeseer"),
        *("--runs", "2", "--results", ".", "--jobs", "1", "--json", "cells.json"),
    ]
    assert run(*wanted)[:2] == (0, "made 2 runs; all are in runs\n")
    assert run(*wanted)[:2] == (0, "made 0 runs; all are in runs\n")
    (found,) = json.loads(Path("cells.json").read_text("utf-8"))
    names = {"clustering": ["nmi", "ari", "accuracy"], "links": ["auc", "ap"]}[table]
    assert list(found["metrics"]) == names
    experiment = find_experiment(f"{module}:Sketch", "citeseer", table)
    again = RunSpec.of(experiment, "public", {}, 1).run(load_dataset("citeseer"))
    assert {name: found["runs"][1][name] for name in names} == {
        name: again.metrics[name] for name in names
    }
    code, out, err = run(*wanted, "--report")
    assert code == 0, err
    assert f"{found['mean']:.1f} ± {found['std']:.1f} (2)" in out


# --- reproduce -----------------------------------------------------------------------------------

OWN = '''
import time
import numpy as np


class Sketch:
    """Random directions of the features; sleeps, so that a run takes a while."""

    def __init__(self, size=6, pause=0.0, random_state=0):
        self.size, self.pause, self.random_state = size, pause, random_state

    def fit(self, graph):
        time.sleep(self.pause)
        rng = np.random.default_rng(self.random_state)
        self.embedding_ = graph.x @ rng.normal(size=(graph.n_features, self.size))
        return self

    def transform(self, graph):
        return self.fit(graph).embedding_


class Slow(Sketch):
    def __init__(self, random_state=0):
        super().__init__(pause=0.3, random_state=random_state)


class Broken(Sketch):
    def fit(self, graph):
        raise ZeroDivisionError("one over none")
'''


@pytest.fixture
def module(tmp_path, monkeypatch) -> str:
    """The name of a module of one's own, which is on the path."""
    name = f"own_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def reproduce(method: str, runs: int = 3) -> list[str]:
    return [
        *("reproduce", "transductive", "--methods", method, "--datasets", "citeseer"),
        *("--runs", str(runs), "--results", "."),
    ]


PROMISED = {"method", "dataset", "setting", "runs", "mean", "std", "paper", "split", "versions"}


def test_reproduce_runs_and_reports(run, module):
    wanted = reproduce(f"{module}:Sketch")
    code, out, err = run(*wanted, "--jobs", "1", "--json", "cells.json")
    assert (code, out, err) == (0, "made 3 runs; all are in runs\n", "")
    stored_runs = files()
    assert len(stored_runs) == 3
    (found,) = json.loads(Path("cells.json").read_text("utf-8"))
    assert set(found) >= PROMISED
    assert (found["method"], found["dataset"]) == (f"{module}:Sketch", "citeseer")
    assert (found["setting"], found["split"], found["paper"]) == ("transductive", "public", None)
    assert [one["seed"] for one in found["runs"]] == [0, 1, 2]
    values = [one["accuracy"] for one in found["runs"]]
    assert len(set(values)) > 1
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-4)
    assert found["std"] == pytest.approx(np.std(values, ddof=1), abs=1e-4)

    assert run(*wanted, "--jobs", "1")[:2] == (0, "made 0 runs; all are in runs\n")
    code, out, err = run(*wanted, "--report", "--json", "again.json")
    assert code == 0, err
    assert Path("again.json").read_bytes() == Path("cells.json").read_bytes()
    assert files() == stored_runs
    assert sorted(os.listdir("tables")) == [f"transductive.{end}" for end in ("json", "md", "tex")]
    assert Path("tables/transductive.md").read_text("utf-8") == out
    assert f"{found['mean']:.1f} ± {found['std']:.1f} (3)" in out
    assert r"\begin{tabular}" in Path("tables/transductive.tex").read_text("utf-8")
    assert json.loads(Path("tables/transductive.json").read_text("utf-8")) == [found]


def test_a_report_of_nothing(run, module):
    code, out, _ = run(*reproduce(f"{module}:Sketch"), "--report", "--json", "none.json")
    assert code == 0
    assert "| — | — | — |" in out
    assert json.loads(Path("none.json").read_text("utf-8")) == []


def test_a_report_runs_nothing(run, monkeypatch):
    monkeypatch.setattr(RunSpec, "run", lambda self: pytest.fail("ran"))
    for table in TABLES:
        code, out, err = run("reproduce", table, "--report", "--results", "new/folder")
        assert code == 0, err
        assert "| GATE" in out


def test_a_seeded_split_is_told(run, module):
    arguments = reproduce(f"{module}:Sketch", runs=1)
    arguments[arguments.index("citeseer")] = "cora"
    code, _, err = run(*arguments, "--jobs", "1")
    assert code == 0
    assert "cora: a fixed seeded split of the public one's sizes, not the public split" in err


def test_reproduce_on_random_splits(run, module):
    wanted = [*reproduce(f"{module}:Sketch", runs=2), "--split", "random", "--json", "r.json"]
    assert run(*wanted, "--jobs", "1")[0] == 0
    (found,) = json.loads(Path("r.json").read_text("utf-8"))
    assert found["split"] == "random"
    assert all(Path(file).name.startswith("random-00") for file in files())
    assert run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1")[1].startswith("made 2")


def test_a_broken_method_of_one_s_own(run, module):
    wanted = reproduce(f"{module}:Broken,{module}:Sketch", runs=2)
    code, out, err = run(*wanted, "--jobs", "1")
    assert (code, out) == (2, "")
    assert err.startswith("graphgate: 2 of 4 runs failed, the others are stored; the first: ")
    assert "ZeroDivisionError: one over none" in err
    assert err.count("\n") == 1
    assert len(files()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tables"], "there is no table 'tables'"),
        (["transductive", "--methods", "gcnn"], "unknown method 'gcnn'"),
        (["transductive", "--methods", "gcn,"], "unknown method ''"),
        (["transductive", "--datasets", "ogbn"], "there is no dataset 'ogbn'"),
        (["transductive", "--datasets", ""], "there is no dataset ''"),
        (["transductive", "--split", "mine"], "unknown split 'mine'; use random, public, seeded"),
        (["inductive", "--methods", "gcn"], "has no cell of 'gcn'"),
        (["transductive", "--json", "no/out.json"], "no does not exist"),
        (["transductive", "--json", "out.txt"], "must end in .json"),
        (["transductive", "--methods", "no_such_module:Class"], "No module named 'no_such_module'"),
        (["transductive", "--methods", "json:NoSuchClass"], "there is no 'NoSuchClass' in the mod"),
        (["transductive", "--methods", "json:loads"], "'json:loads' cannot be made"),
        (["transductive", "--methods", ":"], "unknown method ':'"),
        (["transductive", "--methods", ":Class"], "unknown method ':Class'"),
        (["transductive", "--methods", "json:"], "unknown method 'json:'"),
        (["transductive", "--methods", ".json:Class"], "unknown method '.json:Class'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_reproduced(run, arguments, words):
    quick = ["--runs", "1", "--jobs", "1", "--results", "."]
    if "--datasets" not in arguments:
        quick += ["--datasets", "citeseer"]
    code, out, err = run("reproduce", *arguments, *quick)
    assert (code, out) == (2, ""), err
    assert err.startswith("graphgate: ")
    assert err.count("\n") == 1
    assert words in err
    assert files() == []


def test_a_report_counts_the_public_runs_wherever_they_were_made(run, module):
    """Cora is here with its seeded split; the runs on the public one were made elsewhere."""
    mine = Experiment(f"{module}:Sketch", "cora", "transductive")
    grid = grid_of(mine)
    wanted = ["reproduce", "transductive", "--methods", mine.method, "--datasets", "cora"]
    wanted += ["--results", ".", "--report", "--json", "out.json"]
    for split, value in (("seeded", 60.0), ("public", 70.0)):
        grid.store.add(RunSpec.of(mine, split, {}, 0), a_run(value, seed=0))
        code, _, err = run(*wanted)
        assert code == 0, err
        (found,) = json.loads(Path("out.json").read_text("utf-8"))
        assert (found["split"], found["mean"]) == (split, value)
        assert ("not the public split" in err) == (split == "seeded")
    run(*wanted, "--split", "seeded")
    (found,) = json.loads(Path("out.json").read_text("utf-8"))
    assert (found["split"], found["mean"]) == ("seeded", 60.0)


@pytest.mark.parametrize("name", ["", "runs", "tables"])
def test_a_file_where_the_folder_should_be(run, module, name):
    Path("kept").mkdir()
    if not name:
        Path("kept").rmdir()
    Path("kept", name).write_text("a file")
    arguments = reproduce(f"{module}:Sketch", runs=1)
    arguments[-1] = "kept"
    for more in ([], ["--report"]):
        code, _, err = run(*arguments, "--jobs", "1", *more)
        if name == "tables" and not more:
            assert code == 0
            continue
        assert code == 2
        assert err.startswith("graphgate: ")
        assert "kept" in err
        assert err.count("\n") == 1


def test_a_damaged_run_is_one_line(run, module):
    run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1")
    Path(files()[1]).write_text("{")
    for more in ([], ["--report"]):
        code, _, err = run(*reproduce(f"{module}:Sketch", runs=2), *more)
        assert code == 2
        assert (
            err == f"graphgate: {files()[1]} is not the stored run that its name says; remove it\n"
        )


@pytest.mark.parametrize("more", [["--runs", "0"], ["--jobs", "0"], ["--speed", "3"]], ids=" ".join)
def test_usage_errors_of_reproduce(run, more):
    code, out, err = run("reproduce", "transductive", *more)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: ")


# --- evaluate --set ------------------------------------------------------------------------------


def evaluated(run, module: str, *more: str) -> dict:
    code, _, err = run(
        *("evaluate", "--dataset", "citeseer", "--method", f"{module}:Sketch", "--runs", "2"),
        *("--jobs", "1", "--json", "out.json", *more),
    )
    assert code == 0, err
    return json.loads(Path("out.json").read_text("utf-8"))


def test_settings_on_the_command_line(run, module):
    plain = evaluated(run, module)
    assert plain["params"] == {}
    found = evaluated(run, module, "--set", "size=1", "--set", "pause=0.0")
    assert found["params"] == {"size": 1, "pause": 0.0}
    assert isinstance(found["params"]["size"], int)
    assert found["mean"] < plain["mean"]
    assert evaluated(run, module, "--set", "size=1", "--set", "size=6")["mean"] == plain["mean"]
    run(*reproduce(f"{module}:Sketch", runs=2), "--jobs", "1", "--json", "r.json")
    (same,) = json.loads(Path("r.json").read_text("utf-8"))
    assert same["mean"] == plain["mean"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-3", 1e-3),
        ("true", True),
        ("[25, 10]", [25, 10]),
        ('"mean"', "mean"),
        ("mean", "mean"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_values_of_settings(text, value):
    found = settings_of([f"name={text}"])
    assert found == {"name": value}
    assert type(found["name"]) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size", "--set takes NAME=VALUE, got 'size'"),
        ("=3", "--set takes NAME=VALUE, got '=3'"),
        ("speed=3", "unexpected keyword argument 'speed'"),
        ("random_state=3", "cannot be made"),
    ],
)
def test_wrong_settings(run, module, text, words):
    code, _, err = run(
        *("evaluate", "--dataset", "citeseer", "--method", f"{module}:Sketch", "--set", text),
        *("--jobs", "1"),
    )
    assert code == 2
    assert err.count("\n") == 1
    assert words in err


# --- killed --------------------------------------------------------------------------------------

MARK = "GRAPHGATE_TEST_MARK"
RUNS = 10


def marked(mark: str) -> list[int]:
    """Processes that were started with this mark, directly or by one another."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def wait_for(condition, process: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + 200
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_killed_again_and_again_it_ends_with_the_same_table(run, module, tmp_path):
    wanted = [*reproduce(f"{module}:Slow", runs=RUNS), "--jobs", "2"]
    mark = uuid.uuid4().hex
    environment = os.environ | {MARK: mark, "PYTHONPATH": os.pathsep.join(sys.path)}
    moments: list[float] = []

    def start() -> subprocess.Popen:
        program = [sys.executable, "-m", "graphgate", *wanted]
        with (tmp_path / "log").open("a") as log:
            return subprocess.Popen(program, env=environment, stdout=log, stderr=log)

    def kill(process: subprocess.Popen, latest: float) -> None:
        moments.append(random.uniform(0, latest))
        moment = time.monotonic() + moments[-1]
        wait_for(lambda: time.monotonic() > moment, process)
        process.kill()  # it alone: its children have to notice
        assert process.wait() == -signal.SIGKILL, log_of(tmp_path)

    try:
        kill(start(), 3.0)
        for enough in (1, RUNS // 2):
            process = start()
            wait_for(lambda: len(finished()) >= enough, process)  # noqa: B023
            kill(process, 0.3)
        wait_for(lambda: not marked(mark))  # what its children began they may finish
        before = finished()
        assert len(before) >= RUNS // 2, moments
        process = start()
        assert process.wait(timeout=120) == 0, log_of(tmp_path)
        wait_for(lambda: not marked(mark))
    finally:
        for number in marked(mark):
            os.kill(number, signal.SIGKILL)
    assert log_of(tmp_path).endswith(f"made {RUNS - len(before)} runs; all are in runs\n"), moments
    assert len(finished()) == RUNS
    assert before.items() <= finished().items()  # not one was made again

    def table(results: str) -> tuple[list, str]:
        code, out, err = run(*wanted[:-3], results, "--report", "--json", "table.json")
        assert code == 0, err
        (found,) = json.loads(Path("table.json").read_text("utf-8"))
        return [(one["seed"], one["accuracy"], one["macro_f1"]) for one in found["runs"]], out

    assert run(*wanted[:-3], "undisturbed", "--jobs", "1")[0] == 0
    runs, text = table(".")
    assert (runs, text) == table("undisturbed")
    assert [seed for seed, *_ in runs] == list(range(RUNS))
    assert len({accuracy for _, accuracy, _ in runs}) > 1


def finished() -> dict[str, bytes]:
    """Stored runs and their content."""
    return {file: Path(file).read_bytes() for file in files() if file.endswith(".json")}


def log_of(folder: Path) -> str:
    return (folder / "log").read_text("utf-8")
