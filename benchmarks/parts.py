"""GATE by parts against the whole graph: time, memory, loss and probe.

    python -m benchmarks parts --json results/benchmarks/parts.json

Training on the whole graph takes the authors' form, with its 200 epochs, or with the paper's number
of epochs and λ for a citation graph (500 and 0.5 for Pubmed); training by parts takes our own form.
Losses are those of the whole graph at the final weights, λ = 1: the feature loss squared per node,
and the structure loss per attended pair. Each fit is in a process of its own.
"""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.inputs import DIMS, load
from benchmarks.processes import isolated
from benchmarks.runner import Measurements
from graphgate.compute.counts import GraphCounts
from graphgate.compute.measure import measured
from graphgate.datasets.citation import NAMES
from graphgate.datasets.splits import random_split
from graphgate.errors import TrainingWarning
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.nn.collapsed import chain
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.paper.experiments.experiment import find_experiment
from graphgate.tasks.classification import probe_predictions

FORMS: dict[str, dict[str, Any]] = {
    "whole": {"preset": "authors", "epochs": 200, "batch_size": "full"},
    "parts": {},
}
_SMALL = 50_000  # nodes up to which parts have to be asked for
_COLUMNS = 32  # of the reconstruction at a time


def measure(
    graphs: tuple[str, ...] = ("pubmed",),
    forms: tuple[str, ...] = tuple(FORMS),
    nodes: tuple[int, ...] = (100_000,),
    whole_below: int = 200_000,
    seed: int = 0,
) -> Measurements:
    sizes = [(name, n) for name in graphs for n in (nodes if name == "synthetic" else (0,))]
    for name, n in sizes:
        for form in forms:
            if form == "parts" or n <= whole_below:
                subject = {"graph": name, "form": form, "seed": seed}
                subject |= {"nodes": n} if n else {}
                yield subject, partial(isolated, fit, name, form, n, seed)


def fit(name: str, form: str, nodes: int, seed: int) -> dict[str, Any]:
    """The cost of one fit, and what it reaches."""
    graph = load(name, nodes=nodes)
    settings: dict[str, Any] = {"batch_size": 4096} if graph.n_nodes <= _SMALL else {}
    settings |= FORMS[form]
    if form == "whole" and name in NAMES:
        experiment = find_experiment("gate", name, "transductive")
        assert experiment is not None
        settings |= experiment.candidates()[0]
    with warnings.catch_warnings(), measured() as cost:
        warnings.simplefilter("ignore", TrainingWarning)
        start = time.process_time()
        gate = GATE(DIMS, random_state=seed, progress=False, **settings).fit(graph)
        cpu = time.process_time() - start
    values: dict[str, Any] = {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "batch_size": gate.batch_size,
        "seconds": round(cost.seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_memory_mb": round(cost.peak_memory_mb, 1),
        "epochs": len(gate.history_),
        "steps": gate.plan(GraphCounts.of(graph)).schedule.steps * len(gate.history_),
        **losses(gate, graph),
    }
    if name == "wordnet":
        assert graph.labels is not None
        graph = graph.with_splits(random_split(graph.labels, 0, per_class=5))
    if name != "synthetic":
        values["accuracy"] = accuracy(graph, gate.embedding_)
    return values


@torch.no_grad()
def losses(gate: GATE, graph: Graph) -> dict[str, float]:
    """Of the whole graph, from its embedding and some columns of the reconstruction at a time."""
    x = FeatureMatrix(graph.x, device=torch.device("cpu"), dtype=torch.float32)
    pattern = AttentionPattern(graph, device=x.device, dtype=x.dtype, gradients=False)
    h = torch.from_numpy(gate.embedding_)
    structure = torch.nn.functional.softplus(-dot_on(pattern, h, h)).sum(dtype=torch.float64)
    alphas = [torch.from_numpy(alpha.data) for alpha in gate.attention_.encoder]
    b = chain(list(gate.model_.encoder_weight))
    q, cross = torch.empty_like(h), 0.0
    for start in range(0, h.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        block = h[:, columns].contiguous()
        for alpha in reversed(alphas):
            block = pattern.matrix(alpha) @ block
        cross += float((x.times(b[:, columns].contiguous()) * block).sum(dtype=torch.float64))
        q[:, columns] = block
    gram = (b.T @ b).double()
    moments = sum((rows.double().T @ rows.double() for rows in q.split(8192)), torch.zeros(()))
    square = float(x.square_norms.sum()) - 2 * cross + float((gram * moments).sum())
    return {
        "feature_square_per_node": square / graph.n_nodes,
        "structure_per_pair": float(structure) / len(pattern),
        "loss": max(square, 0.0) ** 0.5 + float(structure),
    }


def accuracy(graph: Graph, vectors: np.ndarray) -> dict[str, float]:
    """Of a probe, in percent, on validation and test nodes."""
    assert graph.labels is not None
    predicted = probe_predictions(vectors, graph.labels, graph.splits["train"])
    return {
        name: round(100 * float((predicted == graph.labels)[graph.splits[name]].mean()), 2)
        for name in ("val", "test")
    }
