"""A run of the comparison: one method on three tasks, classes, clusters and links.

A run fits a method twice, on the whole graph and without some edges, and measures everything on
what it gives. Nothing is chosen by test scores: the strength and the scaling of the probe are
chosen on validation nodes.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from graphgate.errors import InputError
from graphgate.estimators.registry import Method
from graphgate.graph.graph import Graph
from graphgate.paper.experiments.experiment import QUICK, SETTINGS
from graphgate.paper.experiments.limited_run import CallFailed, LimitReached, call_within
from graphgate.paper.experiments.protocol import RunResult, embed_nodes, percent, run_links, trained
from graphgate.tasks.classification import probe_predictions
from graphgate.tasks.clustering import agreement, cluster_vectors

STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # C of the probe on random splits
PUBLIC_STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
MINUTES, CORES = 20, 2  # of the processor, after which a run is stopped
GIBIBYTES = 16  # of address space beyond which a run is stopped


def run_quality(
    method: Method, params: Mapping[str, Any], graph: Graph, *, seed: int, minutes: float = MINUTES
) -> RunResult:
    """All figures, in percent, and the cost of the fit on the whole graph.

    A method that trains runs in a process of its own, and is stopped if it uses more processor time
    than `minutes` of two cores have, or more than 16 GiB.
    """
    run = partial(_compared, method, params, graph, seed, torch.get_num_threads())
    if method.name in QUICK:
        return run()
    try:
        result: RunResult = call_within(
            run, cpu_seconds=60 * CORES * minutes, memory=GIBIBYTES << 30
        )
    except LimitReached as reached:
        limits = {"time": f"> {minutes:.0f} min", "memory": f"> {GIBIBYTES} GiB"}
        stopped = limits[str(reached)]
        return RunResult(seed, dict.fromkeys(SETTINGS["quality"].all), stopped=stopped)
    except CallFailed as error:
        raise InputError(str(error)) from None
    return result


def _compared(
    method: Method, params: Mapping[str, Any], graph: Graph, seed: int, threads: int
) -> RunResult:
    torch.set_num_threads(threads)
    assert graph.labels is not None
    vectors, cost = trained(embed_nodes, method.make(params, seed), graph)
    z = vectors.astype(np.float64)
    clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=seed)
    metrics = {
        **run_links(method.make(params, seed), graph, seed=seed).metrics,
        **agreement(graph.labels, clusters),
        **random_probe(z, graph.labels, seed),  # its accuracy is not that of the clusters
        **(public_probe(z, graph) if graph.splits else {}),
    }
    return RunResult.of(seed, {name: metrics.get(name) for name in SETTINGS["quality"].all}, cost)


def random_probe(z: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Test accuracy on a random 10/10/80 split of the labeled nodes, in percent.

    Rows of length 1 or standardized columns, and the strength, are chosen on validation nodes.
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    parts = np.split(order, [len(order) // 10, len(order) // 5])
    scaled = (normalize(z), StandardScaler().fit_transform(z))
    val, test = _best(scaled, STRENGTHS, labels, *parts)
    return {"val_accuracy": val, "accuracy": test}


def public_probe(z: np.ndarray, graph: Graph) -> dict[str, float]:
    """Test accuracy on the graph's own split, by a chosen strength and by the paper's probe."""
    assert graph.labels is not None
    train, val, test = (np.flatnonzero(graph.splits[name]) for name in ("train", "val", "test"))
    best = _best((normalize(z),), PUBLIC_STRENGTHS, graph.labels, train, val, test)
    predicted = probe_predictions(z, graph.labels, graph.splits["train"], probe="one-vs-rest")
    paper = percent((predicted[test] == graph.labels[test]).mean())
    return {"public_val": best[0], "public": best[1], "public_paper_probe": paper}


def _best(
    scaled: Sequence[np.ndarray],
    strengths: Sequence[float],
    labels: np.ndarray,
    train: np.ndarray,
    val: np.ndarray,
    test: np.ndarray,
) -> tuple[float, float]:
    """Validation and test accuracy of the probe with the best validation accuracy, in percent."""
    accuracies: list[tuple[float, float]] = []
    for vectors in scaled:
        for strength in strengths:
            probe = LogisticRegression(C=strength, max_iter=300, tol=1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a strength that does not converge is not chosen
                probe.fit(vectors[train], labels[train])
            val_rate, test_rate = (
                percent((probe.predict(vectors[rows]) == labels[rows]).mean())
                for rows in (val, test)
            )
            accuracies.append((val_rate, test_rate))
    return max(accuracies, key=lambda pair: pair[0])
