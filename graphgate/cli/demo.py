"""The main job from end to end on carried data: train, evaluate, embed, save, draw, look around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from graphgate.datasets.citation import Dataset
from graphgate.errors import InputError
from graphgate.experiments.evaluation import Evaluation, evaluate
from graphgate.experiments.experiment import find_experiment
from graphgate.experiments.methods import find_method
from graphgate.experiments.settings import CLASSIFICATION_SETTINGS
from graphgate.io.embeddings import write_embedding
from graphgate.io.files import write_bytes, write_json

DEMO_DATASETS = ("cora", "citeseer")


def run_demo(datasets: Iterable[Dataset], out: Path, *, runs: int) -> Iterator[Evaluation | Path]:
    """Yields every evaluation when it is done and every file when it is written."""
    for library in ("matplotlib", "pydeck"):
        if find_spec(library) is None:
            raise InputError(f"the pictures need {library}: pip install 'graphgate[viz]'")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {out} cannot be made: {error.strerror}") from None
    for dataset in datasets:
        results = []
        for setting in CLASSIFICATION_SETTINGS:
            results.append(evaluate("gate", dataset, setting=setting, n_runs=runs))
            yield results[-1]
        write_json(out / f"{dataset.name}.json", [result.to_dict() for result in results])
        yield out / f"{dataset.name}.json"
        yield from _artefacts(dataset, out)


def _artefacts(dataset: Dataset, out: Path) -> Iterator[Path]:
    """Embedding, model, picture and page of one training on the whole graph."""
    from graphgate.visualization.maps import draw_nodes, project
    from graphgate.visualization.page.page_html import write_page

    graph = dataset.graph
    experiment = find_experiment("gate", dataset.name, "transductive")
    assert experiment is not None
    model = find_method("gate").make(experiment.params, random_state=0).fit(graph)
    labels = graph.label_values()
    yield write_embedding(out / f"{dataset.name}.parquet", graph.ids, model.embedding_, labels)
    model.save(out / f"{dataset.name}.safetensors")
    yield out / f"{dataset.name}.safetensors"
    name, points = dataset.name.capitalize(), project(model.embedding_)
    title = f"{name}: {graph.n_nodes:,} papers, GATE and t-SNE"
    axes: Any = draw_nodes(points, graph.labels, graph.classes, title=title)
    picture = BytesIO()
    axes.figure.savefig(picture, format="png")
    write_bytes(out / f"{dataset.name}.png", picture.getvalue())
    yield out / f"{dataset.name}.png"
    page = out / f"{dataset.name}.html"
    yield write_page(page, graph, model.embedding_, model.attention_, title=name, points=points)
