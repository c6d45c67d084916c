"""What a measurement was made with, and the middle and spread of repeated ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphgate.io.provenance import processor, versions

Spread = dict[str, float]


def description(script: str, threads: int, complete: str | None = None) -> dict[str, Any]:
    """Command, versions, threads and processor: stands at the top of every result.

    complete : the command that makes the whole result, where this one may renew a part of it.
    """
    command = " ".join(["python", f"benchmarks/{script}", *map(_bare, sys.argv[1:])])
    return {
        "command": complete or command,
        "versions": versions() | _geometric(),
        "threads": threads,
        "cpu": processor(),
    }


def use_threads(wanted: int | None) -> int:
    """Sets torch's number of threads where one is asked for; returns the number in use."""
    if wanted is not None:
        torch.set_num_threads(wanted)
    return torch.get_num_threads()


def has_geometric() -> bool:
    return find_spec("torch_geometric") is not None


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles."""
    low, median, high = np.quantile(np.asarray(values, dtype=float), [0.25, 0.5, 0.75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def ratio_spread(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Of the ratios round by round: what slows the machine for a while slows both."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _bare(argument: str) -> str:
    """Results are published, so a path on this machine is cut down to its last part."""
    name, sign, value = argument.rpartition("=")
    return f"{name}{sign}{Path(value).name}" if Path(value).is_absolute() else argument


def _geometric() -> dict[str, str]:
    try:
        return {"torch_geometric": version("torch_geometric")}
    except PackageNotFoundError:
        return {}
