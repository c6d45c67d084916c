"""All figures of the paper, and the same for any graph, written to a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.gate import Attention
from graphgate.experiments.experiment import CLASSIFICATION_SETTINGS
from graphgate.experiments.methods import find_method
from graphgate.experiments.reproduce import reproduce
from graphgate.graph.graph import Graph
from graphgate.io.files import make_folder, replacing, write_json
from graphgate.tasks.edge_attention import class_attention, edge_attention
from graphgate.visualization.charts import BarSeries, draw_bars, draw_losses
from graphgate.visualization.maps import draw_edges, draw_nodes, project, vectors_of

FORMATS = ("png", "svg", "pdf")
_DATASETS = ("cora", "pubmed", "citeseer")  # in the order of the paper's charts


def write_figures(
    folder: Path | str,
    graph: Graph,
    embedding: Any,
    attention: Attention | sp.csr_array | None = None,
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
    attention : `GATE.attention_`, or an (N, N) sparse array; without it there is no map of edges.
        With labels, attention within and between classes is written as JSON too.
    name : begins the titles and the names of the files of this graph.
    history : `GATE.history_.series`, for the loss curves.
    results : the folder of stored runs, for the ablation charts.
    formats : of "png", "svg" and "pdf".

    Returns the files written.
    """
    check_formats(formats)
    title = name[:1].upper() + name[1:]
    vectors = vectors_of(graph, embedding)
    alpha = attention.average if isinstance(attention, Attention) else attention
    figures = {} if results is None else ablation_charts(results)
    points = project(vectors, random_state)
    caption = f"{title}: {graph.n_nodes:,} nodes, GATE and t-SNE"
    figures[f"{name}-nodes"] = draw_nodes(points, graph.labels, graph.classes, title=caption)
    statistics = None
    if alpha is not None:
        found = edge_attention(alpha)
        caption = f"{title}: {len(found.edges):,} edges, width by attention"
        figures[f"{name}-edges"] = draw_edges(
            points, found, graph.labels, graph.classes, title=caption
        )
        statistics = None if graph.labels is None else class_attention(found, graph.labels)
    if history is not None:
        names = {"loss": "loss", "features": "feature", "structure": "structure"}
        losses = {label: history[part] for label, part in names.items()}
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
        cells = [cell for cell in table.cells() if cell.experiment.setting == setting]
        here = {(of.experiment.method, of.experiment.dataset): of.experiment for of in cells}
        found = {(of.experiment.method, of.experiment.dataset): of.evaluation for of in cells}
        if not any(found.values()):
            continue
        series = []
        for method in dict.fromkeys(method for method, _ in here):
            evaluations = [found[method, dataset] for dataset in _DATASETS]
            values = [None if e is None else (e.mean(), e.std()) for e in evaluations]
            published = [here[method, dataset].published.get("accuracy") for dataset in _DATASETS]
            series.append(BarSeries(find_method(method).title, values, published))
        groups = [name.capitalize() for name in _DATASETS]
        charts[f"ablation-{setting}"] = draw_bars(groups, series, title=f"Ablation, {setting}")
    return charts


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
