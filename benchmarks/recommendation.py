"""Recommended neighbors of single nodes: how many of the best are retrieved, and how fast.

    python -m benchmarks recommendation --json results/benchmarks/recommendation.json

A planted graph of communities with features (`benchmarks/synthetic.py`), fitted once; the ten
likeliest new neighbors of random nodes, retrieved and among all. Seconds are processor time, those
of queries per query.
"""

import time
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.inputs import load
from benchmarks.runner import Measurements
from graphgate import LinearGATE
from graphgate.compute.columns import Columns
from graphgate.linear import recommendation
from graphgate.linear.recommendation import Recommender

TOP = 10


def measure(sizes: tuple[int, ...] = (100_000,), queries: int = 1000) -> Measurements:
    for nodes in sizes:
        yield {"nodes": nodes}, partial(compare, nodes, queries)


def compare(nodes: int, queries: int) -> dict[str, Any]:
    graph = load("synthetic", nodes=nodes).reveal()
    start = time.process_time()
    gate = LinearGATE(random_state=0, progress=False).fit(graph)
    found: dict[str, Any] = {"edges": graph.n_edges, "fit": time.process_time() - start}
    assert gate.decoder_ is not None
    states = gate.model_.states(graph, Columns(nodes, torch.float32), step=True)
    everyone, rows = np.arange(nodes), np.random.default_rng(0).permutation(nodes)[:queries]
    best = {}
    recommender = Recommender(gate.decoder_, states, graph.adjacency, everyone, 0)
    for name, pairs in {"retrieved": 0, "all": nodes * queries}.items():
        recommendation.ALL_PAIRS = pairs
        start = time.process_time()
        recommender.best(rows[:1], TOP)  # prepares what all queries share
        found[f"{name}_preparation"] = time.process_time() - start
        start = time.process_time()
        best[name] = recommender.best(rows, TOP)
        found[name] = (time.process_time() - start) / queries
    hits = [
        len(np.intersect1d(one, other)) / TOP
        for (one, _), (other, _) in zip(best["retrieved"], best["all"], strict=True)
    ]
    return found | {"queries": queries, "recall": float(np.mean(hits))}
