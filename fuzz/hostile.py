"""Reads every hostile file in a process of its own; measures its processor time and peak memory.

python -m fuzz hostile --json results/fuzz/hostile-files.json
"""

import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.runner import Measurements
from fuzz.hostile_files import HOSTILE, LARGEST, Hostile
from graphgate.compute.measure import measured, resident
from graphgate.errors import InputError


def measure() -> Measurements:
    for name in HOSTILE:
        yield {"file": name}, partial(write_and_read, HOSTILE[name])


def write_and_read(hostile: Hostile) -> dict[str, Any]:
    """Both in copies of this process, whose memory stays small."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / hostile.file
        _in_child(lambda: path.write_bytes(hostile.content()))
        size = path.stat().st_size
        assert size < LARGEST, hostile.file
        cost, signal = _in_child(lambda: _measure(hostile, path))
    return {"bytes": size} | (cost or {"outcome": f"killed by signal {signal}"})


def outcome(hostile: Hostile, path: Path) -> str:
    """What reading the file gives, in a few words."""
    try:
        with warnings.catch_warnings(action="ignore"):
            hostile.read(path)
    except InputError:
        return "refused"
    return "read"


def _in_child(work: Callable[[], Any]) -> tuple[Any, int]:
    """What work returns in a copy of this process, and the signal that ended it, or 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(work()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(answer) if answer else None, status & 127


def _measure(hostile: Hostile, path: Path) -> dict[str, Any]:
    before = resident()
    start = time.process_time()
    with measured() as cost:
        try:
            what = outcome(hostile, path)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"[:200]
    return {
        "outcome": what,
        "seconds": round(time.process_time() - start, 2),
        "peak_mb": round(cost.peak_memory_mb - before, 1),
    }
