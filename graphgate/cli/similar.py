"""`graphgate similar`: the most similar nodes of an embedding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import say
from graphgate.cli.options import EmbeddingFile, Json, TableOut, Top
from graphgate.cli.outputs import print_rows, similar_rows, write_result, write_table
from graphgate.cli.program import ANSWERS, app
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.estimators.embedder import Embedder
    from graphgate.tasks.comparison import SharedTraits


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate similar embedding.parquet --node 12 --node 40 --top 10",
)
def similar(
    embedding: EmbeddingFile,
    node: Annotated[
        list[str] | None, typer.Option(help="Node id to query; repeatable; default: all nodes.")
    ] = None,
    top: Top = 10,
    edges: Annotated[
        Path | None,
        typer.Option(help="Edge table or graph file, to list what two nodes have in common."),
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Node table of that graph.")] = None,
    explain: Annotated[
        Path | None,
        typer.Option(help="LinearGATE's model file, to list what similarities are made of."),
    ] = None,
    out: TableOut = None,
    json: Json = None,
) -> None:
    """Find the most similar nodes by exact cosine similarity.

    With --edges and --nodes, also list what they share: an edge, neighbors, words, categories. With
    --explain, also how much each view and each column contributes to the cosine.
    """
    if not node and out is None and json is None:
        raise InputError("querying all nodes needs --out FILE or --json FILE")
    if nodes is not None and edges is None:
        raise InputError("--nodes describes the nodes of a graph; add --edges FILE")
    if explain and edges is None:
        raise InputError("--explain computes from the graph of the embedding; add --edges FILE")
    vectors = graphgate.read_embedding(embedding)
    ids = {str(name): name for name in vectors.ids.tolist()}
    queried = [ids.get(name, name) for name in node] if node else None
    neighbors = graphgate.similar(vectors, queried, n_neighbors=top)
    rows = similar_rows(neighbors)
    if edges is not None:
        from graphgate.tasks.comparison import compare_similar

        reading = {} if vectors.reading is None else vectors.reading.to_dict()
        graph = graphgate.read_graph(edges, nodes, **reading)
        shared = compare_similar(graph, neighbors, model=_loaded(explain))
        rows = [row | _told(traits) for row, traits in zip(rows, shared, strict=True)]
    write_result(json, {"similar": [_plain(row) for row in rows]})
    if out is not None:
        n, k = neighbors.neighbors.shape
        columns = {
            "node_id": neighbors.ids.repeat(k),
            "rank": [row["rank"] for row in rows],
            "similar_id": neighbors.neighbors.ravel(),
            "cosine": neighbors.cosines.ravel(),
        }
        told = [name for name in ("shared", "because") if rows and name in rows[0]]
        columns |= {name: [str(row[name]) for row in rows] for name in told}
        write_table(out, columns)
        say(f"wrote the {k} most similar nodes of each of {n:,} nodes to {out}")
    elif node:
        print_rows(rows)


def _loaded(model: Path | None) -> Embedder | None:
    return None if model is None else graphgate.load_model(model)


def _told(traits: SharedTraits) -> dict[str, Any]:
    """What two nodes share, as text, and what their similarity is made of where it is known."""
    because = {} if traits.similarity is None else {"because": traits.similarity}
    return {"shared": str(traits)} | because


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row for JSON."""
    if "because" not in row:
        return row
    parts = row["because"]
    return row | {"because": {"views": parts.views, "sources": parts.sources}}
