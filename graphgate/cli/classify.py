"""`graphgate classify`: labels of nodes, learned from their vectors."""

from pathlib import Path
from statistics import mean, stdev
from typing import Annotated

import typer

import graphgate
from graphgate.cli.console import print_table, say
from graphgate.cli.conventions import Output
from graphgate.cli.options import EmbeddingFile, Json, LabelOptions, Seed
from graphgate.cli.outputs import write_result, write_table
from graphgate.cli.program import ANSWERS, app
from graphgate.errors import InputError


@app.command(
    rich_help_panel=ANSWERS,
    epilog="Example: graphgate classify embedding.parquet --nodes nodes.csv --out predicted.csv",
)
def classify(
    embedding: EmbeddingFile,
    out: Annotated[
        Path | None,
        typer.Option(help="Write predictions for unlabeled nodes to this .parquet or .csv file."),
        Output("table"),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 5,
    probe: Annotated[str, typer.Option(help="one-vs-rest or multinomial.")] = "one-vs-rest",
    seed: Seed = 0,
    json: Json = None,
    *,
    labeled: LabelOptions,
) -> None:
    """Learn labels from the vectors and predict them for unlabeled nodes.

    Fits logistic regression; its scores, in percent, are cross-validated on the labeled nodes.
    """
    vectors = graphgate.read_embedding(embedding)
    labels = labeled.read(vectors)
    if labels is None:
        raise InputError(
            f"{labeled.nodes or embedding} has no labels to learn from; pass a table with id and "
            "label: --nodes FILE"
        )
    result = graphgate.classify(vectors, labels, probe=probe, cv=folds, random_state=seed)
    unlabeled, classes = len(result.ids), result.classes
    scores = {"accuracy": result.accuracy, "macro_f1": result.macro_f1}
    cells = [f"{mean(values):.1f} ± {stdev(values):.1f}" for values in scores.values()]
    heads = ["labeled", "unlabeled", "classes", "folds", "accuracy", "macro F1"]
    counts = [f"{len(labels) - unlabeled:,}", f"{unlabeled:,}", str(len(classes)), str(folds)]
    print_table(heads, [[*counts, *cells]])
    if out is not None:
        columns = {"node_id": result.ids, "label": result.predictions}
        named = zip(classes, result.probabilities.T, strict=True)
        columns |= {f"probability_{name}": values for name, values in named}
        write_table(out, columns)
        say(f"wrote the predictions for {unlabeled:,} nodes to {out}")
    write_result(json, {"probe": probe, "seed": seed, "folds": folds}, scores)
