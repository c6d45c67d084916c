"""The grid of experiments: what a sweep chooses, and runs that resume."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from experiment_runs import (
    a_run,
    broken,
    files,
    grid_of,
    links_run,
    made,
    own,
    small_dataset,
    stored_lines,
)

from graphgate.errors import InputError
from graphgate.paper.experiments import grid as grid_module
from graphgate.paper.experiments import run_store
from graphgate.paper.experiments.experiment import SETTINGS, Experiment
from graphgate.paper.experiments.grid import ExperimentGrid, run_missing
from graphgate.paper.experiments.parallel import run_unordered
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.results_table import ResultsTable
from graphgate.paper.experiments.run_store import RunSpec, RunStore

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def small_data(monkeypatch):
    """Runs load a small graph; what methods note is reset."""
    for module in (run_store, grid_module):
        monkeypatch.setattr(module, "named_dataset", lambda name, _=None: small_dataset(name))
    made.clear()
    broken.clear()


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


def test_the_best_validation_score_is_chosen_whatever_the_test_score():
    scores = {"a": [(70, 99)], "b": [(71, 1)], "c": [(66, 100)]}
    experiment = swept()
    assert keep(experiment, scores).chosen_params(experiment) == {"level": 0.5, "form": "b"}


def test_the_first_candidate_wins_a_tie():
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


def test_later_runs_do_not_change_the_choice():
    experiment = swept()
    scores = {"a": [(70, 70), (1, 1)], "b": [(69, 69), (99, 99)], "c": [(1, 1)]}
    assert keep(experiment, scores).chosen_params(experiment)["form"] == "a"


def test_without_a_sweep_the_parameters_are_fixed():
    experiment = own(params={"level": 0.7})
    assert grid_of(experiment).chosen_params(experiment) == {"level": 0.7}
    assert grid_of(experiment).first_specs() == []


def test_a_sweep_of_links_is_chosen_by_validation_links():
    experiment = Experiment("gae", "cora", "links", sweep={"k": [1, 2, 3]})
    grid = ExperimentGrid([experiment], RunStore("runs"), {"cora": "public"})
    for settings, (auc, val) in zip(
        experiment.candidates(), [(99.0, 60.0), (70.0, 80.0), (80.0, 70.0)], strict=True
    ):
        assert grid.chosen_params(experiment) is None
        grid.store.add(RunSpec.of(experiment, "public", settings, 0), links_run(auc, 1.0, val))
    assert grid.chosen_params(experiment) == {"k": 2}


def accuracies(grid: ExperimentGrid) -> list[list[tuple[int, float]]]:
    found = [grid.evaluation(experiment) for experiment in grid.experiments]
    return [
        [(run.seed, run.metrics["accuracy"]) for run in cell.runs] if cell else [] for cell in found
    ]


def test_no_run_is_repeated(small_data):
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


def test_a_stored_run_is_what_its_specification_gives(small_data):
    experiment = own()
    run_missing(grid_of(experiment), n_jobs=1)
    for seed, accuracy in accuracies(grid_of(experiment))[0]:
        direct = RunSpec.of(experiment, "public", {}, seed).run()
        assert (direct.seed, direct.metrics["accuracy"]) == (seed, accuracy)


def test_an_interrupted_grid_resumes(small_data):
    whole = grid_of(own(), swept())
    broken[1] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run_missing(whole, n_jobs=1)
    before = stored_lines()
    assert before
    made.clear()
    broken.clear()
    again = run_missing(grid_of(own(), swept()), n_jobs=1)
    assert again == len(made) == len(stored_lines()) - len(before)
    assert set(before) < set(stored_lines())
    interrupted = accuracies(whole)
    for file in files():
        file.unlink()
    straight = grid_of(own(), swept())
    run_missing(straight, n_jobs=1)
    assert accuracies(straight) == interrupted
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


def test_the_order_in_which_runs_finish_does_not_matter(small_data, monkeypatch):
    experiments = (own(), swept())
    run_missing(grid_of(*experiments), n_jobs=1)
    straight = accuracies(grid_of(*experiments))
    table = ResultsTable(grid_of(*experiments[:1]), ["cora"]).markdown()
    for file in files():
        file.unlink()
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


def test_a_sweep_finds_the_better_parameters(small_data):
    experiment = own(sweep={"level": [0.0, 0.05, 5.0]}, n_runs=2)
    run_missing(grid_of(experiment), n_jobs=1)
    assert grid_of(experiment).chosen_params(experiment) == {"level": 5.0}


def test_a_split_that_is_not_available(small_data):
    with pytest.raises(
        InputError, match="is available with its public split, not with the seeded one"
    ):
        run_missing(grid_of(own(), split="seeded"), n_jobs=1)
    assert made == []


def test_only_inductive_runs_have_unseen_splits(small_data):
    experiment = own(setting="inductive", unseen=("test", "val"))
    (first, *_) = grid_of(experiment).specs(experiment)
    assert first.unseen == ("test", "val")
    (first, *_) = grid_of(own(unseen=("test", "val"))).specs(own())
    assert first.unseen == ()  # nothing is, in the transductive setting


def test_a_method_that_is_stopped_is_not_run_again(small_data, monkeypatch):
    """In the comparison, the first seed goes first; where it is stopped, it stands for all."""
    experiment = own(setting="quality")
    seeds: list[int] = []

    def stop(row, params, graph, *, seed):
        seeds.append(seed)
        return RunResult(seed, dict.fromkeys(SETTINGS["quality"].all), stopped="> 20 min")

    monkeypatch.setattr(run_store, "run_quality", stop)
    for expected in (1, 0):
        grid = grid_of(experiment)
        assert run_missing(grid, n_jobs=1) == expected
        assert grid.evaluation(experiment).text("nmi") == "> 20 min"
    assert seeds == [0]
    summary = grid.evaluation(experiment).to_dict()
    assert (summary["mean"], summary["runs"]) == (None, [{"seed": 0, "stopped": "> 20 min"}])


def test_an_archive_is_what_its_runs_are_of(small_data, monkeypatch):
    paths = []
    monkeypatch.setattr(
        grid_module,
        "named_dataset",
        lambda name, path: paths.append(path) or small_dataset(name),
    )
    grid = grid_of(own())
    run_missing(dataclasses.replace(grid, archives={"cora": Path("towns.npz")}), n_jobs=1)
    assert paths == [Path("towns.npz")] * 3
