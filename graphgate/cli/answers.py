"""`graphgate similar`, `cluster`, `classify` and `links`: answers from embeddings."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphgate.cli.given import check_memory, distinct, find_own, named_graph, settings_of
from graphgate.cli.options import EdgesIfAny, Json, Nodes, Seed, Settings
from graphgate.cli.printing import notes, print_table
from graphgate.cli.program import ANSWERS, app
from graphgate.cli.reading import Reading, reads_graph
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.io.embeddings import Embedded
    from graphgate.tasks.labels import Labelled

Embedding = Annotated[
    Path, typer.Argument(help="An embedding: .parquet, .csv, .npz, .npy, .txt, .vec or .w2v.")
]
Labels = Annotated[
    Path | None,
    typer.Option(help="A table of nodes with labels, where the embedding has none."),
]
IdColumn = Annotated[str, typer.Option("--id", help="Column of a node's id in that table.")]
LabelColumn = Annotated[str, typer.Option(help="Column of a node's label in that table.")]


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate similar embedding.parquet --node 12 --node 40 --top 10",
)
def similar(
    embedding: Embedding,
    node: Annotated[
        list[str] | None, typer.Option(help="Id of a node, repeatable; all nodes if none.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Nearest nodes of each.")] = 10,
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this .parquet or .csv file.")
    ] = None,
) -> None:
    """Find the nodes nearest to a node, by cosine; exact."""
    _check_places(out, None, embedding)
    if not node and out is None:
        raise InputError("the nearest of all nodes are many: say where they go, --out FILE")
    from graphgate.io.embeddings import read_embedding

    found = read_embedding(embedding)
    import numpy as np

    rows = np.arange(len(found.ids)) if not node else _rows(found, node)
    from graphgate.tasks.neighbors import nearest

    blocks = list(nearest(found.embedding, rows, top))
    near = np.concatenate([block[1] for block in blocks])
    cosine = np.concatenate([block[2] for block in blocks])
    if out is None:
        table = [
            [str(found.ids[row]), str(rank), str(found.ids[other]), f"{value:.4f}"]
            for row, others, values in zip(rows, near, cosine, strict=True)
            for rank, (other, value) in enumerate(zip(others, values, strict=True), start=1)
        ]
        print_table(["node", "rank", "similar", "cosine"], table)
        return
    import pyarrow as pa

    from graphgate.io.table_writer import column, write_table

    names, each = column(found.ids, "node id"), near.shape[1]
    columns = {
        "node_id": names.take(pa.array(np.repeat(rows, each))),
        "rank": pa.array(np.tile(np.arange(1, each + 1), len(rows))),
        "similar_id": names.take(pa.array(near.ravel())),
        "cosine": pa.array(cosine.ravel()),
    }
    write_table(out, pa.table(columns))
    typer.echo(f"wrote the {each} nearest of {len(rows):,} nodes to {out}")


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate cluster embedding.parquet --clusters 7 --out clusters.csv",
)
def cluster(
    embedding: Embedding,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="How many; default: as many as classes.")
    ] = None,
    method: Annotated[str, typer.Option(help="kmeans or gaussian-mixture.")] = "kmeans",
    nodes: Labels = None,
    id: IdColumn = "id",
    label: LabelColumn = "label",
    out: Annotated[
        Path | None, typer.Option(help="Write node_id and cluster to this .parquet or .csv file.")
    ] = None,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Put the nodes into groups, and compare these with the labels where there are any.

    NMI, ARI and accuracy are in percent; accuracy names each cluster by the class that suits it
    best, another one each.
    """
    _check_places(out, json, embedding, nodes)
    from graphgate.io.embeddings import read_embedding

    found = read_embedding(embedding)
    from graphgate.tasks.clustering import cluster_nodes
    from graphgate.tasks.clusters import agreement
    from graphgate.tasks.labels import labels_of

    labels = labels_of(found, nodes, id=id, label=label)
    if clusters is None:
        if labels is None:
            raise InputError(
                f"{nodes or embedding} has no labels, so say how many clusters there are: "
                "--clusters K"
            )
        clusters = len(labels.classes)
    import numpy as np

    with notes():
        codes = cluster_nodes(found.embedding, clusters, method=method, seed=seed)
    sizes = np.bincount(codes)
    rows = [[str(number), f"{size:,}"] for number, size in enumerate(sizes, start=1)]
    if labels is not None:
        for number, row in enumerate(rows):
            row.append(_most_frequent(labels, codes == number))
    print_table(["cluster", "nodes", "most frequent labels"][: len(rows[0])], rows)
    scores = None if labels is None else agreement(labels.codes, codes)
    if scores is not None:
        print_table(["NMI", "ARI", "accuracy"], [[f"{value:.1f}" for value in scores.values()]])
    if out is not None:
        import pyarrow as pa

        from graphgate.io.table_writer import column, write_table

        ids = column(found.ids, "node id")
        write_table(out, pa.table({"node_id": ids, "cluster": pa.array(codes + 1)}))
        typer.echo(f"wrote the clusters of {len(codes):,} nodes to {out}")
    _write_json(json, {"method": method, "seed": seed, "sizes": sizes.tolist(), "scores": scores})


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate classify embedding.parquet --nodes nodes.csv --out predicted.csv",
)
def classify(
    embedding: Embedding,
    nodes: Labels = None,
    id: IdColumn = "id",
    label: LabelColumn = "label",
    out: Annotated[
        Path | None,
        typer.Option(help="Predictions for nodes without a label: a .parquet or .csv file."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    probe: Annotated[str, typer.Option(help="one-vs-rest or multinomial.")] = "one-vs-rest",
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Learn the labels from the vectors: how well, and what the nodes without a label are.

    Logistic regression, scored by cross-validation over the labelled nodes, in percent.
    """
    _check_places(out, json, embedding, nodes)
    from graphgate.io.embeddings import read_embedding

    found = read_embedding(embedding)
    from graphgate.tasks.classes import cross_validate, predict_unlabelled
    from graphgate.tasks.labels import labels_of

    labels = labels_of(found, nodes, id=id, label=label)
    if labels is None:
        raise InputError(
            f"{nodes or embedding} has no labels to learn from; give a table with id and label: "
            "--nodes FILE"
        )
    with notes():
        scores = cross_validate(found.embedding, labels.codes, folds=folds, form=probe, seed=seed)
        told = predict_unlabelled(found.embedding, labels.codes, form=probe, seed=seed)
    known = int((labels.codes >= 0).sum())
    cells = [f"{mean(values):.1f} ± {stdev(values):.1f}" for values in scores]
    heads = ["labelled", "unlabelled", "classes", "folds", "accuracy", "macro F1"]
    counts = [f"{known:,}", f"{len(told.rows):,}", str(len(labels.classes)), str(folds)]
    print_table(heads, [[*counts, *cells]])
    if out is not None:
        import pyarrow as pa

        from graphgate.io.table_writer import column, label_column, write_table

        columns: dict[str, Any] = {
            "node_id": column(found.ids[told.rows], "node id"),
            "label": label_column([labels.classes[code] for code in told.codes.tolist()]),
        }
        for at, name in enumerate(labels.classes):
            columns[f"probability_{name}"] = pa.array(told.probabilities[:, at])
        write_table(out, pa.table(columns))
        typer.echo(f"wrote the predictions for {len(told.rows):,} nodes to {out}")
    _write_json(json, {"probe": probe, "seed": seed, "folds": folds} | scores._asdict())


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate links edges.csv --nodes nodes.csv --method gate --set epochs=100",
)
@reads_graph
def links(
    reading: Reading,
    edges: EdgesIfAny = None,
    nodes: Nodes = None,
    dataset: Annotated[
        str | None, typer.Option(help="A citation graph, where no edges are given.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="gate, gae, vgae, another baseline, or module:Class for your own.")
    ] = "gate",
    val: Annotated[float, typer.Option(help="Share of the edges held out to validate.")] = 0.05,
    test: Annotated[float, typer.Option(help="Share of the edges held out to test.")] = 0.1,
    seed: Seed = 0,
    set_: Settings = None,
    json: Json = None,
) -> None:
    """Predict edges that were held out of graph and training, by h_i · h_j.

    As many pairs without an edge are drawn; AUC and average precision, in percent, say how well
    the two are told apart.
    """
    _check_places(None, json, edges, nodes)
    if edges is None and nodes is None and dataset is None:
        raise typer.BadParameter("name a graph: EDGES and perhaps --nodes, or --dataset NAME")
    if edges is not None and dataset is not None:
        raise InputError("give either EDGES or --dataset NAME, not both")
    from functools import partial

    from graphgate.estimators.gate import GATE
    from graphgate.experiments.experiment import find_experiment
    from graphgate.experiments.methods import find_method
    from graphgate.experiments.tasks import LinksTask

    find_own([method])
    known = find_method(method)
    name, graph = named_graph(dataset, edges, nodes, reading)
    experiment = None if edges is not None else find_experiment(method, name, "links")
    settings = {**(experiment.settings if experiment else {}), **settings_of(set_ or [])}
    task = LinksTask(partial(known.make, settings), graph, val, test)
    made = task.make_method(seed)
    if isinstance(made, GATE):
        check_memory(graph, made)
    with notes():
        run = task.run(seed)
    held = {"test": ("auc", "ap"), "validation": ("val_auc", "val_ap")}
    rows = [
        [known.title, name, part, *(f"{run.metrics[metric]:.1f}" for metric in metrics)]
        for part, metrics in held.items()
        if run.metrics[metrics[0]] is not None
    ]
    print_table(["method", "graph", "edges held out to", "AUC", "AP"], rows)
    told = {"method": method, "graph": name, "settings": settings, "val": val, "test": test}
    _write_json(json, told | run.to_dict())


def _check_places(table: Path | None, json: Path | None, *inputs: Path | None) -> None:
    """Before any work: the outputs can be written, and are no inputs."""
    from graphgate.io.places import check_output_path
    from graphgate.io.table_writer import TABLE_ENDINGS

    if table is not None:
        check_output_path(table, TABLE_ENDINGS)
    if json is not None:
        check_output_path(json, (".json",))
    distinct(*inputs, table, json)


def _rows(found: Embedded, wanted: list[str]) -> Any:
    """Row numbers of nodes that were named on the command line, where every id is text."""
    import numpy as np

    rows = {str(node): row for row, node in enumerate(found.ids.tolist())}
    for name in wanted:
        if name not in rows:
            raise InputError(
                f"the embedding has no node {name!r}; its ids begin with "
                f"{', '.join(map(repr, found.ids[:3].tolist()))}"
            )
    return np.array([rows[name] for name in wanted])


def _most_frequent(labels: Labelled, mask: Any, most: int = 3) -> str:
    """The classes that a cluster holds most of, with their shares of its labelled nodes."""
    import numpy as np

    codes = labels.codes[mask]
    codes = codes[codes >= 0]
    counts = np.bincount(codes, minlength=len(labels.classes))
    order = [code for code in np.argsort(-counts, kind="stable")[:most] if counts[code]]
    return ", ".join(f"{labels.classes[code]} {counts[code] / len(codes):.0%}" for code in order)


def _write_json(path: Path | None, content: dict[str, Any]) -> None:
    if path is None:
        return
    from graphgate.experiments.report import write_json
    from graphgate.io.provenance import versions

    command = " ".join(["graphgate", *sys.argv[1:]])
    write_json(path, content | {"command": command, "versions": versions()})
    typer.echo(f"wrote {path}")
