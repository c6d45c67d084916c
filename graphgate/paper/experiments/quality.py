"""A run of the comparison: one method, three tasks: classes, clusters, links.

A run fits a method twice, on the whole graph and without some edges, and measures everything on
what it gives. Test figures never choose anything: the strength and the scaling of the probe are
chosen on validation nodes.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from graphgate.compute.measure import measured
from graphgate.errors import InputError, TrainingWarning
from graphgate.estimators.registry import Method
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.paper.experiments.experiment import QUICK, SETTINGS
from graphgate.paper.experiments.limited_run import CallFailed, LimitReached, call_within
from graphgate.paper.experiments.protocol import RunResult
from graphgate.tasks.classification import probe_predictions
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.links import score_split

STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # C of the probe on random splits
PUBLIC_STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
MINUTES, CORES = 20, 2  # of the processor, after which a run is stopped
GIBIBYTES = 16  # of address space beyond which a run is stopped
_HOPELESS = 1.25  # times the limit; a run whose first epochs project to more is not continued


def run_quality(
    method: Method,
    params: Mapping[str, Any],
    graph: Graph,
    *,
    seed: int,
    minutes: float = MINUTES,
) -> RunResult:
    """All figures, in percent, and the cost of the fit on the whole graph.

    A method that trains runs in a process of its own. It is stopped if it uses more processor time
    than `minutes` of two cores have, or clearly would by its first epochs, or more than 16 GiB.
    """
    if method.name in QUICK:
        return compare_tasks(method, params, graph, seed)
    seconds = 60 * CORES * minutes
    run = partial(_projected, method, params, graph, seed, seconds, torch.get_num_threads())
    try:
        result: RunResult = call_within(run, cpu_seconds=seconds, memory=GIBIBYTES << 30)
    except LimitReached as reached:
        limit = f"> {minutes:.0f} min" if reached.what == "time" else f"> {GIBIBYTES} GiB"
        return RunResult(seed, dict.fromkeys(SETTINGS["quality"].all), stopped=limit)
    except CallFailed as error:
        raise InputError(str(error)) from None
    return result


def _projected(
    method: Method,
    params: Mapping[str, Any],
    graph: Graph,
    seed: int,
    cpu_seconds: float,
    threads: int,
) -> RunResult:
    torch.set_num_threads(threads)
    needed = projected_cpu_seconds(method, params, graph, seed)
    if needed is not None and needed > _HOPELESS * cpu_seconds:
        raise LimitReached("time")
    return compare_tasks(method, params, graph, seed)


def projected_cpu_seconds(
    method: Method, params: Mapping[str, Any], graph: Graph, seed: int
) -> float | None:
    """What both fits take, judged by a few epochs; None if the number of epochs is not fixed.

    The first epoch of a fit also pays for what comes before training.
    """
    made = method.make(params, seed)
    if getattr(made, "epochs", None) is None or hasattr(made, "patience"):
        return None
    hidden, spent = graph.reveal(), []
    for epochs in (1, 1, 3):  # one warms up
        start = time.process_time()
        method.make({**params, "epochs": epochs}, seed).fit(hidden)
        spent.append(time.process_time() - start)
    epoch = max(0.0, spent[2] - spent[1]) / 2
    return 2 * (spent[1] + (made.epochs - 1) * epoch)


def compare_tasks(method: Method, params: Mapping[str, Any], graph: Graph, seed: int) -> RunResult:
    """Fit a method twice and measure it in all three tasks."""
    assert graph.labels is not None
    split = split_links(graph, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        with measured() as cost:
            whole = method.make(params, seed).fit(graph.reveal())
        thinned = method.make(params, seed).fit(split.graph.reveal())
    z = np.asarray(whole.embedding_, dtype=np.float64)
    clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=seed)
    metrics = agreement(graph.labels, clusters) | score_split(thinned, split)
    metrics |= random_probe(z, graph.labels, seed)  # its accuracy is not that of the clusters
    if graph.splits:
        metrics |= public_probe(z, graph)
    values = {name: metrics.get(name) for name in SETTINGS["quality"].all}
    rounded = {name: None if of is None else round(of, 4) for name, of in values.items()}
    return RunResult.of(seed, rounded, cost)


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
    paper = 100 * float((predicted[test] == graph.labels[test]).mean())
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
                100 * float((probe.predict(vectors[rows]) == labels[rows]).mean())
                for rows in (val, test)
            )
            accuracies.append((val_rate, test_rate))
    return max(accuracies, key=lambda pair: pair[0])
