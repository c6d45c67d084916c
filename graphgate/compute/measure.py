"""Time and peak memory of a block of code."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graphgate.compute.machine import peak_bytes, resident_bytes

_CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """Seconds, and the peak memory of the process in MiB, imported libraries included.

    Only Linux can reset the peak; elsewhere it is that of the whole lifetime of the process.
    """

    seconds: float = 0.0
    peak_memory_mb: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Both, rounded for a record."""
        return {
            "seconds": round(self.seconds, 3),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
        }


@contextmanager
def measured() -> Iterator[Cost]:
    """Yields a `Cost` that is filled in when the block ends."""
    cost = Cost()
    with suppress(OSError):
        _CLEAR.write_text("5")  # Linux: resets the peak
    start = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - start
        cost.peak_memory_mb = peak_bytes() / 2**20


def resident() -> float:
    """Current memory of the process in MiB; 0 where the system does not report it."""
    return resident_bytes() / 2**20
