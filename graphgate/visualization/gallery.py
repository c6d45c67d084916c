"""Every figure of the paper, and the same for a user's own graph, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure

from graphgate.errors import InputError
from graphgate.experiments.methods import find_method
from graphgate.experiments.reproduce import reproduce
from graphgate.experiments.settings import CLASSIFICATION_SETTINGS
from graphgate.graph.graph import Graph
from graphgate.io.files import replacing
from graphgate.tasks.edge_attention import edge_attention
from graphgate.visualization.bars import Bars, draw_bars
from graphgate.visualization.edge_map import draw_edge_map
from graphgate.visualization.node_map import draw_node_map, project

FORMATS = ("png", "svg", "pdf")
_DATASETS = ("cora", "pubmed", "citeseer")  # the order of the paper's charts


def ablation_figures(results: Path | str) -> dict[str, Figure]:
    """The paper's bar charts from stored runs on the public split; none where there are no runs."""
    table = reproduce("ablation", datasets=_DATASETS, split="public", results=results, run=False)
    made: dict[str, Figure] = {}
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
            series.append(Bars(find_method(method).title, values, published))
        names = [name.capitalize() for name in _DATASETS]
        made[f"ablation-{setting}"] = draw_bars(names, series, title=f"Ablation, {setting}")
    return made


def graph_figures(
    title: str, graph: Graph, embedding: np.ndarray, attention: sp.csr_array
) -> dict[str, Figure]:
    """The maps of a graph's nodes and edges, from its embedding and its averaged attention."""
    points = project(embedding)
    edges = edge_attention(attention)
    labels, classes = graph.labels, graph.classes
    node_title = f"{title}: {graph.n_nodes:,} nodes, GATE and t-SNE"
    edge_title = f"{title}: {len(edges.edges):,} edges, thickness by attention"
    return {
        "nodes": draw_node_map(points, labels, classes, title=node_title),
        "edges": draw_edge_map(points, edges, labels, classes, title=edge_title),
    }


def check_formats(formats: Sequence[str]) -> None:
    if unknown := [form for form in formats if form not in FORMATS]:
        raise InputError(f"unknown format {unknown[0]!r}; use {', '.join(FORMATS)}")


def write_figures(
    figures: Mapping[str, Figure], folder: Path, formats: Sequence[str] = ("png", "svg")
) -> Iterator[Path]:
    """Every figure in every format; yields each file when it is written, whole."""
    check_formats(formats)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            for form in formats:
                path = folder / f"{name}.{form}"
                with replacing(path) as temporary:
                    # Without a date the same figure is the same file.
                    stamp = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
                    figure.savefig(temporary, format=form, metadata=stamp[form])
                yield path
    except OSError as error:
        raise InputError(f"figures cannot be written to {folder}: {error.strerror}") from None
