"""Truncated singular value decomposition by randomized subspace iteration.

Halko, Martinsson & Tropp (2011), as in scikit-learn's `randomized_svd`, on any matrix that can be
multiplied from both sides, with torch's products on all threads.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]

_EXTRA = 16  # columns beyond the rank
_PASSES = 3  # products with the matrix and its transpose


def right_singular_vectors(
    times: Product,
    times_transposed: Product,
    shape: Sequence[int],
    rank: int,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> Tensor:
    """(m, k) the leading right singular vectors of an n×m matrix, k = min(rank, n, m).

    times, times_transposed : the products of the matrix and its transpose with dense columns.

    Signs are fixed: the entry of largest magnitude of every vector is positive.
    """
    n, m = shape
    k, columns = min(rank, n, m), min(min(rank, n, m) + _EXTRA, m)
    if columns < m:
        # The same numbers in either precision.
        found = torch.randn((m, columns), generator=generator, dtype=torch.float32).to(dtype)
        for _ in range(_PASSES):
            found = torch.linalg.qr(times_transposed(times(found))).Q
    else:
        found = torch.eye(m, dtype=dtype)
    projected = times(found)
    # Of the few columns that are left, the moments in double precision are exact enough.
    _, rotation = torch.linalg.eigh((projected.T @ projected).double())
    vectors = found @ rotation.flip(1)[:, :k].to(dtype)
    # Row by row, as they are read from a file: the layout decides the last bits of products.
    return with_fixed_signs(vectors).contiguous()


def with_fixed_signs(vectors: Tensor) -> Tensor:
    """The columns, each multiplied by the sign of its entry of largest magnitude."""
    largest = vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True))
    return vectors * torch.where(largest < 0, -1.0, 1.0).to(vectors.dtype)
