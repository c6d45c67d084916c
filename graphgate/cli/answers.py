"""`graphgate similar`, `cluster` and `classify`: uses of an embedding."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.inputs import (
    check_files,
)
from graphgate.cli.options import (
    Json,
    Seed,
    SpreadsheetSafe,
)
from graphgate.cli.outputs import print_rows, similar_rows
from graphgate.cli.program import ANSWERS, app, write_result
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.compute.neighbors import SimilarNodes
    from graphgate.graph.graph import Graph
    from graphgate.io.embeddings import Embedding

EmbeddingFile = Annotated[
    Path,
    typer.Argument(
        metavar="EMBEDDING", help="Embedding file: .parquet, .csv, .npz or .txt (word2vec text)."
    ),
]
LabelTable = Annotated[
    Path | None, typer.Option(help="Node table with labels; default: the embedding's own labels.")
]
IdColumn = Annotated[str, typer.Option("--id", help="Column with the node id in that table.")]
LabelColumn = Annotated[str, typer.Option(help="Column with the label in that table.")]


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate similar embedding.parquet --node 12 --node 40 --top 10",
)
def similar(
    embedding: EmbeddingFile,
    node: Annotated[
        list[str] | None, typer.Option(help="Node id to query; repeatable; default: all nodes.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of neighbors per node.")] = 10,
    edges: Annotated[
        Path | None,
        typer.Option(help="Edge table or graph file, to list what two nodes have in common."),
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Node table of that graph.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this .parquet or .csv file.")
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    json: Json = None,
) -> None:
    """Find the most similar nodes by exact cosine similarity.

    With --edges and --nodes, also list what they share: an edge, neighbors, words, categories.
    """
    check_files(embedding, edges, nodes, table=out, json=json)
    if not node and out is None and json is None:
        raise InputError("querying all nodes needs --out FILE or --json FILE")
    if nodes is not None and edges is None:
        raise InputError("--nodes describes the nodes of a graph; add --edges FILE")
    given = graphgate.read_embedding(embedding)
    ids = {str(name): name for name in given.ids.tolist()}
    queried = [ids.get(name, name) for name in node] if node else None
    found = graphgate.similar(given, queried, n_neighbors=top)
    shared = None if edges is None else _shared(found, graphgate.read_graph(edges, nodes))
    table = similar_rows(found)
    if shared is not None:
        for row in table:
            row["shared"] = shared[row["node"], row["similar"]]
    write_result(json, {"similar": table})
    if out is None:
        if node:
            print_rows(table)
        return
    import numpy as np

    n, k = found.neighbors.shape
    columns: dict[str, Any] = {
        "rank": np.tile(np.arange(1, k + 1), n),
        "similar_id": found.neighbors.ravel(),
        "cosine": found.cosines.ravel(),
    }
    if shared is not None:
        columns["shared"] = [row["shared"] for row in table]
    _write_rows(out, np.repeat(found.ids, k), columns)
    say(f"wrote the {k} most similar nodes of each of {n:,} nodes to {out}")


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate cluster embedding.parquet --clusters 7 --out clusters.csv",
)
def cluster(
    embedding: EmbeddingFile,
    clusters: Annotated[
        str | None,
        typer.Option(
            help="Number of clusters, or auto to choose it; default: number of classes, or auto."
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="kmeans or gaussian-mixture.")] = "kmeans",
    nodes: LabelTable = None,
    id: IdColumn = "id",
    label: LabelColumn = "label",
    describe: Annotated[
        Path | None,
        typer.Option(help="Node table whose columns describe the clusters."),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option(help="Text column of --describe to split into words; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write node_id and cluster to this .parquet or .csv file.")
    ] = None,
    seed: Seed = 0,
    json: Json = None,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """Cluster the nodes, describe the clusters, and compare them with labels where these are known.

    With --clusters auto, their number is chosen by the vectors alone; they may support none. With
    --describe, words, categories and numbers that are over-represented in a cluster are listed.
    NMI, ARI and accuracy are in percent; accuracy is computed under the best one-to-one matching
    of clusters and classes.
    """
    wanted = _number_of_clusters(clusters)
    again = None if describe == nodes else describe  # one table may have both
    check_files(embedding, nodes, again, table=out, json=json)
    given = graphgate.read_embedding(embedding)
    labels = _labels(given, nodes, id, label)
    described = None
    if describe is not None:
        from graphgate.tasks.description import read_attributes

        options = graphgate.ReadingOptions(label=label, words=words or ())
        described = read_attributes(describe, given.ids, id=id, options=options)
    found = graphgate.cluster(
        given, wanted, method=method, labels=labels, described=described, random_state=seed
    )
    if len(found.sizes) == 1 and wanted in (None, "auto"):
        say(
            "no number of clusters is supported: the vectors vary continuously; "
            "--clusters N divides them anyway"
        )
    rows = [[str(number), f"{size:,}"] for number, size in enumerate(found.sizes, start=1)]
    if labels is not None:
        for number, row in enumerate(rows):
            row.append(_most_frequent(labels, found.clusters == number))
    print_table(["cluster", "nodes", "most frequent labels"][: len(rows[0])], rows)
    if found.agreement is not None:
        scores = [f"{value:.1f}" for value in found.agreement.values()]
        print_table(["NMI", "ARI", "accuracy"], [scores])
    if out is not None:
        _write_rows(out, given.ids, {"cluster": found.clusters + 1})
        say(f"wrote the clusters of {len(given.ids):,} nodes to {out}")
    content = {"method": method, "seed": seed, "sizes": found.sizes.tolist()}
    traits = None
    if found.traits is not None:
        traits = [[vars(trait) for trait in each] for each in found.traits]
        for number, each in enumerate(found.traits, start=1):
            say(f"cluster {number}: {'; '.join(map(str, each)) or 'nothing stands out'}")
    write_result(json, content, {"scores": found.agreement, "traits": traits})


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate classify embedding.parquet --nodes nodes.csv --out predicted.csv",
)
def classify(
    embedding: EmbeddingFile,
    nodes: LabelTable = None,
    id: IdColumn = "id",
    label: LabelColumn = "label",
    out: Annotated[
        Path | None,
        typer.Option(help="Write predictions for unlabeled nodes to this .parquet or .csv file."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 5,
    probe: Annotated[str, typer.Option(help="one-vs-rest or multinomial.")] = "one-vs-rest",
    seed: Seed = 0,
    json: Json = None,
    spreadsheet_safe: SpreadsheetSafe = False,
) -> None:
    """Learn labels from the vectors and predict them for unlabeled nodes.

    Fits logistic regression; its scores, in percent, are cross-validated on the labeled nodes.
    """
    check_files(embedding, nodes, table=out, json=json)
    given = graphgate.read_embedding(embedding)
    labels = _labels(given, nodes, id, label)
    if labels is None:
        raise InputError(
            f"{nodes or embedding} has no labels to learn from; pass a table with id and label: "
            "--nodes FILE"
        )
    found = graphgate.classify(given, labels, probe=probe, cv=folds, random_state=seed)
    unknown, classes = len(found.ids), found.classes
    scores = {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
    cells = [f"{mean(values):.1f} ± {stdev(values):.1f}" for values in scores.values()]
    heads = ["labeled", "unlabeled", "classes", "folds", "accuracy", "macro F1"]
    counts = [f"{len(given.ids) - unknown:,}", f"{unknown:,}", str(len(classes)), str(folds)]
    print_table(heads, [[*counts, *cells]])
    if out is not None:
        named = zip(classes, found.probabilities.T, strict=True)
        columns = {f"probability_{name}": values for name, values in named}
        _write_rows(out, found.ids, columns, found.predictions)
        say(f"wrote the predictions for {unknown:,} nodes to {out}")
    write_result(json, {"probe": probe, "seed": seed, "folds": folds}, scores)


def _number_of_clusters(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"--clusters takes an integer ≥ 1 or auto, got {text!r}")
    return int(text)


def _shared(found: SimilarNodes, graph: Graph) -> dict[tuple[Any, Any], str]:
    """What each query node and each node similar to it share, as text."""
    own = {str(node): node for node in graph.ids.tolist()}
    pairs = {}
    for node, others in zip(found.ids.tolist(), found.neighbors.tolist(), strict=True):
        if missing := [each for each in (node, *others) if str(each) not in own]:
            raise InputError(
                f"the graph has no node {missing[0]!r}; pass the graph of this embedding"
            )
        names = [own[str(other)] for other in others]
        for other, each in zip(
            others, graphgate.compare_nodes(graph, own[str(node)], names), strict=True
        ):
            pairs[node, other] = str(each)
    return pairs


def _labels(given: Embedding, nodes: Path | None, id: str, label: str) -> list[Any] | None:
    """Labels from a node table, or the embedding's own; None where no node has one."""
    labels = given.labels
    if nodes is not None:
        from graphgate.tasks.classification import read_labels, warn_of_label

        warn_of_label(given.columns, label)
        labels = read_labels(nodes, given.ids, id=id, label=label)
    return None if labels is None or all(value is None for value in labels) else labels


def _most_frequent(labels: list[Any], mask: Any, most: int = 3) -> str:
    """The most frequent classes of a cluster, with their fractions of its labeled nodes."""
    inside = [value for value, chosen in zip(labels, mask, strict=True) if chosen]
    counts = Counter(value for value in inside if value is not None)
    total = counts.total()
    return ", ".join(f"{name} {size / total:.0%}" for name, size in counts.most_common(most))


def _write_rows(
    path: Path, ids: Any, columns: dict[str, Any], labels: list[Any] | None = None
) -> None:
    """A table of node ids, labels where given, and numbers; ids among them are kept as ids."""
    import pyarrow as pa

    from graphgate.io.table_files import write_table
    from graphgate.io.tables import id_array, value_array

    table = {"node_id": id_array(ids)}
    if labels is not None:
        table["label"] = value_array(labels, "label")
    table |= {
        name: id_array(values) if name.endswith("_id") else pa.array(values)
        for name, values in columns.items()
    }
    write_table(path, pa.table(table))
