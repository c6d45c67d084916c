"""Truncated singular value decomposition by randomized subspace iteration.

Halko, Martinsson & Tropp (2011), as in scikit-learn's `randomized_svd`, of any matrix Y that YᵀY
can be multiplied with, which needs only some rows or some columns of Y at a time.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from graphgate.linear.linear_plan import EXTRA
from graphgate.training.distributed import Processes
from graphgate.training.tall_matrix import row_chunks

Product = Callable[[Tensor], Tensor]

_PASSES = 3  # products with YᵀY before the last one
_DEPENDENT = 1e-3  # ratio of pivots below which rounding of the columns shows
_CHUNK = 1 << 14  # rows at a time
_COLUMNS = 256  # of a Gram matrix at a time, of which half is computed
_TALL = 100  # rows per column from which the decomposition of an m×m matrix costs little


def right_singular_vectors(
    squares: Product,
    shape: tuple[int, int],
    rank: int,
    generator: torch.Generator,
    dtype: torch.dtype,
    *,
    moments: Product | None = None,
    gram: Callable[[], Tensor] | None = None,
    ranks: np.ndarray | None = None,
    processes: Processes | None = None,
) -> tuple[Tensor, Tensor]:
    """The leading right singular vectors of an n×m matrix Y, (m, k), and its singular values, (k,).

    squares : the product of YᵀY with dense columns.
    rank : of which k = min(rank, n, m).
    moments : (Y m)ᵀ (Y m) for dense columns m, in double precision. Vectors whose singular values
        are close are then the same whatever rounding does to sums over many rows.
    gram : YᵀY itself, in double precision. Where Y is tall, one pass over it costs less than
        several products.
    ranks : (m,) in which order the columns of Y get their random numbers; None is as they are.
    processes : those that have the same columns, and share sums over many rows of them.

    Signs are fixed: the entry of largest magnitude of every vector is positive.
    """
    n, m = shape
    k = min(rank, n, m)
    columns = k + EXTRA
    # Where Y is tall, all its columns at once cost less than several passes over some.
    at_once = m <= columns or (m <= (_PASSES + 1) * columns and n >= _TALL * m)
    if not at_once and gram is not None and n >= _TALL * m:
        found = torch.linalg.eigh(gram()).eigenvectors[:, -columns:].to(dtype)
    elif not at_once:
        # The same numbers in either precision.
        found = torch.randn((m, columns), generator=generator, dtype=torch.float32).to(dtype)
        found = found if ranks is None else found[torch.from_numpy(ranks)]
        for _ in range(_PASSES):
            found = squares(found)
            found = orthonormalized(found, processes)
    else:
        found = torch.eye(m, dtype=dtype)
    # Of the few columns that are left, the moments in double precision are exact enough.
    few = _moments(found, squares(found), processes) if moments is None else moments(found)
    values, rotation = torch.linalg.eigh(few)
    vectors = found @ rotation.flip(1)[:, :k].to(dtype)
    # Row by row, as they are read from a file: a loaded model then computes the same bytes.
    lengths = values.flip(0)[:k].clamp_min(0).sqrt()
    return with_fixed_signs(vectors).contiguous(), lengths


def orthonormalized(columns: Tensor, processes: Processes | None = None) -> Tensor:
    """Orthonormal columns that span the same space, in place where there are many rows.

    Of many rows, twice by the Cholesky factor of the moments, which takes products alone, unless
    the columns are nearly dependent. Everything is computed in double precision, so that the number
    of threads makes little difference.
    """
    n, m = columns.shape
    if n < _TALL * m:
        return _factored(columns)
    for _ in range(2):
        factor, failed = torch.linalg.cholesky_ex(_moments(columns, columns, processes))
        pivots = factor.diagonal()
        if failed or pivots.min() < _DEPENDENT * pivots.max():
            return _factored(columns)
        inverse = torch.linalg.inv(factor).T.to(columns.dtype)
        for rows in row_chunks(n, _CHUNK):
            columns[rows] = columns[rows] @ inverse
    return columns


def _moments(left: Tensor, right: Tensor, processes: Processes | None) -> Tensor:
    """leftᵀ right in double precision, some rows at a time, of which each process takes a share."""
    processes = processes or Processes()
    mine = processes.share_of(len(left))
    left, right = left[mine], right[mine]
    found = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64)
    for rows in row_chunks(len(left), _CHUNK):
        found.addmm_(left[rows].double().T, right[rows].double())
    return processes.sum(found)


def add_gram(found: Tensor, rows: Tensor) -> None:
    """Add rowsᵀ rows to a matrix in double precision; above its diagonal, only a part is added."""
    for columns in row_chunks(rows.shape[1], _COLUMNS):
        product = rows[:, columns].T @ rows[:, : columns.stop]
        found[columns, : columns.stop] += product


def _factored(columns: Tensor) -> Tensor:
    return torch.linalg.qr(columns.double()).Q.to(columns.dtype)


def with_fixed_signs(vectors: Tensor) -> Tensor:
    """The columns in place, each multiplied by the sign of its entry of largest magnitude."""
    opposite = -vectors.amin(dim=0) > vectors.amax(dim=0)
    return vectors.mul_(torch.where(opposite, -1.0, 1.0).to(vectors.dtype))
