"""Memory that a planned run needs.

The peak of a run is the largest of six moments: when the weights are drawn, when they are set to
singular vectors, when the nodes are reordered, when the attention pattern is built, during a step,
and when the trained network embeds the graph. By parts, all but the last are those of a part. Each
term says what it counts.
While training, indices have 32 bits.
"""

from dataclasses import replace

from graphgate.compute.columns import Blocks
from graphgate.compute.counts import graph_bytes
from graphgate.compute.decomposition import iterated_columns
from graphgate.nn.collapsed import block_width
from graphgate.nn.collapsed_step import chunk_rows, matrices_per_block
from graphgate.nn.features import row_blocks
from graphgate.nn.svd_start import BLOCK, candidates
from graphgate.training.plan import TrainingPlan

_INDEX = 4
_WIDEST = 64  # columns in a block; products with more are no faster
_NARROWEST = 16  # columns in a block; the fixed costs of a product weigh more in fewer
_NARROWEST_IN_MEMORY = 32  # in fewer, rather spill
_WORKSPACE = 24 * 2**20  # what libraries of linear algebra allocate when they are first used


def training_bytes(plan: TrainingPlan) -> int:
    """What training takes at its peak, in addition to the graph."""
    if plan.by_parts:
        return _training_bytes_by_parts(plan)
    counts, width = plan.counts, plan.dtype.itemsize
    # X in another order or precision than the graph has it.
    copied = counts.entries * (width + _INDEX * counts.sparse) * (plan.reorders_nodes or width != 4)
    kept = plan.n_parameters * width * (2 if plan.svd_start else 1) + copied  # with the best
    # Both directions of the pattern, 16 float32 columns, and a tree of float64.
    reordering = (44 * counts.pairs + 450 * counts.nodes) * plan.reorders_nodes
    # Indices, transposed indices, centers and order; offsets of rows and columns, sizes.
    pattern = counts.attended * (4 * _INDEX + width * counts.weighted) + 20 * counts.nodes
    return _WORKSPACE + max(
        plan.n_parameters * (8 + width),  # weights are drawn in double precision
        plan.n_parameters * width + _svd_start(plan) * plan.svd_start,
        kept + reordering,
        kept + 56 * counts.attended + 40 * counts.nodes,  # the pattern, its transpose, sorting
        kept + _features(plan) + pattern + width * _step_numbers(plan),
        embedding_bytes(plan),
    )


def fitting_plan(plan: TrainingPlan, room: int | None, processes: int = 1) -> TrainingPlan:
    """The plan, in blocks of columns if it does not fit into `room` bytes otherwise.

    Several processes split the columns in any case, and each takes its own at once if possible. Of
    blocks that fit, or take the least if none do, the widest are chosen, preferably without a file.
    `room` None is unlimited.
    """
    plan = replace(plan, blocks=None)
    if plan.form != "step" or plan.by_parts:
        return plan
    plan = replace(plan, processes=processes)
    own = -(-plan.architecture.dims[-1] // processes)
    widths = [min(own, _WIDEST)]
    while widths[-1] > _NARROWEST:
        widths.append(-(-widths[-1] // 2))
    choices: list[Blocks | None] = [None if processes == 1 else Blocks(own)]
    choices += [Blocks(width) for width in widths if width >= _NARROWEST_IN_MEMORY]
    choices += [Blocks(width, spilled=True) for width in widths]
    # The start is over before the first step, and no block makes it smaller.
    needed = [training_bytes(replace(plan, blocks=each, svd_start=False)) for each in choices]
    limit = needed[0] if room is None else max(room, min(needed))
    fitting = next(at for at, amount in enumerate(needed) if amount <= limit)
    return replace(plan, blocks=choices[fitting])


def fitting_dims(plan: TrainingPlan, room: int | None) -> tuple[int, ...]:
    """The dims of a plan, halved until training fits into `room` bytes; none if none do."""
    while room is not None and training_bytes(plan) > room:
        architecture = plan.architecture
        if max(architecture.dims) == 1:
            return ()
        architecture = replace(architecture, dims=tuple(max(1, d // 2) for d in architecture.dims))
        plan = fitting_plan(replace(plan, architecture=architecture), room, plan.processes)
    return plan.architecture.dims


def _training_bytes_by_parts(plan: TrainingPlan) -> int:
    """Parts, and what all of their gradients take; singular vectors of a large part; embedding."""
    counts, part, width = plan.counts, plan.of_part, plan.dtype.itemsize
    started_from = replace(part, counts=counts.shrunk(plan.start_nodes))
    start = graph_bytes(started_from.counts) + _svd_start(started_from)
    gradients = 2 * plan.n_parameters * width  # of this step and of the one before
    walked = 12 * counts.pairs * counts.directed  # edges in both directions
    return max(
        _WORKSPACE + plan.n_parameters * width + start * plan.svd_start,
        training_bytes(part) + graph_bytes(part.counts) + gradients + walked,
        _WORKSPACE + embedding_bytes(plan),
    )


def embedding_bytes(plan: TrainingPlan) -> int:
    """H of all nodes with its attention, and what its columns or layers are computed in."""
    counts, width, dims = plan.counts, plan.dtype.itemsize, plan.architecture.dims
    # X in another precision, and the squares of its entries.
    x = counts.entries * (8 + width * (width != 4)) + 16 * counts.nodes
    pattern = counts.attended * (2 * _INDEX + width * counts.weighted) + 20 * counts.nodes
    kept, computing = (n * counts.attended * width for n in (len(dims), 4))  # of attention
    if plan.architecture.activation == "identity":
        block = block_width(counts.nodes, dims[-1], width)
        columns = min(2 * dims[-1], dims[-1] + 3 * block)
        most = kept + max(computing, counts.nodes * columns * width)
    else:  # of a layer: its input, the product with W, σ of it, the output
        most = kept + computing + counts.nodes * 4 * max(dims) * width
    weights = 2 * plan.n_parameters * width  # as trained, and folded
    building = 40 * counts.attended + 40 * counts.nodes
    return weights + x + max(building, pattern + most)


def _svd_start(plan: TrainingPlan) -> int:
    """X scaled; averages over neighbors, or the pattern with its dot products; blocks of columns;
    and F×k matrices.

    Some of the latter are in double precision, in which QR decompositions are computed.
    """
    counts, width = plan.counts, plan.dtype.itemsize
    x = counts.entries * (width + _INDEX * counts.sparse)
    averages = counts.attended * (2 * (8 + _INDEX) + 2 * width) + 28 * counts.nodes
    f = counts.features
    k = iterated_columns(candidates(plan.architecture.dims), (counts.nodes, f))
    columns = max(3 * min(BLOCK, k), 4 * min(BLOCK, *plan.architecture.dims))
    blocks = counts.nodes * columns * width
    return x + averages + blocks + f * k * (2 * width + 40) + 24 * k**2


def _features(plan: TrainingPlan) -> int:
    """X made dense, or the blocks of Xᵀ; and the squared norms of its rows."""
    counts, width = plan.counts, plan.dtype.itemsize
    if plan.dense_features:
        return 8 * counts.nodes + counts.nodes * counts.features * width * counts.sparse
    offsets = len(row_blocks(counts.nodes)) * counts.features * _INDEX
    return 8 * counts.nodes + counts.entries * (width + _INDEX) + offsets


def _step_numbers(plan: TrainingPlan) -> int:
    """Numbers of one step: matrices, gradients, Adam's moments and their root, and attention."""
    counts, sizes = plan.counts, plan.architecture.sizes
    n, f, d, layers = counts.nodes, sizes[0], sizes[-1], len(sizes) - 1
    if plan.form == "step":
        matrices = _step_matrices(plan)
    elif plan.form == "collapsed":
        matrices = (2 * layers + 8) * n * d + 4 * f * d + 2 * d * d
    else:
        # Each layer keeps the input and the output of its attention, and the input of σ.
        each = 2 if plan.architecture.activation == "identity" else 3
        decoder = each * sum(sizes[:-1]) + f * (2 + (not plan.dense_features))
        matrices = n * (each * sum(sizes[1:]) + decoder * plan.feature_loss)
    attention = (3 * layers + 3) * counts.attended + 2 * layers * (layers + 1) * n
    return matrices + 4 * plan.n_parameters + attention


def _step_matrices(plan: TrainingPlan) -> int:
    """Matrices of a block, Q, those of F×D and D×D, and rows with all columns."""
    n, f, d = plan.counts.nodes, plan.counts.features, plan.architecture.dims[-1]
    own, blocks = -(-d // plan.processes), plan.blocks or Blocks(d)
    width, layers = min(blocks.width, own), len(plan.architecture.dims)
    matrices = matrices_per_block(layers, feature_loss=plan.feature_loss)
    numbers = matrices * n * width + 2 * f * d + 2 * d * d
    if plan.feature_loss:
        numbers += n * (width if blocks.spilled else own)
        # Q by rows, times M, and times w; and as sent and received.
        numbers += (3 if plan.processes == 1 else 5) * min(n, chunk_rows(d)) * d
    return numbers + plan.counts.attended  # of h_i·h_j, until the end of the step
