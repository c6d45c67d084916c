"""`graphgate estimate`: what a run will take, before it."""

from __future__ import annotations

from typing import Annotated

import typer

from graphgate.cli.given import layer_sizes, named_graph, written_dims
from graphgate.cli.options import Activation, Dims, Dtype, EdgesIfAny, Json, Nodes
from graphgate.cli.printing import print_table
from graphgate.cli.program import EMBEDDINGS, app
from graphgate.cli.reading import Reading, reads_graph


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate estimate --nodes-count 1000000 --edges-count 10000000 "
    "--features 1000 --density 0.02 --dims 256,128",
)
@reads_graph
def estimate(
    reading: Reading,
    edges: EdgesIfAny = None,
    nodes: Nodes = None,
    nodes_count: Annotated[int | None, typer.Option(help="Nodes of a graph in plan.")] = None,
    edges_count: Annotated[int | None, typer.Option(help="Its edges.")] = None,
    features: Annotated[int | None, typer.Option(help="Its features.")] = None,
    density: Annotated[float, typer.Option(help="The share of its features that are not 0.")] = 1.0,
    dims: Dims = "512,512",
    activation: Activation = "identity",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the graph.")] = 200,
    dtype: Dtype = "float32",
    json: Json = None,
) -> None:
    """Tell memory and time of a run beforehand, and whether it fits into this machine.

    Memory comes from the sizes of all that training holds. Time comes from a few epochs of a
    graph like yours (or yours, if it is small) that are run here and now, a few seconds.
    """
    counts = (nodes_count, edges_count, features)
    if edges is None and any(count is None for count in counts):
        raise typer.BadParameter(
            "name a graph, EDGES and perhaps --nodes, or its size: --nodes-count, --edges-count "
            "and --features"
        )
    if edges is not None and any(count is not None for count in counts):
        raise typer.BadParameter("give either a graph or its size, not both")
    if json is not None:
        from graphgate.io.files import check_output_path

        check_output_path(json, (".json",))
    graph = None if edges is None else named_graph(None, edges, nodes, reading)[1]
    from graphgate.estimators import estimate as estimates

    found = estimates.estimate(
        graph,
        n_nodes=nodes_count,
        n_edges=edges_count,
        n_features=features,
        density=density,
        directed=reading.directed,
        dims=layer_sizes(dims),
        activation=activation,
        epochs=epochs,
        dtype=dtype,
        scale=not reading.no_scale,
    )
    as_bytes, as_time = estimates.format_bytes, estimates.format_seconds
    time = found.time
    rows = [
        ["graph", as_bytes(found.graph_bytes)],
        ["training, in addition", as_bytes(found.training_bytes)],
        ["one epoch", "—" if time is None else as_time(time.epoch)],
        [f"{epochs:,} epochs", "—" if time is None else as_time(time.total(epochs))],
    ]
    if found.available_bytes is not None:
        rows.append(["memory available here", as_bytes(found.available_bytes)])
    print_table(["what", "about"], rows)
    if not found.fits:
        fitting = found.fitting_dims
        instead = "no dims would" if fitting is None else f"--dims {written_dims(fitting)} would"
        typer.echo(f"it does not fit into this machine's memory; {instead}")
    if json is not None:
        from graphgate.io.files import write_json
        from graphgate.io.provenance import versions

        content = {
            "graph_bytes": found.graph_bytes,
            "training_bytes": found.training_bytes,
            "available_bytes": found.available_bytes,
            "fits": found.fits,
            "fitting_dims": found.fitting_dims,
            "setup_seconds": None if time is None else time.setup,
            "epoch_seconds": None if time is None else time.epoch,
            "epochs": epochs,
            "seconds": found.seconds,
            "versions": versions(),
        }
        write_json(json, content)
        typer.echo(f"wrote {json}")
