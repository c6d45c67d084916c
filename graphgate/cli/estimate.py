"""`graphgate estimate`: the memory and time of a run, before it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import choose_method, fitting_dims, read_named_graph
from graphgate.cli.method_options import only_options
from graphgate.cli.options import (
    Dtype,
    Edges,
    GraphOptions,
    Json,
    MemoryLimit,
    Method,
    Nodes,
)
from graphgate.cli.outputs import write_result
from graphgate.cli.program import EMBEDDINGS, app

if TYPE_CHECKING:
    from graphgate.estimators.estimate import Estimate

OF_METHODS = only_options(
    "components", "no_structure", "dims", "activation", "epochs", "batch_size"
)


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate estimate --nodes-count 1000000 --edges-count 10000000 "
    "--features 1000 --density 0.02",
)
def estimate(
    edges: Edges = None,
    nodes: Nodes = None,
    nodes_count: Annotated[int | None, typer.Option(help="Number of nodes.")] = None,
    edges_count: Annotated[int | None, typer.Option(help="Number of edges.")] = None,
    features: Annotated[int | None, typer.Option(help="Number of features.")] = None,
    density: Annotated[
        float, typer.Option(help="Fraction of feature values that are nonzero.")
    ] = 1.0,
    dtype: Dtype = "float32",
    memory_limit: MemoryLimit = None,
    json: Json = None,
    method: Method = None,
    *,
    given: Annotated[dict[str, Any], OF_METHODS],
    options: GraphOptions,
) -> None:
    """Estimate the memory and time of a run, and whether it fits on this machine.

    Give a graph, or its size. Memory is computed from the sizes of all arrays, time from the
    operations and the speed of this machine. `graphgate embed` follows the same plan.
    """
    chosen, params = choose_method(method, given)
    counts = (nodes_count, edges_count, features)
    if edges is None and None in counts:
        raise typer.BadParameter(
            "give a graph (EDGES and, optionally, --nodes) or its size (--nodes-count, "
            "--edges-count and --features)"
        )
    if edges is not None and counts != (None, None, None):
        raise typer.BadParameter("give either a graph or its size, not both")
    result = graphgate.estimate(
        None if edges is None else read_named_graph(None, edges, nodes, options)[1],
        n_nodes=nodes_count,
        n_edges=edges_count,
        n_features=features,
        density=density,
        directed=bool(options.directed),
        method=chosen,
        dtype=dtype,
        memory_limit=memory_limit,
        scale=not options.no_scale,
        **params,
    )
    print_table(["", "estimate"], _rows(result))
    content = asdict(result) | {"plan": result.plan.sentence()}
    if not result.fits:
        dims = result.fitting_dims
        hint = "" if dims is None else f"; {fitting_dims(dims)}"
        say(f"the run does not fit into memory{hint}")
    write_result(json, {"method": chosen}, content)


def _rows(result: Estimate) -> list[list[str]]:
    """The estimate as a table."""
    from graphgate.compute.machine import format_bytes
    from graphgate.compute.speed import format_seconds

    available = result.available_bytes
    rows = [
        ["plan", result.plan.sentence()],
        ["graph", format_bytes(result.graph_bytes)],
        ["fit, in addition", format_bytes(result.training_bytes)],
        *([["files", format_bytes(result.disk_bytes)]] if result.disk_bytes else []),
        ["available memory", "unknown" if available is None else format_bytes(available)],
        ["fit", format_seconds(result.seconds)],
    ]
    if result.epochs is not None:
        epoch = format_seconds(result.seconds / result.epochs)
        rows.append([f"each of {result.epochs:,} epochs", epoch])
    return rows
