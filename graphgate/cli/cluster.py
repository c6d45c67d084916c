"""`graphgate cluster`: clusters of nodes, described and compared with labels."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.conventions import SHARED, Output
from graphgate.cli.options import EmbeddingFile, Json, LabelOptions, Seed
from graphgate.cli.outputs import write_result, write_table
from graphgate.cli.program import ANSWERS, app

Clusters = Annotated[
    str | None,
    typer.Option(
        help="Number of clusters, or auto to choose it; default: number of classes, or auto."
    ),
]
Describe = Annotated[
    Path | None, typer.Option(help="Node table whose columns describe the clusters."), SHARED
]
Words = Annotated[
    list[str] | None,
    typer.Option(help="Text column of --describe to split into words; repeatable."),
]
ClustersOut = Annotated[
    Path | None,
    typer.Option(help="Write node_id and cluster to this .parquet or .csv file."),
    Output("table"),
]


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate cluster embedding.parquet --clusters 7 --out clusters.csv",
)
def cluster(
    embedding: EmbeddingFile,
    clusters: Clusters = None,
    method: Annotated[str, typer.Option(help="kmeans or gaussian-mixture.")] = "kmeans",
    describe: Describe = None,
    words: Words = None,
    out: ClustersOut = None,
    seed: Seed = 0,
    json: Json = None,
    *,
    labeled: LabelOptions,
) -> None:
    """Cluster the nodes, describe the clusters, and compare them with labels where these are known.

    With --clusters auto, their number is chosen by the vectors alone; they may support none. With
    --describe, words, categories and numbers that are over-represented in a cluster are listed.
    NMI, ARI and accuracy are in percent; accuracy is computed under the best one-to-one matching
    of clusters and classes.
    """
    n_clusters = _number_of_clusters(clusters)
    vectors = graphgate.read_embedding(embedding)
    labels = labeled.read(vectors)
    described = None
    if describe is not None:
        from graphgate.tasks.description import read_attributes

        options = labeled.reading(vectors, words or ())
        described = read_attributes(describe, vectors.ids, id=options.id, options=options)
    result = graphgate.cluster(
        vectors, n_clusters, method=method, labels=labels, described=described, random_state=seed
    )
    if len(result.sizes) == 1 and n_clusters in (None, "auto"):
        say(
            "no number of clusters is supported: the vectors vary continuously; "
            "--clusters N divides them anyway"
        )
    rows = [[str(number), f"{size:,}"] for number, size in enumerate(result.sizes, start=1)]
    if labels is not None:
        for number, row in enumerate(rows):
            row.append(_most_frequent(labels, result.clusters == number))
    print_table(["cluster", "nodes", "most frequent labels"][: len(rows[0])], rows)
    if result.agreement is not None:
        scores = [f"{value:.1f}" for value in result.agreement.values()]
        print_table(["NMI", "ARI", "accuracy"], [scores])
    if out is not None:
        columns = {"node_id": vectors.ids, "cluster": result.clusters + 1}
        write_table(out, columns)
        say(f"wrote the clusters of {len(vectors.ids):,} nodes to {out}")
    traits = None
    if result.traits is not None:
        traits = [[vars(trait) for trait in cluster] for cluster in result.traits]
        for number, cluster in enumerate(result.traits, start=1):
            say(f"cluster {number}: {'; '.join(map(str, cluster)) or 'nothing stands out'}")
    content = {"method": method, "seed": seed, "sizes": result.sizes.tolist()}
    write_result(json, content, {"scores": result.agreement, "traits": traits})


def _number_of_clusters(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"--clusters takes an integer ≥ 1 or auto, got {text!r}")
    return int(text)


def _most_frequent(labels: list[Any], mask: Any, most: int = 3) -> str:
    """The most frequent classes of a cluster, with their fractions of its labeled nodes."""
    inside = [value for value, chosen in zip(labels, mask, strict=True) if chosen]
    counts = Counter(value for value in inside if value is not None)
    total = counts.total()
    return ", ".join(f"{name} {size / total:.0%}" for name, size in counts.most_common(most))
