"""Bar charts of accuracies with published values, and loss curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes

from graphgate.visualization.maps import COLORS, new_axes

_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
_LINE_STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class BarSeries:
    """One bar per group; None where there is no value.

    values, published : (mean, standard deviation) in percent.
    """

    title: str
    values: Sequence[tuple[float, float | None] | None]
    published: Sequence[tuple[float, float | None] | None]


def draw_bars(groups: Sequence[str], series: Sequence[BarSeries], *, title: str = "") -> Axes:
    """Draw groups of bars, one color and hatch per series; diamonds are published values."""
    axes = new_axes(3.6, title)
    width = 0.8 / max(1, len(series))
    centers = np.arange(len(groups))
    drawn: list[float] = []
    for number, bars in enumerate(series):
        x = centers + (number - (len(series) - 1) / 2) * width
        if any(bars.values):
            places, means, errors = _points(x, bars.values)
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
                label=bars.title,
            )
            drawn += means
        if any(bars.published):
            places, means, errors = _points(x, bars.published)
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
    _open_frame(axes, "y")
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return axes


def draw_losses(series: Mapping[str, Sequence[float]], *, title: str = "") -> Axes:
    """Draw one line per series (`History.series`), on a log scale if all values are positive."""
    axes = new_axes(3.6, title)
    for number, (name, values) in enumerate(series.items()):
        style, color = _LINE_STYLES[number % len(_LINE_STYLES)], COLORS[number % len(COLORS)]
        epochs = range(1, len(values) + 1)
        axes.plot(epochs, values, style, color=color, label=name, linewidth=1.4)
    if all(value > 0 for values in series.values() for value in values):
        axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    _open_frame(axes, "both")
    axes.legend(frameon=False, fontsize=8)
    return axes


def _points(
    x: np.ndarray, values: Sequence[tuple[float, float | None] | None]
) -> tuple[list[float], list[float], list[float]]:
    """Positions, means and standard deviations of the values that exist."""
    known = [(float(at), *value) for at, value in zip(x, values, strict=True) if value]
    places, means, deviations = map(list, zip(*known, strict=True))
    return places, means, [deviation or 0.0 for deviation in deviations]


def _open_frame(axes: Axes, grid: Literal["both", "y"]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
