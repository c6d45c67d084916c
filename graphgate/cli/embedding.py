"""`graphgate embed` and `transform`: tables in, vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphgate.cli.given import distinct, layer_sizes
from graphgate.cli.options import Device, Edges, EmbeddingOut, Nodes
from graphgate.cli.printing import notes
from graphgate.cli.program import EMBEDDINGS, app


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors --epochs 300",
)
def embed(
    edges: Edges,
    nodes: Nodes,
    out: EmbeddingOut,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model here, for `graphgate transform`.")
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="An edge makes its target attend over its source.")
    ] = False,
    dims: Annotated[str, typer.Option(help="Size of each layer, separated by commas.")] = "512,512",
    preset: Annotated[str, typer.Option(help="Form of the method: authors or paper.")] = "authors",
    structure_weight: Annotated[
        float, typer.Option(help="λ, weight of the structure loss beside the feature loss.")
    ] = 1.0,
    activation: Annotated[str, typer.Option(help="σ of every layer.")] = "identity",
    epochs: Annotated[int, typer.Option(help="Passes over the graph.")] = 200,
    learning_rate: Annotated[float, typer.Option(help="Step size of Adam.")] = 1e-4,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without improvement.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the starting weights.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state of the run here, and resume from it.")
    ] = None,
    device: Device = "cpu",
    dtype: Annotated[str, typer.Option(help="Precision: float32 or float64.")] = "float32",
) -> None:
    """Learn an embedding of a graph and write one vector a node."""
    from graphgate.sources.tables import check_output_path, read_graph, write_embedding

    check_output_path(out)
    for path in (model, checkpoint):
        if path is not None:
            check_output_path(path, (".safetensors",))
    distinct(edges, nodes, out, model, checkpoint)
    graph = read_graph(edges, nodes, directed=directed or None)
    typer.echo(repr(graph), err=True)
    from graphgate.embedder import GATE

    gate = GATE(
        layer_sizes(dims),
        preset=preset,
        structure_weight=structure_weight,
        activation=activation,
        epochs=epochs,
        learning_rate=learning_rate,
        patience=patience,
        random_state=seed,
        checkpoint=checkpoint,
        device=device,
        dtype=dtype,
    )
    with notes():
        gate.fit(graph)
    write_embedding(out, graph.ids, gate.embedding_)
    typer.echo(f"wrote {graph.n_nodes:,} vectors of {gate.embedding_.shape[1]} to {out}")
    if model is not None:
        gate.save(model)
        typer.echo(f"wrote the model to {model}")
    if gate.history_.stopped == "interrupted":
        typer.echo(f"this is what {len(gate.history_)} epochs learned", err=True)
        raise typer.Exit(130)


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate transform model.safetensors edges.csv --nodes nodes.csv "
    "--out embedding.parquet",
)
def transform(
    model: Annotated[Path, typer.Argument(help="A model that `graphgate embed` saved.")],
    edges: Edges,
    nodes: Nodes,
    out: EmbeddingOut,
    device: Device = "cpu",
) -> None:
    """Embed nodes with a saved model, also nodes that it has never seen.

    The model holds no graph: give the nodes to embed together with everything within as many
    hops of them as the model has layers.
    """
    from graphgate.sources.tables import check_output_path, read_graph, write_embedding

    check_output_path(out)
    distinct(model, edges, nodes, out)
    from graphgate.embedder import GATE

    gate = GATE.load(model, device=device)
    graph = read_graph(edges, nodes, directed=gate.directed_)
    embedding = gate.transform(graph)
    write_embedding(out, graph.ids, embedding)
    typer.echo(f"wrote {graph.n_nodes:,} vectors of {embedding.shape[1]} to {out}")
