"""Products of a constant sparse matrix with dense columns."""

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.row_bags import RowBags

CPU = torch.device("cpu")

with warnings.catch_warnings():  # torch warns once per process that CSR tensors are in beta
    warnings.simplefilter("ignore", UserWarning)
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


def shared_tensor(
    array: np.ndarray, device: torch.device, dtype: torch.dtype | None = None
) -> Tensor:
    """The array as a tensor, sharing memory where possible; graphs are never written to."""
    with warnings.catch_warnings():  # torch warns about read-only arrays
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array).to(device=device, dtype=dtype)


def index_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    # 32 bits take half the memory, and MKL's sparse kernels need no conversion.
    kind = np.int32 if array.max(initial=0) < 2**31 else np.int64
    return shared_tensor(array.astype(kind, copy=False), device)


def csr_matrix(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    return csr_tensor(
        index_tensor(matrix.indptr, CPU),
        index_tensor(matrix.indices, CPU),
        shared_tensor(matrix.data, CPU, dtype),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )


class SparseOperator:
    """A constant sparse matrix S, (M, N), for products with dense columns."""

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self._whole = whole = csr_matrix(matrix, dtype)
        self._bags = RowBags.where_faster(whole.crow_indices(), whole.col_indices(), dtype)

    def multiply(self, h: Tensor, out: Tensor | None = None) -> Tensor:
        """S h, (M, C), in `out` if it is given."""
        out = h.new_empty(self.shape[0], h.shape[1]) if out is None else out
        if self._bags is not None:
            return self._bags.multiply(self._whole.values(), h, out)
        return torch.addmm(out, self._whole, h, beta=0.0, out=out)


def symmetrically_normalized(
    matrix: sp.csr_array, sums: tuple[np.ndarray, np.ndarray] | None = None
) -> sp.csr_array:
    """D^-½ A D^-½: every entry divided by the square roots of the sums of its row and its column.

    sums : of all rows and of all columns, by default those of the matrix; for a part of a larger
        matrix, give those of the whole.
    """
    left, right = (
        np.divide(1, np.sqrt(total), where=total > 0, out=np.zeros_like(total)).astype(matrix.dtype)
        for total in (sums_of(matrix) if sums is None else sums)
    )
    values = matrix.data * right[matrix.indices]
    values *= np.repeat(left, np.diff(matrix.indptr))
    normalized = sp.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)
    normalized.sort_indices()
    return normalized


def sums_of(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The sum of every row and of every column, in double precision."""
    ones = np.ones(matrix.shape[0])
    return matrix @ ones, matrix.T @ ones
