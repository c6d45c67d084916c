"""Truncated singular value decomposition by randomized subspace iteration.

Halko, Martinsson & Tropp (2011), as in scikit-learn's `randomized_svd`, of any matrix Y whose YᵀY
can be multiplied with dense columns, so that some rows or columns of Y at a time are enough.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from graphgate.compute.tall_matrix import row_chunks

EXTRA = 16  # columns beyond the rank
PASSES = 3  # products with YᵀY before the last one
_DEPENDENT = 1e-3  # ratio of pivots below which rounding of the columns shows
_CHUNK = 1 << 14  # rows at a time
_TALL = 100  # rows per column from which the decomposition of an m×m matrix costs little

Draw = Callable[[int, int], Tensor]


class Decomposed(ABC):
    """A matrix Y, (n, m), seen through YᵀY."""

    shape: tuple[int, int]
    dtype: torch.dtype

    @abstractmethod
    def squares(self, m: Tensor) -> Tensor:
        """YᵀY m."""

    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        """aᵀ b of (m, ·) columns, in float64."""
        return inner_product(a, b)

    def moments(self, m: Tensor) -> Tensor:
        """(Y m)ᵀ (Y m), in float64."""
        return self.inner(m, self.squares(m))

    def gram(self) -> Tensor | None:
        """YᵀY in float64, where a tall Y gives it in one pass that costs less than several."""
        return None


def right_singular_vectors(y: Decomposed, rank: int, draw: Draw) -> tuple[Tensor, Tensor]:
    """The leading right singular vectors of Y, (m, k), and its singular values, (k,) in float64.

    Parameters
    ----------
    rank : k = min(rank, n, m).
    draw : random numbers, (rows, columns), to start from.

    Signs are fixed: the entry of largest magnitude of every vector is positive.
    """
    (n, m), k = y.shape, min(rank, *y.shape)
    columns = iterated_columns(rank, y.shape)
    tall = n >= _TALL * m
    gram = None
    # All columns at once may cost less than several passes over some.
    if m <= columns or (tall and m <= (PASSES + 1) * columns):
        basis = torch.eye(m, dtype=y.dtype)
    elif tall and (gram := y.gram()) is not None:
        basis = torch.linalg.eigh(gram).eigenvectors[:, -columns:].to(y.dtype)
    else:
        basis = draw(m, columns).to(y.dtype)
        for _ in range(PASSES):
            basis = orthonormalized(y.squares(basis), y.inner)
    values, rotation = torch.linalg.eigh(y.moments(basis))
    vectors = basis @ rotation.flip(1)[:, :k].to(y.dtype)
    lengths = values.flip(0)[:k].clamp_min(0).sqrt()
    return with_fixed_signs(vectors).contiguous(), lengths


def iterated_columns(rank: int, shape: tuple[int, int]) -> int:
    """How many columns the search for `rank` singular vectors of a matrix works with."""
    return min(min(rank, *shape) + EXTRA, shape[1])


def orthonormalized(
    columns: Tensor, inner: Callable[[Tensor, Tensor], Tensor] | None = None
) -> Tensor:
    """Orthonormal columns that span the same space, in place where there are many rows.

    Of many rows, twice by the Cholesky factor of the moments, which takes products alone, unless
    the columns are nearly dependent.
    """
    n, m = columns.shape
    if n < _TALL * m:
        return _factored(columns)
    for _ in range(2):
        factor, failed = torch.linalg.cholesky_ex((inner or inner_product)(columns, columns))
        pivots = factor.diagonal()
        if failed or pivots.min() < _DEPENDENT * pivots.max():
            return _factored(columns)
        inverse = torch.linalg.inv(factor).T.to(columns.dtype)
        for rows in row_chunks(n, _CHUNK):
            columns[rows] = columns[rows] @ inverse
    return columns


def inner_product(a: Tensor, b: Tensor) -> Tensor:
    """aᵀ b in float64, some rows at a time."""
    total = torch.zeros(a.shape[1], b.shape[1], dtype=torch.float64)
    for rows in row_chunks(len(a), _CHUNK):
        total.addmm_(a[rows].double().T, b[rows].double())
    return total


def _factored(columns: Tensor) -> Tensor:
    return torch.linalg.qr(columns.double()).Q.to(columns.dtype)


def with_fixed_signs(vectors: Tensor) -> Tensor:
    """The columns in place, each multiplied by the sign of its entry of largest magnitude."""
    opposite = -vectors.amin(dim=0) > vectors.amax(dim=0)
    return vectors.mul_(torch.where(opposite, -1.0, 1.0).to(vectors.dtype))
