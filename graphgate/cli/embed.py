"""`graphgate embed` and `transform`: tables in, vectors out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.inputs import check_files, check_memory, naming_files, parse_dims
from graphgate.cli.options import (
    EDGES,
    EMBEDDING_OUT,
    Activation,
    AttentionOut,
    Device,
    Dims,
    Dtype,
    Edges,
    Epochs,
    GraphOptions,
    Nodes,
    ReconstructionOut,
    Seed,
    reads_graph,
)
from graphgate.cli.program import EMBEDDINGS, app, command_line, print_graph
from graphgate.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from graphgate.estimators.embedded_graph import Attention
    from graphgate.estimators.gate import GATE
    from graphgate.estimators.runs import Rerun
    from graphgate.graph.graph import Graph


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors --epochs 300",
)
@reads_graph
def embed(
    context: typer.Context,
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    out: Annotated[Path | None, EMBEDDING_OUT] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Write embedding, model, attention and a record to this new folder."),
    ] = None,
    repeat: Annotated[
        Path | None,
        typer.Option(help="Rerun the run in this folder and check that it is bit-identical."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Save the model for `graphgate transform`: .safetensors.")
    ] = None,
    attention: AttentionOut = None,
    reconstruction: ReconstructionOut = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an interactive HTML page of the graph.")
    ] = None,
    dims: Dims = "512,512",
    preset: Annotated[
        str | None,
        typer.Option(
            help="Published formulation: authors (reference implementation) or paper; default: "
            "our own, which takes seconds."
        ),
    ] = None,
    structure_weight: Annotated[
        float, typer.Option(help="λ, weight of the structure loss relative to the feature loss.")
    ] = 1.0,
    activation: Activation = "identity",
    epochs: Epochs = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate of Adam; default: that of the preset.")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after this many epochs without improvement; default: that of the preset."
        ),
    ] = None,
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save the training state here and resume from it.")
    ] = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    force: Annotated[
        bool,
        typer.Option("--force", help="Train even if the run is not expected to fit into memory."),
    ] = False,
) -> None:
    """Learn an embedding of a graph and write one vector per node.

    With --run, everything goes into one folder together with a record of parameters, inputs and
    versions; --repeat reruns it and reports whether the result is bit-identical.
    """
    if repeat is None and edges is None:
        raise typer.BadParameter("give the graph: EDGES and, optionally, --nodes FILE")
    if repeat is None and out is None and run is None:
        raise typer.BadParameter("give an output: --out FILE or --run FOLDER")
    outputs = _Outputs(out, model, attention, reconstruction, page)
    check_files(edges, nodes, run, checkpoint=checkpoint, **vars(outputs))
    if run is not None:
        from graphgate.io.files import check_new_folder

        check_new_folder(run)
    from graphgate.experiments.measure import measured

    again = None
    if repeat is not None:
        _refuse_parameters(context)
        with measured() as cost:
            again = graphgate.rerun(repeat, edges, nodes, force=force)
        gate, graph, inputs = again.gate, again.graph, again.inputs
        reading, threads = again.record.reading, again.record.threads
    else:
        import torch

        assert edges is not None
        inputs = {"edges": edges} | ({} if nodes is None else {"nodes": nodes})
        reading, threads = options.reading().to_dict(), torch.get_num_threads()
        graph = graphgate.read_graph(edges, nodes, **reading)
        print_graph(graph)
        gate = graphgate.GATE(
            parse_dims(dims),
            preset=preset,
            structure_weight=structure_weight,
            activation=activation,
            epochs=epochs,
            learning_rate=learning_rate,
            patience=patience,
            random_state=seed,
            device=device,
            dtype=dtype,
            scale=not options.no_scale,
            checkpoint=checkpoint,
        )
        with naming_files(edges, nodes):
            prepared = gate.prepare(graph)
        outputs.check_names(graph, gate, run)
        if not force:
            check_memory(gate, prepared)
        with measured() as cost:
            gate.fit(prepared)
    gate.notes_["reading"] = reading
    outputs.write(graph, gate, gate.embedding_, gate.attention_, lambda: gate.reconstruct(graph))
    if run is not None:
        graphgate.write_run(
            run,
            gate,
            graph,
            inputs=inputs,
            reading=reading,
            command=command_line(),
            threads=threads,
            metrics={
                "seconds": round(cost.seconds, 3),
                "peak_memory_mb": round(cost.peak_memory_mb, 1),
            },
        )
        typer.echo(f"wrote the run to {run}")
    if gate.history_.stopped == "interrupted":
        typer.echo(f"wrote the result of {len(gate.history_)} epochs", err=True)
        raise typer.Exit(130)
    if again is not None:
        _compare(again)


def _refuse_parameters(context: typer.Context) -> None:
    """A repeated run takes its parameters from its folder."""
    allowed = {"edges", "nodes", "out", "run", "repeat", "model", "attention", "reconstruction"}
    for name in context.params.keys() - allowed - {"page", "force"}:
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE":
            option = name.replace("_", "-")
            raise InputError(f"--repeat takes its parameters from the folder; omit --{option}")


def _compare(again: Rerun) -> None:
    """Report whether inputs and embedding are those of the original run; exit code 1 if not."""
    for name, path in again.inputs.items():
        state = (
            "has changed since the run"
            if name in again.changed
            else "has not changed since the run"
        )
        typer.echo(f"{name}: {path} {state}")
    same = "bit-identical" if again.identical else "NOT bit-identical"
    typer.echo(f"embedding: {same} to that of the run")
    if not again.identical:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Outputs:
    """Files to write; None for those that were not requested."""

    embedding: Path | None
    model: Path | None = None
    attention: Path | None = None
    reconstruction: Path | None = None
    page: Path | None = None

    def check_names(self, graph: Graph, gate: GATE, run: Path | None = None) -> None:
        """Before training: the formats can store these ids, labels and feature names."""
        from graphgate.io.embeddings import LABEL_ENDINGS, stored_names
        from graphgate.io.model_outputs import check_feature_names

        ending = ".parquet" if self.embedding is None else self.embedding.suffix.lower()
        labels = graph.label_values()
        stored_names(ending, graph.ids, labels if ending in LABEL_ENDINGS else None)
        if run is not None:
            stored_names(".parquet", graph.ids, labels)
        if self.reconstruction is not None:
            check_feature_names(self.reconstruction, getattr(gate, "feature_names_in_", None))

    def write(
        self,
        graph: Graph,
        gate: GATE,
        vectors: np.ndarray,
        attention: Attention,
        reconstruct: Callable[[], Any],
    ) -> None:
        from graphgate.io.model_outputs import write_attention, write_reconstruction

        if self.embedding is not None:
            graphgate.Embedding(graph.ids, vectors, graph.label_values()).save(self.embedding)
            typer.echo(
                f"wrote {graph.n_nodes:,} vectors of size {vectors.shape[1]} to {self.embedding}"
            )
        if self.model is not None:
            gate.save(self.model)
            typer.echo(f"wrote the model to {self.model}")
        if self.attention is not None:
            write_attention(self.attention, graph.ids, attention.encoder, attention.decoder)
            typer.echo(f"wrote the attention to {self.attention}")
        if self.reconstruction is not None:
            names = getattr(gate, "feature_names_in_", None)
            write_reconstruction(self.reconstruction, graph.ids, reconstruct(), names)
            typer.echo(f"wrote the reconstruction to {self.reconstruction}")
        if self.page is not None:
            graphgate.write_page(self.page, graph, vectors, attention, title=self.page.stem)
            size = self.page.stat().st_size / 2**20
            typer.echo(f"wrote {self.page} ({size:.1f} MiB); open it in a browser")


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate transform model.safetensors edges.csv --nodes nodes.csv "
    "--out embedding.parquet",
)
@reads_graph
def transform(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model saved by `graphgate embed`.")
    ],
    edges: Annotated[Path, EDGES],
    out: Annotated[Path, EMBEDDING_OUT],
    options: GraphOptions,
    nodes: Nodes = None,
    attention: AttentionOut = None,
    reconstruction: ReconstructionOut = None,
    device: Device = "cpu",
) -> None:
    """Embed nodes with a saved model, including nodes it has never seen.

    The model does not store a graph: pass the nodes to embed together with their neighborhood,
    that is, everything within as many hops as the model has layers. Tables are read as in training
    unless options say otherwise.
    """
    outputs = _Outputs(out, attention=attention, reconstruction=reconstruction)
    check_files(model, edges, nodes, **vars(outputs))
    gate = graphgate.GATE.load(model, device=device)
    graph = options.read(edges, nodes, gate)
    print_graph(graph)
    outputs.check_names(graph, gate)
    with naming_files(edges, nodes):
        encoded = gate.encode(graph)
    outputs.write(graph, gate, encoded.embedding, encoded.attention, encoded.reconstruction)
