"""`graphgate estimate`: what a run will take, before it."""

from __future__ import annotations

from typing import Annotated

import typer

from graphgate.cli.given import layer_sizes, named_graph
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
    sizes = layer_sizes(dims)
    from graphgate.training.plan import Plan, Size

    graph = None
    if edges is not None:
        from graphgate.estimators.gate import GATE

        _, graph = named_graph(None, edges, nodes, reading)
        graph = GATE(scale=not reading.no_scale).prepare(graph)
        size = Size.of(graph)
    else:
        assert nodes_count is not None
        assert edges_count is not None
        assert features is not None
        size = Size.from_counts(
            nodes_count, edges_count, features, density, directed=reading.directed
        )
    from graphgate.estimators.estimate import fitting_dims, in_time, in_units
    from graphgate.estimators.gate import GATE
    from graphgate.estimators.seconds import estimated_seconds, measured_size
    from graphgate.training.machine import available_bytes
    from graphgate.training.memory import graph_bytes, training_bytes

    gate = GATE(sizes, activation=activation, epochs=epochs, dtype=dtype, random_state=0)
    plan = Plan.of(size, gate)
    held, training = graph_bytes(size), training_bytes(plan)
    room = available_bytes()
    like = measured_size(size, gate)
    tried = training_bytes(Plan.of(like, gate)) + graph_bytes(like)
    seconds = None  # where not even the graph that would be measured fits
    if room is None or tried <= room:
        seconds = estimated_seconds(size, gate, graph)
    needed = training + (0 if graph is not None else held)
    rows = [
        ["the graph itself", in_units(held)],
        ["training, beside it", in_units(training)],
        ["an epoch", "—" if seconds is None else in_time(seconds.epoch)],
        [f"{epochs:,} epochs", "—" if seconds is None else in_time(seconds.total(epochs))],
    ]
    if room is not None:
        rows.append(["memory free here", in_units(room)])
    print_table(["what", "about"], rows)
    fits = room is None or needed <= room
    dims_that_fit = None
    if not fits:
        assert room is not None
        dims_that_fit = fitting_dims(size, gate, room - (needed - training))
        instead = (
            "no dims would" if dims_that_fit is None else f"--dims {_written(dims_that_fit)} would"
        )
        typer.echo(f"it does not fit into this machine's memory; {instead}")
    if json is not None:
        from graphgate.io.files import write_json
        from graphgate.io.provenance import versions

        write_json(
            json,
            {
                "graph_bytes": held,
                "training_bytes": training,
                "available_bytes": room,
                "fits": fits,
                "fitting_dims": dims_that_fit,
                "setup_seconds": None if seconds is None else seconds.setup,
                "epoch_seconds": None if seconds is None else seconds.epoch,
                "epochs": epochs,
                "seconds": None if seconds is None else seconds.total(epochs),
                "versions": versions(),
            },
        )
        typer.echo(f"wrote {json}")


def _written(dims: tuple[int, ...]) -> str:
    return ",".join(map(str, dims))
