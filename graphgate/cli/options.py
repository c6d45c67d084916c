"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EDGES = "CSV of edges with the columns source, target and perhaps weight."
_NODES = "CSV of nodes: id, any number of numeric columns, and perhaps label."
_EMBEDDING = "The embedding: .parquet, .csv, .npz, .npy, or word2vec's .txt, .vec, .w2v."

Edges = Annotated[Path, typer.Argument(help=_EDGES)]
Nodes = Annotated[Path, typer.Option(help=_NODES)]
EdgesIfAny = Annotated[Path | None, typer.Argument(help=_EDGES)]
NodesIfAny = Annotated[Path | None, typer.Option(help=_NODES)]
OwnEdges = Annotated[
    Path | None, typer.Argument(help="CSV of edges of your own graph, with --nodes.")
]
OwnNodes = Annotated[Path | None, typer.Option(help="CSV of its nodes.")]
Dataset = Annotated[str, typer.Option(help="A citation graph, where no edges are given.")]
Model = Annotated[
    Path | None, typer.Option(help="A saved model; without one, one is trained first.")
]
EmbeddingOut = Annotated[Path, typer.Option(help=_EMBEDDING)]
EmbeddingOutIfAny = Annotated[Path | None, typer.Option(help=_EMBEDDING)]
Directed = Annotated[
    bool, typer.Option("--directed", help="An edge makes its target attend over its source.")
]
Dims = Annotated[str, typer.Option(help="Size of each layer, separated by commas.")]
Activation = Annotated[str, typer.Option(help="σ of every layer.")]
Dtype = Annotated[str, typer.Option(help="Precision: float32 or float64.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is random.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another value of a setting; repeatable."),
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
