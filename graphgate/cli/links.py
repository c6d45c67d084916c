"""`graphgate links` and `predict-links`: edges that are hidden, and edges that are missing."""

from pathlib import Path
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import (
    check_files,
    check_memory,
    import_from_here,
    parse_params,
    read_named_graph,
)
from graphgate.cli.methods import embedded_graph
from graphgate.cli.options import (
    Dataset,
    Edges,
    GraphOptions,
    Json,
    Model,
    Nodes,
    Params,
    Seed,
    SpreadsheetSafe,
    reads_graph,
)
from graphgate.cli.outputs import print_rows
from graphgate.cli.program import ANSWERS, app, write_result
from graphgate.errors import InputError


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate links edges.csv --nodes nodes.csv",
)
@reads_graph
def links(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    method: Annotated[
        str, typer.Option(help="linear, gate, gae, another baseline, or your own module:Class.")
    ] = "linear",
    val: Annotated[float, typer.Option(help="Fraction of edges held out for validation.")] = 0.05,
    test: Annotated[float, typer.Option(help="Fraction of edges held out for testing.")] = 0.1,
    seed: Seed = 0,
    set_: Params = None,
    json: Json = None,
) -> None:
    """Evaluate link prediction: how well hidden edges are found.

    Some edges are held out from training; AUC and AP (average precision), in percent, are those of
    held-out edges against sampled non-edges. The linear method scores a pair by its structure
    decoder, others by the dot product of the two vectors. `graphgate predict-links` proposes edges.
    """
    check_files(edges, nodes, json=json)
    from graphgate.compute.measure import measured
    from graphgate.estimators.embedder import Embedder
    from graphgate.estimators.registry import find_method

    import_from_here([method])
    row = find_method(method)
    name, graph = read_named_graph(dataset, edges, nodes, options)
    published = row.published_params(name, "links") if edges is None else {}
    params = {**published, **parse_params(set_)}
    made = row.make(params, seed)
    if isinstance(made, Embedder):
        check_memory(made, row.make(params, seed).prepare(graph))
    with measured() as cost:
        figures = graphgate.evaluate_links(
            graph, made, val_size=val, test_size=test, random_state=seed
        )
    if getattr(getattr(made, "history_", None), "stopped", None) == "interrupted":
        raise KeyboardInterrupt  # an interrupted training has no result
    rows = [
        [row.title, name, split, *(f"{figures[metric]:.1f}" for metric in metrics)]
        for split, metrics in {"test": ("auc", "ap"), "validation": ("val_auc", "val_ap")}.items()
        if figures[metrics[0]] is not None
    ]
    print_table(["method", "graph", "split", "AUC", "AP"], rows)
    content = {"method": method, "graph": name, "params": params, "val": val, "test": test}
    spent = {"seconds": round(cost.seconds, 3), "peak_memory_mb": round(cost.peak_memory_mb, 1)}
    write_result(json, content, {"seed": seed}, figures, spent)


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate predict-links edges.csv --nodes nodes.csv --top 50 --out links.csv",
)
@reads_graph
def predict_links(
    options: GraphOptions,
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    top: Annotated[int, typer.Option(min=1, help="Number of edges to propose.")] = 100,
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this .parquet or .csv file.")
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    json: Json = None,
) -> None:
    """Propose the likeliest edges that the graph does not have.

    Probabilities are calibrated on hidden edges against as many random pairs of nodes. Not all
    pairs are compared, only those of nodes near each other and of nodes of highest degree.
    """
    check_files(edges, nodes, model, table=out, json=json)
    from graphgate.estimators.registry import method_of

    _, graph, gate = embedded_graph(None, dataset, model, edges, nodes, options)
    method = method_of(gate)
    if not method.proposes_links:
        raise InputError(
            f"{model} holds a {method.title}, which proposes no edges; use the linear method"
        )
    pairs, scores = gate.predict_links(graph, n=top)
    proposed = [
        {"source": one, "target": other, "probability": score}
        for (one, other), score in zip(pairs.tolist(), scores.tolist(), strict=True)
    ]
    write_result(json, {"links": proposed})
    if out is None:
        print_rows(proposed)
        return
    import pyarrow as pa

    from graphgate.io.table_files import write_table
    from graphgate.io.tables import id_array

    columns = {"source": id_array(pairs[:, 0]), "target": id_array(pairs[:, 1])}
    write_table(out, pa.table(columns | {"probability": pa.array(scores)}))
    say(f"wrote {len(pairs):,} proposed edges to {out}")
