"""The tables of docs/robustness.md, from results/fuzz."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results" / "fuzz"
HOSTILE = RESULTS / "hostile-files.json"


def fuzzing() -> str:
    """One row per parser: what was read, and what went wrong."""
    runs = {path.stem: _read(path) for path in sorted(RESULTS.glob("*.json")) if path != HOSTILE}
    lines = [
        "| parser | inputs | CPU s | read | crashes | hangs | other errors | peak MB | longest s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, run in [*runs.items(), ("all", _total(list(runs.values())))]:
        lines.append(
            f"| {name} | {run['inputs']:,} | {run['cpu_seconds']:,.0f} | {run['accepted']:,} | "
            f"{run['crashes']} | {run['hangs']} | {run['untyped']} | {run['peak_mb']:.0f} | "
            f"{run['longest_seconds']:.2f} |"
        )
    return "\n".join(lines)


def _total(runs: list[dict[str, Any]]) -> dict[str, Any]:
    sums = ("inputs", "cpu_seconds", "accepted", "crashes", "hangs", "untyped")
    total = {name: sum(run[name] for run in runs) for name in sums}
    return total | {
        name: max((run[name] for run in runs), default=0) for name in ("peak_mb", "longest_seconds")
    }


def hostile() -> str:
    """One row per hand-made file."""
    files = _read(HOSTILE)["files"]
    lines = ["| file | bytes | outcome | CPU s | peak MB |", "| --- | --- | --- | --- | --- |"]
    for name, found in files.items():
        lines.append(
            f"| {name} | {found['bytes']:,} | {found['outcome']} | {found.get('seconds', 0):.2f} | "
            f"{found.get('peak_mb', 0):.0f} |"
        )
    return "\n".join(lines)


def tables() -> dict[str, str]:
    made = {"fuzzing": fuzzing()} if list(RESULTS.glob("*.json")) else {}
    return made | ({"hostile_files": hostile()} if HOSTILE.exists() else {})


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
