"""`graphgate transform`: a saved model and tables in, vectors out, also of unseen nodes."""

from pathlib import Path
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.conventions import Output
from graphgate.cli.inputs import check_outputs, naming_files, read_extended
from graphgate.cli.method_options import only_options
from graphgate.cli.options import (
    EDGES,
    EMBEDDING_OUT,
    GraphOptions,
    Nodes,
    ReconstructionOut,
)
from graphgate.cli.outputs import Outputs, print_graph, write_vectors
from graphgate.cli.program import EMBEDDINGS, app
from graphgate.errors import InputError

OldEdges = Annotated[
    Path | None, typer.Option("--with", metavar="OLD_EDGES", help="Edges of the old graph.")
]
OldNodes = Annotated[
    Path | None, typer.Option(metavar="OLD_NODES", help="Nodes of the graph in --with.")
]


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate transform model.safetensors edges.csv --nodes nodes.csv "
    "--out embedding.parquet",
)
def transform(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model saved by `graphgate embed`.")
    ],
    edges: Annotated[Path, EDGES],
    out: Annotated[Path, EMBEDDING_OUT, Output("embedding")],
    nodes: Nodes = None,
    with_edges: OldEdges = None,
    with_nodes: OldNodes = None,
    only: Annotated[
        str, typer.Option(help="Which vectors to write: all, or new for those not in --with.")
    ] = "all",
    reconstruction: ReconstructionOut = None,
    *,
    given: Annotated[dict[str, Any], only_options("scores", "attention", "device")],
    options: GraphOptions,
) -> None:
    """Embed nodes with a saved model, including nodes it has never seen.

    The model does not store a graph: pass the nodes to embed together with their neighborhood, or
    pass the old graph with --with and --with-nodes. For GATE the neighborhood is everything within
    as many hops as the model has layers. An edge to a node that is in no table is an error. Tables
    are read as in training unless options say otherwise. `graphgate store` keeps the graph for you.
    """
    device = given.pop("device")
    outputs = Outputs(out, reconstruction=reconstruction, **given)
    _check_only(only, with_edges, with_nodes, outputs)
    gate = graphgate.load_model(model, device=device)
    check_outputs(gate, given)
    try:
        graph, new = read_extended(options, edges, nodes, gate, with_edges, with_nodes)
    except graphgate.UnknownNodesError as error:
        hint = "" if with_edges else "; or pass the graph they are in with --with and --with-nodes"
        raise InputError(f"{error}{hint}") from None
    print_graph(graph)
    outputs.check_names(graph, getattr(gate, "feature_names_in_", None))
    with naming_files(edges, nodes):
        encoded = gate.encode(graph)
    if only == "all":
        vectors = encoded.embedding
        outputs.write(graph, gate, vectors, encoded)
        return
    vectors = encoded.embedding[new]
    embedding = graphgate.Embedding(graph.ids[new], vectors, columns=graph.columns)
    write_vectors(out, embedding)


def _check_only(
    only: str, with_edges: Path | None, with_nodes: Path | None, outputs: Outputs
) -> None:
    if only not in ("all", "new"):
        raise InputError(f"--only takes all or new, got {only!r}")
    if with_edges is None and (with_nodes is not None or only == "new"):
        option = "--only new" if with_nodes is None else "--with-nodes"
        raise InputError(f"{option} needs the edges of the old graph: --with OLD_EDGES")
    if only == "new" and any((outputs.attention, outputs.scores, outputs.reconstruction)):
        raise InputError("--only new writes vectors only; omit the other outputs")
