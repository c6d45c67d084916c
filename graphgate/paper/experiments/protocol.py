"""One run: train a method, then score its embedding or its predictions.

This module decides what a method sees: an embedder gets a graph without
labels, a classifier one with the labels of the splits "train" and "val", and in the inductive
setting the unseen nodes are removed while either of them learns.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.metrics import accuracy_score, f1_score

from graphgate.compute.measure import Cost, measured
from graphgate.errors import InputError, TrainingWarning, UnknownNodesWarning
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.paper.experiments.experiment import SETTINGS
from graphgate.tasks.classification import make_probe, probe_predictions
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.links import score_split


@dataclass(frozen=True)
class RunResult:
    """The result of one run.

    metrics : those of the setting, in percent; None where there was nothing to score.
    seconds : of training and embedding, without scoring.
    threads : of torch; None where it was not recorded.
    stopped : the limit that a run has reached, such as "> 20 min"; it has nothing else then.
    """

    seed: int
    metrics: Mapping[str, float | None]
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    threads: int | None = None
    stopped: str = ""

    @classmethod
    def of(cls, seed: int, metrics: Mapping[str, float | None], cost: Cost) -> Self:
        seconds, memory = round(cost.seconds, 3), round(cost.peak_memory_mb, 1)
        return cls(seed, metrics, seconds, memory, torch.get_num_threads())

    def to_dict(self) -> dict[str, Any]:
        """Flat, with the metrics among the other fields."""
        if self.stopped:
            return {"seed": self.seed, "stopped": self.stopped}
        return {
            "seed": self.seed,
            **self.metrics,
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_memory_mb,
            "threads": self.threads,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], setting: str) -> Self:
        """The inverse of `to_dict`; raises KeyError or TypeError for anything else."""
        names = SETTINGS[setting].all
        if stored.keys() == {"seed", "stopped"} and isinstance(stored["stopped"], str):
            return cls(stored["seed"], dict.fromkeys(names), stopped=stored["stopped"])
        if not all(isinstance(value, (int, float, type(None))) for value in stored.values()):
            raise TypeError("a value is not a number")
        others = {name: value for name, value in stored.items() if name not in names}
        return cls(metrics={name: stored[name] for name in names}, **others)


def run_classification(
    method: Any, graph: Graph, setting: str, *, unseen: Sequence[str], probe: str, seed: int
) -> RunResult:
    """Train once and classify all nodes, by a probe if the method is an embedder."""
    make_probe(probe)  # a misspelled name is refused before any training
    if graph.labels is None or not {"train", "test"} <= graph.splits.keys():
        raise InputError("an evaluation needs labels and the splits 'train' and 'test'")
    if is_classifier(method):
        predicted, cost = trained(predict_classes, method, graph, setting, unseen)
    else:
        embedding, cost = trained(embed_nodes, method, graph, setting, unseen)
        predicted = probe_predictions(
            embedding, graph.labels, graph.splits["train"], probe=probe, random_state=seed
        )
    has_val = "val" in graph.splits and graph.splits["val"].any()
    test, val = _scored(graph, "test"), _scored(graph, "val") if has_val else None
    labels = graph.labels
    f1 = f1_score(labels[test], predicted[test], average="macro", zero_division=0)
    metrics = {
        "accuracy": percent(accuracy_score(labels[test], predicted[test])),
        "macro_f1": percent(f1),
        "val_accuracy": None
        if val is None
        else percent(accuracy_score(labels[val], predicted[val])),
    }
    return RunResult.of(seed, metrics, cost)


def run_clustering(method: Any, graph: Graph, *, algorithm: str, seed: int) -> RunResult:
    """Embed the whole graph, find as many clusters as there are classes, and compare the two."""
    if graph.labels is None:
        raise InputError("clusters are compared with classes, but the graph has no labels")
    embedding, cost = trained(embed_nodes, method, graph)
    n_clusters = len(graph.classes)
    clusters = cluster_vectors(embedding, n_clusters, method=algorithm, random_state=seed)
    return RunResult.of(seed, agreement(graph.labels, clusters), cost)


def run_links(
    method: Any, graph: Graph, *, val_size: float = 0.05, test_size: float = 0.1, seed: int
) -> RunResult:
    """Embed the graph without some edges, and score these against pairs without an edge.

    val_size, test_size : fractions of the edges to hold out, drawn with the seed.
    """
    split = split_links(graph, val_size=val_size, test_size=test_size, random_state=seed)
    _, cost = trained(embed_nodes, method, split.graph)
    scores = score_split(method, split)
    return RunResult.of(seed, {name: scores[name] for name in SETTINGS["links"].all}, cost)


def is_classifier(method: Any) -> bool:
    """Whether a method predicts classes that it learns from labels, instead of embedding nodes."""
    return hasattr(method, "predict")


def embed_nodes(embedder: Any, graph: Graph, setting: str, unseen: Sequence[str]) -> np.ndarray:
    """The embedding of all nodes, (N, D), by an embedder trained in a setting without labels."""
    if is_classifier(embedder):
        raise InputError(f"{type(embedder).__name__} is a classifier and has no embedding")
    if setting == "transductive":
        embedder.fit(graph.reveal())
        return _dense(embedder, embedder.embedding_)
    if not hasattr(embedder, "transform"):
        raise InputError(
            f"{type(embedder).__name__} cannot embed nodes that it was not trained on, so it has "
            "no inductive setting"
        )
    embedder.fit(hide(graph, unseen).reveal())
    return _dense(embedder, embedder.transform(graph.reveal()))


def _dense(embedder: Any, vectors: Any) -> np.ndarray:
    if sp.issparse(vectors):
        name = type(embedder).__name__
        raise InputError(f"{name} returned a sparse matrix; return an array, such as z.toarray()")
    return np.asarray(vectors)


def predict_classes(
    classifier: Any, graph: Graph, setting: str, unseen: Sequence[str]
) -> np.ndarray:
    """The classes of all nodes, (N,), by a classifier shown the labels of "train" and "val"."""
    seen = graph if setting == "transductive" else hide(graph, unseen)
    shown = [name for name in ("train", "val") if name in graph.splits]
    predicted = np.asarray(classifier.fit(seen.reveal(*shown)).predict(graph.reveal()))
    if predicted.shape != (graph.n_nodes,) or predicted.dtype.kind not in "iu":
        raise InputError(
            f"{type(classifier).__name__}.predict returned {predicted.dtype} of shape "
            f"{predicted.shape} for {graph.n_nodes:,} nodes; it must return one integer per node"
        )
    return predicted


def hide(graph: Graph, unseen: Sequence[str]) -> Graph:
    """The graph without the nodes of these splits, as inductive training sees it."""
    missing = [name for name in unseen if name not in graph.splits]
    if missing:
        raise InputError(f"the graph has no split {missing[0]!r}, only {list(graph.splits)}")
    nothing = np.zeros(graph.n_nodes, dtype=bool)
    return graph.without(np.any([nothing, *(graph.splits[name] for name in unseen)], axis=0))


def trained(
    apply: Callable[..., np.ndarray],
    method: Any,
    graph: Graph,
    setting: str = "transductive",
    unseen: Sequence[str] = (),
) -> tuple[np.ndarray, Cost]:
    """The output of a method for all nodes, and its cost."""
    with measured() as cost, warnings.catch_warnings():
        # The experiment decides on the number of epochs and on the nodes that are hidden.
        warnings.simplefilter("ignore", TrainingWarning)
        warnings.simplefilter("ignore", UnknownNodesWarning)
        output = apply(method, graph, setting, unseen)
    if getattr(getattr(method, "history_", None), "stopped", None) == "interrupted":
        raise KeyboardInterrupt  # an interrupted training has no result
    return output, cost


def _scored(graph: Graph, split: str) -> np.ndarray:
    """The nodes of a split, all of which must have a label."""
    mask = graph.splits[split]
    assert graph.labels is not None
    if not mask.any():
        raise InputError(f"the split {split!r} has no nodes, so there is nothing to score")
    if (graph.labels[mask] < 0).any():
        raise InputError(f"a node of the split {split!r} has no label")
    return mask


def percent(fraction: float) -> float:
    """Rounded, as it is stored."""
    return round(100 * float(fraction), 4)
