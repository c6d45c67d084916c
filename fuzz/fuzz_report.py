"""The tables of docs/robustness.md, from results/."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "results"
RESULTS = STORED / "fuzz"
HOSTILE = RESULTS / "hostile-files.json"
REFUSALS = STORED / "refusals.json"
FAULTS = STORED / "benchmarks" / "faults.json"
STORES = STORED / "stores.json"
MUTANTS = STORED / "mutants.json"
COVERAGE = STORED / "coverage.json"
FLOORS = STORED / "floors.json"


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


def summary() -> str:
    """What was tried, and what went wrong."""
    counts = _total([_read(path) for path in sorted(RESULTS.glob("*.json")) if path != HOSTILE])
    kills = _read(FAULTS)["kinds"].values()
    commands = _read(REFUSALS)["commands"].values()
    files, lowest = _read(HOSTILE)["files"].values(), _read(FLOORS)
    tried = sum(command["tried"] for command in commands)
    refused = sum(command["refused"] for command in commands)
    memory = max(file.get("peak_mb", 0) for file in files)
    seconds = max(file.get("seconds", 0) for file in files)
    rows = [
        (
            f"{counts['inputs']:,} fuzzed inputs",
            f"{counts['crashes']} crashes, {counts['hangs']} hangs, "
            f"{counts['untyped']} errors that are no `InputError`",
        ),
        (
            f"{sum(kind['kills'] for kind in kills):,} kills of {len(kills)} kinds",
            f"{sum(kind['differing_bits'] for kind in kills)} differing bits, "
            f"{sum(kind['half_written'] for kind in kills)} half-written files",
        ),
        (f"{tried:,} bad inputs of the command line", f"{refused:,} refused in one sentence"),
        (
            f"{len(files):,} hostile files of less than 100 kB",
            f"at most {memory:.0f} MB and {seconds:.1f} s of processor time",
        ),
        (
            f"{lowest['tests'] - lowest['skipped']:,} tests with the lowest versions of all "
            "dependencies",
            f"{len(lowest['failed'])} failed",
        ),
    ]
    return "\n".join(["| tried | outcome |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)])


def stores() -> str:
    """Sequences of operations on stores, kills among them, and damaged files."""
    stored = _read(STORES)
    sequences, damaged = stored["sequences"], stored["damaged"]
    ends = {"killed: before": 0, "killed: after": 0, "in time: after": 0}
    for name, count in sequences["kills"].items():
        ends[name.partition(", ")[2]] += count
    rows = [
        (
            f"{sequences['sequences']:,} sequences with "
            f"{sum(sequences['operations'].values()) - sequences['operations']['create']:,} "
            "operations that were not killed",
            f"{sequences['differences']} differences in {sequences['comparisons']:,} comparisons",
        ),
        (
            f"{sum(ends.values()):,} operations to be killed, of which {ends['in time: after']:,} "
            "ended before",
            f"{ends['killed: before']:,} had not happened, {ends['killed: after']:,} had happened",
        ),
    ]
    rows += [
        (
            f"{sum(outcomes.values()):,} files: {kind}",
            ", ".join(f"{count:,} {name}" for name, count in outcomes.items()),
        )
        for kind, outcomes in damaged["kinds"].items()
    ]
    return "\n".join(["| tried | outcome |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)])


def refusals() -> str:
    """One row per command."""
    lines = ["| command | bad inputs | refused |", "| --- | ---: | ---: |"]
    for name, found in sorted(_read(REFUSALS)["commands"].items()):
        lines.append(f"| `{name}` | {found['tried']} | {found['refused']} |")
    return "\n".join(lines)


def mutants() -> str:
    """One row per file that bugs were put into."""
    bugs = _read(MUTANTS)["bugs"]
    lines = [
        "| file | bugs | noticed at first | noticed now | change nothing | unnoticed |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for file in sorted({bug["file"] for bug in bugs}):
        own = [bug for bug in bugs if bug["file"] == file]
        noticed = sum(bug["test"] is not None for bug in own)
        harmless = sum(bug["test"] is None and bool(bug.get("harmless")) for bug in own)
        first = sum(not bug["survived_at_first"] for bug in own)
        unnoticed = len(own) - noticed - harmless
        lines.append(f"| {file} | {len(own)} | {first} | {noticed} | {harmless} | {unnoticed} |")
    return "\n".join(lines)


def coverage() -> str:
    """One row per module, and one for all."""
    modules = _read(COVERAGE)["modules"]
    rows = {name.removeprefix("graphgate/"): found for name, found in modules.items()}
    parts = ("branches", "taken", "lines", "run")
    rows["all"] = {part: sum(found[part] for found in modules.values()) for part in parts}
    lines = ["| module | branches taken | lines run |", "| --- | ---: | ---: |"]
    for name, found in rows.items():
        if found["lines"]:
            lines.append(
                f"| {name} | {_percent(found['taken'], found['branches'])} | "
                f"{_percent(found['run'], found['lines'])} |"
            )
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % of {whole:,}" if whole else "–"


def floors() -> str:
    """The lowest versions that were installed together."""
    lines = ["| package | lowest version |", "| --- | --- |"]
    lines += [f"| {name} | {version} |" for name, version in _read(FLOORS)["versions"].items()]
    return "\n".join(lines)


def tables() -> dict[str, str]:
    made = {"fuzzing": fuzzing()} if list(RESULTS.glob("*.json")) else {}
    if all(path.exists() for path in (HOSTILE, FAULTS, FLOORS, REFUSALS)):
        made["robustness"] = summary()
    tables = {HOSTILE: hostile, REFUSALS: refusals, STORES: stores, MUTANTS: mutants}
    names = {HOSTILE: "hostile_files", FLOORS: "floors"}
    for path, table in (tables | {COVERAGE: coverage, FLOORS: floors}).items():
        if path.exists():
            made[names.get(path, path.stem)] = table()
    return made


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
