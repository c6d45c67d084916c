"""The paper's pictures of an embedded graph, for any graph, written to a folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import scipy.sparse as sp
from matplotlib.axes import Axes

from graphgate.errors import InputError
from graphgate.estimators.fitted import EdgeValues, titled_values
from graphgate.graph.graph import Graph
from graphgate.io.files import make_folder, replacing, write_json
from graphgate.tasks.edge_attention import class_attention, edge_attention
from graphgate.visualization.maps import (
    COLORS,
    draw_edges,
    draw_nodes,
    new_axes,
    project,
    vectors_of,
)

FORMATS = ("png", "svg", "pdf")
_LINE_STYLES = ("-", "--", ":", "-.")


def write_figures(
    folder: Path | str,
    graph: Graph,
    embedding: Any,
    edge_values: EdgeValues | sp.csr_array | None = None,
    *,
    name: str = "graph",
    history: Mapping[str, Sequence[float]] | None = None,
    formats: Sequence[str] = ("png", "svg"),
    random_state: int | None = 0,
) -> list[Path]:
    """Write maps of nodes and edges, and loss curves, each in every format.

    Parameters
    ----------
    folder : is created where it does not exist.
    embedding : of the graph's nodes, an `Embedding` or an (N, D) array.
    edge_values : `encode(graph).edge_values` of an estimator: attention of `GATE`, edge scores of
        `LinearGATE`; or an (N, N) sparse array of attention. Without it there is no map of edges.
        With labels, attention within and between classes is written as JSON too.
    name : begins the titles and the names of the files of this graph.
    history : `GATE.history_.series`, for the loss curves.
    formats : of "png", "svg" and "pdf".

    Returns the files written.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], labels=["a", "a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_figures(folder, graph, np.eye(3), formats=["png"])]
    ['graph-nodes.png']
    """
    check_formats(formats)
    title = name[:1].upper() + name[1:]
    points = project(vectors_of(graph, embedding), random_state)
    caption = f"{title}: {graph.n_nodes:,} nodes, t-SNE of the embedding"
    nodes = draw_nodes(points, graph.labels, graph.classes, title=caption)
    figures = {f"{name}-nodes": nodes}
    statistics = None
    if edge_values is not None:
        edge_title, values = titled_values(edge_values)
        found = edge_attention(values)
        caption = f"{title}: {len(found.edges):,} edges, width by {edge_title}"
        figures[f"{name}-edges"] = draw_edges(
            points, found, graph.labels, graph.classes, title=caption
        )
        if graph.labels is not None and edge_title == "attention":
            statistics = class_attention(found, graph.labels)
    if history is not None:
        losses = {
            "loss": history["loss"],
            "features": history["feature"],
            "structure": history["structure"],
        }
        figures[f"{name}-losses"] = draw_losses(losses, title=f"{title}: training losses")
    written = save_figures(figures, folder, formats)
    if statistics is not None:
        written.append(Path(folder) / f"{name}-attention.json")
        write_json(written[-1], statistics)
    return written


def check_formats(formats: Sequence[str]) -> None:
    if unknown := [form for form in formats if form not in FORMATS]:
        raise InputError(f"unknown format {unknown[0]!r}; use {', '.join(FORMATS)}")


def draw_losses(series: Mapping[str, Sequence[float]], *, title: str = "") -> Axes:
    """Draw one line per series (`History.series`), on a log scale if all values are positive."""
    axes = new_axes(3.6, title)
    for number, (name, values) in enumerate(series.items()):
        style, color = _LINE_STYLES[number % len(_LINE_STYLES)], COLORS[number % len(COLORS)]
        axes.plot(range(1, len(values) + 1), values, style, color=color, label=name, linewidth=1.4)
    if all(value > 0 for values in series.values() for value in values):
        axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    open_frame(axes, "both")
    axes.legend(frameon=False, fontsize=8)
    return axes


def open_frame(axes: Axes, grid: Literal["both", "y"]) -> None:
    """Draw axes at the left and the bottom only, with a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def save_figures(
    figures: Mapping[str, Axes], folder: Path | str, formats: Sequence[str]
) -> list[Path]:
    """Write every figure in every format; the same figure is the same file, without a date."""
    metadata: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    folder = make_folder(folder)
    written = []
    for name, axes in figures.items():
        for form in formats:
            written.append(folder / f"{name}.{form}")
            figure: Any = axes.figure
            with replacing(written[-1]) as temporary:
                figure.savefig(temporary, format=form, metadata=metadata[form])
    return written
