"""Fuzz the parsers, and add what was read to results/fuzz/TARGET.json.

    python fuzz/run.py --inputs 1000000 --seconds 3600 [PARSER …]

Each parser gets a slice in turn until the stored counts of its targets reach this many inputs or
this many seconds of processor time, so that the same command continues where it stopped. It may be
paused (SIGSTOP) and ended (SIGTERM) at any time. Coverage guides the mutations if atheris is
installed (the extra `fuzz`). Inputs that crash, hang or raise an error other than `InputError` go
to build/fuzz/TARGET/findings; fix the cause and keep them, made small, in tests/corpus/TARGET.
"""

import argparse
import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import worker

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "fuzz"
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve gigabytes of addresses
    "OMP_NUM_THREADS": "1",  # no threads that a fork would lose
    "OPENBLAS_NUM_THREADS": "1",
    "GRAPHGATE_LIMITS": "",
}
EMPTY = {
    "inputs": 0,
    "accepted": 0,
    "cpu_seconds": 0.0,
    "crashes": 0,
    "hangs": 0,
    "untyped": 0,
    "peak_mb": 0.0,
    "longest_seconds": 0.0,
}


def stored(target: str, results: Path) -> dict[str, Any]:
    path = results / f"{target}.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return EMPTY | {name: value for name, value in found.items() if name in EMPTY}


def merged(total: dict[str, Any], counts: dict[str, Any], code: int) -> dict[str, Any]:
    """The counts with those of one more slice, whose process ended with this exit code."""
    found = dict(total)
    for name in ("inputs", "accepted", "untyped"):
        found[name] += counts.get(name, 0)
    found["cpu_seconds"] = round(found["cpu_seconds"] + counts.get("cpu_seconds", 0.0), 1)
    for name in ("peak_mb", "longest_seconds"):
        found[name] = max(found[name], counts.get(name, 0.0))
    found["hangs"] += code == -signal.SIGPROF
    found["crashes"] += code not in (0, -signal.SIGPROF)
    return found


def forked(run: Callable[[], None], log: Path) -> int:
    """The exit code of a child process that does this, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        try:
            run()
        except BaseException:  # the parent's work must not go on in the child
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except SystemExit:
        with suppress(ProcessLookupError, ChildProcessError):  # it may have ended meanwhile
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise


def fuzz_slice(part: worker.Slice, atheris: Any, input_error: type[Exception]) -> int:
    """Run a slice; the exit code of its process.

    What a process was reading when it died is read again by another one. If that dies too, the
    input goes to findings; if not, the process was ended from outside, and the exit code is 0.
    """
    for folder in (part.folder / "findings", part.file.parent):
        folder.mkdir(parents=True, exist_ok=True)
    log = part.folder / "log.txt"
    code = forked(partial(worker.fuzz, part, atheris, input_error), log)
    if not code:
        return 0
    print(f"exit code {code}:", log.read_text("utf-8", "replace")[-2000:], flush=True)
    content = part.file.read_bytes() if part.file.exists() else b""
    code = forked(partial(worker.replay, part, content, input_error), log)
    if code:
        name = f"exit{code}-{hashlib.sha256(content).hexdigest()[:10]}"
        (part.folder / "findings" / name).write_bytes(content)
    return code


class Fuzzing:
    """The targets with their stored counts, and what runs a slice of one."""

    def __init__(self, results: Path, memory_folder: Path) -> None:
        found = importlib.util.find_spec("atheris")
        self.atheris = importlib.import_module("atheris") if found else None
        packages = ["graphgate", "networkx.readwrite", "zipfile"]
        with self.atheris.instrument_imports(include=packages) if self.atheris else nullcontext():
            from fuzz import targets
        import pyarrow as pa
        import torch

        from graphgate.errors import InputError

        pa.set_cpu_count(1)
        torch.set_num_threads(1)
        self.parsers, self.targets = targets.PARSERS, targets.TARGETS
        warnings.simplefilter("ignore")
        self.seeds = {name: target.seeds() for name, target in self.targets.items()}
        self.input_error = InputError
        self.results, self.memory_folder = results, memory_folder
        self.counts = {name: stored(name, results) for name in self.targets}

    def done(self, parser: str, inputs: int, seconds: float) -> bool:
        counts = [self.counts[name] for name in self.parsers[parser]]
        return bool(
            sum(count["inputs"] for count in counts) >= inputs
            or sum(count["cpu_seconds"] for count in counts) >= seconds
        )

    def next_slice(self, parser: str, seconds: float) -> None:
        """This many seconds for the target of a parser that has had the fewest inputs."""
        name = min(self.parsers[parser], key=lambda name: int(self.counts[name]["inputs"]))
        part = worker.Slice(
            target=self.targets[name],
            seeds=self.seeds[name],
            inputs=1_000_000,
            seconds=seconds,
            seed=self.counts[name]["inputs"] % 2**31,
            folder=ROOT / "build" / "fuzz" / name,
            memory_folder=self.memory_folder / name,
        )
        shutil.rmtree(part.memory_folder, ignore_errors=True)
        found = part.folder / "counts.json"
        found.unlink(missing_ok=True)
        code = 0
        try:
            code = fuzz_slice(part, self.atheris, self.input_error)
        finally:  # also if this process is ended
            counts = json.loads(found.read_text()) if found.exists() else {}
            self.counts[name] = merged(self.counts[name], counts, code)
            self.store(parser, name)
        total = self.counts[name]
        print(name, total["inputs"], f"{total['cpu_seconds']:.0f} s", code, flush=True)
        for where, text in counts.get("errors", {}).items():
            print("   ", where, text, flush=True)

    def store(self, parser: str, name: str) -> None:
        from graphgate.io.files import write_json
        from graphgate.io.provenance import versions

        how = {
            "command": "python fuzz/run.py",
            "parser": parser,
            "engine": "atheris" if self.atheris else "mutation",
        }
        self.results.mkdir(parents=True, exist_ok=True)
        content = how | self.counts[name] | {"versions": versions()}
        write_json(self.results / f"{name}.json", content)


def _end(*_: object) -> None:
    sys.exit(0)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("parsers", nargs="*", help="all if none is given")
    given.add_argument("--inputs", type=int, default=1_000_000)
    given.add_argument("--seconds", type=float, default=3600)
    given.add_argument("--slice", type=float, default=60, help="processor seconds of one slice")
    given.add_argument("--results", type=Path, default=RESULTS, help="folder of the counts")
    options = given.parse_args()
    os.environ |= ENVIRONMENT  # read when the libraries are imported
    signal.signal(signal.SIGTERM, _end)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory) as folder:
        fuzzing = Fuzzing(options.results, Path(folder))
        for parser, names in fuzzing.parsers.items():
            for name in names:
                fuzzing.store(parser, name)
        parsers = options.parsers or list(fuzzing.parsers)
        while parsers := [
            name for name in parsers if not fuzzing.done(name, options.inputs, options.seconds)
        ]:
            for parser in parsers:
                fuzzing.next_slice(parser, options.slice)


if __name__ == "__main__":
    main()
