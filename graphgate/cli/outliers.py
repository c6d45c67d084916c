"""`graphgate outliers`: nodes whose features or edges are not as expected."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import check_files
from graphgate.cli.methods import embedded_graph
from graphgate.cli.options import (
    Dataset,
    Edges,
    GraphOptions,
    Json,
    Method,
    Model,
    Nodes,
    SpreadsheetSafe,
    reads_graph,
)
from graphgate.cli.program import ANSWERS, app, write_result


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate outliers edges.csv --nodes nodes.csv --top 20",
)
@reads_graph
def outliers(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    method: Method = None,
    top: Annotated[int, typer.Option(min=1, help="Number of nodes to show.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Write all nodes to this .parquet or .csv file.")
    ] = None,
    json: Json = None,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """Find nodes whose features, or whose edges, the reconstructions miss.

    Both columns are the fraction of nodes that are less unexpected, from 0 to 1: by their features,
    given those of their neighborhood, and by their edges.
    """
    check_files(edges, nodes, model, table=out, json=json)
    _, graph, gate = embedded_graph(method, dataset, model, edges, nodes, options)
    found = graphgate.find_outliers(graph, gate)
    rows = found.top(top)
    cells = [[str(node), *("—" if v != v else f"{v:.3f}" for v in two)] for node, *two in rows]
    print_table(["node", "features", "edges"], cells)
    if out is not None:
        import pyarrow as pa

        from graphgate.io.table_files import write_table
        from graphgate.io.tables import id_array

        columns = {"features": pa.array(found.features), "edges": pa.array(found.edges)}
        write_table(out, pa.table({"node_id": id_array(found.ids)} | columns))
        say(f"wrote the scores of {graph.n_nodes:,} nodes to {out}")
    nodes_found = [
        {"node": node, "features": None if f != f else f, "edges": None if e != e else e}
        for node, f, e in rows
    ]
    write_result(json, {"outliers": nodes_found})
