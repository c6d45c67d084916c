"""`graphgate embed`: tables in, vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.conventions import Output
from graphgate.cli.inputs import check_outputs, choose_method, make_estimator, prepare
from graphgate.cli.method_options import METHOD_OPTIONS, MethodOptions
from graphgate.cli.options import (
    EMBEDDING_OUT,
    Dtype,
    Edges,
    GraphOptions,
    Json,
    MemoryLimit,
    Method,
    Nodes,
    ReconstructionOut,
    Seed,
)
from graphgate.cli.outputs import Outputs, command_line, print_graph, write_result
from graphgate.cli.program import EMBEDDINGS, app, leads
from graphgate.compute.measure import Cost, measured
from graphgate.errors import InputError
from graphgate.estimators.registry import method_of

if TYPE_CHECKING:
    from graphgate.estimators.embedder import Prepared
    from graphgate.estimators.loading import Estimator
    from graphgate.estimators.runs import Rerun

RunOut = Annotated[
    Path | None,
    typer.Option(help="Write embedding, model, edge scores and a record to this new folder."),
    Output("run"),
]
Repeat = Annotated[
    Path | None, typer.Option(help="Rerun the run in this folder and compare the results.")
]
ModelOut = Annotated[
    Path | None,
    typer.Option(help="Save the model for `graphgate transform`: .safetensors."),
    Output("model"),
]
StoreOut = Annotated[
    Path | None,
    typer.Option(help="Create a store with graph, model and vectors in this new folder."),
    Output("store"),
]
PageOut = Annotated[
    Path | None, typer.Option(help="Write an interactive HTML page of the graph."), Output("page")
]
Force = Annotated[
    bool, typer.Option("--force", help="Run even if it is not expected to fit into memory.")
]
# What a repeated run takes from its folder.
_REPEATED = {"method", "seed", "dtype", "memory_limit", *vars(GraphOptions())}
_REPEATED |= {name for name, option in METHOD_OPTIONS.items() if option.parameter is not None}


class _Run(NamedTuple):
    """A fitted estimator, and what it was fitted on.

    prepared : the graph as `fit` takes it.
    inputs : "edges" and, if there is a node table, "nodes" -> file.
    reading : how they were read.
    rerun : of a repeated run.
    """

    estimator: Estimator
    graph: graphgate.Graph
    prepared: Prepared
    inputs: dict[str, Path]
    reading: dict[str, Any]
    cost: Cost
    rerun: Rerun | None = None


@app.command(
    rich_help_panel=EMBEDDINGS,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet "
    "--model model.safetensors",
)
def embed(
    context: typer.Context,
    edges: Edges = None,
    nodes: Nodes = None,
    out: Annotated[Path | None, EMBEDDING_OUT, Output("embedding")] = None,
    run: RunOut = None,
    repeat: Repeat = None,
    model: ModelOut = None,
    store: StoreOut = None,
    reconstruction: ReconstructionOut = None,
    page: PageOut = None,
    json: Json = None,
    method: Method = None,
    seed: Seed = 0,
    dtype: Dtype = "float32",
    memory_limit: MemoryLimit = None,
    force: Force = False,
    *,
    given: MethodOptions,
    options: GraphOptions,
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
    if edges is not None and repeat is None and out is None and run is None and store is None:
        out = Path(f"{edges.name.partition('.')[0]}-embedding.parquet")
    by_method = {name: given[name] for name in ("attention", "scores")}
    outputs = Outputs(out, model, reconstruction, page, run, store, **by_method)
    if repeat is not None:
        _refuse_parameters(context)
        result = _repeat(repeat, edges, nodes, force=force)
        check_outputs(result.estimator, by_method)
    else:
        chosen, params = choose_method(method, given)
        params |= {"dtype": dtype, "memory_limit": memory_limit}
        estimator = make_estimator(chosen, params, options, seed)
        assert edges is not None
        result = _fit(estimator, edges, nodes, options, outputs, force=force)
    if leads():
        _write(result, outputs, json)


def _fit(
    estimator: Estimator,
    edges: Path,
    nodes: Path | None,
    options: GraphOptions,
    outputs: Outputs,
    *,
    force: bool,
) -> _Run:
    graph = options.read(edges, nodes)
    print_graph(graph)
    prepared = prepare(estimator, graph, edges, nodes, force=force)
    outputs.check_names(graph, prepared.graph.feature_names)
    with measured() as cost:
        estimator.fit(prepared)
    if graph.attributes is not None:
        say(str(graphgate.InspectedTables.of(graph, prepared.encoder)), err=True)
    inputs = {"edges": edges} | ({} if nodes is None else {"nodes": nodes})
    reading = estimator.notes_.setdefault("reading", options.reading().to_dict())
    return _Run(estimator, graph, prepared, inputs, reading, cost)


def _repeat(folder: Path, edges: Path | None, nodes: Path | None, *, force: bool) -> _Run:
    with measured() as cost:
        again = graphgate.rerun(folder, edges, nodes, force=force)
    reading = again.record.reading
    return _Run(again.gate, again.graph, again.prepared, again.inputs, reading, cost, again)


def _write(result: _Run, outputs: Outputs, json: Path | None) -> None:
    """Write everything that was requested, and report on the run."""
    estimator, graph, again = result.estimator, result.graph, result.rerun
    summary, spent = estimator.summary(), result.cost.to_dict()
    for sentence in summary.sentences():
        say(sentence)
    if table := summary.table():
        say(table)
    estimator.notes_.setdefault("reading", result.reading)
    encoded = estimator.encode(result.prepared) if outputs.beyond_vectors else None
    outputs.write(graph, estimator, estimator.embedding_, encoded)
    if outputs.store is not None:
        graphgate.Store.create(outputs.store, graph, estimator, encoded)
        say(f"created the store {outputs.store}")
    if outputs.run is not None:
        graphgate.write_run(
            outputs.run,
            estimator,
            graph,
            inputs=result.inputs,
            reading=result.reading,
            command=command_line(),
            threads=None if again is None else again.record.threads,
            metrics=spent,
            encoded=encoded,
        )
        say(f"wrote the run to {outputs.run}")
    content = {
        "method": method_of(estimator).name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "dimensions": estimator.embedding_.shape[1],
        "seconds": spent["seconds"],
        "report": summary.to_dict(),
    }
    write_result(json, content)
    if summary.interrupted:
        say(f"wrote the result of {len(summary.history or ())} epochs", err=True)
        raise typer.Exit(130)
    for sentence in () if again is None else again.sentences():
        say(sentence)
    if again is not None and not again.reproduced:
        raise typer.Exit(1)


def _refuse_parameters(context: typer.Context) -> None:
    """A repeated run takes its parameters from its folder."""
    for name in context.params.keys() & _REPEATED:
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE":
            option = name.replace("_", "-")
            raise InputError(f"--repeat takes its parameters from the folder; omit --{option}")
