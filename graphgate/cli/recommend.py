"""`graphgate recommend`: the likeliest new neighbors of single nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphgate.cli.console import say
from graphgate.cli.inputs import embedded_graph
from graphgate.cli.options import Dataset, Edges, GraphOptions, Json, Model, Nodes, TableOut
from graphgate.cli.outputs import print_rows, write_result, write_table
from graphgate.cli.program import ANSWERS, app
from graphgate.errors import InputError
from graphgate.estimators.registry import method_of

if TYPE_CHECKING:
    from graphgate.estimators.recommendations import Recommendations


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate recommend edges.csv --nodes nodes.csv --node ada --among "
    "kind=product --top 5",
)
def recommend(
    edges: Edges = None,
    nodes: Nodes = None,
    dataset: Dataset = None,
    model: Model = None,
    node: Annotated[
        list[str] | None, typer.Option(help="Node id to recommend neighbors for; repeatable.")
    ] = None,
    among: Annotated[
        list[str] | None,
        typer.Option(
            help="What may be recommended: COLUMN=CATEGORY, or a node id; repeatable; default: all."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of recommendations per node.")] = 10,
    why: Annotated[
        bool, typer.Option("--why", help="Also list common neighbors and shared traits.")
    ] = False,
    out: TableOut = None,
    json: Json = None,
    *,
    options: GraphOptions,
) -> None:
    """Recommend new neighbors for nodes, by how likely an edge is.

    Existing neighbors are left out. Probabilities are calibrated on hidden edges against random
    pairs that count as much; use their order.
    """
    if not node:
        raise InputError("no node is given; add --node ID")
    _, graph, estimator = embedded_graph(None, dataset, model, edges, nodes, options)
    method = method_of(estimator)
    if not method.proposes_links:
        raise InputError(
            f"{model} holds a {method.title}, which recommends no edges; use the linear method"
        )
    ids = {str(name): name for name in graph.ids.tolist()}
    found = estimator.recommend(
        [ids.get(name, name) for name in node], _candidates(among, ids), top, graph=graph, why=why
    )
    _write(found, out, json)


def _write(found: Recommendations, out: Path | None, json: Path | None) -> None:
    """To files, or as a table."""
    columns: dict[str, Any] = {
        "node_id": found.nodes,
        "recommended": found.neighbors,
        "probability": found.probabilities,
    }
    if found.reasons is not None:
        columns["common_neighbors"] = [_listed(each.common_neighbors) for each in found.reasons]
        columns["shared_traits"] = [_listed(each.shared_traits) for each in found.reasons]
    values = (list(getattr(column, "tolist", lambda c=column: c)()) for column in columns.values())
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    shown = rows
    if found.reasons is not None:
        terms = [{"terms": dict(each.terms)} for each in found.reasons]
        shown = [row | each for row, each in zip(rows, terms, strict=True)]
    write_result(json, {"recommendations": shown})
    if out is not None:
        write_table(out, columns)
        say(f"wrote {len(found):,} recommendations to {out}")
    elif rows:
        print_rows(rows)


def _listed(items: tuple[Any, ...]) -> str:
    return ", ".join(map(str, items))


def _candidates(among: list[str] | None, ids: dict[str, Any]) -> Any:
    """What `recommend` takes: a mapping from columns to categories, or ids."""
    if not among:
        return None
    conditions = [text.partition("=") for text in among if text not in ids and "=" in text]
    if not conditions:
        return [ids.get(name, name) for name in among]
    if len(conditions) < len(among):
        raise InputError("--among takes either COLUMN=CATEGORY or node ids, not both")
    if len({column for column, _, _ in conditions}) < len(conditions):
        raise InputError("--among gives a column twice; give each column once")
    return {column: value for column, _, value in conditions}
