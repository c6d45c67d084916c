"""`graphgate links`: how well hidden edges are predicted."""

from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table
from graphgate.cli.inputs import import_from_here, parse_params, prepare, read_named_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Json, Nodes, Params, Seed
from graphgate.cli.outputs import write_result
from graphgate.cli.program import ANSWERS, app
from graphgate.compute.measure import measured
from graphgate.estimators.registry import find_method


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate links edges.csv --nodes nodes.csv",
)
def links(
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
    *,
    options: GraphOptions,
) -> None:
    """Evaluate link prediction: how well hidden edges are found.

    Some edges are held out from training; AUC and AP (average precision), in percent, are those of
    held-out edges against sampled non-edges. The linear method scores a pair by its structure
    decoder, others by the dot product of the two vectors. `graphgate predict-links` proposes edges.
    """
    from graphgate.estimators.embedder import Embedder

    import_from_here([method])
    row = find_method(method)
    name, graph = read_named_graph(dataset, edges, nodes, options)
    published = row.published_params(name, "links") if edges is None else {}
    params = {**published, **parse_params(set_)}
    estimator = row.make(params, seed)
    if isinstance(estimator, Embedder):
        prepare(row.make(params, seed), graph, edges, nodes)
    with measured() as cost:
        scores = graphgate.evaluate_links(
            graph, estimator, val_size=val, test_size=test, random_state=seed
        )
    if getattr(getattr(estimator, "history_", None), "stopped", None) == "interrupted":
        raise KeyboardInterrupt  # an interrupted training has no result
    rows = [
        [row.title, name, split, *(f"{scores[metric]:.1f}" for metric in metrics)]
        for split, metrics in {"test": ("auc", "ap"), "validation": ("val_auc", "val_ap")}.items()
        if scores[metrics[0]] is not None
    ]
    print_table(["method", "graph", "split", "AUC", "AP"], rows)
    content = {"method": method, "graph": name, "params": params, "val": val, "test": test}
    write_result(json, content, {"seed": seed}, scores, cost.to_dict())
