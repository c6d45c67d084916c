"""Runs a benchmark, and stores every measurement as soon as it is made.

    python -m benchmarks NAME [--json FILE] [--threads N] [--rounds N] [--renew] [OPTIONS]

A benchmark is a module with a generator `measure`, whose parameters are its options. It yields
measurements: what is measured, as a dictionary, and a function that measures it. With `--rounds`,
all measurements take turns, and numbers are medians. Measurements that the file already has are
kept, unless `--renew`, and so is the command that began the file.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
import torch

from graphgate.io.files import write_json
from graphgate.io.provenance import processor, versions

Measurements = Iterator[tuple[dict[str, Any], Callable[[], dict[str, Any]]]]
Spread = dict[str, float]
T = TypeVar("T")


def main(package: str) -> None:
    """Run the benchmark that the command line names."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: python -m {package} NAME [OPTIONS]; NAME is a module of {package}/")
    name, *arguments = sys.argv[1:]
    benchmark = import_module(f"{package}.{name}")
    given = vars(_parser(benchmark).parse_args(arguments))
    path, renew, rounds = (given.pop(option) for option in ("json", "renew", "rounds"))
    if (threads := given.pop("threads")) is not None:
        torch.set_num_threads(threads)
    command = " ".join(["python", "-m", package, name, *map(_bare, arguments)])
    result: dict[str, Any] = {"command": command, "measurements": []}
    if path is not None and path.exists():
        result |= json.loads(path.read_text("utf-8"))
    result |= description()
    run(partial(benchmark.measure, **given), result, path, rounds=rounds, renew=renew)


def _parser(benchmark: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=benchmark.__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--renew", action="store_true", help="repeat stored measurements")
    for option in signature(benchmark.measure).parameters.values():
        flag, default = "--" + option.name.replace("_", "-"), option.default
        kind = listed(default) if isinstance(default, tuple) else type(default)
        parser.add_argument(flag, type=kind, default=default)
    return parser


def listed(default: tuple[Any, ...]) -> Callable[[str], tuple[Any, ...]]:
    """Reads values that are separated by commas, of the type of the default ones."""
    kind = type(default[0]) if default else str
    return lambda text: tuple(kind(part.strip()) for part in text.split(",") if part.strip())


def run(
    measure: Callable[[], Measurements],
    result: dict[str, Any],
    path: Path | None,
    *,
    rounds: int = 1,
    renew: bool = False,
) -> None:
    """Add measurements to a result, or replace stored ones, and store it after each."""
    stored: list[dict[str, Any]] = result["measurements"]
    before = [] if renew else list(stored)
    made: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _ in range(rounds):
        for subject, work in measure():
            if any(subject.items() <= known.items() for known in before):
                continue
            values = made[json.dumps(subject)]
            values.append(work())
            print(subject, values[-1], flush=True)
            same = (at for at, known in enumerate(stored) if subject.items() <= known.items())
            place = next(same, len(stored))
            stored[place : place + 1] = [subject | combined(values)]
            if path is not None:
                write_json(path, result)


def combined(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """A single round as it is; of several the medians of numbers, and all rounds."""
    if len(rounds) == 1:
        return rounds[0]
    medians = {
        name: median(values[name] for values in rounds)
        for name, value in rounds[-1].items()
        if isinstance(value, float)
    }
    return rounds[-1] | medians | {"rounds": rounds}


def description() -> dict[str, Any]:
    """Versions, threads and processor, which head every result."""
    geometric = find_spec("torch_geometric") and {"torch_geometric": version("torch_geometric")}
    return {
        "versions": versions() | (geometric or {}),
        "threads": torch.get_num_threads(),
        "cpu": processor(),
    }


def _bare(argument: str) -> str:
    """Results are published, so a path on this machine is cut down to its last part."""
    name, sign, value = argument.rpartition("=")
    return f"{name}{sign}{Path(value).name}" if Path(value).is_absolute() else argument


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(
    works: Mapping[str, Callable[[], T]], rounds: int, *, warm_up: int = 0
) -> dict[str, list[T]]:
    """The results of calls that take turns: what slows the machine for a while slows all."""
    results: dict[str, list[T]] = {name: [] for name in works}
    for number in range(-warm_up, rounds):
        for name, work in works.items():
            value = work()
            if number >= 0:
                results[name].append(value)
    return results


def seconds_in_turn(
    works: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: int = 1
) -> dict[str, list[float]]:
    timings = {name: partial(timed, work) for name, work in works.items()}
    return in_turn(timings, rounds, warm_up=warm_up)


def spreads(seconds: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    return {name: spread(values) for name, values in seconds.items()}


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles."""
    low, middle, high = np.quantile(np.asarray(values, dtype=float), [0.25, 0.5, 0.75])
    return {"median": float(middle), "low": float(low), "high": float(high)}


def ratio_spread(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Of the ratios, round by round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])
