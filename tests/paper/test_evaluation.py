"""`evaluate` and the summary of several runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from experiment_runs import labelled_graph

from graphgate.datasets.citation import Dataset
from graphgate.errors import InputError
from graphgate.io.files import write_json
from graphgate.paper.experiments import evaluation
from graphgate.paper.experiments.evaluation import Evaluation, evaluate
from graphgate.paper.experiments.experiment import with_std
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.parallel import run_unordered
from graphgate.paper.experiments.protocol import (
    RunResult,
)
from graphgate.paper.experiments.run_store import RunSpec
from graphgate.tasks.classification import PROBES


def scores(accuracy: float, macro_f1: float, val: float | None) -> dict[str, float | None]:
    return {"accuracy": accuracy, "macro_f1": macro_f1, "val_accuracy": val}


def an_evaluation(*accuracies: float, paper=None, **changes) -> Evaluation:
    fields = {
        "method": "gate",
        "dataset": "cora",
        "setting": "inductive",
        "split": "seeded",
        "params": {"preset": "authors", "epochs": 9},
        "probe": "one-vs-rest",
        "unseen": ("test", "val"),
        "seed": 0,
    }
    runs = tuple(
        RunResult(i, scores(a, a - 1, a + 1), 0.5, 300.0, 2) for i, a in enumerate(accuracies)
    )
    published = {"accuracy": (82.5, 0.5)} if paper is None else paper
    return Evaluation(RunSpec(**fields | changes), runs, published)


def test_mean_and_standard_deviation():
    values = [81.2, 83.4, 82.9, 80.0]
    found = an_evaluation(*values)
    assert found.mean() == pytest.approx(np.mean(values))
    assert found.std() == pytest.approx(np.std(values, ddof=1))
    assert an_evaluation(81.2).std() is None
    assert an_evaluation(81.2, 81.2).std() == 0


def test_the_json_of_an_evaluation(tmp_path):
    path = tmp_path / "out.json"
    write_json(path, an_evaluation(81.0, 84.0).to_dict())
    found = json.loads(path.read_text("utf-8"))
    assert set(found.pop("versions")) == {
        *("python", "graphgate", "torch", "numpy", "scipy", "scikit-learn"),
    }
    assert found == {
        "method": "gate",
        "dataset": "cora",
        "setting": "inductive",
        "split": "seeded",
        "preset": "authors",
        "params": {"preset": "authors", "epochs": 9},
        "probe": "one-vs-rest",
        "unseen": ["test", "val"],
        "runs": [
            {
                **{"seed": s, "accuracy": a, "macro_f1": a - 1, "val_accuracy": a + 1},
                **{"seconds": 0.5, "peak_memory_mb": 300.0, "threads": 2},
            }
            for s, a in enumerate([81.0, 84.0])
        ],
        "mean": 82.5,
        "std": 2.1213,  # sqrt(1.5² + 1.5²)
        "paper": {"mean": 82.5, "std": 0.5},
        "metrics": {"accuracy": {"mean": 82.5, "std": 2.1213, "paper": {"mean": 82.5, "std": 0.5}}},
    }


def test_the_json_of_a_single_run_without_a_published_value():
    found = an_evaluation(81.0, setting="transductive", unseen=(), paper={}).to_dict()
    assert (found["std"], found["paper"], found["unseen"]) == (None, None, [])


def test_the_row_of_the_report():
    def row(evaluation: Evaluation) -> dict[str, str]:
        return dict(zip(evaluation.heads(), evaluation.row(), strict=True))

    found = row(an_evaluation(81.0, 84.0, split="public"))
    assert found["accuracy"] == "82.5 ± 2.1"
    assert found["paper"] == "82.5 ± 0.5"
    assert found["difference"] == "+0.0"
    assert (found["method"], found["runs"]) == ("gate (authors)", "2")
    found = row(an_evaluation(81.0, split="public"))
    assert (found["accuracy"], found["difference"]) == ("81.0", "-1.5")
    found = row(an_evaluation(81.0, split="seeded"))
    assert (found["split"], found["difference"]) == ("seeded", "other split")
    found = row(an_evaluation(81.0, paper={}))
    assert (found["paper"], found["difference"]) == ("—", "—")
    assert row(an_evaluation(81.0, params={}))["method"] == "gate"


def test_a_standard_deviation_of_zero_is_shown():
    assert with_std(80.0, 0.0) == "80.0 ± 0.0"


@pytest.fixture
def dataset() -> Dataset:
    """A little graph under the name of Cora."""
    graph = labelled_graph()
    return Dataset("cora", graph, "seeded", "made here", graph.n_edges, 0)


def test_seeds_are_consecutive(dataset):
    found = evaluate(
        "gate", dataset, n_runs=3, random_state=11, params={"epochs": 3}, n_jobs=1, progress=False
    )
    assert found.spec.params == {"preset": "authors", "structure_weight": 0.5, "epochs": 3}
    assert [run.seed for run in found.runs] == [11, 12, 13]
    assert found.paper == {"accuracy": (83.2, 0.6)}
    assert (found.spec.split, found.spec.dataset, found.spec.method) == ("seeded", "cora", "gate")


def test_runs_are_ordered_by_seed_whatever_finishes_first(dataset, monkeypatch):
    monkeypatch.setattr(
        evaluation,
        "run_unordered",
        lambda work, items, n_jobs: run_unordered(work, items[::-1], n_jobs=n_jobs),
    )
    found = evaluate("raw", dataset, n_runs=3, random_state=4, n_jobs=1, progress=False)
    assert [run.seed for run in found.runs] == [4, 5, 6]


def test_runs_in_several_processes_are_the_same(dataset):
    alone, together = (evaluate("raw", dataset, n_runs=2, n_jobs=n, progress=False) for n in (1, 2))
    assert [run.metrics for run in alone.runs] == [run.metrics for run in together.runs]


@pytest.mark.parametrize(
    ("preset", "probe", "unseen"),
    [("authors", "one-vs-rest", ("test", "val")), ("paper", "multinomial", ("test",))],
)
def test_probe_and_unseen_follow_the_preset(dataset, preset, probe, unseen, monkeypatch):
    asked = []
    other = next(form for form in PROBES if form != probe)

    def note(self, dataset):
        asked.append((self.probe, self.unseen))
        return RunResult(self.seed, scores(80.0, 80.0, None), 1.0, 1.0, 1)

    monkeypatch.setattr(RunSpec, "run", note)
    given = {"setting": "inductive", "n_runs": 1, "preset": preset}
    found = evaluate("gate", dataset, **given)
    assert (found.spec.probe, found.spec.unseen) == (probe, unseen)
    evaluate("gate", dataset, probe=other, unseen=("val",), **given)
    assert asked == [(probe, unseen), (other, ("val",))]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "gatt"}, "unknown method 'gatt'; use one of linear, gate, raw, "),
        ({"method": "gcn", "setting": "inductive"}, "'gcn' has no inductive setting on cora"),
        ({"method": "gcn", "preset": "paper"}, "'gcn' has no presets, got preset='paper'"),
        ({"params": {"speed": 3}}, "'gate' cannot be created: .*'speed'"),
        ({"preset": "ours"}, "unknown preset 'ours'; use one of authors, paper"),
        ({"setting": "semi"}, "unknown setting 'semi'; use one of transductive, inductive, clus"),
    ],
)
def test_unknown_names(dataset, change, words):
    given = {"method": "gate", "n_runs": 1, "dataset": dataset} | change
    with pytest.raises(InputError, match=words):
        evaluate(**given)


def test_a_graph_is_no_dataset(dataset):
    with pytest.raises(InputError, match="got a Graph; score vectors of your own graph with"):
        evaluate("linear", dataset.graph)


def test_a_method_without_randomness_needs_no_seed(tmp_path, monkeypatch):
    (tmp_path / "two_methods.py").write_text(
        "class Degrees: pass\n"
        "class Seeded:\n"
        "    def __init__(self, random_state=0): self.seed = random_state\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert vars(find_row("two_methods:Degrees").make({}, random_state=3)) == {}
    assert find_row("two_methods:Seeded").make({}, random_state=3).seed == 3
