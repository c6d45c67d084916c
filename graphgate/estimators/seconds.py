"""Time of a run, from epochs of a graph like it that were measured on this machine just before.

Up to some ten thousand nodes that graph is as large as the real one. Beyond, time grows in
proportion to the nodes, once what a node attends over is no longer in the caches; so a graph that
is smaller, but too large for them, tells it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.training.adam import Adam
from graphgate.training.objective import training_objective
from graphgate.training.plan import Size

FEW_NODES, MANY_NODES = 20_000, 250_000  # of the graph that is measured, whatever its width
_CACHES = 64 << 20  # bytes that the caches of a processor do not hold
_BLOCK = 1500  # nodes of a community: larger graphs have more of them, not larger ones
_WITHIN = 0.8
_PATIENCE = 0.7  # seconds that are measured at least, for each of the graphs


@dataclass(frozen=True)
class Seconds:
    """setup : before the first epoch, and the embedding after the last. epoch : of one epoch."""

    setup: float
    epoch: float

    def total(self, epochs: int) -> float:
        return self.setup + epochs * self.epoch


def estimated_seconds(size: Size, gate: GATE, graph: Graph | None = None) -> Seconds:
    """Of `gate.fit` on a graph of this size; `graph` itself is measured where it is small."""
    like = measured_size(size, gate)
    if like == size:
        return _measured(gate, graph if graph is not None else graph_like(size))
    found, growth = _measured(gate, graph_like(like)), size.nodes / like.nodes
    return Seconds(found.setup * growth, found.epoch * growth)


def measured_size(size: Size, gate: GATE) -> Size:
    """The graph that an estimate trains on: no larger than it must be."""
    width = arguments.layer_sizes(gate.dims)[-1]
    enough = min(MANY_NODES, max(FEW_NODES, _CACHES // (4 * width)))
    return size if size.nodes <= enough else _scaled(size, enough)


def _scaled(size: Size, nodes: int) -> Size:
    """The same degrees and densities with fewer nodes."""
    share = nodes / size.nodes
    pairs = min(round(size.pairs * share), nodes * (nodes - 1) // 4)
    return replace(size, nodes=nodes, pairs=pairs, entries=round(size.entries * share))


def graph_like(size: Size, seed: int = 0) -> Graph:
    """A graph of communities of that size, with random features of that density."""
    rng = np.random.default_rng(seed)
    n = size.nodes
    edges = size.pairs if size.directed else size.pairs // 2
    source = rng.integers(0, n, edges)
    start = source // _BLOCK * _BLOCK
    near = start + (rng.random(edges) * np.minimum(_BLOCK, n - start)).astype(np.int64)
    target = np.where(rng.random(edges) < _WITHIN, near, rng.integers(0, n, edges))
    if size.sparse:
        per_row = np.diff(np.linspace(0, size.entries, n + 1).astype(np.int64))
        indptr = np.concatenate([[0], np.cumsum(per_row)])
        columns = rng.integers(0, size.features, size.entries).astype(np.int32)
        ones = np.ones(size.entries, dtype=np.float32)
        x = sp.csr_array((ones, columns, indptr.astype(np.int32)), (n, size.features))
        x.sum_duplicates()
    else:
        x = rng.random((n, size.features), dtype=np.float32)
    order = rng.permutation(n)  # as in a real graph, communities are to be found first
    source, target = order[source], order[target]
    weights = rng.random(edges) + 0.5 if size.weighted and size.directed else None
    return Graph.from_edges(x, np.stack([source, target], axis=1), weights, directed=size.directed)


def _measured(gate: GATE, graph: Graph) -> Seconds:
    """Real epochs on a real graph, and what a run of a single one takes beside it."""
    epoch = _epoch_seconds(gate, graph)
    once = GATE(**gate.get_params() | {"epochs": 1, "checkpoint": None, "progress": False})
    start = time.perf_counter()
    once.fit(graph)
    return Seconds(max(0.0, time.perf_counter() - start - epoch), epoch)


def _epoch_seconds(gate: GATE, graph: Graph) -> float:
    """The median of some epochs, after one that lays out what they find."""
    architecture, loss, _ = gate._settings(graph)
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
