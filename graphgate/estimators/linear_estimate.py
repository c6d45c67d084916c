"""What fitting LinearGATE takes: memory from the sizes of its arrays, time from its products."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.linear.linear_plan import LinearPlan, LinearSize
from graphgate.nn.pattern import csr_tensor
from graphgate.training.memory import graph_bytes
from graphgate.training.plan import GraphCounts

_START = 0.2  # seconds of what does not depend on the size


@dataclass(frozen=True)
class LinearEstimate:
    """Memory and time of a fit.

    plan : how it is solved.
    graph_bytes : the graph in memory.
    training_bytes : what the fit takes at its peak, in addition to the graph.
    disk_bytes : what it writes to temporary files.
    available_bytes : memory available now; None where unknown.
    fits : whether the fit fits into the available memory.
    seconds : its duration.
    """

    plan: LinearPlan
    graph_bytes: int
    training_bytes: int
    disk_bytes: int
    available_bytes: int | None
    fits: bool
    seconds: float


def estimate_linear(
    counts: GraphCounts, gate: LinearGATE, graph: Graph | None, available: int | None
) -> LinearEstimate:
    """The estimate of a fit on a graph with features, or on one of this size."""
    size = gate.size(counts)
    loading = 0 if graph is not None else graph_bytes(counts)
    room = None if available is None else available - loading
    plan = size.plan(room)
    needed = size.bytes(plan)
    return LinearEstimate(
        plan,
        graph_bytes(counts),
        needed,
        plan.disk_bytes(counts, size.itemsize),
        available,
        room is None or needed <= room,
        linear_seconds(size, plan),
    )


def linear_seconds(size: LinearSize, plan: LinearPlan) -> float:
    """The duration of a fit on one process, from speeds measured on this machine just now."""
    sparse, dense = size.work(plan)
    gathered, multiplied = _speeds()
    return _START + sparse / gathered + dense / multiplied


@cache
def _speeds() -> tuple[float, float]:
    """Numbers per second that a sparse product reads, and products of numbers in a dense one."""
    n, each, columns = 1 << 18, 8, 32
    generator = torch.Generator().manual_seed(0)
    indices = torch.randint(n, (n * each,), generator=generator, dtype=torch.int32)
    indptr = torch.arange(0, n * each + 1, each, dtype=torch.int32)
    matrix = csr_tensor(indptr, indices, torch.ones(n * each), (n, n))
    wide, square = torch.ones(n, columns), torch.ones(1024, 1024)
    return (
        n * each * columns / _seconds(lambda: matrix @ wide),
        square.numel() * 1024 / _seconds(lambda: square @ square),
    )


def _seconds(function: Callable[[], Any]) -> float:
    """The shortest of three calls."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def graph_like(counts: GraphCounts) -> Graph:
    """A synthetic graph of this size."""
    return community_graph(
        counts.nodes,
        counts.pairs if counts.directed else counts.pairs // 2,
        counts.features,
        n_entries=counts.entries if counts.sparse else None,
        directed=counts.directed,
        weighted=counts.weighted,
    )
