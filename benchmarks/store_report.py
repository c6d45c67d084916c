"""Tables of the benchmark of stores, from its stored results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TITLES = {"pubmed": "Pubmed", "dblp": "DBLP"}


def tables(found: Mapping[str, Any], markdown: Any) -> dict[str, str]:
    """The Markdown of every block whose results are there; `markdown` makes a table."""
    made, parts = {}, found.get("store", {}).get("parts", {})
    added = {name: part for name, part in parts.items() if name.startswith("add ")}
    if added:
        made["store_add"] = markdown(*_add(added))
    if "days" in parts:
        made["store_days"] = markdown(*_days(parts["days"]["graphs"]))
    checks = [_kills(parts["kills"])] if "kills" in parts else []
    if "recall" in parts:
        checks.append(_recall(parts["recall"]))
    if "service" in found:
        made["service"] = markdown(["measured", "result"], _service(found["service"]))
    if checks:
        made["store_checks"] = markdown(["checked", "result"], checks)
    return made


def _add(parts: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    heads = [
        *("method", "stored nodes", "seconds per batch", "of a processor", "vectors updated"),
        *("cosine of new nodes", "of all after ten batches", "difference after refresh"),
    ]
    rows = []
    for name, part in parts.items():
        for nodes, size in part["sizes"].items():
            new, last = size["new"], size["after ten batches"]["all"]
            rows.append(
                [
                    "LinearGATE" if name == "add linear" else "GATE",
                    f"{int(nodes):,}",
                    f"{size['seconds']['median']:.1f}",
                    f"{size['cpu_seconds']['median']:.1f}",
                    f"{size['updated']['median']:,.0f}",
                    f"{new['5 %']:.6f}, at least {new['smallest']:.6f}",
                    f"{last['5 %']:.6f}, at least {last['smallest']:.6f}",
                    f"{size['largest difference after refresh']:.1g}",
                ]
            )
    return heads, rows


def _days(graphs: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    heads = ["graph", "store", "model of everything", "old probe before", "and after the refit"]
    return heads, [
        [
            TITLES[name],
            f"{graph['store']:.1f}",
            f"{graph['everything']:.1f}",
            f"{graph['old probe']['before']:.1f}",
            f"{graph['old probe']['after']:.1f}",
        ]
        for name, graph in graphs.items()
    ]


def _service(part: Mapping[str, Any]) -> list[list[str]]:
    load, odd = part["load"], part["malformed"]
    failed = sum(n for status, n in odd["statuses"].items() if status.startswith("5"))
    return [
        [
            f"{part['nodes']:,} nodes, {part['components']} columns, top {part['top']}, "
            f"{load['connections']} connections for {load['seconds']} s",
            f"{load['requests_per_second']:,.0f} requests per second, 99 % of them within "
            f"{load['latency_ms']['p99']:.0f} ms",
        ],
        [
            f"{odd['requests']:,} malformed requests",
            f"{failed} server errors; memory {100 * odd['growth']:+.1f} % after the first tenth",
        ],
    ]


def _kills(part: Mapping[str, Any]) -> list[str]:
    return [
        f"{part['kills']} kills during `add` and `refit`",
        f"{part['before']} times the version before, {part['after']} times the one after, never "
        "anything else; the batch could be added again every time",
    ]


def _recall(part: Mapping[str, Any]) -> list[str]:
    return [
        f"ten nearest of {part['nodes']:,} vectors of size {part['size']}, by the index",
        f"{part['recall']:.1%} of them found; {part['build_cpu_seconds']:.0f} s of a processor to "
        "build the index",
    ]
