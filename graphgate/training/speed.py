"""How fast this machine multiplies, measured in a moment, for estimates before a run."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from graphgate.nn.pattern import csr_tensor


def seconds_for(sparse: float, dense: float) -> float:
    """The time to read numbers in sparse products, and to multiply numbers in dense ones."""
    read, multiplied = _speeds()
    return sparse / read + dense / multiplied


@cache
def _speeds() -> tuple[float, float]:
    """Numbers per second that a sparse product reads, and products of numbers in a dense one."""
    n, each, columns = 1 << 18, 8, 32
    generator = torch.Generator().manual_seed(0)
    indices = torch.randint(n, (n * each,), generator=generator, dtype=torch.int32)
    indptr = torch.arange(0, n * each + 1, each, dtype=torch.int32)
    matrix = csr_tensor(indptr, indices, torch.ones(n * each), (n, n))
    wide, square = torch.ones(n, columns), torch.ones(1024, 1024)
    return (
        n * each * columns / _seconds(lambda: matrix @ wide),
        square.numel() * 1024 / _seconds(lambda: square @ square),
    )


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
