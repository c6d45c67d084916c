"""Reads every hostile file in a process of its own; measures its processor time and peak memory.

python -m fuzz hostile --json results/fuzz/hostile-files.json
"""

import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import isolated
from benchmarks.runner import Measurements
from fuzz.hostile_files import HOSTILE, LARGEST, Hostile
from graphgate.compute.measure import measured, resident
from graphgate.errors import InputError


def measure() -> Measurements:
    for name in HOSTILE:
        yield {"file": name}, partial(write_and_read, name)


def write_and_read(name: str) -> dict[str, Any]:
    """By different processes, as writing may take more memory than reading."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / HOSTILE[name].file
        written = isolated(write, name, path)
        return {"outcome": "out of memory"} | written | isolated(cost_of_reading, name, path)


def write(name: str, path: Path) -> dict[str, Any]:
    size = path.write_bytes(HOSTILE[name].content())
    assert size < LARGEST, name
    return {"bytes": size}


def cost_of_reading(name: str, path: Path) -> dict[str, Any]:
    before, start = resident(), time.process_time()
    with measured() as cost:
        what = outcome(HOSTILE[name], path)
    seconds = time.process_time() - start
    peak = round(cost.peak_memory_mb - before, 1)
    return {"outcome": what, "seconds": round(seconds, 2), "peak_mb": peak}


def outcome(hostile: Hostile, path: Path) -> str:
    """What reading the file gives, in one word."""
    try:
        with warnings.catch_warnings(action="ignore"):
            hostile.read(path)
    except InputError:
        return "refused"
    return "read"
