"""The comparison of methods: what a run measures, what is stored, what is stopped."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from graphgate import InputError
from graphgate.datasets.synthetic import community_graph
from graphgate.experiments import quality
from graphgate.experiments.quality import QualityRun, QualityStore, planned_runs, run_quality
from graphgate.experiments.quality_table import quality_markdown


@pytest.fixture
def folder(tmp_path):
    """A folder with one archive, a graph of communities with labels."""
    graph = community_graph(150, 500, 20, n_entries=600)
    x, edges = graph.x, graph.adjacency
    np.savez(
        tmp_path / "towns.npz",
        x_data=x.data, x_indices=x.indices, x_indptr=x.indptr, x_shape=x.shape,
        adj_indices=edges.indices, adj_indptr=edges.indptr, labels=np.arange(150) % 3,
    )  # fmt: skip
    return tmp_path


def test_the_runs_of_the_comparison(folder):
    runs = planned_runs(["linear", "dgi"], None, folder, 5)
    seeds = {(run.method, run.graph): 0 for run in runs}
    for run in runs:
        seeds[run.method, run.graph] += 1
    assert seeds["linear", "towns"] == seeds["linear", "cora"] == seeds["dgi", "cora"] == 5
    assert seeds["dgi", "towns"] == 2
    assert {run.archive for run in runs if run.graph == "towns"} == {folder / "towns.npz"}
    with pytest.raises(InputError, match="unknown graph 'villages'"):
        planned_runs(["linear"], ["villages"], folder, 1)
    with pytest.raises(InputError, match="is not a folder"):
        planned_runs(["linear"], None, folder / "none", 1)


def test_a_run_measures_three_tasks_without_leaks(folder, monkeypatch):
    seen = []
    fit = quality.find_method("linear")._maker().fit
    monkeypatch.setattr(
        "graphgate.estimators.linear_gate.LinearGATE.fit",
        lambda self, graph: (seen.append(graph), fit(self, graph))[1],
    )
    figures = QualityRun("linear", "towns", 3, folder / "towns.npz").run()
    whole, thinned = seen
    assert whole.labels is None
    assert thinned.labels is None
    assert thinned.n_edges == whole.n_edges - 24 - 48  # 5 % and 10 % of 485
    for name in ("accuracy", "val_accuracy", "nmi", "ari", "auc", "ap", "val_auc"):
        assert -100 <= figures[name] <= 100
    assert figures["seconds"] > 0
    assert "public" not in figures


def test_the_probe_is_chosen_on_validation_nodes_only():
    rng = np.random.default_rng(0)
    z, labels = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    labels[:20] = -1
    found = quality.random_probe(z, labels, 4)
    order = np.random.default_rng(4).permutation(np.flatnonzero(labels >= 0))
    train, val, test = order[:18], order[18:36], order[36:]
    scores = {}
    for name, x in (("rows", normalize(z)), ("columns", (z - z.mean(0)) / z.std(0))):
        for c in quality.STRENGTHS:
            probe = LogisticRegression(C=c, max_iter=300, tol=1e-3).fit(x[train], labels[train])
            scores[name, c] = [
                (probe.predict(x[rows]) == labels[rows]).mean() for rows in (val, test)
            ]
    best = max(scores.values(), key=lambda pair: pair[0])
    assert found == {"val_accuracy": 100 * best[0], "accuracy": 100 * best[1]}


def test_runs_are_stored_once_and_shown(folder, tmp_path):
    store = QualityStore(tmp_path / "results")
    runs = planned_runs(["linear", "smoothing-2", "smoothing-16"], ["towns"], folder, 2)
    assert run_quality(store, runs[:1], progress=False) == 1
    stored = json.loads((tmp_path / "results/towns/linear.json").read_text())
    assert list(stored["runs"]) == ["0"]
    assert stored["versions"]["graphgate"]
    assert run_quality(store, runs[:1], progress=False) == 0
    for run in runs[1:]:
        store.add(run, {"accuracy": 50.0 + run.seed, "nmi": 1.0})
    text = quality_markdown(store, ["linear", "smoothing-2"], store.graphs())
    assert "| S²GC, K = 2 | 50.5 ± 0.7 (2) |" in text
    assert "| LinearGATE − better smoothing |" in text


@dataclass(frozen=True)
class Endless(QualityRun):
    def projected_cpu_seconds(self) -> None:
        return None

    def run(self) -> dict[str, float]:
        while True:
            pass


@dataclass(frozen=True)
class Waiting(QualityRun):
    def projected_cpu_seconds(self) -> float:
        return 1.2  # not far above the limit

    def run(self) -> dict[str, float]:
        time.sleep(2)
        return {"nmi": 1.0}


@dataclass(frozen=True)
class Hopeless(QualityRun):
    def projected_cpu_seconds(self) -> float:
        return 100.0

    def run(self) -> dict[str, float]:
        return {"nmi": 1.0}


@dataclass(frozen=True)
class Large(QualityRun):
    def projected_cpu_seconds(self) -> None:
        return None

    def run(self) -> dict[str, float]:
        return {"nmi": float(np.ones(1 << 40).sum())}


@dataclass(frozen=True)
class LargeTensor(Large):
    def run(self) -> dict[str, float]:
        return {"nmi": float(torch.ones(1 << 40).sum())}


@dataclass(frozen=True)
class Failing(QualityRun):
    def projected_cpu_seconds(self) -> None:
        return None

    def run(self) -> dict[str, float]:
        raise ZeroDivisionError("no good")


def test_a_run_that_takes_too_long_is_stopped(tmp_path):
    store = QualityStore(tmp_path)
    runs = [Endless("gate", "towns", seed, Path("towns.npz")) for seed in range(2)]
    assert run_quality(store, runs, limit=0.1, progress=False) == 2
    assert store.runs("gate", "towns") == {0: {"stopped": 0.1}, 1: {"stopped": 0.1}}
    assert "> 0 min" in quality_markdown(store, ["gate"], ["towns"])


def test_waiting_for_the_processor_does_not_count(tmp_path):
    store = QualityStore(tmp_path)
    run_quality(store, [Waiting("gate", "towns", 0, Path("towns.npz"))], limit=0.5, progress=False)
    assert store.runs("gate", "towns") == {0: {"nmi": 1.0}}


def test_a_run_that_would_take_too_long_is_not_begun(tmp_path):
    store = QualityStore(tmp_path)
    run_quality(store, [Hopeless("gate", "towns", 0, Path("towns.npz"))], limit=39, progress=False)
    assert store.runs("gate", "towns") == {0: {"stopped": 39}}


def test_a_projection_is_the_time_of_both_fits(folder, monkeypatch):
    """Processor time by a clock that only training moves: 5 to set up, 2 per epoch."""
    clock = [0.0]

    class Trained:
        def __init__(self, epochs=100, random_state=0):
            self.epochs = epochs

        def fit(self, graph):
            assert graph.labels is None
            clock[0] += 5 + 2 * self.epochs
            return self

    known = quality.find_method("gate")
    monkeypatch.setattr(type(known), "make", lambda self, params, seed: Trained(**params))
    monkeypatch.setattr(QualityRun, "params", lambda self: {})
    monkeypatch.setattr(quality.time, "process_time", lambda: clock[0])
    run = QualityRun("gate", "towns", 0, folder / "towns.npz")
    assert run.projected_cpu_seconds() == 2 * (5 + 2 * 100)
    Trained.patience = 20  # it may stop earlier
    assert run.projected_cpu_seconds() is None


@pytest.mark.parametrize("kind", [Large, LargeTensor])
def test_a_run_that_takes_too_much_memory_is_stopped(kind, tmp_path):
    store = QualityStore(tmp_path)
    runs = [kind("gate", "towns", seed, Path("towns.npz")) for seed in range(2)]
    run_quality(store, runs, limit=60, progress=False)
    stopped = {"out_of_memory": quality.MEMORY}
    assert store.runs("gate", "towns") == {0: stopped, 1: stopped}
    assert "> 16 GiB" in quality_markdown(store, ["gate"], ["towns"])


def test_a_run_that_fails_names_itself(tmp_path):
    with pytest.raises(InputError, match=r"gate on towns with seed 1 failed: .*no good"):
        run_quality(
            QualityStore(tmp_path),
            [Failing("gate", "towns", 1, Path("towns.npz"))],
            progress=False,
        )
