"""What a fit will take, before it starts, and whether it fits into this machine's memory.

Both follow from the plan of the fit: memory from the sizes of its arrays, time from its operations
and how fast this machine does them. `fit` follows the same plan.
"""

from dataclasses import dataclass
from typing import Any

from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.compute.plan_log import Plan, planned_seconds
from graphgate.compute.processes import current_processes
from graphgate.errors import InputError
from graphgate.estimators.loading import named_estimator
from graphgate.graph.graph import Graph


@dataclass(frozen=True)
class Estimate:
    """Memory and time of a fit.

    plan : how the graph is fitted.
    graph_bytes : the graph in memory.
    training_bytes : what the fit takes at its peak, in addition to the graph.
    disk_bytes : what it writes to temporary files.
    available_bytes : memory available now; None where unknown.
    fits : whether the fit fits into the available memory.
    fitting_dims : `dims` as requested or, if they do not fit, halved until they do; empty if even
        dims of 1 do not, and None for a method without layers.
    epochs : number of epochs, the largest where training stops by the loss; None without training.
    seconds : duration, if it takes all epochs, shared by the processes that run now.

    >>> found = estimate(n_nodes=100, n_edges=300, n_features=20, method="gate", dims=(8, 2))
    >>> isinstance(found, Estimate), found.fits, found.fitting_dims
    (True, True, (8, 2))
    """

    plan: Plan
    graph_bytes: int
    training_bytes: int
    disk_bytes: int
    available_bytes: int | None
    fits: bool
    fitting_dims: tuple[int, ...] | None
    epochs: int | None
    seconds: float


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
) -> Estimate:
    """Estimate memory and time of a fit on a graph, or on one of a given size.

    Memory is computed from the sizes of all arrays, time from the operations of the fit and their
    measured speed on this machine.

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
    estimator, processes = named_estimator(method, settings), current_processes()
    loading = 0
    if graph is not None:
        if (n_nodes, n_edges, n_features) != (None, None, None):
            raise InputError("give either a graph or its size, not both")
        prepared = estimator.prepare(graph)
        counts = GraphCounts.of(prepared.graph)
        plan, available = prepared.plan, prepared.available
    elif n_nodes is None or n_edges is None or n_features is None:
        raise InputError("give a graph, or n_nodes, n_edges and n_features")
    else:
        counts = GraphCounts.planned(n_nodes, n_edges, n_features, density, directed=directed)
        loading = graph_bytes(counts)
        plan, available = estimator.planned(counts, processes, loading)
    return Estimate(
        plan,
        graph_bytes(counts),
        plan.bytes,
        plan.disk_bytes,
        None if available is None else available + loading,
        estimator.keeps_within(plan, available),
        plan.fitting_dims(available),
        plan.epochs,
        planned_seconds(plan, processes.size),
    )
