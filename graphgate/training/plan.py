"""The size of a run: counts of the graph and the network, all that memory and time depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn import collapsed_step as step
from graphgate.nn.autoencoder import Architecture, parameter_shapes
from graphgate.nn.features import faster_dense


@dataclass(frozen=True)
class Size:
    """nodes : N. pairs : directed edges without self-loops. features : F.
    entries : numbers in X that are stored; N·F where X is dense."""

    nodes: int
    pairs: int
    features: int
    entries: int
    sparse: bool = False
    directed: bool = False
    weighted: bool = False

    @classmethod
    def of(cls, graph: Graph) -> Size:
        dense = isinstance(graph.x, np.ndarray)
        entries = graph.x.size if isinstance(graph.x, np.ndarray) else int(graph.x.nnz)
        return cls(
            graph.n_nodes,
            int(graph.adjacency.nnz),
            graph.n_features,
            entries,
            not dense,
            graph.directed,
            graph.weighted,
        )

    @classmethod
    def from_counts(
        cls, nodes: int, edges: int, features: int, density: float = 1.0, *, directed: bool = False
    ) -> Size:
        """Of a graph that is only planned; `density` is the share of X that is not zero."""
        if nodes < 1 or features < 1 or edges < 0:
            raise InputError(
                "a graph has at least one node and one feature, and no fewer edges than 0"
            )
        if not 0 <= density <= 1:
            raise InputError(f"the density of features is between 0 and 1, got {density:g}")
        pairs = edges if directed else 2 * edges
        if pairs > nodes * (nodes - 1):
            raise InputError(f"{nodes:,} nodes cannot have {edges:,} different edges")
        entries = round(density * nodes * features)
        return cls(nodes, pairs, features, entries, density < 1, directed)

    @property
    def attended(self) -> int:
        """Pairs of a node and one that it attends over, itself included."""
        return self.pairs + self.nodes

    @property
    def trains_dense(self) -> bool:
        """Whether X is dense while it trains."""
        return not self.sparse or faster_dense(self.nodes, self.features, self.entries)


@dataclass(frozen=True)
class Plan:
    """A size, and the settings of `GATE` that decide what a step computes."""

    size: Size
    architecture: Architecture
    number_bytes: int = 4
    with_features: bool = True

    @classmethod
    def of(cls, size: Size, gate: GATE) -> Plan:
        width = 8 if str(gate.dtype).endswith("64") else 4
        return cls(size, gate.architecture(size.features), width, gate.feature_weight != 0)

    @property
    def form(self) -> str:
        """Which of the exact forms `objective` will take: "step", "collapsed" or "plain"."""
        size, wanted = self.size, self.architecture
        if wanted.activation != "identity":
            return "plain"
        entries = size.nodes * size.features if size.trains_dense else size.entries
        counts: Any = (wanted, size.nodes, entries, size.attended)
        if collapsed.work(*counts, collapsed=True) >= collapsed.work(*counts, collapsed=False):
            return "plain"
        return "step" if step.applies_to(wanted) else "collapsed"

    @property
    def n_parameters(self) -> int:
        total = 0
        for shape in parameter_shapes(self.architecture).values():
            total += shape[0] * (shape[1] if len(shape) > 1 else 1)
        return total
