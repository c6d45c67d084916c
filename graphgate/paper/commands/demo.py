"""`graphgate demo`: the bundled graphs, embedded and evaluated."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import GraphOptions
from graphgate.cli.program import PAPER
from graphgate.errors import InputError
from graphgate.paper.commands.group import paper, print_caveats

DEMO_DATASETS = ("cora", "citeseer")


@paper.command(rich_help_panel=PAPER, epilog="Example: graphgate demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
    paper: Annotated[
        bool, typer.Option("--paper", help="Train the paper's model and compare with its numbers.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of runs per setting; default: 1, or 3 with --paper."),
    ] = None,
) -> None:
    """Embed the bundled citation graphs, classify their nodes, and write maps and pages."""
    for library in ("matplotlib", "pydeck"):
        if find_spec(library) is None:
            raise InputError(f"the figures need {library}: pip install 'graphgate[viz]'")
    from graphgate.io.files import make_folder, write_json
    from graphgate.paper.experiments.experiment import CLASSIFICATION_SETTINGS

    make_folder(out)
    method, n_runs = ("gate", runs or 3) if paper else ("linear", runs or 1)
    rows, splits = [], {}
    for dataset in map(graphgate.load_dataset, DEMO_DATASETS):
        results = []
        for setting in CLASSIFICATION_SETTINGS:
            evaluation = graphgate.evaluate(method, dataset, setting=setting, n_runs=n_runs)
            results.append(evaluation.to_dict())
            rows.append(evaluation.row())
            say("  ".join(rows[-1][:-2]))
        write_json(out / f"{dataset.name}.json", results)
        for path in (out / f"{dataset.name}.json", *_write_artifacts(method, dataset.name, out)):
            say(f"wrote {path}")
        splits[dataset.name] = dataset.split
    print_table(evaluation.heads(), rows)
    print_caveats(splits)
    pages = " or ".join(str(out / f"{name}.html") for name in DEMO_DATASETS)
    say(f"open {pages} in a browser to explore a graph")


def _write_artifacts(method: str, name: str, out: Path) -> Iterator[Path]:
    """Embedding, model, figure and page of one model of the whole graph."""
    from graphgate.datasets.citation import name_classes
    from graphgate.io.files import replacing
    from graphgate.visualization.maps import draw_nodes, project

    _, graph, gate = embedded_graph(method, name, None, None, None, GraphOptions())
    for sentence in gate.summary().sentences():
        say(f"{name}: {sentence}")
    stem, title = out / name, name.capitalize()
    yield graphgate.Embedding.of(graph, gate.embedding_).save(stem.with_suffix(".parquet"))
    gate.save(stem.with_suffix(".safetensors"))
    yield stem.with_suffix(".safetensors")
    graph, points = name_classes(name, graph), project(gate.embedding_)
    caption = f"{title}: {graph.n_nodes:,} papers, {type(gate).__name__} and t-SNE"
    axes: Any = draw_nodes(points, graph.labels, graph.classes, title=caption)
    with replacing(stem.with_suffix(".png")) as temporary:
        axes.figure.savefig(temporary, format="png")
    yield stem.with_suffix(".png")
    page, values = stem.with_suffix(".html"), gate.encode(graph).edge_values
    yield graphgate.write_page(page, graph, gate.embedding_, values, title=title, points=points)
