"""What fitting LinearGATE takes: memory from the sizes of its arrays, time from its products."""

from dataclasses import dataclass

from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.linear.linear_plan import LinearPlan

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
    seconds : its duration on one process, computed from speeds measured on this machine.
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
    loading = 0 if graph is not None else graph_bytes(counts)
    room = None if available is None else available - loading
    plan = gate.plan(counts, room)
    return LinearEstimate(
        plan,
        graph_bytes(counts),
        plan.bytes,
        plan.disk_bytes,
        available,
        room is None or plan.bytes <= room,
        _START + plan.work().seconds(),
    )


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
