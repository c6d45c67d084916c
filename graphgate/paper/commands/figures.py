"""`graphgate figures`: the paper's figures."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Model, Nodes
from graphgate.cli.program import PICTURES
from graphgate.paper.commands.group import paper


@paper.command(
    rich_help_panel=PICTURES, epilog="Example: graphgate figures --dataset cora --out figures"
)
def figures(
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    results: Annotated[Path, typer.Option(help="Folder with the runs of `reproduce`.")] = (
        Path("results")
    ),
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
    formats: Annotated[str, typer.Option(help="png, svg, pdf; separated by commas.")] = "png,svg",
    *,
    options: GraphOptions,
) -> None:
    """Draw the paper's figures: ablations, maps of nodes and edges, losses.

    The bar charts show stored runs; the maps show a saved model, or GATE, which is trained first.
    Edges are drawn by attention or, for a model of the linear method, by edge score. Attention
    statistics within and between classes are written as well.
    """
    from graphgate.datasets.citation import name_classes
    from graphgate.estimators.fitted import Attention
    from graphgate.io.files import check_folder
    from graphgate.paper.charts import ablation_charts
    from graphgate.tasks.edge_attention import class_attention, edge_attention
    from graphgate.visualization.gallery import check_formats, save_figures

    endings = formats.split(",")
    check_formats(endings)  # before any training
    check_folder(out)
    charts = ablation_charts(results)
    if edges is None and dataset is None:
        dataset = "cora"
    method = "gate" if model is None else None
    name, graph, gate = embedded_graph(method, dataset, model, edges, nodes, options)
    encoded = gate.encode(graph)
    graph = name_classes(name, graph) if edges is None else graph
    history = gate.summary().history
    pictures = graphgate.write_figures(
        out,
        graph,
        encoded.embedding,
        encoded.edge_values,
        name=name,
        history=None if history is None else history.series,
        formats=endings,
    )
    if not charts:
        say(f"no runs of the ablation are in {results}: no bar charts", err=True)
    for path in [*save_figures(charts, out, endings), *pictures]:
        say(f"wrote {path}")
    if graph.labels is None or not isinstance(encoded.edge_values, Attention):
        return
    attention = class_attention(edge_attention(encoded.edge_values.average), graph.labels)
    if attention is not None:
        say(
            f"edges within a class receive {attention['raw_ratio']:.3f} times the attention of "
            f"other edges; {attention['corrected_ratio']:.3f} times after correcting for degree "
            "(at most e ≈ 2.718)"
        )
