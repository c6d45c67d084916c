"""The estimates of `graphgate estimate`, against measured runs.

    python -m benchmarks estimate --json results/benchmarks/estimate.json

Synthetic block graphs (see `synthetic.py`), with sparse or dense features. The peak is that of a
process of its own, of which the fit has added a part to libraries and graph; time is that of the
whole fit. Medians of several repetitions.
"""

import warnings
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.processes import isolated
from benchmarks.runner import Measurements, ratio_spread
from benchmarks.synthetic import block_graph
from graphgate.compute.counts import GraphCounts
from graphgate.compute.measure import measured, resident
from graphgate.compute.plan_log import planned_seconds
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph

CASES: dict[str, dict[str, Any]] = {
    "sparse": {"dims": (512, 512)},
    "small": {"dims": (64, 32)},
    "dense": {"dims": (256, 128)},
    "one layer": {"dims": (256,)},
    "activation": {"dims": (128, 64), "activation": "elu"},
    "untied": {"dims": (128, 128), "tied_weights": False},
}
QUANTITIES = ("added_mb", "peak_memory_mb", "seconds")


def measure(
    nodes: tuple[int, ...] = (3000, 30_000, 100_000, 300_000),
    cases: tuple[str, ...] = tuple(CASES),
    epochs: int = 10,
    repeats: int = 3,
) -> Measurements:
    for n in nodes:
        for case in cases:
            subject = {"nodes": n, "case": case, "epochs": epochs}
            yield subject, partial(repeated, n, case, epochs, repeats)


def repeated(nodes: int, case: str, epochs: int, repeats: int) -> dict[str, Any]:
    return summary([isolated(compare, nodes, case, epochs) for _ in range(repeats)])


def compare(nodes: int, case: str, epochs: int) -> dict[str, Any]:
    """Estimated and measured values of one fit."""
    graph = block_graph(nodes)
    if case == "dense":
        x = np.random.default_rng(0).random((nodes, 200), dtype=np.float32)
        graph = Graph(x, graph.adjacency)
    gate = GATE(**CASES[case], preset="authors", epochs=epochs, random_state=0, progress=False)
    before = resident()
    with measured() as cost, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few epochs have not converged
        gate.fit(graph)
    # Estimated after the run, which would reuse unnoticed what measuring the speed has freed; the
    # estimate does not look at the run.
    plan = gate.plan(GraphCounts.of(graph))
    added, seconds = plan.bytes / 2**20, planned_seconds(plan)
    peak = cost.peak_memory_mb
    return {
        "edges": graph.n_edges,
        "added_mb": {"estimated": round(added, 1), "measured": round(peak - before, 1)},
        "peak_memory_mb": {"estimated": round(before + added, 1), "measured": round(peak, 1)},
        "seconds": {"estimated": round(seconds, 2), "measured": round(cost.seconds, 2)},
    }


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of both, and median and quartiles of their ratio."""
    if failed := [values for values in rounds if values["status"] != "ok"]:
        return failed[0]
    result = {"status": "ok", "edges": rounds[0]["edges"], "repeats": len(rounds)}
    for name in QUANTITIES:
        expected, seen = (
            [values[name][key] for values in rounds] for key in ("estimated", "measured")
        )
        ratio = {part: round(value, 3) for part, value in ratio_spread(expected, seen).items()}
        medians = {"estimated": round(median(expected), 2), "measured": round(median(seen), 2)}
        result[name] = medians | {"ratio": ratio}
    return result
