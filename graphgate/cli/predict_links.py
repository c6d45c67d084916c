"""`graphgate predict-links`: edges that the graph may lack."""

from typing import Annotated

import typer

from graphgate.cli.console import say
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import (
    Dataset,
    Edges,
    GraphOptions,
    Json,
    Model,
    Nodes,
    TableOut,
)
from graphgate.cli.outputs import print_rows, write_result, write_table
from graphgate.cli.program import ANSWERS, app
from graphgate.errors import InputError
from graphgate.estimators.registry import method_of


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate predict-links edges.csv --nodes nodes.csv --top 50 --out links.csv",
)
def predict_links(
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    top: Annotated[int, typer.Option(min=1, help="Number of edges to propose.")] = 100,
    out: TableOut = None,
    json: Json = None,
    *,
    options: GraphOptions,
) -> None:
    """Propose the likeliest edges that the graph does not have.

    Probabilities are calibrated on hidden edges and random pairs of nodes, which count the same.
    Not all pairs are compared, only those of nodes near each other and of nodes of highest degree.
    """
    _, graph, estimator = embedded_graph(None, dataset, model, edges, nodes, options)
    method = method_of(estimator)
    if not method.proposes_links:
        raise InputError(
            f"{model} holds a {method.title}, which proposes no edges; use the linear method"
        )
    pairs, probabilities = estimator.predict_links(graph, n=top)
    columns = {"source": pairs[:, 0], "target": pairs[:, 1], "probability": probabilities}
    values = (column.tolist() for column in columns.values())
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    write_result(json, {"links": rows})
    if out is None:
        print_rows(rows)
    else:
        write_table(out, columns)
        say(f"wrote {len(pairs):,} proposed edges to {out}")
