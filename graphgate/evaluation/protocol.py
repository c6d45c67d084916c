"""One run: train, embed, probe, transductive or inductive; and several: mean and deviation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np

from graphgate.errors import InputError
from graphgate.evaluation.measure import measured
from graphgate.evaluation.probe import make_probe, probe_scores
from graphgate.graph import Graph
from graphgate.versions import versions

Setting = Literal["transductive", "inductive"]
SETTINGS: tuple[str, ...] = get_args(Setting)


class Embedder(Protocol):
    """What the protocol needs of a method; labels never reach it."""

    embedding_: np.ndarray

    def fit(self, X: Graph) -> Self: ...

    def transform(self, X: Graph) -> np.ndarray: ...


@dataclass(frozen=True)
class Layout:
    """How the runs share the machine: so many processes with so many threads each."""

    processes: int
    threads: int


@dataclass(frozen=True)
class Run:
    """One training and probe. Accuracy and F1 in percent; seconds of training and embedding."""

    seed: int
    accuracy: float
    macro_f1: float
    seconds: float
    peak_memory_mb: float


@dataclass(frozen=True)
class Evaluation:
    """Several runs of one method on one dataset, beside what the paper reports."""

    method: str
    dataset: str
    setting: str
    split: str
    preset: str
    probe: str
    unseen: tuple[str, ...]
    runs: tuple[Run, ...]
    layout: Layout
    paper: tuple[float, float] | None

    @property
    def mean(self) -> float:
        return mean(run.accuracy for run in self.runs)

    @property
    def std(self) -> float | None:
        """Deviation with n − 1; None for a single run."""
        return stdev(run.accuracy for run in self.runs) if len(self.runs) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        paper = None if self.paper is None else {"mean": self.paper[0], "std": self.paper[1]}
        return {
            "method": self.method,
            "dataset": self.dataset,
            "setting": self.setting,
            "split": self.split,
            "preset": self.preset,
            "probe": self.probe,
            "unseen": list(self.unseen) if self.setting == "inductive" else [],
            "runs": [asdict(run) for run in self.runs],
            "mean": round(self.mean, 4),
            "std": None if self.std is None else round(self.std, 4),
            "paper": paper,
            "processes": self.layout.processes,
            "threads": self.layout.threads,
            "versions": versions(),
        }


def hide(graph: Graph, unseen: Sequence[str]) -> Graph:
    """The graph as training sees it in the inductive setting: nodes of these splits are gone."""
    missing = [name for name in unseen if name not in graph.splits]
    if missing:
        raise InputError(f"the graph has no split {missing[0]!r}, only {list(graph.splits)}")
    hidden = np.zeros(graph.n_nodes, dtype=bool)
    for name in unseen:
        hidden |= graph.splits[name]
    return graph.without(hidden)


def embed(embedder: Embedder, graph: Graph, setting: str, unseen: Sequence[str]) -> np.ndarray:
    """Embeddings of all nodes, (N, D), of a method that was trained in one of the settings."""
    if setting == "transductive":
        return embedder.fit(graph).embedding_
    return embedder.fit(hide(graph, unseen)).transform(graph)


@dataclass(frozen=True)
class Task:
    """All that a run needs but for its seed; `make_embedder(seed)` gives a fresh method."""

    make_embedder: Callable[[int], Embedder]
    graph: Graph
    setting: str
    unseen: Sequence[str]
    probe: str

    def __post_init__(self) -> None:
        make_probe(self.probe)  # what is misspelt is refused before any training
        if self.setting not in SETTINGS:
            raise InputError(f"unknown setting {self.setting!r}; use one of {', '.join(SETTINGS)}")
        if self.graph.labels is None or not {"train", "test"} <= self.graph.splits.keys():
            raise InputError("an evaluation needs labels and the splits 'train' and 'test'")

    def run(self, seed: int) -> Run:
        """Train, embed and probe once. Ctrl-C gives up the run."""
        graph = self.graph
        assert graph.labels is not None
        with measured() as cost:
            embedder = self.make_embedder(seed)
            embedding = embed(embedder, graph, self.setting, self.unseen)
        history = getattr(embedder, "history_", None)
        if getattr(history, "stopped", None) == "interrupted":
            raise KeyboardInterrupt
        train, test = graph.splits["train"], graph.splits["test"]
        accuracy, f1 = probe_scores(
            embedding, graph.labels, train, test, form=self.probe, seed=seed
        )
        seconds, peak = round(cost.seconds, 3), round(cost.peak_memory_mb, 1)
        return Run(seed, accuracy, f1, seconds, peak)
