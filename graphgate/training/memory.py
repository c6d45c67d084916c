"""Memory of a run, from the sizes of what it holds.

The peak is the largest of three moments: when the nodes are put in order, when the pattern of
attention is made, and when a step is computed. Each term names what it counts; while it trains,
indices have 32 bits.
"""

from __future__ import annotations

from graphgate.nn.features import BLOCK
from graphgate.training.objective import ORDERED_ABOVE
from graphgate.training.plan import Plan, Size

_INDEX = 4
_WORKSPACE = 24 * 2**20  # what the libraries of linear algebra take when they are first used


def graph_bytes(size: Size) -> int:
    """A `Graph` in memory: features, adjacency, ids."""
    x = size.entries * 4 + (size.entries + size.nodes) * _INDEX * size.sparse
    # Its indices come from row numbers of 64 bits, and its weights from Python's floats.
    adjacency = size.pairs * ((8 if size.weighted else 4) + 8) + 8 * size.nodes
    return x + adjacency + 8 * size.nodes


def training_bytes(plan: Plan) -> int:
    """What `GATE.fit` takes at its peak, beside the graph."""
    size = plan.size
    kept = plan.n_parameters * plan.number_bytes + _copied_features(plan)
    ordering = _ordering(size) if size.nodes > ORDERED_ABOVE else 0
    return _WORKSPACE + max(
        plan.n_parameters * (8 + plan.number_bytes),  # weights are drawn in double precision
        kept + ordering,
        kept + 56 * size.attended + 40 * size.nodes,  # the pattern, its transpose, and sorting
        kept + _training_features(plan) + _pattern(plan) + _step(plan),
    )


def _copied_features(plan: Plan) -> int:
    """X in another order or another precision than the graph holds it."""
    size = plan.size
    if size.nodes <= ORDERED_ABOVE and plan.number_bytes == 4:
        return 0
    return size.entries * (plan.number_bytes + _INDEX * size.sparse)


def _ordering(size: Size) -> int:
    """Both directions of the pattern, 16 columns in single and the tree's in double precision."""
    return 44 * size.pairs + 450 * size.nodes


def _training_features(plan: Plan) -> int:
    """X made dense, or the blocks of Xᵀ; and the squares of its rows."""
    size, width = plan.size, plan.number_bytes
    squares = 8 * size.nodes
    if size.trains_dense:
        return squares + size.nodes * size.features * width * size.sparse
    blocks = max(1, size.nodes // BLOCK) if size.nodes > 8 * BLOCK else 1
    return squares + size.entries * (width + _INDEX) + blocks * size.features * _INDEX


def _pattern(plan: Plan) -> int:
    """Indices, transposed indices, centres and order; offsets of rows and columns."""
    width = plan.number_bytes * plan.size.weighted
    return plan.size.attended * (4 * _INDEX + width) + 28 * plan.size.nodes


def _step(plan: Plan) -> int:
    """Buffers, gradients and moments of one step, and attention with its gradients."""
    size, sizes, width = plan.size, plan.architecture.sizes, plan.number_bytes
    n, f, d, layers = size.nodes, sizes[0], sizes[-1], len(sizes) - 1
    parameters = plan.n_parameters * 3  # gradients and moments
    edges = (3 * layers + 3) * size.attended
    narrow = 2 * layers * (layers + 1) * n
    if plan.form == "step":
        wide = 2 * layers + 2 if plan.with_features else layers + 2
        wide += plan.with_features and layers == 1
        numbers = wide * n * d + 2 * f * d + 2 * d * d
    elif plan.form == "collapsed":
        numbers = (2 * layers + 8) * n * d + 4 * f * d + 2 * d * d
    else:
        # Each layer keeps what goes into attention and what comes out, and σ what it was given.
        each = 2 if plan.architecture.activation == "identity" else 3
        hidden, back = each * sum(sizes[1:]), each * sum(sizes[:-1])
        made_dense = f * (not size.trains_dense)
        numbers = n * (hidden + (back + 2 * f + made_dense) * plan.with_features)
    return width * (numbers + parameters + edges + narrow)
