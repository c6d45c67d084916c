"""Products of sparse matrices of one pattern with dense columns, in single precision on a CPU.

A row of the matrix is a bag of rows of the other one, with weights: the kernel for embeddings of
such bags took half to two thirds of the time of the sparse product at every size tried, from 8
columns of 300,000 nodes to 512 columns of 20,000.
"""

from typing import Self

import torch
from torch import Tensor

_ROWS = 1 << 12  # of a product at a time, so that little memory is allocated besides the result


class RowBags:
    """The pattern of an M×N matrix S in CSR form.

    indptr, indices : (M+1,) and (E,).
    """

    def __init__(self, indptr: Tensor, indices: Tensor) -> None:
        self._chunks: list[tuple[slice, slice, Tensor, Tensor]] = []
        for first in range(0, len(indptr) - 1, _ROWS):
            ends = indptr[first : first + _ROWS + 1]
            entries = slice(int(ends[0]), int(ends[-1]))
            rows = slice(first, first + len(ends) - 1)
            starts = (ends - ends[0]).to(indices.dtype)
            self._chunks.append((rows, entries, indices[entries], starts))

    @classmethod
    def where_faster(cls, indptr: Tensor, indices: Tensor, dtype: torch.dtype) -> Self | None:
        """The bags of a pattern; None where the kernel is missing or slow."""
        usable = dtype == torch.float32 and indices.device.type == "cpu"
        return cls(indptr, indices) if usable else None

    def multiply(self, values: Tensor, m: Tensor, out: Tensor, keep: float = 0.0) -> Tensor:
        """out = S m + keep · out, (M, C), where S has these values, (E,)."""
        m = m.contiguous()
        for rows, entries, indices, starts in self._chunks:
            found = torch.embedding_bag(
                m, indices, starts, per_sample_weights=values[entries], include_last_offset=True
            )[0]
            if keep:
                found.add_(out[rows], alpha=keep)
            out[rows] = found
        return out
