"""Sparse operators with fixed patterns: who attends over whom, and the features.

Three products carry the whole method: features times a matrix, attention times a matrix, and
dot products along edges. Each is one autograd function whose backward pass is again one of the
three, so no E×D array is ever gathered.

Shapes: N nodes, E attended pairs (self-loops included), F features, D columns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.errors import InputError
from graphgate.graph import Graph
from graphgate.intake import Features

with warnings.catch_warnings():  # torch announces once a process that its CSR tensors are young
    warnings.simplefilter("ignore", UserWarning)
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))


def _csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


def _tensor(array: np.ndarray, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """The array as a tensor, sharing its memory where it can; graphs are never written to."""
    with warnings.catch_warnings():  # torch would rather have arrays that can be written to
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array).to(device=device, dtype=dtype)


def _index(array: np.ndarray, device: torch.device) -> Tensor:
    # Half the memory, and MKL's sparse kernels take them without a conversion.
    kind = np.int32 if array.max(initial=0) < 2**31 else np.int64
    return _tensor(array.astype(kind, copy=False), device)


class Neighborhoods:
    """The pattern of attention: row i lists N_i, all that node i attends over, itself included.

    An edge j -> i makes i attend over j. The pattern and its transpose are kept as CSR;
    `order` says where each entry of the transpose stands in the pattern.

    Attributes
    ----------
    indptr, indices : CSR pattern, (N+1,) and (E,).
    centers : (E,) the row of each entry, i.
    neighbors : (E,) the column of each entry, j.
    weights : (E,) A_ji, or None where every weight is 1.
    sizes : (N,) |N_i|.
    """

    def __init__(self, graph: Graph, *, device: torch.device, dtype: torch.dtype) -> None:
        n = graph.n_nodes
        loops = sp.eye_array(n, dtype=graph.attended.dtype, format="csr")
        pattern = (graph.attended + loops).tocsr()
        pattern.sort_indices()
        entries = len(pattern.indices)
        numbered = sp.csr_array((np.arange(entries), pattern.indices, pattern.indptr), (n, n))
        transpose = numbered.T.tocsr()
        transpose.sort_indices()
        self.n = n
        self.symmetric = not graph.directed
        self.indptr = _index(pattern.indptr, device)
        self.indices = _index(pattern.indices, device)
        self.transposed_indptr = _index(transpose.indptr, device)
        self.transposed_indices = _index(transpose.indices, device)
        self.order = _index(transpose.data, device)
        sizes = np.diff(pattern.indptr)
        self.centers = _index(np.repeat(np.arange(n), sizes), device)
        self.neighbors = self.indices
        self.sizes = _tensor(sizes, device)
        self._row_offsets = self.indptr.long()  # what segment_reduce takes
        self._column_offsets = self.transposed_indptr.long()
        self.weights = _tensor(pattern.data, device, dtype) if graph.weighted else None

    def __len__(self) -> int:
        return len(self.indices)

    def matrix(self, values: Tensor) -> Tensor:
        """The N×N CSR tensor with these E values."""
        return _csr(self.indptr, self.indices, values, (self.n, self.n))

    def transposed(self, values: Tensor) -> Tensor:
        """The transpose of `matrix(values)`."""
        reordered = values.index_select(0, self.order)
        return _csr(self.transposed_indptr, self.transposed_indices, reordered, (self.n, self.n))

    def multiply(
        self,
        values: Tensor,
        m: Tensor,
        out: Tensor,
        *,
        transposed: bool = False,
        keep: float = 0.0,
    ) -> Tensor:
        """out = C m (or Cᵀ m) + keep · out; no gradient, nothing allocated."""
        matrix = self.transposed(values) if transposed else self.matrix(values)
        return torch.addmm(out, matrix, m, beta=keep, out=out)

    def row_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of each row, (N,): over what a node attends to."""
        return torch.segment_reduce(values, "sum", offsets=self._row_offsets)

    def column_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of each column, (N,): over those that attend to a node."""
        reordered = values.index_select(0, self.order)
        return torch.segment_reduce(reordered, "sum", offsets=self._column_offsets)

    def to_scipy(self, values: Tensor) -> sp.csr_array:
        parts = (values, self.indices, self.indptr)
        return sp.csr_array(tuple(part.cpu().numpy() for part in parts), (self.n, self.n))


_BLOCK = 1024  # rows of m in `multiply_transposed`: 2 MiB of 512 floats


class FeatureMatrix:
    """X, (N, F): fixed, sparse or dense, with the products that training needs.

    Parameters
    ----------
    x : the features of a graph.
    densify : let the fixed rule of `_faster_dense` make a sparse X dense, for training.
    """

    def __init__(
        self, x: Features, *, device: torch.device, dtype: torch.dtype, densify: bool = False
    ) -> None:
        self.shape = (int(x.shape[0]), int(x.shape[1]))
        self.device, self.dtype = device, dtype
        with np.errstate(over="ignore"):  # reported below
            x = x.astype(np.float64 if dtype == torch.float64 else np.float32, copy=False)
        if densify and not isinstance(x, np.ndarray) and _faster_dense(x):
            x = x.toarray()
        if not np.isfinite(x if isinstance(x, np.ndarray) else x.data).all():
            raise InputError(
                f"features are too large for {dtype}: they overflow to infinity; "
                "scale them, or use dtype='float64'"
            )
        self._sparse: sp.csr_array | None = None
        # In double precision: what is left of it after subtraction decides the loss.
        if isinstance(x, np.ndarray):
            squares = np.einsum("ij,ij->i", x, x, dtype=np.float64)
            self._matrix = _tensor(x, device)
        else:
            values = np.square(x.data, dtype=np.float64)
            squares = sp.csr_array((values, x.indices, x.indptr), x.shape).sum(axis=1)
            self._sparse = x
            self._matrix = self._csr(x)
        self.square_norms = _tensor(squares, device)
        self._transpose: Tensor | None = None
        self._transposed_blocks: list[tuple[slice, Tensor]] | None = None

    def _csr(self, x: Any) -> Tensor:
        values = _tensor(x.data, self.device)
        shape = (int(x.shape[0]), int(x.shape[1]))
        return _csr(_index(x.indptr, self.device), _index(x.indices, self.device), values, shape)

    @property
    def is_sparse(self) -> bool:
        return self._sparse is not None

    @property
    def nnz(self) -> int:
        """Entries that a product has to visit."""
        return int(self._sparse.nnz) if self._sparse is not None else self.shape[0] * self.shape[1]

    def times(self, m: Tensor) -> Tensor:
        """X m, (N, D), for m of shape (F, D)."""
        return _FixedProduct.apply(m, self)

    def matrix(self) -> Tensor:
        return self._matrix

    def transpose(self) -> Tensor:
        if self._sparse is None:
            return self._matrix.T
        if self._transpose is None:
            self._transpose = self._csr(self._sparse.T.tocsr())
        return self._transpose

    def multiply(self, m: Tensor, out: Tensor) -> Tensor:
        """out = X m; no gradient, nothing allocated."""
        if self._sparse is None:
            return torch.mm(self._matrix, m, out=out)
        return torch.addmm(out, self._matrix, m, beta=0.0, out=out)

    def multiply_transposed(self, m: Tensor, out: Tensor) -> Tensor:
        """out = Xᵀ m; no gradient, nothing allocated.

        Xᵀ has few and long rows, each of which would walk through all of m. So a large X goes
        through in blocks of nodes whose part of m stays in the cache.
        """
        if self._sparse is None:
            return torch.mm(self._matrix.T, m, out=out)
        if self._transposed_blocks is None:
            n = self.shape[0]
            rows = _BLOCK if n > 8 * _BLOCK else n
            self._transposed_blocks = [
                (
                    slice(start, start + rows),
                    self._csr(self._sparse[start : start + rows].T.tocsr()),
                )
                for start in range(0, n, rows)
            ]
        for number, (rows_of, block) in enumerate(self._transposed_blocks):
            torch.addmm(out, block, m[rows_of], beta=float(number > 0), out=out)
        return out

    def dense(self) -> Tensor:
        return self._matrix.to_dense() if self.is_sparse else self._matrix

    def times_by_blocks(self, m: Tensor) -> Tensor:
        """X m without gradients, by `product_by_blocks`; a sparse product goes by rows anyway."""
        return self._matrix @ m if self.is_sparse else product_by_blocks(self._matrix, m)


def product_by_blocks(a: Tensor, m: Tensor, rows: int = 256) -> Tensor:
    """a m, with rows that do not depend on which other rows there are.

    The kernel that a dense product picks depends on shape and alignment, and with it the last
    bits of the result; so `a` goes through one buffer of fixed shape, block by block.
    """
    n, f = a.shape
    out = a.new_empty(n, m.shape[1])
    buffer = a.new_zeros(rows, f)
    product = a.new_empty(rows, m.shape[1])
    for start in range(0, n, rows):
        count = min(rows, n - start)
        buffer[:count] = a[start : start + count]
        out[start : start + count] = torch.mm(buffer, m, out=product)[:count]
    return out


def _faster_dense(x: sp.csr_array) -> bool:
    """A fixed rule, so that the same graph always takes the same path."""
    n, f = x.shape
    return x.nnz > 0.2 * n * f and n * f <= 2**28


class _FixedProduct(torch.autograd.Function):
    """X m for a fixed X."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, x: FeatureMatrix) -> Tensor:
        ctx.x = x
        return x.matrix() @ m

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.x.transpose() @ grad.contiguous(), None


class _AttentionProduct(torch.autograd.Function):
    """C m, where C has the given values on the pattern."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, m: Tensor, pattern: Neighborhoods) -> Tensor:
        ctx.save_for_backward(values, m)
        ctx.pattern = pattern
        return pattern.matrix(values) @ m

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, m = ctx.saved_tensors
        pattern: Neighborhoods = ctx.pattern
        grad = grad.contiguous()
        to_values, to_m, _ = ctx.needs_input_grad
        return (
            dot_on(pattern, grad, m) if to_values else None,
            pattern.transposed(values) @ grad if to_m else None,
            None,
        )


class _EdgeDot(torch.autograd.Function):
    """h_i · h_j for every pair of the pattern."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, pattern: Neighborhoods) -> Tensor:
        ctx.save_for_backward(h)
        ctx.pattern = pattern
        return dot_on(pattern, h, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (h,) = ctx.saved_tensors
        pattern: Neighborhoods = ctx.pattern
        return pattern.matrix(grad) @ h + pattern.transposed(grad) @ h, None


def dot_on(pattern: Neighborhoods, a: Tensor, b: Tensor, onto: Tensor | None = None) -> Tensor:
    """a_i · b_j for every pair of the pattern, (E,), added to `onto`; no gradient."""
    start = pattern.matrix(a.new_zeros(len(pattern)) if onto is None else onto)
    return torch.sparse.sampled_addmm(start, a, b.T).values()


def attention_product(pattern: Neighborhoods, values: Tensor, m: Tensor) -> Tensor:
    """C m, (N, D): row i is the sum of values_ij m_j over N_i."""
    return _AttentionProduct.apply(values, m, pattern)


def edge_dot(pattern: Neighborhoods, h: Tensor) -> Tensor:
    """h_i · h_j for every pair of the pattern, (E,)."""
    return _EdgeDot.apply(h, pattern)


def segment_softmax(pattern: Neighborhoods, scores: Tensor) -> Tensor:
    """Softmax of (E,) scores within each row. The scores are sigmoids, so exp cannot overflow."""
    raised = torch.exp(scores)
    return raised / pattern.row_sums(raised).index_select(0, pattern.centers)
