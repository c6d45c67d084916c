"""Measurements in processes of their own: fresh memory, and a limit that spares the machine."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphgate.paper.experiments.limited_run import is_memory_error

OUT_OF_MEMORY = "out of memory"


def run(script: str, *arguments: str) -> dict[str, Any]:
    """Runs a script of this folder; returns what its `answer` printed.

    A process that the system killed ran out of memory: it cannot say so itself.
    """
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode in (-signal.SIGKILL, -signal.SIGABRT):
        return {"status": OUT_OF_MEMORY}
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(arguments)} failed with code {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def arguments(description: str | None) -> argparse.Namespace:
    """In the child: what `epoch.py` asks of one peer on one dataset."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("dataset")
    parser.add_argument("peer")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--limit", type=float, required=True, help="GiB")
    return parser.parse_args()


def answer(work: Callable[[], dict[str, Any]], limit_gib: float) -> None:
    """In the child: does the work under the limit and prints the result for `run`."""
    limit_memory(limit_gib)
    try:
        result = {"status": "ok"} | work()
    except (MemoryError, RuntimeError) as error:
        if not is_memory_error(error):
            raise
        result = {"status": OUT_OF_MEMORY}
    print(json.dumps(result), flush=True)


def limit_memory(gib: float) -> None:
    """No more than this beyond the address space that the imported libraries have taken."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # not Linux: no guard, the estimates of `peers` must do
        return
    taken = pages * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = taken + int(gib * 2**30)
    resource.setrlimit(
        resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard)
    )


def default_limit_gib() -> float:
    """At most 20 GiB, and never so much that the machine itself runs out."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 20.0
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return round(min(20.0, 0.85 * free / 2**20), 1)
