"""Products of a constant sparse matrix with dense columns."""

import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.nn.pattern import csr_tensor, index_tensor, shared_tensor
from graphgate.training.tall_matrix import row_chunks

_CPU = torch.device("cpu")
_ROWS = 1 << 12  # of a product at a time, so that little memory is allocated besides the result


class SparseOperator:
    """A constant sparse matrix S, (M, N), for products with dense columns.

    In single precision, a row of S is a bag of rows of the other matrix with weights: the kernel
    for embeddings of such bags was faster than the sparse product at every width tried on a graph
    of 300,000 nodes.
    """

    def __init__(self, matrix: sp.csr_array, dtype: torch.dtype) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self._whole = None if dtype == torch.float32 else csr_matrix(matrix, dtype)
        self._bags: list[tuple[slice, Tensor, Tensor, Tensor]] = []
        if self._whole is None:
            indices = index_tensor(matrix.indices, _CPU)
            values = shared_tensor(matrix.data, _CPU, dtype)
            for rows in row_chunks(self.shape[0], _ROWS):
                ends = matrix.indptr[rows.start : rows.stop + 1]
                starts = shared_tensor(ends - ends[0], _CPU, indices.dtype)
                some = slice(int(ends[0]), int(ends[-1]))
                self._bags.append((rows, indices[some], starts, values[some]))

    def multiply(self, h: Tensor, out: Tensor | None = None) -> Tensor:
        """S h, (M, C), in `out` if it is given."""
        out = h.new_empty(self.shape[0], h.shape[1]) if out is None else out
        if self._whole is not None:
            return torch.addmm(out, self._whole, h, beta=0.0, out=out)
        h = h.contiguous()
        for rows, indices, starts, values in self._bags:
            out[rows] = torch.embedding_bag(
                h, indices, starts, per_sample_weights=values, include_last_offset=True
            )[0]
        return out


def csr_matrix(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    return csr_tensor(
        index_tensor(matrix.indptr, _CPU),
        index_tensor(matrix.indices, _CPU),
        shared_tensor(matrix.data, _CPU, dtype),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )
