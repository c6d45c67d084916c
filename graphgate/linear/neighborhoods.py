"""What the neighborhoods of two nodes have in common; edges count both ways, without weights."""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

COMMON = (
    "common neighbors",
    "Adamic-Adar",
    "resource allocation",
    "paths of length three",
)
HUB = 1000  # neighbors above which paths of length three through a node are not counted
_SCALE = 100.0  # paths of length three weigh less than 1 / 100, where the logarithm is a line
_NODES = 1 << 10  # whose paths of length two are in memory together


class Neighborhoods:
    """The neighborhoods of the nodes of a graph.

    attended : (N, N), the edges, whichever way.
    """

    def __init__(self, attended: sp.csr_array) -> None:
        both = (attended + attended.T).tocsr()
        both.sort_indices()
        self.adjacency = sp.csr_array((np.ones(both.nnz), both.indices, both.indptr), both.shape)
        self.degrees, self.n = np.diff(both.indptr), int(both.shape[0])

    def terms(self, pairs: np.ndarray) -> np.ndarray:
        """(M, 4), `COMMON` of (M, 2) pairs: what the neighbors of one end are to the other end.

        log(1 + n) for n common neighbors c; Σ 1 / log d_c; Σ 1 / d_c; and log(1 + 100 p), where p
        is the sum over paths i, a, b, j of the entries of D^-½ A D^-½ along them.
        """
        terms = np.zeros((len(pairs), len(COMMON)))
        # Neighbors of the end that has fewer are looked up among those of the other.
        fewer = self.degrees[pairs[:, 0]] < self.degrees[pairs[:, 1]]
        left, right = np.where(fewer[:, None], pairs[:, ::-1], pairs).T
        order = np.argsort(left, kind="stable")
        lefts, first = np.unique(left[order], return_index=True)
        first = np.append(first, len(order))
        for start in range(0, len(lefts), _NODES):
            nodes = lefts[start : start + _NODES]
            some = order[first[start] : first[start + len(nodes)]]
            terms[some] = self._terms(nodes, np.searchsorted(nodes, left[some]), right[some])
        return terms

    def _terms(self, nodes: np.ndarray, place: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Of pairs of `nodes[place]` and `right`."""
        neighbors = self.adjacency[right]
        pair = np.repeat(np.arange(len(right)), np.diff(neighbors.indptr))
        cells = (place[pair], neighbors.indices)
        shared = _cells(self.adjacency[nodes], cells)
        columns = [shared * weight[neighbors.indices] for weight in self._weights]
        reached = (self._without_hubs[nodes] @ self._normalized).tocsr()
        inverse = self._inverse_roots
        steps = inverse[right][pair] * inverse[neighbors.indices] * self._passed[neighbors.indices]
        columns.append(_cells(reached, cells) * steps)
        return _scaled([np.bincount(pair, values, len(right)) for values in columns])

    def blocks(self, rows: np.ndarray, others: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """(R, C) each, `COMMON` of all pairs of two sets of nodes, by name."""
        left, right = self.adjacency[rows], self.adjacency[others].T.tocsr()
        products = ((left @ sp.diags_array(weight)) @ right for weight in self._weights)
        paths = (self._without_hubs[rows] @ self._normalized) @ self._from_no_hub[:, others]
        for at, matrix in enumerate((*products, paths)):
            yield COMMON[at], _SCALES[at](matrix.toarray())

    def row(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes within three steps of one, and (M, 4), `COMMON` of the pairs with it."""
        ends = slice(*self.adjacency.indptr[node : node + 2])
        neighbors = self.adjacency.indices[ends]
        products = []
        for weight in self._weights:
            step = sp.csr_array((weight[neighbors], neighbors, [0, len(neighbors)]), (1, self.n))
            products.append(step @ self.adjacency)
        products.append((self._without_hubs[[node]] @ self._normalized) @ self._from_no_hub)
        nodes = np.unique(np.concatenate([products[0].indices, products[-1].indices]))
        columns = []
        for product in products:
            values = np.zeros(len(nodes))
            values[np.searchsorted(nodes, product.indices)] = product.data
            columns.append(values)
        return nodes, _scaled(columns)

    @cached_property
    def _weights(self) -> list[np.ndarray]:
        """(N,) each, what a common neighbor counts."""
        degrees = np.maximum(self.degrees, 2)
        return [np.ones(len(degrees)), 1 / np.log(degrees), 1 / degrees]

    @cached_property
    def _inverse_roots(self) -> np.ndarray:
        return np.divide(
            1, np.sqrt(self.degrees), where=self.degrees > 0, out=np.zeros(len(self.degrees))
        )

    @cached_property
    def _passed(self) -> np.ndarray:
        return (self.degrees <= HUB).astype(np.float64)

    @cached_property
    def _normalized(self) -> sp.csr_array:
        scale = sp.diags_array(self._inverse_roots)
        return (scale @ self.adjacency @ scale).tocsr()

    @cached_property
    def _without_hubs(self) -> sp.csr_array:
        """Steps to a node that is not a hub."""
        return (self._normalized @ sp.diags_array(self._passed)).tocsr()

    @cached_property
    def _from_no_hub(self) -> sp.csr_array:
        """Steps from a node that is not a hub."""
        return self._without_hubs.T.tocsr()


def _cells(matrix: sp.csr_array, cells: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    matrix.sort_indices()
    values: np.ndarray = np.asarray(matrix[cells])
    return values


_SCALES: list[Callable[[np.ndarray], np.ndarray]] = [
    np.log1p,
    np.asarray,
    np.asarray,
    lambda paths: np.log1p(_SCALE * paths),
]


def _scaled(columns: list[np.ndarray]) -> np.ndarray:
    return np.stack([scale(c) for scale, c in zip(_SCALES, columns, strict=True)], axis=1)
