"""`graphgate demo`: train, evaluate, embed, save and draw bundled citation graphs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.printing import print_table
from graphgate.cli.program import PAPER, app
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.datasets.citation import Dataset

DATASETS = ("cora", "citeseer")


@app.command(rich_help_panel=PAPER, epilog="Example: graphgate demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
    runs: Annotated[int, typer.Option(min=1, help="Number of runs per accuracy.")] = 3,
) -> None:
    """Train on the bundled citation graphs and compare with the paper."""
    for library in ("matplotlib", "pydeck"):
        if find_spec(library) is None:
            raise InputError(f"the figures need {library}: pip install 'graphgate[viz]'")
    from graphgate.experiments.experiment import CLASSIFICATION_SETTINGS
    from graphgate.io.files import make_folder, write_json

    make_folder(out)
    rows, caveats = [], []
    for dataset in map(graphgate.load_dataset, DATASETS):
        results = []
        for setting in CLASSIFICATION_SETTINGS:
            found = graphgate.evaluate("gate", dataset, setting=setting, n_runs=runs)
            results.append(found.to_dict())
            rows.append(found.row())
            typer.echo("  ".join(rows[-1][:-2]))
        write_json(out / f"{dataset.name}.json", results)
        for path in (out / f"{dataset.name}.json", *_write_artifacts(dataset, out)):
            typer.echo(f"wrote {path}")
        caveats += [dataset.caveat] if dataset.caveat else []
    print_table(found.heads(), rows)
    for caveat in caveats:
        typer.echo(caveat)
    pages = " or ".join(str(out / f"{name}.html") for name in DATASETS)
    typer.echo(f"open {pages} in a browser to explore the graph")


def _write_artifacts(dataset: Dataset, out: Path) -> Iterator[Path]:
    """Embedding, model, figure and page of one model trained on the whole graph."""
    from graphgate.experiments.experiment import find_experiment
    from graphgate.experiments.methods import find_method
    from graphgate.io.files import write_bytes
    from graphgate.visualization.maps import draw_nodes, project

    graph, stem = dataset.graph, out / dataset.name
    experiment = find_experiment("gate", dataset.name, "transductive")
    assert experiment is not None
    gate = find_method("gate").make(experiment.params, random_state=0).fit(graph)
    found = graphgate.Embedding(graph.ids, gate.embedding_, graph.label_values())
    yield found.save(stem.with_suffix(".parquet"))
    gate.save(stem.with_suffix(".safetensors"))
    yield stem.with_suffix(".safetensors")
    name, points = dataset.name.capitalize(), project(gate.embedding_)
    title = f"{name}: {graph.n_nodes:,} papers, GATE and t-SNE"
    axes: Any = draw_nodes(points, graph.labels, graph.classes, title=title)
    picture = BytesIO()
    axes.figure.savefig(picture, format="png")
    write_bytes(stem.with_suffix(".png"), picture.getvalue())
    yield stem.with_suffix(".png")
    page = stem.with_suffix(".html")
    yield graphgate.write_page(
        page, graph, gate.embedding_, gate.attention_, title=name, points=points
    )
