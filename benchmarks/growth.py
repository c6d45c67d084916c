"""How the time and memory of training grow with the graph.

    python -m benchmarks growth --json results/benchmarks/growth.json

Synthetic block graphs (see `synthetic.py`): 10 undirected edges per node, 1,000 sparse features,
dimensions (512, 512), the authors' form with λ = 1. Each size is trained in a process of its own.
"""

from functools import partial
from typing import Any

import graphgate.estimators.gate  # noqa: F401  what a user imports counts as library
from benchmarks.inputs import DIMS, loss_of
from benchmarks.peers import make_peer
from benchmarks.processes import isolated
from benchmarks.runner import Measurements, spread, timed
from benchmarks.synthetic import block_graph
from graphgate.compute.measure import measured, resident


def measure(
    nodes: tuple[int, ...] = (30_000, 100_000, 300_000, 1_000_000), epochs: int = 3
) -> Measurements:
    for n in nodes:
        yield {"nodes": n}, partial(isolated, train, n, epochs)


def train(n: int, epochs: int) -> dict[str, Any]:
    """Seconds per epoch, and the peak, which includes making the graph."""
    libraries = resident()
    with measured() as cost:
        graph = block_graph(n)
        trained = make_peer("ours", graph, DIMS, loss_of("synthetic"))
        seconds = [timed(trained.epoch) for _ in range(epochs)]
    return {
        "edges": graph.n_edges,
        "features": graph.n_features,
        "epoch_seconds": spread(seconds),
        "peak_memory_mb": round(cost.peak_memory_mb - libraries, 1),
    }
