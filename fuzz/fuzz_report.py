"""The tables of docs/robustness.md, from results/fuzz."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results" / "fuzz"
HOSTILE = RESULTS / "hostile-files.json"


def fuzzing() -> str:
    """One row per parser: what its targets have read, and what went wrong."""
    found = {path.stem: _read(path) for path in sorted(RESULTS.glob("*.json")) if path != HOSTILE}
    parsers: dict[str, list[str]] = defaultdict(list)
    for name, counts in found.items():
        parsers[counts["parser"]].append(name)
    rows = {
        f"{parser} ({', '.join(names)})": _total([found[name] for name in names])
        for parser, names in sorted(parsers.items(), key=lambda item: item[0].lower())
    }
    lines = [
        "| parser (targets) | inputs | CPU s | read | crashes | hangs | other errors | peak MB "
        "| longest s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, counts in [*rows.items(), ("all", _total(list(found.values())))]:
        lines.append(
            f"| {name} | {counts['inputs']:,} | {counts['cpu_seconds']:,.0f} | "
            f"{counts['accepted']:,} | {counts['crashes']} | {counts['hangs']} | "
            f"{counts['untyped']} | {counts['peak_mb']:.0f} | {counts['longest_seconds']:.2f} |"
        )
    return "\n".join(lines)


def _total(counts: list[dict[str, Any]]) -> dict[str, Any]:
    sums = ("inputs", "cpu_seconds", "accepted", "crashes", "hangs", "untyped")
    total = {name: sum(count[name] for count in counts) for name in sums}
    return total | {
        name: max((count[name] for count in counts), default=0)
        for name in ("peak_mb", "longest_seconds")
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
