"""`graphgate store`: a graph that grows, with its vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.conventions import Output
from graphgate.cli.inputs import choose_method, make_estimator, naming_files, prepare
from graphgate.cli.method_options import only_options
from graphgate.cli.options import EDGES, GraphOptions, Json, Method, Nodes, Seed, Top
from graphgate.cli.outputs import print_graph, print_rows, similar_rows, write_result
from graphgate.cli.program import EMBEDDINGS, app
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.store.drift import Drift
    from graphgate.store.store import StoreChange

store = typer.Typer(
    help="Keep a graph that grows, with its model and vectors, in a folder.",
    no_args_is_help=True,
    epilog="Example: graphgate store create people edges.csv --nodes nodes.csv",
)
app.add_typer(store, name="store", rich_help_panel=EMBEDDINGS)

Folder = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the store.")]
NewEdges = Annotated[
    Path | None, typer.Option(help="Edge table (.csv, .tsv, .parquet), read as the first one.")
]
NewNodes = Annotated[
    Path | None, typer.Option(help="Node table with all attributes, read as the first one.")
]
VectorsOut = Annotated[
    Path | None,
    typer.Option(help="Write the vectors that are new or have changed to this file."),
    Output("embedding"),
]
Ids = Annotated[list[str] | None, typer.Option(help="Node id; repeatable.")]
OF_METHODS = only_options("components", "no_structure", "dims", "epochs")


@store.command(epilog="Example: graphgate store create people edges.csv --nodes nodes.csv")
def create(
    folder: Annotated[Folder, Output("store")],
    edges: Annotated[Path, EDGES],
    nodes: Nodes = None,
    method: Method = None,
    seed: Seed = 0,
    *,
    given: Annotated[dict[str, Any], OF_METHODS],
    options: GraphOptions,
) -> None:
    """Create a store from a graph: learn a model and embed every node.

    `graphgate embed … --store STORE` does the same with all options of a method.
    """
    estimator = make_estimator(*choose_method(method, given), options, seed)
    graph = options.read(edges, nodes)
    print_graph(graph)
    with naming_files(edges, nodes):
        estimator.fit(prepare(estimator, graph, edges, nodes))
        estimator.notes_.setdefault("reading", options.reading().to_dict())
        created = graphgate.Store.create(folder, graph, estimator)
    say(f"created {folder} with {len(created):,} vectors of size {created.info().n_components}")


@store.command(
    epilog="Example: graphgate store add people --edges new_edges.csv --nodes new_nodes.csv "
    "--out new.parquet"
)
def add(
    folder: Folder,
    edges: NewEdges = None,
    nodes: NewNodes = None,
    out: VectorsOut = None,
    only: Annotated[
        str, typer.Option(help="Which vectors to write: new, or all that have changed.")
    ] = "all",
) -> None:
    """Add nodes and edges, or change attributes, and update the vectors around them.

    The batch goes in as a whole or not at all; what is stored already changes nothing. An edge to
    a node that is neither stored nor in the batch is an error.
    """
    if only not in ("all", "new"):
        raise InputError(f"--only takes all or new, got {only!r}")
    opened = graphgate.Store.open(folder)
    with naming_files(edges, nodes):
        change = opened.add(edges, nodes)
    _report(change, out, with_changed=only == "all")


@store.command(epilog="Example: graphgate store remove people --node ada --node bob")
def remove(
    folder: Folder, node: Ids = None, edges: NewEdges = None, out: VectorsOut = None
) -> None:
    """Remove nodes with their edges, or edges, and update the vectors around them."""
    if not node and edges is None:
        raise InputError("nothing to remove is given; use --node ID or --edges FILE")
    _report(graphgate.Store.open(folder).remove(node or None, edges), out, with_changed=True)


@store.command(epilog="Example: graphgate store info people")
def info(
    folder: Folder,
    measure: Annotated[
        bool, typer.Option("--measure", help="Compare all vectors with exact ones; takes longer.")
    ] = False,
    json: Json = None,
) -> None:
    """Show what a store holds, and how far its vectors may be off."""
    opened = graphgate.Store.open(folder)
    state = opened.info()
    kind = f"{'weighted ' * state.weighted}{'directed' if state.directed else 'undirected'}"
    say(
        f"version {state.version}: {state.n_nodes:,} nodes, {state.n_edges:,} {kind} edges, "
        f"vectors of size {state.n_components} by {state.method}"
    )
    say(state.accuracy())
    measured = {}
    if measure:
        cosines = opened.cosines_to_exact()
        measured["cosines"] = {"mean": float(cosines.mean()), "smallest": float(cosines.min())}
        say(
            f"measured: cosine to the exact vector {cosines.mean():.6f} on average, "
            f"{cosines.min():.6f} at least"
        )
    write_result(json, state._asdict(), measured)


@store.command(epilog="Example: graphgate store history people")
def history(folder: Folder, json: Json = None) -> None:
    """List the versions of a store."""
    rows = [
        [
            str(version.version),
            f"{version.time:%Y-%m-%d %H:%M:%S}",
            version.action,
            f"{version.details['n_nodes']:,}",
            f"{version.details['n_edges']:,}",
            version.model,
        ]
        for version in graphgate.Store.open(folder).history()
    ]
    heads = ["version", "time (UTC)", "action", "nodes", "edges", "model"]
    print_table(heads, rows)
    write_result(json, {"history": [dict(zip(heads, row, strict=True)) for row in rows]})


@store.command(epilog="Example: graphgate store check people")
def check(folder: Folder, json: Json = None) -> None:
    """Read everything in a store, and report what is damaged."""
    inspection = graphgate.Store.open(folder).check()
    say(
        f"read {inspection.n_files:,} files of {inspection.n_versions:,} versions "
        f"({inspection.n_bytes / 2**20:.1f} MiB)"
    )
    if inspection.n_unneeded:
        say(f"{inspection.n_unneeded:,} files belong to no version; `store prune` removes them")
    for problem in inspection.problems:
        say(problem)
    write_result(json, inspection._asdict())
    if inspection.problems:
        raise InputError(f"{folder} is damaged: {inspection.problems[0]}")
    say("no damage was found")


@store.command(epilog="Example: graphgate store rollback people 3")
def rollback(
    folder: Folder, version: Annotated[int, typer.Argument(help="Version to return to.")]
) -> None:
    """Make an older version the current one; this is a new version, and nothing is lost."""
    current = graphgate.Store.open(folder, version).rollback(version)
    say(f"version {current.version} is version {version} again")


@store.command(epilog="Example: graphgate store prune people --keep 7")
def prune(
    folder: Folder,
    keep: Annotated[int, typer.Option(min=1, help="Number of versions to keep.")] = 1,
) -> None:
    """Forget old versions with their models, and free the space that only they need."""
    opened = graphgate.Store.open(folder)
    current = opened.prune(keep)
    say(f"version {current.version}: {len(opened.history()):,} versions are kept")


@store.command(epilog="Example: graphgate store erase people ada bob")
def erase(
    folder: Folder,
    ids: Annotated[list[str] | None, typer.Argument(metavar="IDS", help="Node ids.")] = None,
    file: Annotated[
        Path | None, typer.Option("--ids", help="Text file with one further id per line.")
    ] = None,
) -> None:
    """Delete all traces of nodes from the store, and its history with them.

    The model is fitted from scratch on the other nodes: it has other words and weights, and its
    vectors are not comparable with older ones.
    """
    from graphgate.io.files import read_text

    erased = list(ids or [])
    if file is not None:
        erased += [line for line in read_text(file).split("\n") if line]
    if not erased:
        raise InputError("no node to erase is given; pass ids, or --ids FILE")
    opened = graphgate.Store.open(folder)
    before = opened.version
    current = opened.erase(erased)
    if current.version == before:
        say(
            f"version {before}: no version has these nodes; what an interrupted change had left is "
            "deleted"
        )
        return
    say(
        f"version {current.version}: {current.details['erased']:,} nodes are erased, and all older "
        f"versions with them; the model was fitted from scratch on the other "
        f"{current.details['n_nodes']:,} nodes, so what was learned from older vectors must be "
        "learned again"
    )


@store.command(epilog="Example: graphgate store refresh people")
def refresh(folder: Folder) -> None:
    """Compute all vectors again from the whole graph, so that they are exact."""
    current = graphgate.Store.open(folder).refresh()
    say(f"version {current.version}: all {current.details['n_nodes']:,} vectors are exact")


@store.command(epilog="Example: graphgate store refit people --json drift.json")
def refit(folder: Folder, json: Json = None) -> None:
    """Learn the model again from all that is stored, keep the space, and report the drift."""
    _report_drift(graphgate.Store.open(folder).refit(), json)


@store.command(epilog="Example: graphgate store drift people --since 1")
def drift(
    folder: Folder,
    since: Annotated[
        int | None, typer.Option(help="Older version; default: that of the last fit.")
    ] = None,
    json: Json = None,
) -> None:
    """Report what has changed since an older version, and whether a refit is needed."""
    _report_drift(graphgate.Store.open(folder).drift(since), json)


@store.command(
    epilog="Example: graphgate store similar people --node ada --top 5 --where \"town = 'Ulm'\""
)
def similar(
    folder: Folder,
    node: Ids = None,
    nodes: Annotated[
        Path | None, typer.Option(help="Node table of nodes that are not stored, in place of ids.")
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Edge table of these nodes.")] = None,
    top: Top = 10,
    where: Annotated[
        str | None, typer.Option(help="Condition on the attributes of neighbors, as in SQL.")
    ] = None,
    json: Json = None,
) -> None:
    """Find the stored nodes that are most similar to stored nodes, or to others."""
    if bool(node) == (nodes is not None):
        raise InputError("give either --node ID or --nodes FILE")
    opened = graphgate.Store.open(folder)
    if node:
        neighbors = opened.similar(node, n_neighbors=top, where=where)
    else:
        with naming_files(edges, nodes):
            embedding = opened.embed(edges, nodes)
        neighbors = opened.similar(vectors=embedding.vectors, n_neighbors=top, where=where)
        neighbors = neighbors._replace(ids=embedding.ids)
    rows = similar_rows(neighbors)
    print_rows(rows)
    write_result(json, {"similar": rows})


@store.command(epilog="Example: graphgate store export people --out embedding.parquet")
def export(
    folder: Folder,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Embedding: .parquet, .csv, .npz, .npy, .txt (word2vec), .sql (pgvector) or "
            ".jsonl (Qdrant)."
        ),
        Output("embedding"),
    ] = None,
    graph: Annotated[
        Path | None, typer.Option(help="Folder for the tables of edges and nodes.")
    ] = None,
    ending: Annotated[str, typer.Option(help="Format of these tables: .parquet or .csv.")] = (
        ".parquet"
    ),
    model: Annotated[
        Path | None, typer.Option(help="Model: .safetensors."), Output("model")
    ] = None,
    version: Annotated[int | None, typer.Option(help="Version; default: the last one.")] = None,
) -> None:
    """Write vectors, graph or model to files."""
    if out is None and graph is None and model is None:
        raise InputError("no output is given; use --out FILE, --graph FOLDER or --model FILE")
    opened = graphgate.Store.open(folder, version)
    if out is not None:
        opened.vectors().save(out)
        say(f"wrote {len(opened):,} vectors to {out}")
    if graph is not None:
        edges, nodes = graphgate.write_graph(graph, opened.graph(), ending)
        say(f"wrote {edges} and {nodes}")
    if model is not None:
        opened.model().save(model)
        say(f"wrote the model to {model}")


def _report(change: StoreChange, out: Path | None, *, with_changed: bool) -> None:
    """Say what a change did, and write vectors."""
    counts = (len(change.added.ids), change.removed, change.updated, change.n_edges)
    if not any(counts):
        say(f"version {change.version}: nothing has changed")
    else:
        say(
            "version {}: {:,} nodes added, {:,} removed, {:,} with other attributes or labels, "
            "{:,} edges changed, {:,} further vectors updated".format(
                change.version, *counts, len(change.changed.ids)
            )
        )
    if out is not None:
        vectors = change.vectors() if with_changed else change.added
        vectors.save(out)
        say(f"wrote {len(vectors.ids):,} vectors to {out}")


def _report_drift(drift: Drift, json: Path | None) -> None:
    for sentence in drift.sentences():
        say(sentence)
    rows = [[str(node), f"{distance:.4f}"] for node, distance in drift.most_moved]
    print_table(["moved most", "cosine distance"], rows)
    write_result(json, drift.to_dict())
