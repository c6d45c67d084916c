"""`graphgate outliers`: nodes whose features or edges are not as expected."""

from math import isnan
from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.conventions import Output
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import (
    Dataset,
    Edges,
    GraphOptions,
    Json,
    Method,
    Model,
    Nodes,
)
from graphgate.cli.outputs import write_result, write_table
from graphgate.cli.program import ANSWERS, app


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate outliers edges.csv --nodes nodes.csv --top 20",
)
def outliers(
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    method: Method = None,
    top: Annotated[int, typer.Option(min=1, help="Number of nodes to show.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(help="Write all nodes to this .parquet or .csv file."),
        Output("table"),
    ] = None,
    json: Json = None,
    *,
    options: GraphOptions,
) -> None:
    """Find nodes whose features, or whose edges, the reconstructions miss.

    Both columns are the fraction of nodes that are less unexpected, from 0 to 1: by their features,
    given those of their neighborhood, and by their edges.
    """
    _, graph, estimator = embedded_graph(method, dataset, model, edges, nodes, options)
    result = graphgate.find_outliers(graph, estimator)
    rows = result.top(top)
    cells = [
        [str(node), *("—" if isnan(score) else f"{score:.3f}" for score in scores)]
        for node, *scores in rows
    ]
    print_table(["node", "features", "edges"], cells)
    if out is not None:
        columns = {"node_id": result.ids, "features": result.features, "edges": result.edges}
        write_table(out, columns)
        say(f"wrote the scores of {graph.n_nodes:,} nodes to {out}")
    listed = [
        {"node": node}
        | {
            name: None if isnan(score) else score
            for name, score in zip(("features", "edges"), scores, strict=True)
        }
        for node, *scores in rows
    ]
    write_result(json, {"outliers": listed})
