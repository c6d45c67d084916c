"""Runs inputs through one parser in this process, under limits of memory and time.

Started by `run.py`. What the process was reading when it died is in its folder, and so is the count
of what it has read.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

MEMORY = 1 << 30  # bytes beyond those of the libraries
SECONDS = 10.0  # processor time of one input


class Counts:
    """What was read so far; `save` writes it to a file."""

    def __init__(self, folder: Path, memory_before: int) -> None:
        self.folder, self._before = folder, memory_before
        self.inputs = self.accepted = 0
        self.longest = 0.0
        self.untyped: dict[str, str] = {}
        self._start = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self._start

    def save(self) -> None:
        content = {
            "inputs": self.inputs,
            "accepted": self.accepted,
            "cpu_seconds": round(self.seconds, 2),
            "longest_seconds": round(self.longest, 3),
            "peak_mb": round((peak() - self._before) / 2**20, 1),
            "untyped": self.untyped,
        }
        part = self.folder / "counts.part"
        part.write_text(json.dumps(content))
        part.replace(self.folder / "counts.json")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def feed(parser: Any, data: bytes, counts: Counts, input_error: type[Exception]) -> None:
    """One input; anything but a result or an `InputError` is noted, with the input."""
    content = parser.wrap(data)
    file = counts.folder / "input" / parser.file
    file.write_bytes(content)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process, also inside a library
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser.parse(file)
        counts.accepted += 1
    except input_error:
        pass
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        if where not in counts.untyped:
            name = f"untyped-{hashlib.sha256(content).hexdigest()[:10]}"
            (counts.folder / "findings" / name).write_bytes(content)
            counts.untyped[where] = f"{error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    counts.longest = max(counts.longest, time.process_time() - start)
    counts.inputs += 1


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("parser")
    given.add_argument("folder", type=Path)
    given.add_argument("--inputs", type=int, required=True)
    given.add_argument("--seconds", type=float, required=True)
    given.add_argument("--seed", type=int, required=True)
    given.add_argument("--engine", choices=("atheris", "mutation"), required=True)
    given.add_argument("--replay", type=Path, help="only the content of this file")
    options = given.parse_args()
    for name in ("input", "findings", "corpus"):
        (options.folder / name).mkdir(parents=True, exist_ok=True)
    atheris: Any = None
    if options.engine == "atheris":
        atheris = importlib.import_module("atheris")
        with atheris.instrument_imports(include=["graphgate", "networkx.readwrite", "zipfile"]):
            import parsers
    else:
        import parsers
    import pyarrow as pa

    from graphgate.errors import InputError

    parser = parsers.PARSERS[options.parser]
    seeds = parser.seeds()
    if options.replay is not None:
        parser = replace(parser, wrap=bytes)
        options.inputs = 1
    pa.set_cpu_count(1)
    counts = Counts(options.folder, peak())
    limit_memory()

    def one(data: bytes) -> None:
        feed(parser, data, counts, InputError)
        if counts.inputs % 500 == 0:
            counts.save()
        if counts.inputs >= options.inputs or counts.seconds >= options.seconds:
            counts.save()
            sys.stdout.flush()
            os._exit(0)

    if options.replay is not None:
        one(options.replay.read_bytes())
    if atheris is None:
        from mutation import mutations

        for seed in seeds:
            one(seed)
        for data in mutations(seeds, options.seed):
            one(data)
    corpus = options.folder / "corpus"
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    flags = [f"-seed={options.seed + 1}", "-max_len=8192", "-timeout=600", "-rss_limit_mb=0"]
    flags += ["-print_final_stats=0", "-verbosity=0", f"-artifact_prefix={options.folder}/"]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
