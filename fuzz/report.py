"""The tables of docs/robustness.md, from results/."""

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.report import Cell, markdown, table

RESULTS = Path(__file__).parents[1] / "results"
HOSTILE = RESULTS / "fuzz" / "hostile-files.json"
PARSERS = RESULTS / "fuzz" / "parsers.json"
SUMS = ("inputs", "cpu_seconds", "accepted", "crashes", "hangs", "untyped")
MAXIMA = ("peak_mb", "longest_seconds")


def fuzzing() -> str:
    """One row per parser: what its targets have read, and what went wrong."""
    targets = _measurements(PARSERS)
    parsers = sorted({target["parser"] for target in targets}, key=str.lower)
    rows = []
    for parser in parsers:
        same = [target for target in targets if target["parser"] == parser]
        names = ", ".join(target["target"] for target in same)
        rows.append({"name": f"{parser} ({names})"} | _total(same))
    columns = {
        "parser (targets)": "{name}",
        "inputs": "{inputs:,}",
        "CPU s": "{cpu_seconds:,.0f}",
        "read": "{accepted:,}",
        "crashes": "{crashes}",
        "hangs": "{hangs}",
        "other errors": "{untyped}",
        "peak MB": "{peak_mb:.0f}",
        "longest s": "{longest_seconds:.2f}",
    }
    return table(columns, [*rows, {"name": "all"} | _total(targets)])


def _total(counts: list[dict[str, Any]]) -> dict[str, Any]:
    total = {name: sum(count[name] for count in counts) for name in SUMS}
    return total | {name: max(count[name] for count in counts) for name in MAXIMA}


def hostile_files() -> str:
    """One row per hand-made file."""
    columns = {"file": "{file}", "bytes": "{bytes:,}", "outcome": "{outcome}"}
    columns |= {"CPU s": "{seconds:.2f}", "peak MB": "{peak_mb:.0f}"}
    return table(columns, _measurements(HOSTILE), "---")


def robustness() -> str:
    """What was tried, and what went wrong."""
    counts = _total(_measurements(PARSERS))
    kills = _measurements(RESULTS / "benchmarks" / "faults.json")
    commands = _measurements(RESULTS / "refusals.json")
    files, lowest = _measurements(HOSTILE), _read(RESULTS / "floors.json")
    memory, seconds = (max(file.get(of, 0) for file in files) for of in ("peak_mb", "seconds"))
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
        (
            f"{sum(command['tried'] for command in commands):,} bad inputs of the command line",
            f"{sum(command['refused'] for command in commands):,} refused in one sentence",
        ),
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
    return markdown(["tried", "outcome"], rows, "---")


def stores() -> str:
    """Sequences of operations on stores, kills among them, and damaged files."""
    damaged, sequences = _measurements(RESULTS / "stores.json")
    ends: Counter[str] = Counter()
    for name, count in sequences["kills"].items():
        ends[name.partition(", ")[2]] += count
    operations = sequences["operations"]
    rows = [
        (
            f"{sequences['sequences']:,} sequences with "
            f"{sum(operations.values()) - operations['create']:,} "
            "operations that were not killed",
            f"{sequences['differences']} differences in {sequences['comparisons']:,} comparisons",
        ),
        (
            f"{ends.total():,} operations to be killed, of which {ends['in time: after']:,} "
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
    return markdown(["tried", "outcome"], rows, "---")


def refusals() -> str:
    """One row per command."""
    commands = sorted(_measurements(RESULTS / "refusals.json"), key=itemgetter("command"))
    columns = {"command": "`{command}`", "bad inputs": "{tried}", "refused": "{refused}"}
    return table(columns, commands)


def coverage() -> str:
    """One row per module, and one for all."""
    modules = _read(RESULTS / "coverage.json")["modules"]
    parts = ("branches", "taken", "lines", "run")
    total = {part: sum(of[part] for of in modules.values()) for part in parts}
    columns: dict[str, Cell] = {
        "module": "{name}",
        "branches taken": lambda of: _percent(of["taken"], of["branches"]),
        "lines run": lambda of: _percent(of["run"], of["lines"]),
    }
    named = [of | {"name": name.removeprefix("graphgate/")} for name, of in modules.items()]
    return table(columns, [of for of in (*named, total | {"name": "all"}) if of["lines"]])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % of {whole:,}" if whole else "–"


def processors() -> str:
    """One row per setting under which the numerical tests were run."""
    rows = []
    for name, setting in _read(RESULTS / "processors.json")["settings"].items():
        libraries = Counter(computation.partition(" ")[0] for computation in setting["changed"])
        changed = ", ".join(f"{count} of {library}" for library, count in libraries.items())
        outcome = {True: "pass", False: "fail", None: "not run"}[setting.get("passed")]
        rows.append((name, changed or "none", outcome))
    return markdown(["setting", "computations with other bits", "tests"], rows, "---")


def floors() -> str:
    """The lowest versions that were installed together."""
    versions = _read(RESULTS / "floors.json")["versions"]
    return markdown(["package", "lowest version"], versions.items(), "---")


def tables() -> dict[str, str]:
    made = (fuzzing, robustness, hostile_files, stores, refusals, processors, coverage, floors)
    return {table.__name__: table() for table in made}


def _measurements(path: Path) -> Any:
    return _read(path)["measurements"]


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
