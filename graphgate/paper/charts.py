"""The paper's bar charts of its ablation, from stored runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from graphgate.paper.experiments.experiment import CLASSIFICATION_SETTINGS
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import reproduce
from graphgate.visualization.gallery import open_frame
from graphgate.visualization.maps import COLORS, new_axes

_DATASETS = ("cora", "pubmed", "citeseer")  # in the order of the paper's charts
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")

# Mean and standard deviation per group; None where there is no value.
Points = Sequence[tuple[float, float | None] | None]


def ablation_charts(results: Path | str) -> dict[str, Axes]:
    """The paper's bar charts from stored runs on the public split; none if there are no runs."""
    table = reproduce("ablation", datasets=_DATASETS, split="public", results=results, run=False)
    charts: dict[str, Axes] = {}
    for setting in CLASSIFICATION_SETTINGS:
        cells = {
            (cell.experiment.method, cell.experiment.dataset): cell
            for cell in table.cells()
            if cell.experiment.setting == setting
        }
        if not any(cell.evaluation for cell in cells.values()):
            continue
        series = {}
        for method in dict.fromkeys(method for method, _ in cells):
            row = [cells[method, dataset] for dataset in _DATASETS]
            values = [
                (cell.evaluation.mean(), cell.evaluation.std()) if cell.evaluation else None
                for cell in row
            ]
            published = [cell.experiment.published.get("accuracy") for cell in row]
            series[find_row(method).title] = (values, published)
        groups = [name.capitalize() for name in _DATASETS]
        charts[f"ablation-{setting}"] = draw_bars(groups, series, title=f"Ablation, {setting}")
    return charts


def draw_bars(
    groups: Sequence[str], series: Mapping[str, tuple[Points, Points]], *, title: str = ""
) -> Axes:
    """Draw groups of bars, one color and hatch per series; diamonds are published values.

    series : name -> values and published values in percent, one per group.
    """
    axes = new_axes(3.6, title)
    width = 0.8 / max(1, len(series))
    centers = np.arange(len(groups))
    drawn: list[float] = []
    for number, (name, (values, published)) in enumerate(series.items()):
        x = centers + (number - (len(series) - 1) / 2) * width
        if any(values):
            places, means, errors = _points(x, values)
            axes.bar(
                places,
                means,
                0.92 * width,
                yerr=errors,
                color=COLORS[number % len(COLORS)],
                alpha=0.75,
                hatch=_HATCHES[number % len(_HATCHES)],
                edgecolor="white",
                error_kw={"elinewidth": 0.9, "capsize": 2},
                label=name,
            )
            drawn += means
        if any(published):
            places, means, errors = _points(x, published)
            axes.errorbar(
                places,
                means,
                yerr=errors,
                fmt="D",
                markersize=4,
                color="black",
                markerfacecolor="white",
                elinewidth=0.7,
                label="published" if number == len(series) - 1 else None,
            )
            drawn += means
    axes.set_xticks(centers, groups)
    axes.set_ylabel("accuracy, %")
    if drawn:
        axes.set_ylim(max(0.0, 5 * np.floor(min(drawn) / 5) - 5), min(100.0, max(drawn) + 3))
    open_frame(axes, "y")
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return axes


def _points(x: np.ndarray, values: Points) -> tuple[list[float], list[float], list[float]]:
    """Positions, means and standard deviations of the values that exist."""
    points = [(float(at), *value) for at, value in zip(x, values, strict=True) if value]
    places, means, deviations = map(list, zip(*points, strict=True))
    return places, means, [deviation or 0.0 for deviation in deviations]
