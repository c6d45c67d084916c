"""The pictures of the benchmarks: epoch time against ours, growth, and quality against time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import quality_report
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from report import PEERS, TITLES

from graphgate.paper.experiments.comparison_table import ComparisonTable
from graphgate.paper.experiments.methods import find_row

# Okabe and Ito's colors, which color-blind readers can distinguish; hatches are for gray prints.
COLOURS = {"ours": "#0072B2", "plain": "#E69F00", "pyg": "#009E73", "dense": "#999999"}
HATCHES = {"ours": "", "plain": "//", "pyg": "..", "dense": "xx"}
METHOD_STYLES = {  # marker and color
    **{"raw-svd": ("v", "#999999"), "smoothing-2": ("s", "#56B4E9")},
    **{"smoothing-16": ("D", "#56B4E9"), "dgi": ("^", "#CC79A7"), "gae": ("<", "#D55E00")},
    **{"cca-ssg": (">", "#009E73"), "graphmae": ("P", "#F0E442"), "gate": ("X", "#E69F00")},
    "linear": ("*", "#0072B2"),
}
LABELS = PEERS | {"dense": "dense products alone"}


def draw(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws what there are results for; returns the files."""
    pictures = {}
    if "epoch" in found and found["epoch"]["datasets"]:
        pictures["benchmark-epoch.png"] = epoch_picture(found["epoch"]["datasets"])
    if "growth" in found and found["growth"]["exponents"]:
        pictures["benchmark-growth.png"] = growth_picture(found["growth"])
    if "fits" in found and found["fits"]["fits"]:
        compared = quality_report.compared()
        pictures["benchmark-quality.png"] = quality_picture(found["fits"]["fits"], compared)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in pictures.items():
        # Without the program's version in it, equal results give equal files.
        figure.savefig(folder / name, dpi=150, metadata={"Software": None})
    return [folder / name for name in pictures]


def epoch_picture(datasets: Mapping[str, Any]) -> Figure:
    """Epoch time of every peer as a multiple of ours; words where a peer did not fit."""
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    peers = [peer for peer in LABELS if any(peer in f["epoch_seconds"] for f in datasets.values())]
    width = 0.8 / len(peers)
    for place, peer in enumerate(peers):
        for group, found in enumerate(datasets.values()):
            at = group + (place - (len(peers) - 1) / 2) * width
            label = LABELS[peer] if group == 0 else None
            style: dict[str, Any] = {
                "color": COLOURS[peer],
                "hatch": HATCHES[peer],
                "edgecolor": "white",
            }
            relative = _relative(found, peer)
            if relative is None:
                axes.bar(at, np.nan, width, label=label, **style)
                if found["status"].get(peer, "").startswith("out of memory"):
                    axes.text(at, 1.1, "out of memory", rotation=90, ha="center", fontsize=8)
                continue
            middle, low, high = relative
            errors = [[middle - low], [high - middle]]
            axes.bar(at, middle, width, label=label, yerr=errors, ecolor="black", **style)
            axes.annotate(
                f"{middle:.2g}×" if middle < 10 else f"{middle:.0f}×",
                (at, max(high, middle)),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)
    axes.set_ylim(top=axes.get_ylim()[1] * 1.3)
    axes.set_xticks(range(len(datasets)), [TITLES.get(name, name) for name in datasets])
    axes.set_ylabel("time of an epoch, graphgate = 1")
    axes.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.18), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _relative(found: Mapping[str, Any], peer: str) -> tuple[float, float, float] | None:
    """Median and quartiles as multiples of ours."""
    if peer == "ours":
        return 1.0, 1.0, 1.0
    if peer == "dense":
        inverse = found["ratios"].get("ours/dense")
        keys = ("median", "high", "low")  # turned round by the inversion
        return None if inverse is None else _three([1 / inverse[key] for key in keys])
    ratio = found["ratios"].get(f"{peer}/ours")
    return None if ratio is None else _three([ratio[key] for key in ("median", "low", "high")])


def _three(values: list[float]) -> tuple[float, float, float]:
    middle, low, high = values
    return middle, low, high


def growth_picture(growth: Mapping[str, Any]) -> Figure:
    """Time and memory against nodes, both axes logarithmic, with the fitted lines."""
    done = [size for size in growth["sizes"] if size["status"] == "ok"]
    nodes = np.array([size["nodes"] for size in done], dtype=float)
    seconds = [size["epoch_seconds"]["median"] for size in done]
    memory = [size["peak_memory_mb"] / 1024 for size in done]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    panels = figure.subplots(1, 2)
    parts = [
        ("seconds", "seconds per epoch", seconds, COLOURS["ours"], "o"),
        ("memory", "peak memory, GiB", memory, COLOURS["plain"], "s"),
    ]
    for axes, (name, title, values, colour, marker) in zip(panels, parts, strict=True):
        power = growth["exponents"][name]
        middle = np.exp(np.mean(np.log(values) - power * np.log(nodes)))
        fitted = middle * nodes**power
        axes.plot(nodes, fitted, "--", color="black", linewidth=1, label=f"nodes^{power:.2f}")
        axes.plot(nodes, values, marker=marker, color=colour, label="measured")
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
        axes.set_xticks(nodes, [f"{count:,.0f}" for count in nodes], fontsize=8)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("nodes")
        axes.set_title(title, fontsize=10)
        axes.legend(fontsize=8, frameon=False)
        axes.grid(True, which="major", linewidth=0.4)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def quality_picture(fits: Mapping[str, Any], compared: ComparisonTable) -> Figure:
    """Every method beside LinearGATE: difference in quality against ratio of time, by task."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(quality_report.TASKS), sharex=True)
    points: dict[str, Any] = {}
    for axes, (metric, title) in zip(panels, quality_report.TASKS.items(), strict=True):
        axes.axhline(0, color="black", linewidth=0.8)
        found = quality_report.standings(fits, compared, metric)
        for method, (difference, ratio, graphs) in found.items():
            marker, colour = METHOD_STYLES[method]
            (points[f"{find_row(method).title} ({graphs})"],) = axes.plot(
                ratio, difference, marker, color=colour, markersize=14 if marker == "*" else 8
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("time of a fit, LinearGATE = 1")
        axes.grid(True, which="major", linewidth=0.4)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("points above LinearGATE")
    figure.legend(
        list(points.values()), list(points), ncols=5, loc="outside lower center", frameon=False
    )
    return figure


def _plain_numbers(axis: Axis) -> None:
    """1, 2, 5, 10 … rather than powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
