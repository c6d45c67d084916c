"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Edges = Annotated[
    Path, typer.Argument(help="CSV of edges with the columns source, target and perhaps weight.")
]
Nodes = Annotated[
    Path,
    typer.Option(help="CSV of nodes: id, any number of numeric columns, and perhaps label."),
]
OwnEdges = Annotated[
    Path | None, typer.Argument(help="CSV of edges of your own graph, with --nodes.")
]
OwnNodes = Annotated[Path | None, typer.Option(help="CSV of its nodes.")]
Dataset = Annotated[str, typer.Option(help="A citation graph, where no edges are given.")]
Model = Annotated[
    Path | None, typer.Option(help="A saved model; without one, one is trained first.")
]
EmbeddingOut = Annotated[
    Path,
    typer.Option(help="The embedding: .parquet, .csv, .npz, .npy, or word2vec's .txt, .vec, .w2v."),
]
Device = Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")]
AttentionOut = Annotated[
    Path | None, typer.Option(help="Also the attention, a row an edge: .parquet or .csv.")
]
ReconstructionOut = Annotated[
    Path | None,
    typer.Option(help="Also the features as the decoder gives them back: .parquet, .csv or .npz."),
]
Json = Annotated[Path | None, typer.Option(help="Also write the result to this file.")]
