"""Structure factors: where a node is in the graph, whatever its features.

They are the rows of L V, where L = D^-½ A D^-½ and V holds its leading right singular vectors.
Row i depends on the rows of V of the neighbors of i only, so a new node has factors as soon as one
of its neighbors was there when the estimator was fitted.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.graph.validation import TEXT
from graphgate.linear.decomposition import right_singular_vectors
from graphgate.linear.propagation import in_units_of, symmetrically_normalized
from graphgate.linear.workspace import Workspace
from graphgate.training.sparse_operator import SparseOperator


@dataclass(frozen=True)
class StructureFactors:
    """The leading singular vectors of a graph, by the ids of its nodes.

    ids : (N,) `plain_ids`.
    vectors : (N, k) V.
    """

    ids: np.ndarray
    vectors: Tensor

    @classmethod
    def fit(
        cls, graph: Graph, workspace: Workspace, generator: torch.Generator, dtype: torch.dtype
    ) -> tuple[Self, Tensor]:
        """The factors of a graph, and those of the nodes of this process, (n, k)."""
        vectors, factors = decomposed(graph, workspace, generator, dtype)
        return cls(plain_ids(graph.ids), vectors), factors

    def of(self, graph: Graph, workspace: Workspace) -> Tensor:
        """(n, k), the factors of the nodes of any graph; zero without a known neighbor."""
        rows = self._rows(graph)
        vectors = self.vectors.new_zeros(graph.n_nodes, self.vectors.shape[1])
        known = torch.from_numpy(rows >= 0)
        vectors[known] = self.vectors[torch.from_numpy(rows[rows >= 0])]
        return _times_rows(_normalized(graph, vectors.dtype), workspace, vectors)

    @property
    def rank(self) -> int:
        return int(self.vectors.shape[1])

    def without_place(self, graph: Graph) -> np.ndarray:
        """(N,) whether a node has neighbors, but none that is known."""
        known = (self._rows(graph) >= 0).astype(np.int64)
        attended = graph.attended
        running = np.concatenate([[0], np.cumsum(known[attended.indices])])
        n_known = np.diff(running[attended.indptr])
        placeless: np.ndarray = (n_known == 0) & (np.diff(attended.indptr) > 0)
        return placeless

    def _rows(self, graph: Graph) -> np.ndarray:
        return find_rows(self.ids, plain_ids(graph.ids))


def decomposed(
    graph: Graph, workspace: Workspace, generator: torch.Generator, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """V, (N, k), and the rows of L V of the nodes of this process, (n, k)."""
    matrix = _normalized(graph, dtype)
    operator = SparseOperator(matrix, dtype)
    transposed = SparseOperator(matrix.T.tocsr(), dtype) if graph.directed else operator

    def squares(m: Tensor) -> Tensor:
        found = workspace.by_columns(m, lambda some: transposed.multiply(operator.multiply(some)))
        workspace.advance()
        return found

    n, rank = graph.n_nodes, workspace.plan.factors
    ranks, shared = graph.id_ranks, workspace.processes
    vectors, _ = right_singular_vectors(
        squares, (n, n), rank, generator, dtype, ranks=ranks, processes=shared
    )
    return vectors, _times_rows(matrix, workspace, vectors)


def _normalized(graph: Graph, dtype: torch.dtype) -> sp.csr_array:
    return symmetrically_normalized(in_units_of(graph.attended, 1.0, dtype))


def _times_rows(matrix: sp.csr_array, workspace: Workspace, vectors: Tensor) -> Tensor:
    """The rows of this process of a product."""
    mine = matrix if workspace.processes.size == 1 else matrix[workspace.mine]
    return SparseOperator(mine, vectors.dtype).multiply(vectors)


def plain_ids(ids: np.ndarray) -> np.ndarray:
    """Ids as they can be stored: int64, text, or objects that are text or integers.

    Any other id becomes a tuple that holds its `repr`, which equals no id that is text.
    """
    if ids.dtype in (np.int64, TEXT):
        return ids
    found = np.empty(len(ids), dtype=object)
    found[:] = [node if isinstance(node, (str, int)) else (repr(node),) for node in ids.tolist()]
    return found


def find_rows(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The position of each wanted id among `ids`, -1 where it is not one of them."""
    if ids.dtype == wanted.dtype == np.int64:
        order = np.argsort(ids, kind="stable")
        rows = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
        return np.where(ids[rows] == wanted, rows, -1)
    places = {node: at for at, node in enumerate(ids.tolist())}
    found = (places.get(node, -1) for node in wanted.tolist())
    return np.fromiter(found, dtype=np.int64, count=len(wanted))
