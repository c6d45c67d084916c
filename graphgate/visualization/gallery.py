"""All figures of the paper, and the same for any graph, written to a folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

from graphgate.errors import InputError
from graphgate.estimators.embedded_graph import Attention, EdgeScores, titled_values
from graphgate.experiments.experiment import CLASSIFICATION_SETTINGS
from graphgate.experiments.methods import find_method
from graphgate.experiments.reproduce import reproduce
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
_DATASETS = ("cora", "pubmed", "citeseer")  # in the order of the paper's charts
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
_LINE_STYLES = ("-", "--", ":", "-.")

# Mean and standard deviation per group; None where there is no value.
Points = Sequence[tuple[float, float | None] | None]


def write_figures(
    folder: Path | str,
    graph: Graph,
    embedding: Any,
    edge_values: Attention | EdgeScores | sp.csr_array | None = None,
    *,
    name: str = "graph",
    history: Mapping[str, Sequence[float]] | None = None,
    results: Path | str | None = None,
    formats: Sequence[str] = ("png", "svg"),
    random_state: int | None = 0,
) -> list[Path]:
    """Write maps of nodes and edges, loss curves and ablation charts, each in every format.

    Parameters
    ----------
    folder : is created where it does not exist.
    embedding : of the graph's nodes, an `Embedding` or an (N, D) array.
    edge_values : `encode(graph).edge_values` of an estimator: attention of `GATE`, edge scores of
        `LinearGATE`; or an (N, N) sparse array of attention. Without it there is no map of edges.
        With labels, attention within and between classes is written as JSON too.
    name : begins the titles and the names of the files of this graph.
    history : `GATE.history_.series`, for the loss curves.
    results : the folder of stored runs, for the ablation charts.
    formats : of "png", "svg" and "pdf".

    Returns the files written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)], labels=["a", "a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_figures(folder, graph, np.eye(3), formats=["png"])]
    ['graph-nodes.png']
    """
    check_formats(formats)
    title = name[:1].upper() + name[1:]
    points = project(vectors_of(graph, embedding), random_state)
    figures = {} if results is None else ablation_charts(results)
    caption = f"{title}: {graph.n_nodes:,} nodes, t-SNE of the embedding"
    figures[f"{name}-nodes"] = draw_nodes(points, graph.labels, graph.classes, title=caption)
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
    written = _save(figures, Path(folder), formats)
    if statistics is not None:
        written.append(Path(folder) / f"{name}-attention.json")
        write_json(written[-1], statistics)
    return written


def check_formats(formats: Sequence[str]) -> None:
    if unknown := [form for form in formats if form not in FORMATS]:
        raise InputError(f"unknown format {unknown[0]!r}; use {', '.join(FORMATS)}")


def ablation_charts(results: Path | str) -> dict[str, Any]:
    """The paper's bar charts from stored runs on the public split; none if there are no runs."""
    table = reproduce("ablation", datasets=_DATASETS, split="public", results=results, run=False)
    charts: dict[str, Any] = {}
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
            found = [cell.evaluation for cell in row]
            values = [None if each is None else (each.mean(), each.std()) for each in found]
            published = [cell.experiment.published.get("accuracy") for cell in row]
            series[find_method(method).title] = (values, published)
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
    _open_frame(axes, "y")
    axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return axes


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
    _open_frame(axes, "both")
    axes.legend(frameon=False, fontsize=8)
    return axes


def _points(x: np.ndarray, values: Points) -> tuple[list[float], list[float], list[float]]:
    """Positions, means and standard deviations of the values that exist."""
    known = [(float(at), *value) for at, value in zip(x, values, strict=True) if value]
    places, means, deviations = map(list, zip(*known, strict=True))
    return places, means, [deviation or 0.0 for deviation in deviations]


def _open_frame(axes: Axes, grid: Literal["both", "y"]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def _save(figures: Mapping[str, Any], folder: Path, formats: Sequence[str]) -> list[Path]:
    # Without a date the same figure is the same file.
    metadata: dict[str, Any] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    make_folder(folder)
    written = []
    for name, axes in figures.items():
        for form in formats:
            written.append(folder / f"{name}.{form}")
            with replacing(written[-1]) as temporary:
                axes.figure.savefig(temporary, format=form, metadata=metadata[form])
    return written
