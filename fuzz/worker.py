"""One slice of fuzzing: inputs for one target, in a process of their own under limits.

`run.py` has imported everything and forks for each slice. What the process was reading when it died
is in its folder, and so is the count of what it has read. Limits and hangs are by processor time,
so that a slice may be paused.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.mutation import mutations

MEMORY = 1 << 30  # bytes beyond those of the libraries
SECONDS = 10.0  # processor time of one input


@dataclass(frozen=True)
class Slice:
    """What one process does.

    folder : counts, findings and, for atheris, the corpus
    memory_folder : the file that is being read, in memory where the system allows it
    """

    target: Any
    seeds: list[bytes]
    inputs: int
    seconds: float
    seed: int
    folder: Path
    memory_folder: Path

    @property
    def file(self) -> Path:
        return self.memory_folder / "input" / str(self.target.file)


class Counts:
    """What was read so far; `save` writes it to a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._before = folder, peak()
        self.inputs = self.accepted = self.untyped = 0
        self.longest = 0.0
        self.errors: dict[str, str] = {}
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
            "errors": self.errors,
        }
        part = self.folder / "counts.part"
        part.write_text(json.dumps(content))
        part.replace(self.folder / "counts.json")

    def note(self, error: Exception, content: bytes) -> None:
        """An error that should not be; the input is kept if none before failed at this place."""
        self.untyped += 1
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        if where not in self.errors:
            name = f"untyped-{hashlib.sha256(content).hexdigest()[:10]}"
            (self.folder / "findings" / name).write_bytes(content)
            self.errors[where] = f"{error}"[:200]


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def feed(part: Slice, content: bytes, counts: Counts, input_error: type[Exception]) -> None:
    """One file; anything but a result or an `InputError` is noted."""
    part.file.write_bytes(content)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process, also inside a library
    try:
        part.target.parse(part.file)
        counts.accepted += 1
    except input_error:
        pass
    except Exception as error:
        counts.note(error, content)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    counts.longest = max(counts.longest, time.process_time() - start)
    counts.inputs += 1


def fuzz(part: Slice, atheris: Any, input_error: type[Exception]) -> None:
    """Mutated inputs until the slice is over, which ends the process."""
    counts = Counts(part.folder)
    limit_memory()

    def one(data: bytes) -> None:
        feed(part, part.target.wrap(data), counts, input_error)
        if counts.inputs % 500 == 0:
            counts.save()
        if counts.inputs >= part.inputs or counts.seconds >= part.seconds:
            counts.save()
            os._exit(0)

    if atheris is None:
        _feed_all(one, part.seeds)
        _feed_all(one, mutations(part.seeds, part.seed))
    corpus = part.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for seed in part.seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    flags = [f"-seed={part.seed + 1}", "-max_len=8192", "-rss_limit_mb=0", "-verbosity=0"]
    flags += ["-timeout=1000000", "-report_slow_units=1000000"]  # by the clock: never
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={part.folder}/", str(corpus)], one)
    atheris.Fuzz()


def _feed_all(one: Any, inputs: Iterable[bytes]) -> None:
    for data in inputs:
        one(data)


def replay(part: Slice, content: bytes, input_error: type[Exception]) -> None:
    """One file again."""
    counts = Counts(part.folder)
    limit_memory()
    feed(part, content, counts, input_error)
