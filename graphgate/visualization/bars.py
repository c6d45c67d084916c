"""Accuracies as bars with deviations, and the paper's own values marked on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from graphgate.visualization.node_map import COLORS

_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")


@dataclass(frozen=True)
class Bars:
    """One series: a bar a group; None where there is no value.

    values, published : (mean, deviation) in percent.
    """

    title: str
    values: Sequence[tuple[float, float | None] | None]
    published: Sequence[tuple[float, float | None] | None]


def draw_bars(groups: Sequence[str], series: Sequence[Bars], *, title: str = "") -> Figure:
    """Groups of bars, one colour and hatch a series; diamonds are the published values."""
    figure = Figure(figsize=(7.2, 3.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(series))
    at = np.arange(len(groups))
    everything: list[float] = []
    for number, bars in enumerate(series):
        x = at + (number - (len(series) - 1) / 2) * width
        color = COLORS[number % len(COLORS)]
        ours = [(place, *value) for place, value in zip(x, bars.values, strict=True) if value]
        if ours:
            places, means, deviations = zip(*ours, strict=True)
            axes.bar(
                places,
                means,
                0.92 * width,
                yerr=[deviation or 0.0 for deviation in deviations],
                color=color,
                alpha=0.75,
                hatch=_HATCHES[number % len(_HATCHES)],
                edgecolor="white",
                error_kw={"elinewidth": 0.9, "capsize": 2},
                label=bars.title,
            )
            everything += means
        told = [(p, *v) for p, v in zip(x, bars.published, strict=True) if v]
        if told:
            places, means, deviations = zip(*told, strict=True)
            axes.errorbar(
                places,
                means,
                yerr=[deviation or 0.0 for deviation in deviations],
                fmt="D",
                markersize=4,
                color="black",
                markerfacecolor="white",
                elinewidth=0.7,
                label="the paper" if number == len(series) - 1 else None,
            )
            everything += means
    axes.set_xticks(at, groups)
    axes.set_ylabel("accuracy, %")
    if everything:
        axes.set_ylim(
            max(0.0, 5 * np.floor(min(everything) / 5) - 5), min(100.0, max(everything) + 3)
        )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    if title:
        axes.set_title(title, fontsize=10)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
