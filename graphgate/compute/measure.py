"""Time and peak memory of a block of code."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """Seconds, and the peak memory of the process in MiB, imported libraries included.

    Only Linux can reset the peak; elsewhere it is that of the whole lifetime of the process.
    """

    seconds: float = 0.0
    peak_memory_mb: float = 0.0


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
        cost.peak_memory_mb = _peak()


def resident() -> float:
    """Current memory of the process in MiB; 0 where the system does not report it."""
    return _status("VmRSS")


def _peak() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _status(field: str) -> float:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith(field)), 0.0)
