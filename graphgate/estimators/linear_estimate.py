"""What fitting LinearGATE takes: memory from the sizes of its arrays, time by fitting one."""

import time
from dataclasses import dataclass

from graphgate.datasets.synthetic import community_graph
from graphgate.estimators import hyperparameters as arguments
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.linear import coordinates, edge_decoder, structure
from graphgate.training.memory import graph_bytes
from graphgate.training.plan import GraphCounts

_MEASURED = 20_000  # nodes of the largest graph that is fitted to measure time
_WORKSPACE = 64 * 2**20  # what libraries of linear algebra allocate when they are first used


@dataclass(frozen=True)
class LinearEstimate:
    """Memory and time of a fit.

    graph_bytes : the graph in memory.
    training_bytes : what the fit takes at its peak, in addition to the graph.
    available_bytes : memory available now; None where unknown.
    fits : whether the fit fits into the available memory.
    seconds : its duration; None if not even the graph to measure on fits into memory.
    """

    graph_bytes: int
    training_bytes: int
    available_bytes: int | None
    fits: bool
    seconds: float | None


def linear_bytes(counts: GraphCounts, gate: LinearGATE) -> int:
    """What fitting takes at its peak, in addition to the graph."""
    n, width = counts.nodes, arguments.dtype(gate.dtype).itemsize
    r = min(counts.features, coordinates.RANK)
    rank = min(structure.RANK, n) * bool(gate.structure and counts.pairs)
    # Weighted features in double precision, and as a matrix with its transpose.
    x = counts.entries * (8 + 2 * width + 12 * counts.sparse)
    # The normalized adjacency, in double precision while it is made.
    edges = 36 * (counts.pairs + n)
    states = 4 * n * r * width
    # All blocks, and one of them at every stage of its computation; or the arrays of the decoder.
    blocks = n * (4 * r + rank + 5 * r) * width
    smaller = min(r, edge_decoder.COORDINATES)
    # Hiding edges sorts them as numbers of 64 bits and copies the graph (measured).
    decoding = n * (r + 10 * smaller + 3 * rank) * width + 320 * counts.pairs
    return _WORKSPACE + max(x + 3 * n * r * width, edges + states + max(blocks, decoding))


def linear_seconds(counts: GraphCounts, gate: LinearGATE, graph: Graph | None) -> float:
    """The duration of `gate.fit`, measured on the graph if it is small, else on one like it."""
    like = counts.shrunk(_MEASURED)
    measured = graph if graph is not None and like == counts else graph_like(like)
    start = time.perf_counter()
    LinearGATE(**gate.get_params()).fit(measured)
    return (time.perf_counter() - start) * counts.nodes / like.nodes


def estimate_linear(
    counts: GraphCounts, gate: LinearGATE, graph: Graph | None, available: int | None
) -> LinearEstimate:
    """The estimate of a fit on a graph with features, or on one of this size."""
    needed = linear_bytes(counts, gate)
    loading = 0 if graph is not None else graph_bytes(counts)
    fits = available is None or needed + loading <= available
    seconds = linear_seconds(counts, gate, graph) if fits else None
    return LinearEstimate(graph_bytes(counts), needed, available, fits, seconds)


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
