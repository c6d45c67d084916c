"""`graphgate estimate`: the memory and time of a run, before it starts."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import (
    check_files,
    fitting_dims,
    parse_batch_size,
    parse_dims,
    read_named_graph,
)
from graphgate.cli.methods import chosen_method
from graphgate.cli.options import (
    Activation,
    BatchSize,
    Components,
    Dims,
    Dtype,
    Edges,
    Epochs,
    GraphOptions,
    Json,
    MemoryLimit,
    Method,
    Nodes,
    NoStructure,
    reads_graph,
)
from graphgate.cli.program import EMBEDDINGS, app, write_result


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate estimate --nodes-count 1000000 --edges-count 10000000 "
    "--features 1000 --density 0.02",
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
    dtype: Dtype = "float32",
    memory_limit: MemoryLimit = None,
    json: Json = None,
    method: Method = None,
    components: Components = None,
    no_structure: NoStructure = None,
    dims: Dims = None,
    activation: Activation = None,
    epochs: Epochs = None,
    batch_size: BatchSize = None,
) -> None:
    """Estimate the memory and time of a run, and whether it fits on this machine.

    Give a graph, or its size. Memory is computed from the sizes of all arrays. The time of the
    linear method is computed from the speed of this machine; for GATE, a few epochs are run on the
    graph or, if it is large, on a similar but smaller one.
    """
    gate = {"dims": dims, "activation": activation, "epochs": epochs, "batch_size": batch_size}
    linear = {"components": components, "no_structure": no_structure}
    chosen = chosen_method(method, gate, linear)
    given: dict[str, Any] = gate
    if chosen == "linear":
        given = {"n_components": components, "structure": None if no_structure is None else False}
    params = {name: value for name, value in given.items() if value is not None}
    if dims is not None:
        params["dims"] = parse_dims(dims)
    if batch_size is not None:
        params["batch_size"] = parse_batch_size(batch_size)
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
        method=chosen,
        dtype=dtype,
        memory_limit=memory_limit,
        scale=not options.no_scale,
        **params,
    )
    from graphgate.compute.machine import format_bytes
    from graphgate.compute.speed import format_seconds

    available, sentence = found.available_bytes, found.plan.sentence()
    content = asdict(found) | {"plan": sentence}
    rows = [
        ["plan", sentence],
        ["graph", format_bytes(found.graph_bytes)],
        ["fit, in addition", format_bytes(found.training_bytes)],
        *([["files", format_bytes(disk)]] if (disk := getattr(found, "disk_bytes", 0)) else []),
        ["available memory", "unknown" if available is None else format_bytes(available)],
        ["fit", "—" if found.seconds is None else format_seconds(found.seconds)],
    ]
    hint = ""
    if isinstance(found, graphgate.Estimate):
        time, hint = found.time, f"; {fitting_dims(found.fitting_dims)}"
        each = "—" if time is None else format_seconds(time.epoch)
        rows.append([f"each of {found.epochs:,} epochs", each])
        content |= {"seconds": found.seconds}
    print_table(["", "estimate"], rows)
    if not found.fits:
        say(f"the run does not fit into memory{hint}")
    write_result(json, {"method": chosen}, content)
