"""`graphgate similar`, `cluster`, `classify` and `links`: answers from embeddings."""

from __future__ import annotations

import sys
from collections import Counter
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
    from graphgate.io.embeddings import Embedding

EmbeddingFile = Annotated[
    Path, typer.Argument(help="An embedding: .parquet, .csv, .npz or word2vec's .txt.")
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
    embedding: EmbeddingFile,
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
    from graphgate.tasks import neighbors

    given = read_embedding(embedding)
    nodes = None if not node else _named(given, node)
    found = neighbors.similar(given, nodes, n_neighbors=top)
    if out is None:
        table = [
            [str(name), str(rank), str(other), f"{value:.4f}"]
            for name, others, values in zip(*found, strict=True)
            for rank, (other, value) in enumerate(zip(others, values, strict=True), start=1)
        ]
        print_table(["node", "rank", "similar", "cosine"], table)
        return
    import numpy as np
    import pyarrow as pa

    from graphgate.io.table_files import write_table
    from graphgate.io.tables import id_array

    n, k = found.neighbors.shape
    columns = {
        "node_id": id_array(np.repeat(found.ids, k)),
        "rank": pa.array(np.tile(np.arange(1, k + 1), n)),
        "similar_id": id_array(found.neighbors.ravel()),
        "cosine": pa.array(found.cosines.ravel()),
    }
    write_table(out, pa.table(columns))
    typer.echo(f"wrote the {k} nearest of {n:,} nodes to {out}")


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate cluster embedding.parquet --clusters 7 --out clusters.csv",
)
def cluster(
    embedding: EmbeddingFile,
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
    from graphgate.tasks import clustering

    given = read_embedding(embedding)
    labels = _labels(given, nodes, id, label)
    if clusters is None and labels is None:
        raise InputError(
            f"{nodes or embedding} has no labels, so say how many clusters there are: --clusters K"
        )
    with notes():
        found = clustering.cluster(given, clusters, method=method, labels=labels, random_state=seed)
    rows = [[str(number), f"{size:,}"] for number, size in enumerate(found.sizes, start=1)]
    if labels is not None:
        for number, row in enumerate(rows):
            row.append(_most_frequent(labels, found.clusters == number))
    print_table(["cluster", "nodes", "most frequent labels"][: len(rows[0])], rows)
    if found.agreement is not None:
        values = [f"{value:.1f}" for value in found.agreement.values()]
        print_table(["NMI", "ARI", "accuracy"], [values])
    if out is not None:
        import pyarrow as pa

        from graphgate.io.table_files import write_table
        from graphgate.io.tables import id_array

        ids = id_array(given.ids)
        write_table(out, pa.table({"node_id": ids, "cluster": pa.array(found.clusters + 1)}))
        typer.echo(f"wrote the clusters of {len(given.ids):,} nodes to {out}")
    content = {"method": method, "seed": seed, "sizes": found.sizes.tolist()}
    _write_json(json, content | {"scores": found.agreement})


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate classify embedding.parquet --nodes nodes.csv --out predicted.csv",
)
def classify(
    embedding: EmbeddingFile,
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
    from graphgate.tasks import classification

    given = read_embedding(embedding)
    labels = _labels(given, nodes, id, label)
    if labels is None:
        raise InputError(
            f"{nodes or embedding} has no labels to learn from; give a table with id and label: "
            "--nodes FILE"
        )
    with notes():
        found = classification.classify(given, labels, probe=probe, cv=folds, random_state=seed)
    unknown, classes = len(found.ids), found.classes
    cells = [f"{mean(each):.1f} ± {stdev(each):.1f}" for each in (found.accuracy, found.macro_f1)]
    heads = ["labelled", "unlabelled", "classes", "folds", "accuracy", "macro F1"]
    known = len(given.ids) - unknown
    counts = [f"{known:,}", f"{unknown:,}", str(len(classes)), str(folds)]
    print_table(heads, [[*counts, *cells]])
    if out is not None:
        import pyarrow as pa

        from graphgate.io.table_files import write_table
        from graphgate.io.tables import id_array, value_array

        columns: dict[str, Any] = {
            "node_id": id_array(found.ids),
            "label": value_array(found.predictions, "label"),
        }
        for at, name in enumerate(classes):
            columns[f"probability_{name}"] = pa.array(found.probabilities[:, at])
        write_table(out, pa.table(columns))
        typer.echo(f"wrote the predictions for {unknown:,} nodes to {out}")
    scores = {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
    _write_json(json, {"probe": probe, "seed": seed, "folds": folds} | scores)


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
    from graphgate.estimators.gate import GATE
    from graphgate.experiments.experiment import find_experiment
    from graphgate.experiments.methods import find_method
    from graphgate.experiments.protocol import run_links

    find_own([method])
    known = find_method(method)
    name, graph = named_graph(dataset, edges, nodes, reading)
    experiment = None if edges is not None else find_experiment(method, name, "links")
    settings = {**(experiment.params if experiment else {}), **settings_of(set_ or [])}
    made = known.make(settings, seed)
    if isinstance(made, GATE):
        check_memory(known.make(settings, seed).prepare(graph), made)
    with notes():
        run = run_links(made, graph, val_size=val, test_size=test, seed=seed)
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
    from graphgate.io.files import check_output_path
    from graphgate.io.table_files import TABLE_ENDINGS

    if table is not None:
        check_output_path(table, TABLE_ENDINGS)
    if json is not None:
        check_output_path(json, (".json",))
    distinct(*inputs, table, json)


def _named(given: Embedding, wanted: list[str]) -> list[Any]:
    """Ids by their text; one that is unknown stays text, which the library refuses."""
    ids = {str(node): node for node in given.ids.tolist()}
    return [ids.get(name, name) for name in wanted]


def _labels(given: Embedding, nodes: Path | None, id: str, label: str) -> list[Any] | None:
    """Labels from a table of nodes, or the embedding's own; None where no node has one."""
    labels = given.labels
    if nodes is not None:
        from graphgate.tasks.classification import read_labels

        labels = read_labels(nodes, given.ids, id=id, label=label)
    return None if labels is None or all(value is None for value in labels) else labels


def _most_frequent(labels: list[Any], mask: Any, most: int = 3) -> str:
    """The most frequent classes of a cluster, with their fractions of its labelled nodes."""
    inside = [value for value, chosen in zip(labels, mask, strict=True) if chosen]
    counts = Counter(value for value in inside if value is not None)
    total = counts.total()
    return ", ".join(f"{name} {size / total:.0%}" for name, size in counts.most_common(most))


def _write_json(path: Path | None, content: dict[str, Any]) -> None:
    if path is None:
        return
    from graphgate.io.files import write_json
    from graphgate.io.provenance import versions

    command = " ".join(["graphgate", *sys.argv[1:]])
    write_json(path, content | {"command": command, "versions": versions()})
    typer.echo(f"wrote {path}")
