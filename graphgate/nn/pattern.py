"""Sparse operators on a constant pattern: which nodes attend to which.

The method consists of three products: features times a matrix (`features.py`), attention times a
matrix, and dot products along edges. Each is one autograd function whose backward pass is again
one of the three, so no E×D array is ever gathered.

Shapes: N nodes, E attended pairs (self-loops included), F features, D columns.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.row_bags import RowBags
from graphgate.compute.sparse_operator import csr_tensor, index_tensor, shared_tensor
from graphgate.graph.graph import Graph


class AttentionPattern:
    """The pattern of attention: row i lists N_i, all nodes that node i attends to, and i itself.

    An edge j -> i makes i attend to j. The pattern and its transpose are stored as CSR; `order` is
    the position of each entry of the transpose in the pattern.

    Attributes
    ----------
    indptr, indices : CSR pattern, (N+1,) and (E,).
    centers : (E,) the row of each entry, i.
    neighbors : (E,) the column of each entry, j.
    weights : (E,) A_ji, or None where every weight is 1.
    sizes : (N,) |N_i|.

    Without `gradients`, there is no transpose, which only they need.
    """

    def __init__(
        self, graph: Graph, *, device: torch.device, dtype: torch.dtype, gradients: bool = True
    ) -> None:
        self.n = n = graph.n_nodes
        pattern = graph.attended + sp.eye_array(n, dtype=graph.attended.dtype, format="csr")
        pattern.sort_indices()
        self.symmetric = not graph.directed
        self.indptr = index_tensor(pattern.indptr, device)
        self.indices = index_tensor(pattern.indices, device)
        self._bags = RowBags.where_faster(self.indptr, self.indices, dtype)
        if gradients:
            places = np.arange(len(pattern.indices))
            transpose = sp.csr_array((places, pattern.indices, pattern.indptr), (n, n)).T.tocsr()
            transpose.sort_indices()
            self.transposed_indptr = index_tensor(transpose.indptr, device)
            self.transposed_indices = index_tensor(transpose.indices, device)
            self._transposed_bags = RowBags.where_faster(
                self.transposed_indptr, self.transposed_indices, dtype
            )
            self.order = index_tensor(transpose.data, device)
        sizes = np.diff(pattern.indptr)
        self.centers = index_tensor(np.repeat(np.arange(n), sizes), device)
        self.neighbors = self.indices
        self.sizes = shared_tensor(sizes, device)
        self._row_offsets = self.indptr.long()  # as segment_reduce requires
        self.weights = shared_tensor(pattern.data, device, dtype) if graph.weighted else None

    def __len__(self) -> int:
        return len(self.indices)

    def matrix(self, values: Tensor) -> Tensor:
        """The N×N CSR tensor with these E values."""
        return csr_tensor(self.indptr, self.indices, values, (self.n, self.n))

    def transposed(self, values: Tensor) -> Tensor:
        """The transpose of `matrix(values)`."""
        reordered = values.index_select(0, self.order)
        return csr_tensor(
            self.transposed_indptr, self.transposed_indices, reordered, (self.n, self.n)
        )

    def multiply(
        self,
        values: Tensor,
        m: Tensor,
        out: Tensor,
        *,
        transposed: bool = False,
        keep: float = 0.0,
    ) -> Tensor:
        """out = C m (or Cᵀ m) + keep · out, without a gradient."""
        bags = self._transposed_bags if transposed else self._bags
        if bags is not None and m.dtype == torch.float32:
            values = values.index_select(0, self.order) if transposed else values
            return bags.multiply(values, m, out, keep)
        matrix = self.transposed(values) if transposed else self.matrix(values)
        return torch.addmm(out, matrix, m, beta=keep, out=out)

    def times(self, values: Tensor, m: Tensor, *, transposed: bool = False) -> Tensor:
        """C m (or Cᵀ m), (N, D), without a gradient."""
        return self.multiply(values, m, m.new_empty(self.n, m.shape[1]), transposed=transposed)

    def row_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of each row, (N,): over the nodes that a node attends to."""
        return torch.segment_reduce(values, "sum", offsets=self._row_offsets)

    def to_scipy(self, values: Tensor) -> sp.csr_array:
        parts = (values, self.indices, self.indptr)
        return sp.csr_array(tuple(part.cpu().numpy() for part in parts), (self.n, self.n))


class _AttentionProduct(torch.autograd.Function):
    """C m, where C has the given values on the pattern."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, m: Tensor, pattern: AttentionPattern) -> Tensor:
        ctx.save_for_backward(values, m)
        ctx.pattern = pattern
        return pattern.times(values, m)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, m = ctx.saved_tensors
        pattern: AttentionPattern = ctx.pattern
        grad = grad.contiguous()
        to_values, to_m, _ = ctx.needs_input_grad
        return (
            dot_on(pattern, grad, m) if to_values else None,
            pattern.times(values, grad, transposed=True) if to_m else None,
            None,
        )


class _EdgeDot(torch.autograd.Function):
    """h_i · h_j for every pair of the pattern."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, pattern: AttentionPattern) -> Tensor:
        ctx.save_for_backward(h)
        ctx.pattern = pattern
        return dot_on(pattern, h, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (h,) = ctx.saved_tensors
        pattern: AttentionPattern = ctx.pattern
        return pattern.times(grad, h) + pattern.times(grad, h, transposed=True), None


def dot_on(
    pattern: AttentionPattern,
    a: Tensor,
    b: Tensor,
    onto: Tensor | None = None,
    scale: float = 1.0,
) -> Tensor:
    """`scale` a_i·b_j for every pair of the pattern, (E,), added to `onto`; without a gradient."""
    start = pattern.matrix(a.new_zeros(len(pattern)) if onto is None else onto)
    return torch.sparse.sampled_addmm(start, a, b.T, alpha=scale).values()


def attention_product(pattern: AttentionPattern, values: Tensor, m: Tensor) -> Tensor:
    """C m, (N, D): row i is the sum of values_ij m_j over N_i."""
    return _AttentionProduct.apply(values, m, pattern)


def edge_dot(pattern: AttentionPattern, h: Tensor) -> Tensor:
    """h_i · h_j for every pair of the pattern, (E,)."""
    return _EdgeDot.apply(h, pattern)


def segment_softmax(pattern: AttentionPattern, scores: Tensor) -> Tensor:
    """Softmax of (E,) scores within each row. The scores are sigmoids, so exp cannot overflow."""
    raised = torch.exp(scores)
    return raised / pattern.row_sums(raised).index_select(0, pattern.centers)
