"""Tables and pictures of the benchmarks, from their stored results and from nothing else.

`scripts/render_tables.py` puts them into README.md and docs/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import quality_report
import scale_report
import store_report

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "benchmarks"
PEERS = {"ours": "graphgate", "plain": "plain PyTorch", "pyg": "PyTorch Geometric"}
TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "wordnet": "WordNet"}


def read(folder: Path = RESULTS) -> dict[str, Any]:
    """The stored results by name."""
    names = ["epoch", "growth", "layouts", "reading", "estimate", "commands", "explorer", "linear"]
    names += ["large", "parts", "two-hosts", "store", "service", "faults", "fits"]
    files = {name: folder / f"{name}.json" for name in names}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def tables(folder: Path = RESULTS) -> dict[str, str]:
    """The Markdown of every block whose results are there."""
    found = read(folder)
    made: dict[str, str] = {}
    if "epoch" in found:
        made["epoch"] = epoch_table(found["epoch"]["datasets"])
        made["memory"] = memory_table(found["epoch"]["datasets"])
    if "growth" in found:
        made["growth"] = growth_table(found["growth"])
    if "layouts" in found:
        made["layouts"] = layouts_table(found["layouts"])
    if "reading" in found:
        made["reading"] = reading_table(found["reading"])
    if "estimate" in found:
        made["estimate"] = estimate_table(found["estimate"])
    if "commands" in found:
        made["commands"] = commands_table(found["commands"])
    if "explorer" in found:
        made["explorer"] = explorer_table(found["explorer"]["pages"])
    if "linear" in found:
        made["linear"] = linear_table(found["linear"]["graphs"])
    if "fits" in found:
        made["fits"] = quality_report.table(found["fits"]["fits"], markdown)
    if "faults" in found:
        made["faults"] = faults_table(found["faults"]["kinds"])
    made |= scale_report.tables(found, markdown)
    made |= store_report.tables(found, markdown)
    if found:
        timed = {name: result for name, result in found.items() if "cpu" in result}
        made["machine"] = machine_lines(timed)
    return made


def faults_table(kinds: Mapping[str, Any]) -> str:
    """What kills left behind, by kind of work."""
    names = ["kills", "differing_bits", "half_written", "left_by_kill", "left_after"]
    rows = [[kind, *(f"{found[name]:,}" for name in names)] for kind, found in kinds.items()]
    heads = ["killed", "kills", "differing bits after resuming", "half-written files"]
    return markdown([*heads, "hidden files after the kill", "and after resuming"], rows)


def linear_table(graphs: Mapping[str, Any]) -> str:
    """Seconds of LinearGATE, and its time as a fraction of GATE's and a multiple of an SVD's."""
    rows = []
    for name, found in graphs.items():
        svd = found["ratios"].get("linear/svd")
        rows.append(
            [
                name,
                f"{found['nodes']:,}",
                f"{found['edges']:,}",
                number(found["seconds"]["linear"]["median"]),
                f"1/{1 / found['ratios']['linear/gate']['median']:.0f}",
                "—" if svd is None else times(svd),
            ]
        )
    return markdown(
        ["graph", "nodes", "edges", "seconds", "of GATE's time", "of a truncated SVD's"], rows
    )


def epoch_table(datasets: Mapping[str, Any]) -> str:
    """Seconds per epoch; the others also as multiples of ours, with the quartiles of the rounds."""
    rows = []
    for peer, title in PEERS.items():
        cells = [_epoch_cell(found, peer) for found in datasets.values()]
        if any(cells):
            rows.append([title, *cells])
    dense = [_dense_cell(found) for found in datasets.values()]
    rows.append(["graphgate's dense products alone", *dense])
    return markdown(["seconds per epoch", *_heads(datasets)], rows)


def _epoch_cell(found: Mapping[str, Any], peer: str) -> str:
    seconds = found["epoch_seconds"].get(peer)
    if seconds is None:
        return str(found["status"].get(peer, ""))
    ratio = found["ratios"].get(f"{peer}/ours")
    return (
        number(seconds["median"])
        if ratio is None
        else f"{number(seconds['median'])} ({times(ratio)})"
    )


def _dense_cell(found: Mapping[str, Any]) -> str:
    seconds, ratio = found["epoch_seconds"].get("dense"), found["ratios"].get("ours/dense")
    if seconds is None:
        return ""
    return f"{number(seconds['median'])}" + (f" (graphgate {times(ratio)})" if ratio else "")


def memory_table(datasets: Mapping[str, Any]) -> str:
    """MiB above the imported libraries, with the data and three epochs."""
    rows = []
    for peer, title in PEERS.items():
        cells = []
        for found in datasets.values():
            peak = found["peak_memory_mb"].get(peer)
            told = str(found["status"].get(peer, ""))
            cells.append(told if peak is None else f"{peak:,.0f}")
        if any(cells):
            rows.append([title, *cells])
    return markdown(["peak memory, MiB", *_heads(datasets)], rows)


def growth_table(growth: Mapping[str, Any]) -> str:
    rows = []
    for size in growth["sizes"]:
        cells = [size["status"], ""]
        if size["status"] == "ok":
            seconds = number(size["epoch_seconds"]["median"])
            cells = [seconds, f"{size['peak_memory_mb']:,.0f}"]
        rows.append([f"{size['nodes']:,}", f"{size['edges']:,}" if "edges" in size else "", *cells])
    table = markdown(["nodes", "edges", "seconds per epoch", "peak memory, MiB"], rows)
    powers = growth["exponents"]
    if not powers:
        return table
    return (
        f"{table}\n\nTime grows as nodes to the power {powers['seconds']:.2f}, "
        f"memory as nodes to the power {powers['memory']:.2f}."
    )


def layouts_table(layouts: Mapping[str, Any]) -> str:
    """Seconds of all runs in either layout and in the one that the runner chose."""
    chosen = layouts["chosen"]
    titles = {
        "threads": "one after the other, on all cores",
        "processes": "processes of one thread each",
        "chosen": f"what the runner chose ({_layout(chosen['processes'], chosen['threads'])})",
    }
    rows = [[title, number(layouts["seconds"][name]["median"])] for name, title in titles.items()]
    rows.append(
        ["chosen, against the better of the two", times(layouts["ratios"]["chosen/better"])]
    )
    dataset = TITLES.get(layouts["dataset"], layouts["dataset"])
    return markdown([f"{layouts['runs']} runs on {dataset}", "seconds"], rows)


def _layout(processes: int, threads: int) -> str:
    return f"{processes} × {threads} thread{'s' if threads > 1 else ''}"


def reading_table(reading: Mapping[str, Any]) -> str:
    """Time and memory of reading a large graph, against an epoch and against the data."""
    epoch, peak, data = (
        reading["epoch_seconds"]["median"],
        reading["peak_memory_mb"],
        reading["data_mb"],
    )
    title = (
        f"{reading['nodes']:,} nodes, {reading['edges']:,} edges, {reading['columns']} attributes"
    )
    rows = [
        ["seconds", number(reading["seconds"]), f"{reading['seconds'] / epoch:.2f} epochs"],
        ["peak memory, MiB", f"{peak:,.0f}", f"{peak / data:.2f} times the data"],
    ]
    return markdown([title, "read, checked, encoded", "that is"], rows)


def estimate_table(estimate: Mapping[str, Any]) -> str:
    """What was estimated for every run and what it took: medians, and quartiles of the ratio."""
    rows = []
    for run in estimate["runs"]:
        cells = [f"{run['nodes']:,}", run["case"]]
        for what in ("peak_memory_mb", "seconds"):
            estimated, seen, ratio = (run[what][key] for key in ("estimated", "measured", "ratio"))
            off = [f"{ratio[name] - 1:+.0%}" for name in ("median", "low", "high")]
            cells += [number(estimated), number(seen), f"{off[0]} ({off[1]} to {off[2]})"]
        rows.append(cells)
    heads = ["nodes", "case", "peak, MiB: estimated", "measured", "error"]
    seconds = f"s of {estimate['epochs']} epochs: estimated"
    return markdown([*heads, seconds, "measured", "error"], rows)


def commands_table(commands: Mapping[str, Any]) -> str:
    help_, transform = commands["help"], commands["transform"]
    title = TITLES.get(transform["graph"], "a synthetic graph")
    vectors = f"{title}, {transform['nodes']:,} nodes"
    rows = [
        ["`graphgate --help`", number(help_["seconds"]["help"]["median"])],
        ["`python -c pass`", number(help_["seconds"]["python"]["median"])],
        ["the help, against that Python", times(help_["ratio"])],
        [
            f"`transform` of {transform['few']} nodes ({vectors})",
            number(transform["seconds"]["few"]["median"]),
        ],
        ["`transform` of all of them", number(transform["seconds"]["whole"]["median"])],
        ["all, against the few", times(transform["ratio"])],
    ]
    return markdown(["", "seconds"], rows)


def explorer_table(pages: list[dict[str, Any]]) -> str:
    """The page of every graph: its size, when it is drawn first, and how it follows the pointer."""
    rows = [
        [
            TITLES.get(page["graph"], "synthetic"),
            f"{page['nodes']:,}",
            f"{page['edges']:,}",
            f"{page['page_megabytes']:.1f}",
            *(
                number(page[measure]["median"])
                for measure in (
                    "seconds_to_first_drawing",
                    "seconds_until_it_moves",
                    "frames_a_second_panning",
                    "frames_a_second_if_all_are_drawn_anew",
                )
            ),
        ]
        for page in pages
    ]
    heads = ["graph", "nodes", "edges", "page, MB", "first drawing, s", "can be moved, s"]
    return markdown([*heads, "frames per second, panning", "if every one is redrawn"], rows)


def machine_lines(found: Mapping[str, Any]) -> str:
    """Where the numbers come from, a line a benchmark."""
    lines = []
    for result in found.values():
        versions = result["versions"]
        used = ", ".join(f"{name} {versions[name]}" for name in versions)
        lines.append(
            f"- `{result['command']}` on {result['cpu']}, {result['threads']} threads; {used}."
        )
    return "\n".join(lines)


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    aligned = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, aligned, *rows])


def number(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def times(ratio: Mapping[str, float]) -> str:
    low, median, high = (f"{ratio[key]:.3g}" for key in ("low", "median", "high"))
    return f"{median}×" if low == high else f"{median}×, {low}–{high}"


def _heads(datasets: Mapping[str, Any]) -> list[str]:
    return [TITLES.get(name, name) for name in datasets]


def draw() -> list[Path]:
    """Every picture whose results are stored, into docs/images."""
    import plots  # matplotlib is only needed here

    return plots.draw(read(), ROOT / "docs" / "images")
