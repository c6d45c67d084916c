"""Read every hostile file in a process of its own; measure its processor time and peak memory.

python fuzz/hostile.py --json results/fuzz/hostile-files.json
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile_files import HOSTILE, LARGEST, Hostile

from graphgate.compute.measure import measured, resident
from graphgate.errors import InputError
from graphgate.io.files import write_json
from graphgate.io.provenance import versions


def outcome(hostile: Hostile, path: Path) -> str:
    """What reading the file gives, in a few words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, hostile in HOSTILE.items():
            path = Path(folder) / hostile.file
            # Both in copies of this process, whose memory stays small.
            _in_child(lambda: path.write_bytes(hostile.content()))  # noqa: B023
            size = path.stat().st_size
            assert size < LARGEST, name
            found, signal = _in_child(lambda: _measure(hostile, path))  # noqa: B023
            results[name] = {"bytes": size} | (found or {"outcome": f"killed by signal {signal}"})
            path.unlink()
            print(name, results[name], flush=True)
    if given.json is not None:
        how = {
            "command": "python fuzz/hostile.py --json results/fuzz/hostile-files.json",
            "versions": versions(),
        }
        write_json(given.json, how | {"files": results})


if __name__ == "__main__":
    main()
