"""What a run will take, before it starts, and whether it fits into this machine's memory.

Memory is computed from the plan of the run, time from epochs measured on this machine right
before. Up to some ten thousand nodes, the measured graph is as large as the real one. Beyond that,
time is proportional to the number of nodes once the rows that a node attends to are no longer in
the caches, so a smaller graph that exceeds the caches is enough.
"""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.compute.machine import available_bytes, room_within, shortage
from graphgate.compute.plan_log import silent_plans
from graphgate.errors import InputError, MemoryLimitError, TrainingWarning, check_choice
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.embedder import Embedder
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_estimate import (
    LinearEstimate,
    estimate_linear,
    graph_like,
)
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.training.adam import Adam
from graphgate.training.memory import fitting_plan, training_bytes
from graphgate.training.part_objective import planned_objective
from graphgate.training.plan import TrainingPlan

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


@dataclass(frozen=True)
class Estimate:
    """Memory and time of a run.

    plan : how it is trained.
    graph_bytes : the graph in memory.
    training_bytes : what training takes at its peak, in addition to the graph.
    available_bytes : memory available now; None where unknown.
    fits : whether the run fits into the available memory.
    fitting_dims : `dims` as requested or, if they do not fit, halved until they do; None if even
        dims of 1 do not.
    epochs : number of epochs, the largest where training stops by the loss.
    time : `TrainingTime`; None if not even the graph to measure on fits into memory.

    >>> found = estimate(n_nodes=100, n_edges=300, n_features=20, method="gate", dims=(8, 2))
    >>> isinstance(found, Estimate), found.fits, found.fitting_dims
    (True, True, (8, 2))
    """

    plan: TrainingPlan
    graph_bytes: int
    training_bytes: int
    available_bytes: int | None
    fits: bool
    fitting_dims: tuple[int, ...] | None
    epochs: int
    time: TrainingTime | None

    @property
    def seconds(self) -> float | None:
        """Time of the whole run, if it takes all epochs."""
        return None if self.time is None else self.time.total(self.epochs)


def estimate(
    graph: Graph | None = None,
    *,
    method: str = "linear",
    n_nodes: int | None = None,
    n_edges: int | None = None,
    n_features: int | None = None,
    density: float = 1.0,
    directed: bool = False,
    **settings: Any,
) -> LinearEstimate | Estimate:
    """Estimate memory and time of a fit on a graph, or on one of a given size.

    Memory is computed from the sizes of all arrays. The time of `LinearGATE` is computed from its
    operations and their measured speed on this machine. For `GATE`, this runs a few epochs on the
    graph, or on a synthetic graph like it where it is large or only its size is given.

    Parameters
    ----------
    graph : the graph; without one, `n_nodes`, `n_edges` and `n_features` are required.
    method : "linear" for `LinearGATE`, "gate" for `GATE`.
    density : fraction of the features that is not zero; below 1, they are sparse.
    directed : whether the graph of that size is directed.
    settings : parameters of the estimator.

    Examples
    --------
    >>> estimate(n_nodes=1000, n_edges=3000, n_features=50).fits
    True
    >>> size = {"n_nodes": 1000, "n_edges": 3000, "n_features": 50}
    >>> estimate(method="gate", dims=(32, 16), epochs=100, **size).fitting_dims
    (32, 16)
    """
    check_choice("method", method, ("linear", "gate"))
    made = {"random_state": 0} | settings
    gate: LinearGATE | GATE = LinearGATE(**made) if method == "linear" else GATE(**made)
    if graph is not None:
        if (n_nodes, n_edges, n_features) != (None, None, None):
            raise InputError("give either a graph or its size, not both")
        graph = gate.prepare(graph)
        counts = GraphCounts.of(graph)
    elif n_nodes is None or n_edges is None or n_features is None:
        raise InputError("give a graph, or n_nodes, n_edges and n_features")
    else:
        counts = GraphCounts.planned(n_nodes, n_edges, n_features, density, directed=directed)
    if isinstance(gate, LinearGATE):
        return estimate_linear(counts, gate, graph, _available(gate))
    available = _available(gate)
    loading = 0 if graph is not None else graph_bytes(counts)
    room = None if available is None else available - loading
    plan = plan_for(counts, gate, room)
    training = training_bytes(plan)
    like = measured_counts(counts, gate)
    least = training_bytes(plan_for(like, gate, room)) + graph_bytes(like)
    measurable = room is None or least <= room
    return Estimate(
        plan,
        graph_bytes(counts),
        training,
        available,
        room is None or training <= room,
        fitting_dims(plan, room),
        gate.checked_settings(counts.features)[2].epochs,
        measured_time(counts, gate, graph) if measurable else None,
    )


def check_fits(graph: Graph, gate: Embedder) -> None:
    """Raise `MemoryLimitError` if a fit on a graph needs more memory than is available.

    graph : with features, as `gate.prepare` returns it.
    """
    counts, dims, hint = GraphCounts.of(graph), None, ""
    if isinstance(gate, LinearGATE):
        available = _available(gate)
        needed = gate.plan(counts, available).bytes
        if gate.memory_limit is not None:
            return
    else:
        assert isinstance(gate, GATE)
        available = _available(gate)
        plan = plan_for(counts, gate, available)
        needed = training_bytes(plan)
        dims = fitting_dims(plan, available) or ()
        hint = f"; dims={dims} would fit" if dims else "; no dims would fit"
    if available is None or needed <= available:
        return
    limited = gate.memory_limit is not None
    raise MemoryLimitError(
        f"the fit {shortage(needed, available, limited=limited)}{hint}",
        needed=needed,
        available=available,
        fitting_dims=dims,
    )


def _available(gate: Embedder) -> int | None:
    """What a fit may take now; the memory of devices other than the CPU is unknown."""
    room = room_within(arguments.memory_limit(gate.memory_limit))
    if room is not None or not str(getattr(gate, "device", "cpu")).startswith("cpu"):
        return room
    return available_bytes()


def plan_for(counts: GraphCounts, gate: GATE, room: int | None = None) -> TrainingPlan:
    """How `gate.fit` would train on a graph of this size, in `room` bytes; None is unlimited."""
    return fitting_plan(gate.training_plan(counts), room)


def fitting_dims(plan: TrainingPlan, room: int | None) -> tuple[int, ...] | None:
    """The dims of a plan, halved until training fits into `room` bytes; None if none do."""
    while room is not None and training_bytes(plan) > room:
        architecture = plan.architecture
        if max(architecture.dims) == 1:
            return None
        architecture = replace(architecture, dims=tuple(max(1, d // 2) for d in architecture.dims))
        plan = fitting_plan(replace(plan, architecture=architecture), room)
    return plan.architecture.dims


def measured_time(counts: GraphCounts, gate: GATE, graph: Graph | None = None) -> TrainingTime:
    """The time of `gate.fit` on a graph of this size; a small `graph` is measured itself."""
    like = measured_counts(counts, gate)
    if like == counts and graph is not None:
        return _measured(gate, graph)
    plan, growth = plan_for(counts, gate), counts.nodes / like.nodes
    size = min(plan.part_size, like.nodes // 2) if plan.part_size is not None else "full"
    smaller = clone(gate).set_params(batch_size=size)
    found = _measured(smaller, graph_like(like))
    # A step takes time in proportion to the nodes it is taken on, all of them or a part.
    measured = plan_for(like, smaller)
    steps = plan.steps_per_epoch / measured.steps_per_epoch
    larger = plan.of_part.counts.nodes / measured.of_part.counts.nodes
    return TrainingTime(found.setup * growth, found.epoch * steps * larger)


def measured_counts(counts: GraphCounts, gate: GATE) -> GraphCounts:
    """The size of the graph to measure: no larger than necessary, with the same densities."""
    width = arguments.layer_sizes(gate.dims)[-1]
    return counts.shrunk(min(_MOST, max(_FEWEST, _CACHES // (4 * width))))


def _measured(gate: GATE, graph: Graph) -> TrainingTime:
    """Several epochs on a graph, and a whole fit of one epoch."""
    epoch = _epoch_seconds(gate, graph)
    once = GATE(**gate.get_params() | {"epochs": 1, "checkpoint": None, "progress": False})
    start = time.perf_counter()
    with warnings.catch_warnings(), silent_plans():
        warnings.simplefilter("ignore", TrainingWarning)  # one epoch is too few, on purpose
        once.fit(graph)
    return TrainingTime(max(0.0, time.perf_counter() - start - epoch), epoch)


def _epoch_seconds(gate: GATE, graph: Graph) -> float:
    """The median of several epochs, after one that warms up."""
    architecture, loss, _ = gate.checked_settings(graph.n_features)
    model = GATEModel(architecture, np.random.default_rng(0), dtype=arguments.dtype(gate.dtype))
    model.to(arguments.device(gate.device))
    plan = plan_for(GraphCounts.of(graph), gate, _available(gate))
    objective = planned_objective(plan, model, graph, loss, seed=0)
    optimizer = Adam(dict(model.named_parameters()), 1e-9)
    seconds: list[float] = []
    while len(seconds) < 2 or (sum(seconds[1:]) < _PATIENCE and len(seconds) < 30):
        start = time.perf_counter()
        for step in range(plan.steps_per_epoch):
            objective(step)
            optimizer.step()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))
