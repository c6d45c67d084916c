"""How a graph will be trained on, decided from counts alone.

The objective does what the plan says, and the memory estimate counts what the plan says: a run of
a graph that does not exist yet is planned in the same way as one that starts now.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Literal, Self

import scipy.sparse as sp
import torch

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import Architecture, parameter_shapes
from graphgate.nn.collapsed_step import applies_to

_REORDERED_ABOVE = 8192  # nodes; a smaller graph fits into the caches in any order

Form = Literal["step", "blocked", "collapsed", "plain"]


@dataclass(frozen=True)
class GraphCounts:
    """The counts of a graph that memory and time depend on.

    nodes : N.
    pairs : directed edges without self-loops; an undirected edge counts twice.
    features : F.
    entries : stored numbers of X; N·F where X is dense.
    """

    nodes: int
    pairs: int
    features: int
    entries: int
    sparse: bool = False
    directed: bool = False
    weighted: bool = False

    @classmethod
    def of(cls, graph: Graph) -> Self:
        sparse = sp.issparse(graph.x)
        return cls(
            graph.n_nodes,
            int(graph.adjacency.nnz),
            graph.n_features,
            int(graph.x.nnz if sparse else graph.x.size),
            sparse,
            graph.directed,
            graph.weighted,
        )

    @classmethod
    def planned(
        cls,
        n_nodes: int,
        n_edges: int,
        n_features: int,
        density: float = 1.0,
        *,
        directed: bool = False,
    ) -> Self:
        """The counts of a graph that does not exist yet.

        density : fraction of X that is not zero; below 1, X is sparse.
        """
        if n_nodes < 1 or n_features < 1 or n_edges < 0:
            raise InputError(
                "n_nodes and n_features must be at least 1 and n_edges at least 0, got "
                f"{n_nodes:,} nodes, {n_features:,} features and {n_edges:,} edges"
            )
        if not 0 <= density <= 1:
            raise InputError(f"density must be between 0 and 1, got {density:g}")
        pairs = n_edges if directed else 2 * n_edges
        if pairs > n_nodes * (n_nodes - 1):
            raise InputError(f"{n_nodes:,} nodes cannot have {n_edges:,} distinct edges")
        entries = round(density * n_nodes * n_features)
        return cls(n_nodes, pairs, n_features, entries, density < 1, directed)

    def shrunk(self, nodes: int) -> Self:
        """The counts of a graph of at most this many nodes, with the same densities."""
        if self.nodes <= nodes:
            return self
        fraction = nodes / self.nodes
        pairs = min(round(self.pairs * fraction), nodes * (nodes - 1) // 4)
        return replace(self, nodes=nodes, pairs=pairs, entries=round(self.entries * fraction))

    @property
    def attended(self) -> int:
        """Entries of the attention pattern: all pairs, and every node with itself."""
        return self.pairs + self.nodes


@dataclass(frozen=True)
class ColumnBlocks:
    """How `BlockedStep` takes the D columns.

    width : columns in a block.
    spilled : whether what is put aside is in a file, or in memory.
    processes : how many split the columns.
    """

    width: int
    spilled: bool = False
    processes: int = 1


@dataclass(frozen=True)
class TrainingPlan:
    """How `training_objective` computes a loss and its gradients.

    feature_loss : whether the loss has a feature term.
    svd_start : whether weights start from singular vectors, and the best ones are kept.
    blocks : in which blocks of columns the step is taken; None takes all at once. See
        `memory.fitting_plan`.
    """

    counts: GraphCounts
    architecture: Architecture
    dtype: torch.dtype = torch.float32
    feature_loss: bool = True
    svd_start: bool = False
    blocks: ColumnBlocks | None = None

    @property
    def reorders_nodes(self) -> bool:
        """Whether nodes are renumbered so that neighbors are close in memory."""
        return self.counts.nodes > _REORDERED_ABOVE

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
        return "step" if self.blocks is None else "blocked"

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
