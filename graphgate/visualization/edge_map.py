"""The map of edges: who attends to whom, and whether they are of one class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphgate.tasks.edge_attention import EdgeAttention
from graphgate.visualization.node_map import COLORS

_OTHER = "#000000"
_THINNEST, _THICKEST = 0.15, 1.8


def draw_edge_map(
    points: np.ndarray,
    found: EdgeAttention,
    labels: np.ndarray | None = None,
    classes: Sequence[Any] = (),
    *,
    title: str = "",
) -> Figure:
    """Edges between points (N, 2): thick by attention, coloured where both ends agree."""
    figure = Figure(figsize=(7.2, 4.4), dpi=150, layout="constrained")
    axes = figure.subplots()
    labels = np.full(len(points), -1) if labels is None else labels
    ends = labels[found.edges]
    agreed = np.where((ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0), ends[:, 0], -1)
    widths = _widths(found.raw)
    # Black ones first, so that they do not hide the classes; then the thin before the thick.
    order = np.lexsort((found.raw, agreed >= 0))
    colors = [_OTHER if code < 0 else COLORS[code % len(COLORS)] for code in agreed[order]]
    lines = LineCollection(
        list(points[found.edges[order]]),
        colors=colors,
        linewidths=widths[order],
        alpha=0.55,
        capstyle="round",
        rasterized=True,
    )
    axes.add_collection(lines)
    axes.autoscale()
    axes.margins(0.02)
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=10)
    if 0 < len(classes) <= 30:
        handles = [
            Line2D([], [], color=COLORS[code % len(COLORS)], label=str(name).replace("_", " "))
            for code, name in enumerate(classes)
        ]
        handles.append(Line2D([], [], color=_OTHER, label="different classes"))
        axes.legend(
            handles=handles,
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8,
        )
    return figure


def _widths(values: np.ndarray) -> np.ndarray:
    """Line widths in proportion to attention, from the thinnest to the thickest edge."""
    if len(values) == 0 or np.ptp(values) == 0:
        return np.full(len(values), (_THINNEST + _THICKEST) / 2)
    share = (values - values.min()) / np.ptp(values)
    return np.asarray(_THINNEST + (_THICKEST - _THINNEST) * share)
