"""Tables of the benchmarks of large graphs, from their stored results."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean, stdev
from typing import Any


def tables(found: Mapping[str, Any], markdown: Any) -> dict[str, str]:
    """The Markdown of every block whose results are there; `markdown` makes a table."""
    made = {}
    large = found.get("large", {})
    if large.get("runs"):
        made["large"] = markdown(*_large(large["runs"]))
        made["processes"] = markdown(*_processes(large["runs"]))
    if "columns" in large:
        made["columns"] = markdown(*_columns(large["columns"]))
    if "parts" in found:
        made["parts"] = markdown(*_parts(found["parts"]["fits"]))
    if "two-hosts" in found:
        made["two_hosts"] = markdown(*_two_hosts(found["two-hosts"]["methods"]))
    return made


def _large(runs: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    heads = ["nodes", "edges", "method", "memory limit", "processes", "seconds", "peak", "NMI"]
    return heads, [
        [
            f"{run['nodes']:,}",
            f"{run['edges']:,}",
            _method(run),
            run.get("memory_limit", "—"),
            str(run.get("processes", 1)),
            f"{run['seconds']:.0f}",
            f"{run['peak_memory_mb'] / 1024:.2f} GiB",
            f"{100 * run['nmi']:.1f}",
        ]
        for run in runs
    ]


def _method(run: Mapping[str, Any]) -> str:
    """What was asked for, in words."""
    if "method" not in run:
        return "linear"
    whole = run.get("batch_size") == "full"
    each = run.get("parts_per_step", 1)
    how = "whole graph" if whole else "by parts" if each == 1 else f"by {each} parts per step"
    return f"{run['method']}, {how}"


def _processes(runs: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Runs by two processes beside those by one that was asked for the same."""
    heads = ["nodes", "method", "one process", "two processes", "ratio", "of it communicating"]

    def asked(run: Mapping[str, Any]) -> tuple[Any, ...]:
        return run["nodes"], _method(run), run.get("memory_limit")

    alone = {asked(run): run for run in runs if "processes" not in run}
    rows = []
    for run in runs:
        if "processes" in run and asked(run) in alone:
            one, two = alone[asked(run)]["seconds"], run["seconds"]
            spent = run.get("communicating_seconds")
            rows.append(
                [
                    f"{run['nodes']:,}",
                    _method(run),
                    f"{one:.0f} s",
                    f"{two:.0f} s",
                    f"{two / one:.2f}",
                    "—" if spent is None else f"{spent:.1f} s",
                ]
            )
    return heads, rows


def _parts(fits: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """One row for each graph and form, with means over the seeds."""
    heads = ["graph", "nodes", "trained on", "seeds", "CPU seconds", "peak"]
    heads += ["feature loss², per node", "structure loss, per pair", "loss / that of the whole"]
    heads += ["accuracy, validation / test"]
    rows = []
    for fit in fits:
        same = [each for each in fits if _asked(each) == _asked(fit)]
        nodes = f"{fit['nodes']:,}" if "nodes" in fit else "—"
        cells = [fit["graph"], nodes, "the whole" if fit["form"] == "whole" else "parts"]
        cells.append(str(len(same)))
        if fit is not same[0]:
            continue
        if fit["status"] != "ok":
            rows.append([*cells, fit["status"], *["—"] * 5])
            continue
        peak = max(each["peak_memory_mb"] for each in same)
        scores = [
            f"{mean(each['accuracy'][part] for each in same):.1f}"
            for part in ("val", "test")
            if "accuracy" in fit
        ]
        rows.append(
            [
                *cells,
                f"{mean(each['cpu_seconds'] for each in same):.0f}",
                f"{peak / 1024:.2f} GiB",
                f"{mean(each['feature_square_per_node'] for each in same):.4g}",
                f"{mean(each['structure_per_pair'] for each in same):.4g}",
                _relative(same, fits),
                " / ".join(scores) or "—",
            ]
        )
    return heads, rows


def _relative(same: list[dict[str, Any]], fits: list[dict[str, Any]]) -> str:
    """The loss beside that of the whole graph, or of a smaller one of its kind.

    Losses per node and per pair are then those of as many nodes and pairs.
    """
    whole = [
        each
        for each in fits
        if each["graph"] == same[0]["graph"] and each["form"] == "whole" and each["status"] == "ok"
    ]
    if not whole or whole[0] is same[0]:
        return "—"

    def feature(fit: Mapping[str, Any]) -> float:
        return float((whole[0]["nodes"] * fit["feature_square_per_node"]) ** 0.5)

    pairs = (whole[0]["loss"] - feature(whole[0])) / whole[0]["structure_per_pair"]
    losses = [feature(each) + pairs * each["structure_per_pair"] for each in same]
    return f"{mean(losses) / mean(each['loss'] for each in whole):.3f}"


def _asked(fit: Mapping[str, Any]) -> tuple[Any, ...]:
    """What fits of several seeds have in common."""
    return fit["graph"], fit["form"], fit.get("nodes")


def _columns(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    heads = ["coordinates, at 100,000 nodes", "probe accuracy", "NMI of k-means"]
    return heads, [
        [name, *(f"{mean(values):.2f} ± {stdev(values):.2f}" for values in each.values())]
        for name, each in found.items()
    ]


def _two_hosts(methods: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    heads = ["method", "seconds", "sent by each host", "difference from one process"]
    return heads, [
        [
            name,
            f"{run['seconds']:.0f}",
            " and ".join(f"{sent / 2**20:.0f} MiB" for sent in run["bytes_sent"]),
            f"{run['difference']:.1g}" if run["difference"] else "none",
        ]
        for name, run in methods.items()
    ]
