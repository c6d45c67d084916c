"""What the methods of the comparison cost, and what they reach for it: a table and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from graphgate.paper.experiments.comparison_table import ComparisonTable
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY, reproduce

RESULTS = Path(__file__).resolve().parents[1] / "results"
TASKS = {"accuracy": "probe accuracy, random split", "nmi": "NMI of k-means", "auc": "AUC of links"}
OURS = "linear"


class Standing(NamedTuple):
    """A method beside LinearGATE, over the graphs that it has finished on.

    difference : mean difference of the metric, in points.
    ratio : median ratio of the seconds of a fit.
    """

    difference: float
    ratio: float
    graphs: int


def table(fits: Mapping[str, Any], markdown: Callable[[list[str], list[list[str]]], str]) -> str:
    """Seconds of a fit, and the peak of its process in GiB; projected ones are marked."""
    rows = []
    for method in QUALITY:
        cells = [_cell(found.get(method)) for found in fits.values()]
        if any(cells):
            rows.append([find_row(method).title, *cells])
    return markdown(["seconds (GiB)", *fits], rows)


def _cell(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "—"
    if found["status"] != "ok":
        return str(found["status"])
    seconds, about = found["seconds"], "≈ " if found["projected"] else ""
    shown = f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
    return f"{about}{shown} ({found['peak_memory_mb'] / 1024:.1f})"


def compared(results: Path = RESULTS) -> ComparisonTable:
    """The stored comparison."""
    table = reproduce("quality", results=results, run=False)
    assert isinstance(table, ComparisonTable)
    return table


def standings(fits: Mapping[str, Any], stored: ComparisonTable, metric: str) -> dict[str, Standing]:
    """Every method that has finished on some graph, in the order of the comparison."""
    found = {}
    for method in QUALITY:
        pairs = []
        for graph, costs in fits.items():
            theirs, ours = (stored.values(name, graph, metric) for name in (method, OURS))
            seconds = [costs.get(name, {}).get("seconds") for name in (method, OURS)]
            if theirs and ours and None not in seconds:
                pairs.append((mean(theirs) - mean(ours), seconds[0] / seconds[1]))
        if pairs:
            differences, ratios = zip(*pairs, strict=True)
            found[method] = Standing(mean(differences), median(ratios), len(pairs))
    return found
