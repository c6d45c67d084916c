"""Truncated singular value decomposition by randomized subspace iteration.

Halko, Martinsson & Tropp (2011), as in scikit-learn's `randomized_svd`, of any matrix Y that YᵀY
can be multiplied with, which needs only some rows or some columns of Y at a time.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]

_EXTRA = 16  # columns beyond the rank
_PASSES = 3  # products with YᵀY before the last one
_DEPENDENT = 1e-2  # ratio of pivots below which moments in single precision are too coarse
_TALL = 100  # rows per column from which the decomposition of an m×m matrix costs little


def right_singular_vectors(
    squares: Product,
    shape: tuple[int, int],
    rank: int,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The leading right singular vectors of an n×m matrix Y, (m, k), and its singular values, (k,).

    squares : the product of YᵀY with dense columns.
    rank : of which k = min(rank, n, m).

    Signs are fixed: the entry of largest magnitude of every vector is positive.
    """
    n, m = shape
    k = min(rank, n, m)
    columns = k + _EXTRA
    # Where Y is tall, all its columns at once cost less than several passes over some.
    at_once = m <= columns or (m <= (_PASSES + 1) * columns and n >= _TALL * m)
    if not at_once:
        # The same numbers in either precision.
        found = torch.randn((m, columns), generator=generator, dtype=torch.float32).to(dtype)
        for _ in range(_PASSES):
            found = orthonormalized(squares(found))
    else:
        found = torch.eye(m, dtype=dtype)
    # Of the few columns that are left, the moments in double precision are exact enough.
    values, rotation = torch.linalg.eigh((found.T @ squares(found)).double())
    vectors = found @ rotation.flip(1)[:, :k].to(dtype)
    # Row by row, as they are read from a file: the layout decides the last bits of products.
    lengths = values.flip(0)[:k].clamp_min(0).sqrt()
    return with_fixed_signs(vectors).contiguous(), lengths


def orthonormalized(columns: Tensor) -> Tensor:
    """Orthonormal columns that span the same space.

    Of many rows, twice by the Cholesky factor of the moments, which takes products alone, unless
    the columns are nearly dependent.
    """
    n, m = columns.shape
    found = columns
    if n >= _TALL * m:
        for _ in range(2):
            factor, failed = torch.linalg.cholesky_ex((found.T @ found).double())
            pivots = factor.diagonal()
            if failed or pivots.min() < _DEPENDENT * pivots.max():
                break
            inverse = torch.linalg.inv(factor).T.to(columns.dtype)
            found = found @ inverse
        else:
            return found
    return torch.linalg.qr(columns).Q


def with_fixed_signs(vectors: Tensor) -> Tensor:
    """The columns, each multiplied by the sign of its entry of largest magnitude."""
    largest = vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True))
    return vectors * torch.where(largest < 0, -1.0, 1.0).to(vectors.dtype)
