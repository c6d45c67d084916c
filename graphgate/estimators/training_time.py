"""Time of a run, from epochs measured on this machine right before.

Up to some ten thousand nodes, the measured graph is as large as the real one. Beyond that, time is
proportional to the number of nodes once the rows that a node attends to are no longer in the
caches, so a smaller graph that exceeds the caches is enough.
"""

import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from graphgate.datasets.synthetic import community_graph
from graphgate.errors import TrainingWarning
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.training.adam import Adam
from graphgate.training.objective import training_objective
from graphgate.training.plan import GraphCounts

_FEWEST, _MOST = 20_000, 250_000  # nodes of the measured graph, whatever its width
_CACHES = 64 << 20  # bytes, more than the caches of a processor
_PATIENCE = 0.7  # seconds to measure for, at least


@dataclass(frozen=True)
class TrainingTime:
    """setup : seconds before the first epoch and after the last. epoch : seconds per epoch."""

    setup: float
    epoch: float

    def total(self, epochs: int) -> float:
        return self.setup + epochs * self.epoch


def measured_time(counts: GraphCounts, gate: GATE, graph: Graph | None = None) -> TrainingTime:
    """The time of `gate.fit` on a graph of this size; a small `graph` is measured itself."""
    like = measured_counts(counts, gate)
    if like == counts and graph is not None:
        return _measured(gate, graph)
    found, growth = _measured(gate, _graph_like(like)), counts.nodes / like.nodes
    return TrainingTime(found.setup * growth, found.epoch * growth)


def measured_counts(counts: GraphCounts, gate: GATE) -> GraphCounts:
    """The size of the graph to measure: no larger than necessary, with the same densities."""
    width = arguments.layer_sizes(gate.dims)[-1]
    nodes = min(_MOST, max(_FEWEST, _CACHES // (4 * width)))
    if counts.nodes <= nodes:
        return counts
    fraction = nodes / counts.nodes
    pairs = min(round(counts.pairs * fraction), nodes * (nodes - 1) // 4)
    return replace(counts, nodes=nodes, pairs=pairs, entries=round(counts.entries * fraction))


def _graph_like(counts: GraphCounts) -> Graph:
    return community_graph(
        counts.nodes,
        counts.pairs if counts.directed else counts.pairs // 2,
        counts.features,
        n_entries=counts.entries if counts.sparse else None,
        directed=counts.directed,
        weighted=counts.weighted,
    )


def _measured(gate: GATE, graph: Graph) -> TrainingTime:
    """Several epochs on a graph, and a whole fit of one epoch."""
    epoch = _epoch_seconds(gate, graph)
    once = GATE(**gate.get_params() | {"epochs": 1, "checkpoint": None, "progress": False})
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # one epoch is too few, on purpose
        once.fit(graph)
    return TrainingTime(max(0.0, time.perf_counter() - start - epoch), epoch)


def _epoch_seconds(gate: GATE, graph: Graph) -> float:
    """The median of several epochs, after one that warms up."""
    architecture, loss, _ = gate.checked_settings(graph.n_features)
    model = GATEModel(architecture, np.random.default_rng(0), dtype=arguments.dtype(gate.dtype))
    model.to(arguments.device(gate.device))
    objective = training_objective(model, graph, loss)
    optimizer = Adam(dict(model.named_parameters()), 1e-9)
    seconds: list[float] = []
    while len(seconds) < 2 or (sum(seconds[1:]) < _PATIENCE and len(seconds) < 30):
        start = time.perf_counter()
        objective()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))
