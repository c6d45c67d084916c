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
    if "columns" in large:
        made["columns"] = markdown(*_columns(large["columns"]))
    if "two-hosts" in found:
        made["two_hosts"] = markdown(*_two_hosts(found["two-hosts"]["methods"]))
    return made


def _large(runs: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    heads = ["nodes", "edges", "method", "memory limit", "processes", "seconds", "peak", "NMI"]
    return heads, [
        [
            f"{run['nodes']:,}",
            f"{run['edges']:,}",
            run.get("method", "linear"),
            run.get("memory_limit", "—"),
            str(run.get("processes", 1)),
            f"{run['seconds']:.0f}",
            f"{run['peak_memory_mb'] / 1024:.2f} GiB",
            f"{100 * run['nmi']:.1f}",
        ]
        for run in runs
    ]


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
