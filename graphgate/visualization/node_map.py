"""The map of nodes: an embedding in the plane, coloured by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

# Okabe & Ito's colours, which stay apart for colour-blind readers, without their yellow (too
# light on white) and their black (which means "no class" where edges are drawn), and three more.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7A2048"),
    *("#7F3C8D", "#A5AA99"),
)
UNLABELLED = "#BBBBBB"


def project(embedding: np.ndarray, seed: int = 0) -> np.ndarray:
    """t-SNE of an embedding, (N, D) -> (N, 2), after 50 principal components."""
    n, d = embedding.shape
    wide = np.pad(embedding, ((0, 0), (0, max(0, 2 - d))))  # at least two columns
    if n < 4:
        return wide[:, :2]
    if (wide == wide[0]).all():  # without variance t-SNE would divide by zero
        return np.zeros((n, 2), dtype=wide.dtype)
    reduced = PCA(min(50, *wide.shape), random_state=seed).fit_transform(wide)
    perplexity = min(30.0, (n - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(reduced)


def draw_node_map(
    points: np.ndarray,
    labels: np.ndarray | None = None,
    classes: Sequence[Any] = (),
    *,
    title: str = "",
) -> Figure:
    """Points (N, 2) coloured by label (positions in `classes`, -1: none)."""
    figure = Figure(figsize=(7.2, 4.4), dpi=150, layout="constrained")
    axes = figure.subplots()
    if labels is None:
        labels = np.full(len(points), -1)
    size = float(np.clip(12_000 / len(points), 1.5, 30))
    for code in (-1, *range(len(classes))):
        chosen = points[labels == code]
        if len(chosen):
            color = UNLABELLED if code < 0 else COLORS[code % len(COLORS)]
            name = "no label" if code < 0 else str(classes[code]).replace("_", " ")
            marker = "os^Dv<>P"[code // len(COLORS) % 8] if code >= 0 else "o"
            axes.scatter(
                chosen[:, 0], chosen[:, 1], s=size, c=color, marker=marker, linewidths=0, label=name
            )
    axes.set_axis_off()
    axes.margins(0.02)  # t-SNE's axes have no unit: the map may fill the page
    if title:
        axes.set_title(title, fontsize=10)
    if 0 < len(classes) <= 30:
        legend = axes.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8
        )
        for handle in legend.legend_handles:
            if isinstance(handle, PathCollection):
                handle.set_sizes([24])
    return figure
