"""How fast this machine multiplies, measured in a moment, for estimates before a run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.compute.row_bags import RowBags
from graphgate.compute.sparse_operator import SparseOperator, csr_matrix


@dataclass(frozen=True)
class Work:
    """What a computation multiplies.

    sparse : numbers that products of attention and of sparse features read.
    gathered : numbers that products of a `SparseOperator` read.
    dense : products of numbers in dense products.
    """

    sparse: float = 0.0
    gathered: float = 0.0
    dense: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        gathered, dense = self.gathered + other.gathered, self.dense + other.dense
        return Work(self.sparse + other.sparse, gathered, dense)

    def __mul__(self, times: float) -> "Work":
        return Work(self.sparse * times, self.gathered * times, self.dense * times)

    def seconds(self) -> float:
        """The time that this process would take with its threads."""
        speed = _speeds()
        return (
            self.sparse / speed.sparse + self.gathered / speed.gathered + self.dense / speed.dense
        )


@cache
def _speeds() -> Work:
    """What is done in a second, by products like those of training and of a solution: with all
    columns of some thousand nodes, and with few columns of many."""
    (n, each, columns), (many, fewer, few), side = (1 << 15, 24, 512), (1 << 18, 8, 8), 1024
    matrix = csr_matrix(_random_matrix(n, each), torch.float32)
    bags, values = RowBags(matrix.crow_indices(), matrix.col_indices()), matrix.values()
    operator = SparseOperator(_random_matrix(many, fewer), torch.float32)
    m, out, narrow = torch.ones(n, columns), torch.empty(n, columns), torch.ones(many, few)
    square = torch.ones(side, side)
    return Work(
        sparse=n * each * columns / _seconds(lambda: bags.multiply(values, m, out)),
        gathered=many * fewer * few / _seconds(lambda: operator.multiply(narrow)),
        dense=side**3 / _seconds(lambda: square @ square),
    )


def _random_matrix(n: int, each: int) -> sp.csr_array:
    """(n, n), with this many entries in each row."""
    indices = np.random.default_rng(0).integers(n, size=n * each, dtype=np.int32)
    indptr = np.arange(0, n * each + 1, each, dtype=np.int32)
    return sp.csr_array((np.ones(n * each, dtype=np.float32), indices, indptr), (n, n))


def _seconds(function: Callable[[], Any]) -> float:
    """The shortest of three calls."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def format_seconds(seconds: float) -> str:
    """A duration with a suitable unit."""
    for limit, unit, size in ((1, "ms", 1e-3), (100, "s", 1), (7200, "min", 60)):
        if seconds < limit:
            return f"{seconds / size:.{1 if unit == 's' else 0}f} {unit}"
    return f"{seconds / 3600:.1f} h"
