"""`graphgate inspect`: what tables are read as."""

import graphgate
from graphgate.cli.console import say
from graphgate.cli.options import Edges, GraphOptions, Json, Nodes
from graphgate.cli.outputs import print_graph, write_result
from graphgate.cli.program import EMBEDDINGS, app
from graphgate.errors import InputError


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate inspect edges.csv --nodes nodes.csv",
)
def inspect(
    edges: Edges = None,
    nodes: Nodes = None,
    json: Json = None,
    *,
    options: GraphOptions,
) -> None:
    """Show what every column is read as, why, and how many features it becomes.

    Nothing is learned. Every decision can be changed: --kind price=category, --drop row, --id sku.
    """
    if edges is None:
        raise InputError("give the tables: EDGES and, optionally, --nodes FILE")
    graph = options.read(edges, nodes)
    print_graph(graph)
    inspected = graphgate.inspect_tables(graph)
    say(str(inspected))
    write_result(json, {"columns": inspected.to_dict()})
