"""Fuzzes every parser, guided by coverage: atheris, which the extra `fuzz` installs.

    python -m fuzz parsers --json results/fuzz/parsers.json

The targets of a parser share a million inputs or an hour of processor time. Each is read by a
process of its own (`guided.py`), which ends when an input crashes or hangs. Inputs that do, or that
raise an error other than `InputError`, go to build/fuzz/TARGET; fix the cause and keep them, made
small, in tests/corpus/TARGET. --targets restricts what is run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.runner import Measurements
from fuzz.targets import PARSERS, TARGETS

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve gigabytes of addresses
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GRAPHGATE_LIMITS": "",
}
MEMORY = "/dev/shm"  # files are read from memory where the system allows it


def measure(
    targets: tuple[str, ...] = (), inputs: int = 1_000_000, seconds: float = 3600.0
) -> Measurements:
    for parser, names in PARSERS.items():
        for name in names:
            if not targets or name in targets:
                share = inputs // len(names), seconds / len(names)
                yield {"parser": parser, "target": name}, partial(fuzz, name, *share)


def fuzz(name: str, inputs: int, seconds: float) -> dict[str, Any]:
    """What one target has read, and how its process ended."""
    kept = ROOT / "build" / "fuzz" / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        command = [sys.executable, "-m", "fuzz.guided", name, str(inputs), str(seconds), str(kept)]
        ended = subprocess.run(
            command, cwd=folder, env=os.environ | ENVIRONMENT, stderr=subprocess.PIPE, text=True
        )
        counts = Path(folder, "counts.json")
        if not counts.exists():
            raise SystemExit(f"{name} was not fuzzed: {ended.stderr[-2000:]}")
        if ended.returncode:
            print(ended.stderr[-2000:])
            shutil.copy(Path(folder, TARGETS[name].file), kept / f"exit{ended.returncode}")
        hangs = ended.returncode == -signal.SIGPROF
        crashes = ended.returncode not in (0, -signal.SIGPROF)
        return json.loads(counts.read_text()) | {"crashes": int(crashes), "hangs": int(hangs)}
