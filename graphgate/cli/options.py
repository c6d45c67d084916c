"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EDGES = (
    "Edges: a table (.csv, .tsv, .parquet) of source, target and perhaps weight, or a graph file "
    "(.graphml, .gml, .gexf, .net, .edgelist, .adjlist, .mtx, .npz)."
)
_NODES = (
    "Nodes: a table of id, attributes of any kind and perhaps label, or a matrix (.npz, .npy, "
    ".mtx). Without one, nodes are told apart by where they stand in the graph, which embeds "
    "worse than attributes do."
)
_EMBEDDING = "The embedding: .parquet, .csv, .npz, .npy, or word2vec's .txt."

Edges = Annotated[Path, typer.Argument(help=_EDGES)]
EdgesIfAny = Annotated[Path | None, typer.Argument(help=_EDGES)]
Nodes = Annotated[Path | None, typer.Option(help=_NODES)]
Dataset = Annotated[str, typer.Option(help="A citation graph, where no edges are given.")]
Model = Annotated[
    Path | None, typer.Option(help="A saved model; without one, one is trained first.")
]
EmbeddingOut = Annotated[Path, typer.Option(help=_EMBEDDING)]
EmbeddingOutIfAny = Annotated[Path | None, typer.Option(help=_EMBEDDING)]
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
