"""`graphgate links`: how well hidden edges are predicted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table
from graphgate.cli.inputs import import_from_here, parse_params, prepare, read_named_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Json, Nodes, Params, Seed
from graphgate.cli.outputs import write_result
from graphgate.cli.program import ANSWERS, app
from graphgate.compute.measure import measured
from graphgate.errors import InputError
from graphgate.estimators.registry import find_method

_SETS = {"test": "", "test, connected": "connected_", "validation": "val_"}


@dataclass(frozen=True)
class SplitOptions:
    """Which edges are held out, and what they are compared with."""

    val: Annotated[float, typer.Option(help="Fraction of edges held out for validation.")] = 0.05
    test: Annotated[float, typer.Option(help="Fraction of edges held out for testing.")] = 0.1
    test_edges: Annotated[
        Path | None, typer.Option(help="Table of the edges to hold out, instead of random ones.")
    ] = None
    time: Annotated[
        str | None,
        typer.Option(help="Column of EDGES with times; the latest edges are held out."),
    ] = None
    negatives: Annotated[
        str, typer.Option(help="Pairs to compare with: random, or heart (500 hard ones per edge).")
    ] = "random"
    types: Annotated[
        str | None,
        typer.Option(help="Node column with types, which the pairs to compare with keep."),
    ] = None
    splits: Annotated[int, typer.Option(min=1, help="Number of splits, with a fit each.")] = 1

    def arguments(
        self, edges: Path | None, graph: graphgate.Graph, options: GraphOptions
    ) -> dict[str, Any]:
        """Those of `evaluate_links`."""
        from graphgate.io.reading_options import reading_of

        return {
            "val_size": self.val,
            "test_size": self.test,
            **self._held_out(edges, graph, reading_of(graph) or options.reading()),
            "negatives": self.negatives,
            "node_types": None if self.types is None else _types(graph, self.types),
            "n_splits": self.splits,
        }

    def _held_out(
        self, edges: Path | None, graph: graphgate.Graph, reading: graphgate.ReadingOptions
    ) -> dict[str, Any]:
        """What is held out, unless edges are drawn at random."""
        from graphgate.io.edge_files import read_pairs, read_times

        if self.test_edges is not None:
            return {"test_edges": read_pairs(self.test_edges, graph, reading)}
        if self.time is None:
            return {}
        if edges is None:
            raise InputError(
                "--time names a column of EDGES, but there is no such file; give EDGES"
            )
        return {"times": read_times(edges, graph, reading, self.time)}


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
    seed: Seed = 0,
    set_: Params = None,
    json: Json = None,
    *,
    splitting: SplitOptions,
    options: GraphOptions,
) -> None:
    """Evaluate link prediction: how well hidden edges are found.

    Some edges are held out from training and compared with pairs without an edge; all metrics are
    in percent. "test, connected" leaves out pairs one of whose nodes lost all edges. The linear
    method scores a pair by its structure decoder, others by the dot product of the two vectors.
    `graphgate predict-links` proposes edges.
    """
    from graphgate.estimators.embedder import Embedder
    from graphgate.tasks.link_metrics import METRICS

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
            graph, estimator, **splitting.arguments(edges, graph, options), random_state=seed
        )
    if isinstance(estimator, Embedder) and estimator.summary().interrupted:
        raise KeyboardInterrupt  # an interrupted training has no result
    rows = [
        [row.title, name, title, *(_cell(scores, f"{prefix}{metric}") for metric in METRICS)]
        for title, prefix in _SETS.items()
        if scores[f"{prefix}auc"] is not None
    ]
    print_table(["method", "graph", "split", *METRICS.values()], rows)
    content = {"method": method, "graph": name, "params": params, "val": splitting.val}
    content |= {"test": splitting.test, "negatives": splitting.negatives}
    write_result(json, content, {"seed": seed}, scores, cost.to_dict())


def _types(graph: graphgate.Graph, column: str) -> Any:
    """(N,) the values of a column of categories."""
    import numpy as np

    if graph.attributes is None:
        raise InputError("--types names a column of the node table, but there is none; add --nodes")
    values = graph.attributes[column]
    if values.kind != "category":
        raise InputError(f"the column {column!r} holds no categories but a {values.kind}")
    return np.array([*map(str, values.vocabulary), ""])[values.values]


def _cell(scores: dict[str, float | None], metric: str) -> str:
    mean, std = scores[metric], scores.get(f"{metric}_std")
    if mean is None:
        return "—"
    return f"{mean:.1f}" if std is None else f"{mean:.1f} ± {std:.1f}"
