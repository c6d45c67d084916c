"""`graphgate estimate`: the memory and time of a run, before it starts."""

from typing import Annotated

import typer

import graphgate
from graphgate.cli.inputs import check_files, fitting_dims, parse_dims, read_named_graph
from graphgate.cli.options import (
    Activation,
    Dims,
    Dtype,
    Edges,
    Epochs,
    GraphOptions,
    Json,
    Nodes,
    reads_graph,
)
from graphgate.cli.program import EMBEDDINGS, app, print_table, write_result


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate estimate --nodes-count 1000000 --edges-count 10000000 "
    "--features 1000 --density 0.02 --dims 256,128",
)
@reads_graph
def estimate(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    nodes_count: Annotated[int | None, typer.Option(help="Number of nodes.")] = None,
    edges_count: Annotated[int | None, typer.Option(help="Number of edges.")] = None,
    features: Annotated[int | None, typer.Option(help="Number of features.")] = None,
    density: Annotated[
        float, typer.Option(help="Fraction of feature values that are nonzero.")
    ] = 1.0,
    dims: Dims = "512,512",
    activation: Activation = "identity",
    epochs: Epochs = None,
    dtype: Dtype = "float32",
    json: Json = None,
) -> None:
    """Estimate the memory and time of a run, and whether it fits on this machine.

    Give a graph, or its size. Memory is computed from the sizes of all arrays used in training;
    time is measured by training for a few seconds on the graph or, if it is large, on a similar but
    smaller one.
    """
    counts = (nodes_count, edges_count, features)
    if edges is None and None in counts:
        raise typer.BadParameter(
            "give a graph (EDGES and, optionally, --nodes) or its size (--nodes-count, "
            "--edges-count and --features)"
        )
    if edges is not None and counts != (None, None, None):
        raise typer.BadParameter("give either a graph or its size, not both")
    check_files(edges, nodes, json=json)
    found = graphgate.estimate(
        None if edges is None else read_named_graph(None, edges, nodes, options)[1],
        n_nodes=nodes_count,
        n_edges=edges_count,
        n_features=features,
        density=density,
        directed=bool(options.directed),
        dims=parse_dims(dims),
        activation=activation,
        epochs=epochs,
        dtype=dtype,
        scale=not options.no_scale,
    )
    from graphgate.estimators.estimate import format_bytes, format_seconds

    time, available = found.time, found.available_bytes
    rows = [
        ["graph", format_bytes(found.graph_bytes)],
        ["training, in addition", format_bytes(found.training_bytes)],
        ["one epoch", "—" if time is None else format_seconds(time.epoch)],
        [
            f"{found.epochs:,} epochs",
            "—" if found.seconds is None else format_seconds(found.seconds),
        ],
        ["available memory", "unknown" if available is None else format_bytes(available)],
    ]
    print_table(["", "estimate"], rows)
    if not found.fits:
        typer.echo(f"the run does not fit into memory; {fitting_dims(found.fitting_dims)}")
    write_result(
        json,
        {
            "graph_bytes": found.graph_bytes,
            "training_bytes": found.training_bytes,
            "available_bytes": available,
            "fits": found.fits,
            "fitting_dims": found.fitting_dims,
            "setup_seconds": None if time is None else time.setup,
            "epoch_seconds": None if time is None else time.epoch,
            "epochs": found.epochs,
            "seconds": found.seconds,
        },
    )
