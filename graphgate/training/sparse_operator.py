"""Products of a constant sparse matrix with dense columns."""

import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.nn.pattern import csr_tensor, index_tensor, shared_tensor
from graphgate.nn.row_bags import RowBags

_CPU = torch.device("cpu")


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


def csr_matrix(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    return csr_tensor(
        index_tensor(matrix.indptr, _CPU),
        index_tensor(matrix.indices, _CPU),
        shared_tensor(matrix.data, _CPU, dtype),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )
