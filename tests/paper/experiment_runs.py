"""A method, datasets and stored runs for the tests of experiments."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from graphs import random_graph

from graphgate.datasets.citation import Dataset
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.paper.experiments.experiment import Experiment
from graphgate.paper.experiments.grid import ExperimentGrid
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore

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


def own(name: str = "Drawn", **changes) -> Experiment:
    return dataclasses.replace(
        Experiment(f"{__name__}:{name}", "cora", "transductive", n_runs=3), **changes
    )


def grid_of(
    *experiments: Experiment, n_runs: int | None = None, split: str = "public"
) -> ExperimentGrid:
    names = {experiment.dataset for experiment in experiments}
    return ExperimentGrid(experiments, RunStore("runs"), dict.fromkeys(names, split), n_runs)


def files() -> list[Path]:
    """The files of stored runs."""
    return sorted(Path("runs").rglob("*.jsonl"))


def stored_lines() -> list[bytes]:
    """The stored runs."""
    return [line for file in files() for line in file.read_bytes().splitlines()]


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


def links_run(auc: float, ap: float, val: float = 50.0, seed: int = 0) -> RunResult:
    return RunResult(seed, {"auc": auc, "ap": ap, "val_auc": val, "val_ap": val}, 1.0, 1.0, 1)


N = 24


def labelled_graph(seed: int = 0) -> Graph:
    """Every third node is to train, to validate or to test; three classes, of all in each."""
    plain = random_graph(seed, n=N, f=5)
    turn = np.arange(N) % 3
    return Graph(
        plain.x,
        plain.adjacency,
        labels=np.array(["x", "y", "z"])[np.arange(N) // 3 % 3],
        splits={"train": turn == 0, "val": turn == 1, "test": turn == 2},
    )


def small_gate(seed: int = 0) -> GATE:
    return GATE((4, 3), epochs=5, learning_rate=0.05, random_state=seed, progress=False)
