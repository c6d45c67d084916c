"""The features X, sparse or dense, and the products of the method with them.

Shapes: N nodes, F features, D columns.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.sparse_operator import csr_tensor, index_tensor, shared_tensor
from graphgate.errors import InputError
from graphgate.graph.validation import Features

_BLOCK = 1024  # rows of m in `multiply_transposed`: 2 MiB of 512 floats


class FeatureMatrix:
    """X, (N, F): constant, sparse or dense, with the products that training needs.

    Parameters
    ----------
    x : the features of a graph.
    dense : convert a sparse X to a dense one.
    """

    def __init__(
        self, x: Features, *, device: torch.device, dtype: torch.dtype, dense: bool = False
    ) -> None:
        self.shape = (int(x.shape[0]), int(x.shape[1]))
        self.device, self.dtype = device, dtype
        with np.errstate(over="ignore"):  # reported below
            x = x.astype(np.float64 if dtype == torch.float64 else np.float32, copy=False)
        if dense and not isinstance(x, np.ndarray):
            x = x.toarray()
        if not np.isfinite(x if isinstance(x, np.ndarray) else x.data).all():
            raise InputError(
                f"features are too large for {dtype} and overflow; scale them, or use "
                "dtype='float64'"
            )
        # In double precision: the loss is what remains of it after a subtraction.
        if isinstance(x, np.ndarray):
            squares = np.einsum("ij,ij->i", x, x, dtype=np.float64)
            self._sparse, self._matrix = None, shared_tensor(x, device)
        else:
            values = np.square(x.data, dtype=np.float64)
            squares = sp.csr_array((values, x.indices, x.indptr), x.shape).sum(axis=1)
            self._sparse, self._matrix = x, self._csr(x)
        self.square_norms = shared_tensor(squares, device)
        self._transposed_blocks: list[tuple[slice, Tensor]] | None = None

    def _csr(self, x: Any) -> Tensor:
        return csr_tensor(
            index_tensor(x.indptr, self.device),
            index_tensor(x.indices, self.device),
            shared_tensor(x.data, self.device),
            (int(x.shape[0]), int(x.shape[1])),
        )

    @property
    def is_sparse(self) -> bool:
        return self._sparse is not None

    def times(self, m: Tensor) -> Tensor:
        """X m, (N, D), for m of shape (F, D)."""
        return _FixedProduct.apply(m, self)

    def multiply(self, m: Tensor, out: Tensor) -> Tensor:
        """out = X m, without a gradient or an allocation."""
        if self._sparse is None:
            return torch.mm(self._matrix, m, out=out)
        return torch.addmm(out, self._matrix, m, beta=0.0, out=out)

    def multiply_transposed(self, m: Tensor, out: Tensor) -> Tensor:
        """out = Xᵀ m, without a gradient or an allocation.

        Xᵀ has few, long rows, each of which would read all of m. A large X is therefore split
        into blocks of nodes whose part of m stays in the cache.
        """
        if self._sparse is None:
            return torch.mm(self._matrix.T, m, out=out)
        if self._transposed_blocks is None:
            self._transposed_blocks = [
                (rows, self._csr(self._sparse[rows].T.tocsr()))
                for rows in row_blocks(self.shape[0])
            ]
        for number, (rows, block) in enumerate(self._transposed_blocks):
            torch.addmm(out, block, m[rows], beta=float(number > 0), out=out)
        return out

    def drop_transpose(self) -> None:
        """Free what `multiply_transposed` keeps from one call to the next."""
        self._transposed_blocks = None

    def to_dense(self) -> Tensor:
        return self._matrix.to_dense() if self.is_sparse else self._matrix

    def columns(self, columns: slice) -> Tensor:
        """Some columns of X, (N, c), dense."""
        if self._sparse is None:
            return self._matrix[:, columns]
        return shared_tensor(self._sparse[:, columns].toarray(), self.device)

    def times_by_blocks(self, m: Tensor) -> Tensor:
        """X m without a gradient; a dense X as in `product_by_blocks`."""
        return self._matrix @ m if self.is_sparse else product_by_blocks(self._matrix, m)


def row_blocks(n: int) -> list[slice]:
    """The blocks of N rows in which `multiply_transposed` takes a sparse X."""
    rows = _BLOCK if n > 8 * _BLOCK else n
    return [slice(start, start + rows) for start in range(0, n, rows)]


def product_by_blocks(a: Tensor, m: Tensor, rows: int = 256) -> Tensor:
    """a m in blocks of rows, each copied into one buffer.

    A dense product selects its kernel by the shape and place of its arrays. Features that are read
    again may lie elsewhere in memory, and the buffer keeps the vectors of a loaded model the same.
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


class _FixedProduct(torch.autograd.Function):
    """X m for a constant X."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, x: FeatureMatrix) -> Tensor:
        ctx.x = x
        return x.multiply(m, m.new_empty(x.shape[0], m.shape[1]))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        out = grad.new_empty(ctx.x.shape[1], grad.shape[1])
        return ctx.x.multiply_transposed(grad.contiguous(), out), None
