"""`graphgate embed` and `transform`: tables in, vectors out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphgate.cli.given import check_memory, distinct, layer_sizes, naming_files
from graphgate.cli.options import (
    Activation,
    AttentionOut,
    Device,
    Dims,
    Dtype,
    Edges,
    EdgesIfAny,
    EmbeddingOut,
    EmbeddingOutIfAny,
    Nodes,
    ReconstructionOut,
)
from graphgate.cli.printing import notes, summary
from graphgate.cli.program import EMBEDDINGS, app
from graphgate.cli.reading import Reading, reads_graph
from graphgate.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from graphgate.estimators.gate import GATE, Attention
    from graphgate.estimators.runs import RunRecord
    from graphgate.graph.graph import Graph


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors --epochs 300",
)
@reads_graph
def embed(
    context: typer.Context,
    reading: Reading,
    edges: EdgesIfAny = None,
    nodes: Nodes = None,
    out: EmbeddingOutIfAny = None,
    run: Annotated[
        Path | None,
        typer.Option(help="A new folder for all of it: embedding, model, attention, record."),
    ] = None,
    repeat: Annotated[
        Path | None,
        typer.Option(help="Repeat the run in this folder, and compare the embedding with its own."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model here, for `graphgate transform`.")
    ] = None,
    attention: AttentionOut = None,
    reconstruction: ReconstructionOut = None,
    page: Annotated[
        Path | None, typer.Option(help="Also a page to look around in: an .html file.")
    ] = None,
    dims: Dims = "512,512",
    preset: Annotated[str, typer.Option(help="Form of the method: authors or paper.")] = "authors",
    structure_weight: Annotated[
        float, typer.Option(help="λ, weight of the structure loss beside the feature loss.")
    ] = 1.0,
    activation: Activation = "identity",
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
    dtype: Dtype = "float32",
    force: Annotated[
        bool, typer.Option("--force", help="Start even if memory will not be enough.")
    ] = False,
) -> None:
    """Learn an embedding of a graph and write one vector a node.

    With --run everything goes into one folder, with a record of settings, inputs and versions;
    --repeat does such a run again and tells whether the result has the same bytes.
    """
    if repeat is None and edges is None:
        raise typer.BadParameter("name the graph: EDGES and, if there is one, --nodes FILE")
    if repeat is None and out is None and run is None:
        raise typer.BadParameter("say where the embedding goes: --out FILE, or --run FOLDER")
    places = _Places(out, run, model, attention, reconstruction, page)
    places.check(edges, nodes, checkpoint=checkpoint)
    record = None
    if repeat is not None:
        _refuse_settings(context)
        record, settings, inputs = _repeated(repeat, edges, nodes)
        reading = Reading.from_dict(record.reading)
    else:
        assert edges is not None
        inputs = {"edges": edges} | ({} if nodes is None else {"nodes": nodes})
        settings = {
            "dims": layer_sizes(dims),
            "preset": preset,
            "structure_weight": structure_weight,
            "activation": activation,
            "epochs": epochs,
            "learning_rate": learning_rate,
            "patience": patience,
            "random_state": seed,
            "device": device,
            "dtype": dtype,
            "scale": not reading.no_scale,
        }
    graph = reading.read(inputs["edges"], inputs.get("nodes"))
    typer.echo(summary(graph), err=True)
    import torch

    from graphgate.estimators.gate import GATE
    from graphgate.experiments.measure import measured

    gate = GATE(**settings, checkpoint=checkpoint)
    with naming_files(inputs["edges"], inputs.get("nodes")):
        prepared = gate.prepare(graph)
    places.check_names(prepared, gate)
    if not force:
        check_memory(prepared, gate)
    threads = torch.get_num_threads()
    if record is not None:
        torch.set_num_threads(record.threads)  # other numbers add in another order
    try:
        with notes(), measured() as cost:
            gate.fit(prepared)
    finally:
        used = torch.get_num_threads()
        torch.set_num_threads(threads)
    places.write(graph, gate, gate.embedding_, gate.attention_, lambda: gate.reconstruct(graph))
    if run is not None:
        from graphgate.estimators.runs import write_run

        write_run(
            run,
            gate,
            graph,
            inputs=inputs,
            reading=reading.to_dict(),
            command=" ".join(["graphgate", *sys.argv[1:]]),
            threads=used,
            seconds=cost.seconds,
            peak_memory_mb=cost.peak_memory_mb,
        )
        typer.echo(f"wrote the run to {run}")
    if gate.history_.stopped == "interrupted":
        typer.echo(f"this is what {len(gate.history_)} epochs learned", err=True)
        raise typer.Exit(130)
    if repeat is not None and record is not None:
        _compare(repeat, record, inputs, gate.embedding_)


def _refuse_settings(context: typer.Context) -> None:
    """A repeated run has its settings from its folder, so none can be given."""
    elsewhere = ("edges", "nodes", "out", "run", "repeat", "model", "attention", "reconstruction")
    for name in context.params.keys() - {*elsewhere, "page", "force"}:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"--repeat takes its settings from the folder; leave out --{name.replace('_', '-')}"
            )


def _repeated(
    folder: Path, edges: Path | None, nodes: Path | None
) -> tuple[RunRecord, dict[str, Any], dict[str, Path]]:
    """Record, settings and tables of a stored run; tables that have moved can be named anew."""
    from graphgate.estimators.runs import read_run

    record = read_run(folder)
    inputs = {
        name: Path(os.path.relpath((folder / told.path).resolve()))
        for name, told in record.inputs.items()
    }
    given = {"edges": edges, "nodes": nodes}
    inputs |= {name: path for name, path in given.items() if path is not None}
    for name, path in inputs.items():
        if not path.is_file():
            raise InputError(
                f"the {name} of the run are not at {path}; name them: "
                "graphgate embed EDGES --nodes NODES --repeat FOLDER"
            )
    return record, record.settings, inputs


def _compare(
    folder: Path, record: RunRecord, inputs: dict[str, Path], embedding: np.ndarray
) -> None:
    """Says whether inputs and embedding are those of the stored run; exit code 1 if not."""
    from graphgate.estimators.runs import changed_inputs, embedding_sha256, largest_difference
    from graphgate.io.provenance import versions

    changed = changed_inputs(record, inputs)
    for name, path in inputs.items():
        state = "NOT those of the run" if name in changed else "the same as the run's"
        typer.echo(f"{name}: {path} is {state}")
    if embedding_sha256(embedding) == record.embedding_sha256:
        typer.echo("embedding: the same bytes as the run's")
        return
    difference = largest_difference(folder, embedding)
    size = "another shape" if difference is None else f"at most {difference:.3g} apart"
    typer.echo(f"embedding: NOT the bytes of the run's, {size}")
    for name, now in versions().items():
        if record.versions.get(name) != now:
            typer.echo(f"{name}: {record.versions.get(name, 'none')} then, {now} now")
    raise typer.Exit(1)


@dataclass(frozen=True)
class _Places:
    """Where what was learned goes; None: it is not asked for."""

    out: Path | None
    run: Path | None = None
    model: Path | None = None
    attention: Path | None = None
    reconstruction: Path | None = None
    page: Path | None = None

    def check(self, *inputs: Path | None, checkpoint: Path | None = None) -> None:
        """Before any work: every place can be written to, and none is another or an input."""
        from graphgate.io.embeddings import EMBEDDING_ENDINGS
        from graphgate.io.files import check_new_folder, check_output_path
        from graphgate.io.reconstruction import RECONSTRUCTION_ENDINGS
        from graphgate.io.table_files import TABLE_ENDINGS

        for path, endings in (
            (self.out, EMBEDDING_ENDINGS),
            (self.model, (".safetensors",)),
            (checkpoint, (".safetensors",)),
            (self.attention, TABLE_ENDINGS),
            (self.reconstruction, RECONSTRUCTION_ENDINGS),
            (self.page, (".html",)),
        ):
            if path is not None:
                check_output_path(path, endings)
        if self.run is not None:
            check_new_folder(self.run)
        files = (self.out, self.model, self.attention, self.reconstruction, self.page)
        distinct(*inputs, checkpoint, self.run, *files)

    def check_names(self, graph: Graph, gate: GATE) -> None:
        """Before any training: what is written can name these nodes, labels and features."""
        from graphgate.io.embeddings import LABEL_ENDINGS, stored_names

        ending = ".parquet" if self.out is None else self.out.suffix.lower()
        stored_names(ending, graph.ids, graph.label_values() if ending in LABEL_ENDINGS else None)
        if self.run is not None:
            stored_names(".parquet", graph.ids, graph.label_values())
        if self.reconstruction is not None:
            from graphgate.io.reconstruction import check_feature_names

            names = getattr(gate, "feature_names_in_", None)
            check_feature_names(self.reconstruction, names)

    def write(
        self,
        graph: Graph,
        gate: GATE,
        embedding: np.ndarray,
        attention: Attention,
        reconstruct: Callable[[], np.ndarray],
    ) -> None:
        if self.out is not None:
            from graphgate.io.embeddings import LABEL_ENDINGS, write_embedding

            holds = self.out.suffix.lower() in LABEL_ENDINGS
            write_embedding(self.out, graph.ids, embedding, graph.label_values() if holds else None)
            typer.echo(f"wrote {graph.n_nodes:,} vectors of {embedding.shape[1]} to {self.out}")
        if self.model is not None:
            gate.save(self.model)
            typer.echo(f"wrote the model to {self.model}")
        if self.attention is not None:
            from graphgate.io.attention import write_attention

            write_attention(self.attention, graph.ids, attention.encoder, attention.decoder)
            typer.echo(f"wrote the attention to {self.attention}")
        if self.reconstruction is not None:
            from graphgate.io.reconstruction import write_reconstruction

            names = getattr(gate, "feature_names_in_", None)
            write_reconstruction(self.reconstruction, graph.ids, reconstruct(), names)
            typer.echo(f"wrote the reconstruction to {self.reconstruction}")
        if self.page is not None:
            from graphgate.visualization.page.page_html import write_page

            write_page(self.page, graph, embedding, attention, title=self.page.stem)
            size = self.page.stat().st_size / 2**20
            typer.echo(f"wrote {self.page} ({size:.1f} MiB); open it in a browser")


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate transform model.safetensors edges.csv --nodes nodes.csv "
    "--out embedding.parquet",
)
@reads_graph
def transform(
    model: Annotated[Path, typer.Argument(help="A model that `graphgate embed` saved.")],
    edges: Edges,
    out: EmbeddingOut,
    reading: Reading,
    nodes: Nodes = None,
    attention: AttentionOut = None,
    reconstruction: ReconstructionOut = None,
    device: Device = "cpu",
) -> None:
    """Embed nodes with a saved model, also nodes that it has never seen.

    The model holds no graph: give the nodes to embed together with everything within as many
    hops of them as the model has layers.
    """
    places = _Places(out, attention=attention, reconstruction=reconstruction)
    places.check(model, edges, nodes)
    from graphgate.estimators.gate import GATE

    gate = GATE.load(model, device=device)
    graph = reading.read(edges, nodes, gate)
    typer.echo(summary(graph), err=True)
    places.check_names(graph, gate)
    with naming_files(edges, nodes):
        encoded = gate.encode(graph)
    places.write(graph, gate, encoded.embedding, encoded.attention, encoded.reconstruction)
