"""The losses of a training, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from graphgate.visualization.node_map import COLORS

_STYLES = ("-", "--", ":", "-.")


def draw_losses(series: Mapping[str, Sequence[float]], *, title: str = "") -> Figure:
    """One line a series (`History.series`), on a logarithmic axis where all are positive."""
    figure = Figure(figsize=(7.2, 3.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    for number, (name, values) in enumerate(series.items()):
        axes.plot(
            range(1, len(values) + 1),
            values,
            _STYLES[number % len(_STYLES)],
            color=COLORS[number % len(COLORS)],
            label=name,
            linewidth=1.4,
        )
    if all(value > 0 for values in series.values() for value in values):
        axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(linewidth=0.4, alpha=0.5)
    if title:
        axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return figure
