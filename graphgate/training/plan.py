"""How a graph will be trained on, decided from counts alone.

The objective does what the plan says, and the memory estimate counts what the plan says: a run of
a graph that does not exist yet is planned in the same way as one that starts now.
"""

from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from math import prod
from typing import Literal

import torch

from graphgate.compute.columns import Blocks
from graphgate.compute.counts import GraphCounts
from graphgate.compute.decomposition import PASSES, iterated_columns
from graphgate.compute.speed import Work
from graphgate.nn.autoencoder import Architecture, parameter_shapes
from graphgate.nn.collapsed_step import applies_to

_REORDERED_ABOVE = 8192  # nodes; a smaller graph fits into the caches in any order

_PARTS_ABOVE = 50_000  # nodes; a smaller graph is trained on as a whole
# In smaller parts, nodes lack so many neighbors that the loss of a part misleads.
_SMALLEST_PART = 16_384  # nodes
_SMALLEST_SHARE = 16  # a part has at least one node in so many
_START = 50_000  # nodes that singular vectors are computed from, by parts
_MOST_STEPS = 5  # steps in an epoch by parts

Form = Literal["step", "collapsed", "plain"]


@dataclass(frozen=True)
class TrainingPlan:
    """How `training_objective` computes a loss and its gradients.

    feature_loss : whether the loss has a feature term.
    svd_start : whether weights start from singular vectors, and the best ones are kept.
    blocks : in which blocks of columns the step is taken; None takes all at once. See
        `memory.fitting_plan`.
    processes : how many split the columns.
    part_size : nodes in a part; None trains on the whole graph.
    parts_per_step : parts whose gradients are averaged in a step.
    """

    counts: GraphCounts
    architecture: Architecture
    dtype: torch.dtype = torch.float32
    feature_loss: bool = True
    svd_start: bool = False
    blocks: Blocks | None = None
    processes: int = 1
    part_size: int | None = None
    parts_per_step: int = 1

    @property
    def by_parts(self) -> bool:
        return self.part_size is not None

    @property
    def of_part(self) -> "TrainingPlan":
        """How one of the parts is trained on."""
        size = self.counts.nodes if self.part_size is None else self.part_size
        return replace(self, counts=self.counts.shrunk(size), part_size=None)

    @property
    def steps_per_epoch(self) -> int:
        """As many as visit about N nodes, but at most 5: what a step achieves does not depend on N.

        One step on the whole graph.
        """
        if self.part_size is None:
            return 1
        visited = self.part_size * self.parts_per_step
        return min(_MOST_STEPS, -(-self.counts.nodes // visited))

    @property
    def start_nodes(self) -> int:
        """The number of nodes that the initial weights are computed from."""
        return min(self.counts.nodes, _START) if self.by_parts else self.counts.nodes

    @property
    def reorders_nodes(self) -> bool:
        """Whether nodes are renumbered so that neighbors are close in memory."""
        return self.counts.nodes > _REORDERED_ABOVE and not self.by_parts

    @property
    def dense_features(self) -> bool:
        """Whether X is dense while training, which is faster above a density of a fifth."""
        numbers = self.counts.nodes * self.counts.features
        return not self.counts.sparse or (self.counts.entries > 0.2 * numbers and numbers <= 2**28)

    @property
    def form(self) -> Form:
        """The cheaper of the exact forms of the loss; a fixed rule, so that runs are repeatable."""
        if self.architecture.activation != "identity" or self._collapsed() >= self._plain():
            return "plain"
        if not applies_to(self.architecture):
            return "collapsed"
        return "step"

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        shared = "" if processes == 1 else f", shared by {processes} processes"
        if self.part_size is not None:
            each = "a part" if self.parts_per_step == 1 else f"{self.parts_per_step} parts"
            return f"GATE by parts of {self.part_size:,} nodes, {each} per step{shared}"
        if self.blocks is None:
            return f"GATE on the whole graph at once{shared}"
        where = " and a temporary file" if self.blocks.spilled else ""
        return f"GATE on the whole graph, in blocks of {self.blocks.width} columns{where}{shared}"

    def work(self) -> Work:
        """Of one step."""
        if self.part_size is not None:
            return self.of_part.work() * self.parts_per_step
        sizes, counts = self.architecture.sizes, self.counts
        forward = self._plain() if self.form == "plain" else self._collapsed()
        columns = sum(sizes) + sum(sizes[1:-1]) if self.form == "plain" else sizes[-1]
        sparse = counts.attended * columns * (1 if self.form == "plain" else 2 * len(sizes) - 1)
        if not self.dense_features:
            sparse += counts.entries * sizes[-1]
        # The backward pass takes about twice as many.
        return Work(sparse=3 * sparse, dense=3 * max(0, forward - sparse))

    def start(self) -> Work:
        """Of the singular vectors that weights start from, and of the embedding at the end."""
        forward = Work(*(part / 3 for part in astuple(replace(self, part_size=None).work())))
        if not self.svd_start:
            return forward
        counts = self.counts.shrunk(self.start_nodes)
        columns = iterated_columns(max(self.architecture.dims), (counts.nodes, counts.features))
        read = counts.entries * columns * 2 * (PASSES + 1)
        return forward + (Work(sparse=read) if counts.sparse else Work(dense=read))

    @property
    def n_parameters(self) -> int:
        return sum(prod(shape) for shape in parameter_shapes(self.architecture).values())

    # Multiply-adds of one forward pass; the backward pass takes about twice as many in either form.

    def _plain(self) -> int:
        sizes, counts = self.architecture.sizes, self.counts
        n, pairs = counts.nodes, counts.attended
        products = [a * b for a, b in pairwise(sizes)]
        encoder = self._visited * sizes[1] + n * sum(products[1:]) + pairs * sum(sizes[1:])
        decoder = n * sum(products) + pairs * sum(sizes[:-1])
        return encoder + decoder + n * sizes[0] + pairs * sizes[-1]

    def _collapsed(self) -> int:
        sizes, counts = self.architecture.sizes, self.counts
        n, f, d = counts.nodes, sizes[0], sizes[-1]
        chains = 1 if self.architecture.tied_weights else 2
        chain = sum(a * b * d for a, b in list(pairwise(sizes))[:-1])
        products = chains * (chain + self._visited * d) + f * d * d + n * d * d
        return products + counts.attended * d * (2 * len(sizes) - 1) + 2 * n * d

    @property
    def _visited(self) -> int:
        """Entries of X that a product visits."""
        counts = self.counts
        return counts.nodes * counts.features if self.dense_features else counts.entries


def part_size(counts: GraphCounts, batch_size: int | str, *, published: bool) -> int | None:
    """The number of nodes in a part that a `batch_size` means; None for the whole graph.

    "auto" is the whole graph up to 50,000 nodes and in published formulations, and beyond that
    parts of 16,384 nodes or a sixteenth of all: progress follows the number of steps, and a step
    on a part costs a fraction of one on the whole.
    """
    if batch_size == "full" or (batch_size == "auto" and published):
        return None
    if batch_size == "auto":
        if counts.nodes <= _PARTS_ABOVE:
            return None
        return max(_SMALLEST_PART, counts.nodes // _SMALLEST_SHARE)
    assert isinstance(batch_size, int)
    return batch_size if batch_size < counts.nodes else None
