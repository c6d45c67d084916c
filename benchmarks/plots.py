"""The figures of the benchmarks: epoch time against ours, growth, and quality against time."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.report import PEERS, TITLES, Records, exponents
from graphgate.paper.experiments.comparison_table import ComparisonTable
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY, reproduce

RESULTS = Path(__file__).parents[1] / "results"
# Okabe and Ito's colors, which color-blind readers can distinguish; hatches are for gray prints.
COLORS = {"ours": "#0072B2", "plain": "#E69F00", "pyg": "#009E73", "dense": "#999999"}
HATCHES = {"ours": "", "plain": "//", "pyg": "..", "dense": "xx"}
METHOD_STYLES = {  # marker and color
    **{"raw-svd": ("v", "#999999"), "smoothing-2": ("s", "#56B4E9")},
    **{"smoothing-16": ("D", "#56B4E9"), "dgi": ("^", "#CC79A7"), "gae": ("<", "#D55E00")},
    **{"cca-ssg": (">", "#009E73"), "graphmae": ("P", "#F0E442"), "gate": ("X", "#E69F00")},
    "linear": ("*", "#0072B2"),
}
LABELS = PEERS | {"dense": "dense products alone"}
TASKS = {"accuracy": "probe accuracy, random split", "nmi": "NMI of k-means", "auc": "AUC of links"}


def draw(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what there are results for; returns the files."""
    figures = {}
    if "epoch" in results:
        figures["benchmark-epoch.png"] = epoch_figure(results["epoch"]["measurements"])
    if "growth" in results:
        figures["benchmark-growth.png"] = growth_figure(results["growth"]["measurements"])
    if "fits" in results:
        fits = results["fits"]["measurements"]
        figures["benchmark-quality.png"] = quality_figure(fits, compared())
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        # Without the program's version in it, equal results give equal files.
        figure.savefig(folder / name, dpi=150, metadata={"Software": None})
    return [folder / name for name in figures]


def epoch_figure(datasets: Records) -> Figure:
    """Epoch time of every peer as a multiple of ours; words where a peer did not fit."""
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots()
    peers = [peer for peer in LABELS if any(peer in of["epoch_seconds"] for of in datasets)]
    width = 0.8 / len(peers)
    for place, peer in enumerate(peers):
        x = np.arange(len(datasets)) + (place - (len(peers) - 1) / 2) * width
        low, middle, high = np.transpose([_relative(of["ratios"], peer) for of in datasets])
        style: dict[str, Any] = {
            "color": COLORS[peer],
            "hatch": HATCHES[peer],
            "edgecolor": "white",
        }
        errors = [middle - low, high - middle]
        axes.bar(x, middle, width, yerr=errors, ecolor="black", label=LABELS[peer], **style)
        for at, value, top, of in zip(x, middle, high, datasets, strict=True):
            if np.isfinite(value):
                text = f"{value:.2g}×" if value < 10 else f"{value:.0f}×"
                offset: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points"}
                axes.annotate(text, (at, max(top, value)), **offset, ha="center", fontsize=8)
            elif of["status"].get(peer, "").startswith("out of memory"):
                axes.text(at, 1.1, "out of memory", rotation=90, ha="center", fontsize=8)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)
    axes.set_ylim(top=axes.get_ylim()[1] * 1.3)
    axes.set_xticks(range(len(datasets)), [TITLES[of["dataset"]] for of in datasets])
    axes.set_ylabel("time of an epoch, graphgate = 1")
    axes.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.18), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _relative(ratios: Mapping[str, Any], peer: str) -> list[float]:
    """Quartiles and median as multiples of ours, in ascending order; NaN where there are none."""
    if peer == "ours":
        return [1.0, 1.0, 1.0]
    ratio = ratios.get("ours/dense" if peer == "dense" else f"{peer}/ours")
    if ratio is None:
        return [np.nan] * 3
    return sorted(1 / value if peer == "dense" else value for value in ratio.values())


def growth_figure(sizes: Records) -> Figure:
    """Time and memory against nodes, both axes logarithmic, with the fitted lines."""
    done = [size for size in sizes if size["status"] == "ok"]
    nodes = np.array([size["nodes"] for size in done], dtype=float)
    seconds = [size["epoch_seconds"]["median"] for size in done]
    memory = [size["peak_memory_mb"] / 1024 for size in done]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    panels = {
        "seconds": ("seconds per epoch", seconds, {"color": COLORS["ours"], "marker": "o"}),
        "memory": ("peak memory, GiB", memory, {"color": COLORS["plain"], "marker": "s"}),
    }
    powers = exponents(sizes)
    for axes, (name, panel) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        title, values, style = panel
        middle = np.exp(np.mean(np.log(values) - powers[name] * np.log(nodes)))
        line: dict[str, Any] = {
            "color": "black",
            "linewidth": 1,
            "label": f"nodes^{powers[name]:.2f}",
        }
        axes.plot(nodes, middle * nodes ** powers[name], "--", **line)
        axes.plot(nodes, values, label="measured", **style)
        axes.set(xscale="log", yscale="log", xlabel="nodes")
        _plain_numbers(axes.yaxis)
        axes.set_xticks(nodes, [f"{count:,.0f}" for count in nodes], fontsize=8)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize=8, frameon=False)
        _frame(axes, title)
    return figure


class Standing(NamedTuple):
    """A method beside LinearGATE, over the graphs that it has finished on.

    difference : mean difference of the metric, in points.
    ratio : median ratio of the seconds of a fit.
    """

    difference: float
    ratio: float
    graphs: int


def compared(results: Path = RESULTS) -> ComparisonTable:
    """The stored comparison of methods."""
    table = reproduce("quality", results=results, run=False)
    assert isinstance(table, ComparisonTable)
    return table


def standings(fits: Records, stored: ComparisonTable, metric: str) -> dict[str, Standing]:
    """Every method that has finished on some graph, in the order of the comparison."""
    seconds = {(fit["method"], fit["graph"]): fit.get("seconds") for fit in fits}
    standings = {}
    for method in QUALITY:
        differences, ratios = [], []
        for graph in dict.fromkeys(fit["graph"] for fit in fits):
            theirs, ours = (stored.values(name, graph, metric) for name in (method, "linear"))
            cost, reference = (seconds.get((name, graph)) for name in (method, "linear"))
            if theirs and ours and cost and reference:
                differences.append(mean(theirs) - mean(ours))
                ratios.append(cost / reference)
        if ratios:
            standings[method] = Standing(mean(differences), median(ratios), len(ratios))
    return standings


def quality_figure(fits: Records, stored: ComparisonTable) -> Figure:
    """Every method beside LinearGATE: difference in quality against ratio of time, by task."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplots(1, len(TASKS), sharex=True)
    points: dict[str, Any] = {}
    for axes, (metric, title) in zip(panels, TASKS.items(), strict=True):
        axes.axhline(0, color="black", linewidth=0.8)
        for method, (difference, ratio, graphs) in standings(fits, stored, metric).items():
            marker, color = METHOD_STYLES[method]
            (points[f"{find_row(method).title} ({graphs})"],) = axes.plot(
                ratio, difference, marker, color=color, markersize=14 if marker == "*" else 8
            )
        axes.set(xscale="log", xlabel="time of a fit, LinearGATE = 1")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        _frame(axes, title)
    panels[0].set_ylabel("points above LinearGATE")
    figure.legend(
        list(points.values()), list(points), ncols=5, loc="outside lower center", frameon=False
    )
    return figure


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.grid(True, which="major", linewidth=0.4)
    axes.spines[["top", "right"]].set_visible(False)


def _plain_numbers(axis: Axis) -> None:
    """1, 2, 5, 10 … rather than powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
