"""Fuzzes one target, in a process that `parsers.py` starts: `python -m fuzz.guided TARGET …`.

The input being read is in the current folder, and so is the count of what was read. Limits and
hangs are by processor time, so that the process may be paused.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

MEMORY = 1.0  # GiB beyond that of the libraries
SECONDS = 10.0  # processor time of one input


class Reader:
    """Reads inputs, and counts them.

    kept : folder for inputs that raise an error other than `InputError`.
    """

    def __init__(self, target: Any, kept: Path) -> None:
        self.target, self.kept = target, kept
        self.counts = {"inputs": 0, "accepted": 0, "untyped": 0, "longest_seconds": 0.0}
        self._start, self._before = time.process_time(), _peak_mb()

    def read(self, data: bytes) -> None:
        from graphgate.errors import InputError

        path, start = Path(self.target.file), time.process_time()
        path.write_bytes(self.target.wrap(data))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process, also inside a library
        try:
            self.target.parse(path.absolute())
            self.counts["accepted"] += 1
        except InputError:
            pass
        except Exception as error:
            print(f"{type(error).__name__}: {error}"[:200])
            name = f"untyped-{hashlib.sha256(data).hexdigest()[:10]}"
            (self.kept / name).write_bytes(path.read_bytes())
            self.counts["untyped"] += 1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.counts["inputs"] += 1
        seconds = time.process_time() - start
        self.counts["longest_seconds"] = max(self.counts["longest_seconds"], round(seconds, 3))

    def save(self) -> float:
        """Write the counts; returns the processor time so far."""
        seconds = time.process_time() - self._start
        cost = {"cpu_seconds": round(seconds, 1), "peak_mb": round(_peak_mb() - self._before, 1)}
        Path("counts.json").write_text(json.dumps(self.counts | cost))
        return seconds


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(name: str, inputs: int, seconds: float, kept: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["graphgate", "networkx.readwrite", "zipfile"]):
        from fuzz.targets import TARGETS
    import pyarrow as pa

    from benchmarks.processes import limit_memory

    pa.set_cpu_count(1)
    warnings.simplefilter("ignore")
    corpus = kept / "corpus"
    corpus.mkdir(exist_ok=True)
    for seed in TARGETS[name].seeds():
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    limit_memory(MEMORY)
    reader = Reader(TARGETS[name], kept)

    def read(data: bytes) -> None:
        if reader.counts["inputs"] % 100 == 0 and reader.save() >= seconds:
            os._exit(0)
        if reader.counts["inputs"] >= inputs:
            reader.save()
            os._exit(0)
        reader.read(data)

    flags = [f"-seed={os.getpid()}", "-max_len=8192", "-rss_limit_mb=0", "-verbosity=0"]
    flags += ["-timeout=1000000", "-report_slow_units=1000000"]  # by the clock: never
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={kept}/", str(corpus)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
