"""What two nodes have in common: neighbors, words, categories; and why their vectors are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphgate.compute.neighbors import SimilarNodes
from graphgate.errors import InputError, listing
from graphgate.graph.graph import Graph
from graphgate.tasks.description import indicators

if TYPE_CHECKING:  # they take time to import
    from graphgate.estimators.embedder import Embedder
    from graphgate.linear.attribution import SimilarityParts


@dataclass(frozen=True)
class SharedTraits:
    """What a node shares with another node.

    node : the id of the other node.
    connected : whether there is an edge between them.
    neighbors : ids of the neighbors of both, those of lowest degree first.
    traits : (name, value) of words, categories and the like that both have, the rarest first. A
        feature that both have is (name, True).
    similarity : what the cosine of their vectors is made of; None where no model was given.
    """

    node: Any
    connected: bool
    neighbors: list[Any]
    traits: list[tuple[str, Any]]
    similarity: SimilarityParts | None = None

    def __str__(self) -> str:
        parts = ["an edge"] if self.connected else []
        if self.neighbors:
            many = "neighbors" if len(self.neighbors) > 1 else "neighbor"
            parts.append(f"{many} {listing([str(node) for node in self.neighbors], 3)}")
        by_name: dict[str, list[str]] = {}
        for name, value in self.traits:
            by_name.setdefault("" if value is True else name, []).append(
                name if value is True else str(value)
            )
        parts += [f"{name} {listing(values, 5)}".strip() for name, values in by_name.items()]
        return "; ".join(parts) or "nothing"


def compare_nodes(
    graph: Graph, node: Any, others: Sequence[Any], *, model: Embedder | None = None
) -> list[SharedTraits]:
    """What a node shares with each of several others, such as its most similar nodes.

    The direction of edges makes no difference. Numbers are not compared, only words, categories,
    booleans, and features that are sparse or only 0 and 1.

    model : a fitted `LinearGATE`, by which similarities are divided into what each view and each
        column contributes.

    Examples
    --------
    >>> towns = {"town": ["Ulm", "Ulm", "Bern", "Ulm"]}
    >>> graph = Graph.from_edges(None, [(0, 1), (1, 2), (2, 3), (0, 2)], attributes=towns)
    >>> print(*compare_nodes(graph, 0, [1, 3]), sep=" | ")
    an edge; neighbor 2; town Ulm | neighbor 2; town Ulm
    """
    row, *rows = graph.rows([node, *others]).tolist()
    similarities: Sequence[SimilarityParts | None] = [None] * len(rows)
    if model is not None:
        similarities = model.explain_similarity(node, others, graph)
    adjacency = graph.to_undirected().adjacency if graph.directed else graph.adjacency
    degrees, neighbors = np.diff(adjacency.indptr), _columns(adjacency, row)
    tables = [
        (names, has, np.bincount(has.indices, minlength=has.shape[1]))
        for names, has in indicators(graph)
    ]
    shared = []
    for other, other_row, similarity in zip(others, rows, similarities, strict=True):
        common = np.intersect1d(neighbors, _columns(adjacency, other_row))
        common = common[np.argsort(degrees[common], kind="stable")]
        traits = [
            (int(counts[column]), names[column])
            for names, has, counts in tables
            for column in np.intersect1d(_columns(has, row), _columns(has, other_row)).tolist()
        ]
        rarest = [trait for _, trait in sorted(traits, key=itemgetter(0))]
        ids = graph.ids[common].tolist()
        shared.append(SharedTraits(other, other_row in neighbors, ids, rarest, similarity))
    return shared


def compare_similar(
    graph: Graph, similar: SimilarNodes, *, model: Embedder | None = None
) -> Iterator[SharedTraits]:
    """What each query node shares with each of the nodes similar to it, row by row.

    An integer is the same id as text with the same digits.
    """
    ids = {str(node): node for node in graph.ids.tolist()}
    for node, others in zip(similar.ids.tolist(), similar.neighbors.tolist(), strict=True):
        if missing := [name for name in (node, *others) if str(name) not in ids]:
            raise InputError(
                f"the graph has no node {missing[0]!r}; pass the graph of this embedding"
            )
        same = [ids[str(other)] for other in others]
        yield from compare_nodes(graph, ids[str(node)], same, model=model)


def _columns(matrix: sp.csr_array, row: int) -> np.ndarray:
    """The columns of the entries in a row."""
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
