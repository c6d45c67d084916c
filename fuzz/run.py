"""Fuzz the parsers, and add what was read to results/fuzz/PARSER.json.

    python fuzz/run.py --inputs 1000000 --seconds 3600 [PARSER …]

Each parser runs until the stored counts reach this many inputs or this many seconds of processor
time, so that the same command continues where it stopped. Coverage guides the mutations if atheris
is installed (the extra `fuzz`). Inputs that crash, hang or raise an error other than `InputError`
go to build/fuzz/PARSER/findings; fix the cause and keep them, made small, in tests/corpus/PARSER.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from graphgate.io.files import write_json
from graphgate.io.provenance import versions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "fuzz"
ROUND = 50_000  # inputs of one process, whose memory may be fragmented afterwards
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


def stored(parser: str, results: Path = RESULTS) -> dict[str, Any]:
    path = results / f"{parser}.json"
    return EMPTY | (json.loads(path.read_text("utf-8")) if path.exists() else {})


def merged(total: dict[str, Any], counts: dict[str, Any], code: int) -> dict[str, Any]:
    """The counts with those of one more process, which ended with this exit code."""
    found = dict(total)
    for name in ("inputs", "accepted"):
        found[name] += counts.get(name, 0)
    found["cpu_seconds"] = round(found["cpu_seconds"] + counts.get("cpu_seconds", 0.0), 1)
    for name in ("peak_mb", "longest_seconds"):
        found[name] = max(found[name], counts.get(name, 0.0))
    found["untyped"] += len(counts.get("untyped", {}))
    found["hangs"] += code == -signal.SIGPROF
    found["crashes"] += code not in (0, -signal.SIGPROF)
    return found


def fuzz_round(
    parser: str, inputs: int, seconds: float, seed: int, folder: Path, engine: str
) -> tuple[dict[str, Any], int]:
    """The counts of one process and its exit code.

    What a process was reading when it died is read again by another one. If that dies too, the
    input goes to findings; if not, the process was ended from outside, and the exit code is 0.
    """
    counts = folder / "counts.json"
    counts.unlink(missing_ok=True)
    shutil.rmtree(folder / "input", ignore_errors=True)
    limits = ["--inputs", str(inputs), "--seconds", str(seconds), "--seed", str(seed)]
    code, errors = _worker(parser, folder, *limits, "--engine", engine)
    found = json.loads(counts.read_text()) if counts.exists() else {}
    if not code:
        return found, 0
    print(errors[-2000:], file=sys.stderr)
    for file in [file for file in (folder / "input").glob("*") if file.is_file()]:
        last = folder / f"exit{code}-{hashlib.sha256(file.read_bytes()).hexdigest()[:10]}"
        file.replace(last)
        code, _ = _worker(parser, folder, *limits, "--engine", "mutation", "--replay", str(last))
        if code:
            last.replace(folder / "findings" / last.name)
            return found, code
    return found, 0


def _worker(parser: str, folder: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, str(Path(__file__).with_name("worker.py")), parser, str(folder)]
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve gigabytes of addresses
        "OMP_NUM_THREADS": "1",
        "GRAPHGATE_LIMITS": "",
    }
    done = subprocess.run(
        [*command, *options], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("parsers", nargs="*")
    given.add_argument("--inputs", type=int, default=1_000_000)
    given.add_argument("--seconds", type=float, default=3600)
    given.add_argument("--slice", type=float, default=120, help="seconds of one process")
    options = given.parse_args()
    sys.path.append(str(Path(__file__).parent))
    from parsers import PARSERS

    engine = "atheris" if importlib.util.find_spec("atheris") else "mutation"
    names = options.parsers or list(PARSERS)
    while names := [n for n in names if not _done(stored(n), options.inputs, options.seconds)]:
        for name in names:
            total = stored(name)
            counts, code = fuzz_round(
                name,
                min(ROUND, options.inputs - total["inputs"]),
                min(options.slice, options.seconds - total["cpu_seconds"]),
                total["inputs"] % 2**31,
                ROOT / "build" / "fuzz" / name,
                engine,
            )
            total = merged(total, counts, code)
            RESULTS.mkdir(parents=True, exist_ok=True)
            how = {"command": f"python fuzz/run.py {name}", "engine": engine}
            write_json(RESULTS / f"{name}.json", how | total | {"versions": versions()})
            print(name, total["inputs"], f"{total['cpu_seconds']:.0f} s", code, flush=True)
            for where, text in counts.get("untyped", {}).items():
                print("   ", where, text, flush=True)


def _done(total: dict[str, Any], inputs: int, seconds: float) -> bool:
    return bool(total["inputs"] >= inputs or total["cpu_seconds"] >= seconds)


if __name__ == "__main__":
    main()
