"""The size of a graph, on which memory and time depend."""

from dataclasses import dataclass, replace
from typing import Self

import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.graph import Graph

_INDEX = 4


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


def graph_bytes(counts: GraphCounts) -> int:
    """A `Graph` in memory: features, adjacency, ids."""
    x = counts.entries * 4 + (counts.entries + counts.nodes) * _INDEX * counts.sparse
    # Its weights are built from Python floats.
    adjacency = counts.pairs * ((8 if counts.weighted else 4) + _INDEX) + _INDEX * counts.nodes
    return x + adjacency + 8 * counts.nodes
