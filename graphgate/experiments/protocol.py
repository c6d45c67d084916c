"""One run: train, embed, probe (or train and classify), transductive or inductive; and several.

What a method may see is decided here, by what it is handed: an embedder gets a graph without
labels, a classifier one with those of the splits "train" and "val", and in the inductive setting
the unseen nodes are gone while either learns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import mean, stdev
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score

from graphgate.errors import InputError, TrainingWarning
from graphgate.experiments.measure import measured
from graphgate.experiments.scores import SCORES, Published
from graphgate.graph.graph import Graph
from graphgate.io.provenance import versions
from graphgate.tasks.classification import make_probe, probe_predictions

Setting = Literal["transductive", "inductive"]
SETTINGS: tuple[str, ...] = get_args(Setting)


class Embedder(Protocol):
    """A method that gives vectors, which a probe then classifies; labels never reach it."""

    embedding_: np.ndarray

    def fit(self, graph: Graph, /) -> Self: ...

    def transform(self, graph: Graph, /) -> np.ndarray: ...


class Classifier(Protocol):
    """A method that learns from labels; `predict` gives positions in `graph.classes`."""

    def fit(self, graph: Graph, /) -> Self: ...

    def predict(self, graph: Graph, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Run:
    """One training. metrics : what `SCORES` names for the setting, in percent, None where there
    was nothing to score. seconds : of training and embedding."""

    seed: int
    metrics: Mapping[str, float | None]
    seconds: float
    peak_memory_mb: float
    threads: int

    def to_dict(self) -> dict[str, Any]:
        """Flat: the metrics stand beside the other fields."""
        told = asdict(self)
        metrics = told.pop("metrics")
        return {"seed": told.pop("seed"), **metrics, **told}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any], setting: str) -> Run:
        """The inverse of `to_dict`; what is missing or unknown is a KeyError or a TypeError."""
        names = SCORES[setting].all
        others = {name: value for name, value in told.items() if name not in names}
        return cls(metrics={name: told[name] for name in names}, **others)


@dataclass(frozen=True)
class Evaluation:
    """Several runs of one method on one dataset, beside what the paper reports."""

    method: str
    dataset: str
    setting: str
    split: str
    probe: str
    unseen: tuple[str, ...]
    runs: tuple[Run, ...]
    paper: Mapping[str, Published]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics that are reported; the first is what counts."""
        return SCORES[self.setting].shown

    def values(self, metric: str) -> list[float]:
        return [value for run in self.runs if (value := run.metrics[metric]) is not None]

    def mean(self, metric: str | None = None) -> float:
        """Over the runs, of what counts or of another metric."""
        return mean(self.values(metric or self.shown[0]))

    def std(self, metric: str | None = None) -> float | None:
        """Deviation with n − 1; None for a single run."""
        values = self.values(metric or self.shown[0])
        return stdev(values) if len(values) > 1 else None

    def published(self, metric: str | None = None) -> Published | None:
        return self.paper.get(metric or self.shown[0])

    def _summary(self, metric: str) -> dict[str, Any]:
        std, paper = self.std(metric), self.published(metric)
        return {
            "mean": round(self.mean(metric), 4),
            "std": None if std is None else round(std, 4),
            "paper": None if paper is None else {"mean": paper[0], "std": paper[1]},
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "dataset": self.dataset,
            "setting": self.setting,
            "split": self.split,
            "preset": self.settings.get("preset"),
            "settings": dict(self.settings),
            "probe": self.probe,
            "unseen": list(self.unseen) if self.setting == "inductive" else [],
            "runs": [run.to_dict() for run in self.runs],
            **self._summary(self.shown[0]),
            "metrics": {metric: self._summary(metric) for metric in self.shown},
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
        with _as_many_epochs_as_set():
            return embedder.fit(graph.reveal()).embedding_
    if not hasattr(embedder, "transform"):
        raise InputError(
            f"{type(embedder).__name__} cannot embed nodes it has not seen, so it has no inductive "
            "setting"
        )
    with _as_many_epochs_as_set():
        return embedder.fit(hide(graph, unseen).reveal()).transform(graph.reveal())


def classify(
    classifier: Classifier, graph: Graph, setting: str, unseen: Sequence[str]
) -> np.ndarray:
    """Classes of all nodes, (N,), by a method that learned from the training nodes' labels."""
    seen = graph if setting == "transductive" else hide(graph, unseen)
    shown = [name for name in ("train", "val") if name in graph.splits]
    predicted = np.asarray(classifier.fit(seen.reveal(*shown)).predict(graph.reveal()))
    if predicted.shape != (graph.n_nodes,) or predicted.dtype.kind not in "iu":
        raise InputError(
            f"{type(classifier).__name__}.predict gave {predicted.dtype} of shape "
            f"{predicted.shape} for {graph.n_nodes:,} nodes; it must give one whole number a node"
        )
    return predicted


@dataclass(frozen=True)
class Task:
    """All that a run needs but for its seed; `make_method(seed)` gives a fresh method."""

    make_method: Callable[[int], Any]
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
        """Train once and classify all nodes. Ctrl-C gives up the run."""
        graph, setting, unseen = self.graph, self.setting, self.unseen
        assert graph.labels is not None
        method = self.make_method(seed)
        with measured() as cost:
            if hasattr(method, "predict"):
                predicted = classify(method, graph, setting, unseen)
            else:
                embedding = embed(method, graph, setting, unseen)
        refuse_interrupted(method)
        if not hasattr(method, "predict"):
            train = graph.splits["train"]
            predicted = probe_predictions(
                embedding, graph.labels, train, probe=self.probe, random_state=seed
            )
        test = _scored(graph, "test")
        return Run(
            seed=seed,
            metrics={
                "accuracy": _percent(accuracy_score(graph.labels[test], predicted[test])),
                "macro_f1": _percent(
                    f1_score(graph.labels[test], predicted[test], average="macro", zero_division=0)
                ),
                "val_accuracy": self._val_accuracy(predicted),
            },
            seconds=round(cost.seconds, 3),
            peak_memory_mb=round(cost.peak_memory_mb, 1),
            threads=torch.get_num_threads(),
        )

    def _val_accuracy(self, predicted: np.ndarray) -> float | None:
        graph = self.graph
        assert graph.labels is not None
        if "val" not in graph.splits or not graph.splits["val"].any():
            return None
        val = _scored(graph, "val")
        return _percent(accuracy_score(graph.labels[val], predicted[val]))


@contextmanager
def _as_many_epochs_as_set() -> Iterator[None]:
    """A run has the epochs that its settings say, so that GATE need not advise more.

    Other warnings, also that a probe has not converged, are still shown.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        yield


def refuse_interrupted(method: Any) -> None:
    """A method whose training the user has ended gives no result to keep."""
    history = getattr(method, "history_", None)
    if getattr(history, "stopped", None) == "interrupted":
        raise KeyboardInterrupt


def _scored(graph: Graph, split: str) -> np.ndarray:
    """The nodes of a split, all of which must have a label."""
    mask = graph.splits[split]
    assert graph.labels is not None
    if not mask.any():
        raise InputError(f"the split {split!r} has no nodes, so there is nothing to score")
    if (graph.labels[mask] < 0).any():
        raise InputError(f"a node of the split {split!r} has no label")
    return mask


def _percent(share: float) -> float:
    return round(100 * float(share), 4)
