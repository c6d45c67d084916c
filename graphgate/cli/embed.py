"""`graphgate embed`: tables in, vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import check_files, check_memory, naming_files
from graphgate.cli.methods import chosen_method, make_estimator
from graphgate.cli.options import (
    EMBEDDING_OUT,
    Activation,
    AttentionOut,
    BatchSize,
    CheckpointFile,
    Components,
    Device,
    Dims,
    Dtype,
    Edges,
    Epochs,
    GraphOptions,
    Json,
    LearningRate,
    MemoryLimit,
    Method,
    Nodes,
    NoStructure,
    PartsPerStep,
    Patience,
    Preset,
    ReconstructionOut,
    ScoresOut,
    Scratch,
    Seed,
    SpreadsheetSafe,
    StructureWeight,
    reads_graph,
)
from graphgate.cli.outputs import Outputs
from graphgate.cli.program import (
    EMBEDDINGS,
    app,
    command_line,
    leads,
    print_graph,
    write_result,
)
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.estimators.loading import Estimator
    from graphgate.estimators.runs import Rerun
    from graphgate.graph.graph import Graph


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors",
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
        typer.Option(help="Write embedding, model, edge scores and a record to this new folder."),
    ] = None,
    repeat: Annotated[
        Path | None,
        typer.Option(help="Rerun the run in this folder and compare the results."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Save the model for `graphgate transform`: .safetensors.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Create a store with graph, model and vectors in this new folder."),
    ] = None,
    reconstruction: ReconstructionOut = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an interactive HTML page of the graph.")
    ] = None,
    json: Json = None,
    method: Method = None,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    memory_limit: MemoryLimit = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Run even if it is not expected to fit into memory."),
    ] = False,
    components: Components = None,
    no_structure: NoStructure = None,
    scratch: Scratch = None,
    scores: ScoresOut = None,
    attention: AttentionOut = None,
    dims: Dims = None,
    preset: Preset = None,
    structure_weight: StructureWeight = None,
    activation: Activation = None,
    epochs: Epochs = None,
    learning_rate: LearningRate = None,
    patience: Patience = None,
    batch_size: BatchSize = None,
    parts_per_step: PartsPerStep = None,
    checkpoint: CheckpointFile = None,
    device: Device = None,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """Learn an embedding of a graph and write one vector per node.

    The linear method, the default, takes seconds and reports, without labels, how much the edges
    contribute; the paper's model is trained. --run writes everything to one folder, with a record
    of parameters, inputs and versions; --repeat reruns it and compares the results: bit-identical
    with the same versions, processor and number of processes, else equal up to rounding.

    To share the work among processes: torchrun --nproc-per-node 2 -m graphgate embed …
    """
    if repeat is None and edges is None:
        raise typer.BadParameter("give the graph: EDGES and, optionally, --nodes FILE")
    if repeat is None and out is None and run is None and store is None:
        raise typer.BadParameter("give an output: --out FILE, --run FOLDER or --store FOLDER")
    params: dict[str, dict[str, Any]] = {
        "gate": {
            "dims": dims,
            "preset": preset,
            "structure_weight": structure_weight,
            "activation": activation,
            "epochs": epochs,
            "learning_rate": learning_rate,
            "patience": patience,
            "batch_size": batch_size,
            "parts_per_step": parts_per_step,
            "checkpoint": checkpoint,
            "device": device,
        },
        "linear": {
            "n_components": components,
            "structure": None if no_structure is None else False,
            "scratch": scratch,
        },
    }
    outputs = Outputs(out, model, attention, scores, reconstruction, page)
    check_files(edges, nodes, run, checkpoint=checkpoint, json=json, **vars(outputs))
    for folder in (run, store):
        if folder is not None:
            from graphgate.io.files import check_new_folder

            check_new_folder(folder)
    from graphgate.compute.measure import measured
    from graphgate.estimators.registry import method_of

    again = None
    if repeat is not None:
        _refuse_parameters(context)
        with measured() as cost:
            again = graphgate.rerun(repeat, edges, nodes, force=force)
        gate, graph, inputs = again.gate, again.graph, again.inputs
        outputs.check_method(method_of(gate).name)
        reading, threads = again.record.reading, again.record.threads
    else:
        import torch

        chosen = chosen_method(
            method,
            params["gate"] | {"attention": attention},
            {
                "components": components,
                "no_structure": no_structure,
                "scratch": scratch,
                "scores": scores,
            },
        )
        common = {"dtype": dtype, "memory_limit": memory_limit}
        assert edges is not None
        inputs = {"edges": edges} | ({} if nodes is None else {"nodes": nodes})
        reading, threads = options.reading().to_dict(), torch.get_num_threads()
        graph = graphgate.read_graph(edges, nodes, **reading)
        print_graph(graph)
        gate = make_estimator(chosen, params[chosen] | common, options, seed)
        with naming_files(edges, nodes):
            prepared = gate.prepare(graph)
        outputs.check_names(graph, gate, run)
        if not force:
            check_memory(gate, prepared)
        with measured() as cost:
            gate.fit(prepared)
    if not leads():
        return
    summary = gate.summary()
    for sentence in summary.sentences():
        say(sentence)
    gate.notes_["reading"] = reading
    outputs.write(graph, gate, gate.embedding_, lambda: gate.encode(graph))
    if store is not None:
        graphgate.Store.create(store, graph, gate)
        say(f"created the store {store}")
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
        say(f"wrote the run to {run}")
    _write_answer(json, graph, gate, cost.seconds)
    if summary.interrupted:
        say(f"wrote the result of {len(summary.history or ())} epochs", err=True)
        raise typer.Exit(130)
    if again is not None:
        _compare(again)


def _write_answer(json: Path | None, graph: Graph, gate: Estimator, seconds: float) -> None:
    from graphgate.estimators.registry import method_of

    content = {
        "method": method_of(gate).name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "dimensions": gate.embedding_.shape[1],
        "seconds": round(seconds, 3),
    }
    write_result(json, content, {"report": gate.summary().to_dict()})


def _refuse_parameters(context: typer.Context) -> None:
    """A repeated run takes its parameters from its folder."""
    allowed = {"edges", "nodes", "out", "run", "repeat", "model", "reconstruction", "page"}
    allowed |= {"attention", "scores", "store", "force", "json", "quiet"}
    for name in context.params.keys() - allowed:
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
        say(f"{name}: {path} {state}")
    equal, limit = "bit-identical to that of the run", ""
    if again.moved and not again.identical:
        other = " and other ".join(again.moved)
        equal = f"equal up to rounding to that of the run, which had other {other}"
        limit = f", at most {again.tolerance:g}"
    verdict = equal if again.reproduced else f"NOT {equal}"
    say(f"embedding: {verdict}; largest difference {again.difference:.1g}{limit}")
    if not again.reproduced:
        raise typer.Exit(1)
