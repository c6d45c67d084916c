"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_EDGES = (
    "Edge table (.csv, .tsv, .parquet) with source, target and optionally weight, or a graph file "
    "(.graphml, .gml, .gexf, .net, .edgelist, .adjlist, .mtx, .npz)."
)
_NODES = (
    "Node table with id, attributes of any kind and optionally label, or a feature matrix (.npz, "
    ".npy, .mtx). Without one, structural features are used, which usually embed worse than "
    "attributes."
)
_EMBEDDING = "Embedding file: .parquet, .csv, .npz, .npy or .txt (word2vec text format)."

Edges = Annotated[Path, typer.Argument(help=_EDGES)]
OptionalEdges = Annotated[Path | None, typer.Argument(help=_EDGES)]
Nodes = Annotated[Path | None, typer.Option(help=_NODES)]
Dataset = Annotated[
    str, typer.Option(help="Citation graph to use without EDGES: cora, citeseer or pubmed.")
]
Model = Annotated[
    Path | None, typer.Option(help="Saved model; without one, a model is trained first.")
]
EmbeddingOut = Annotated[Path, typer.Option(help=_EMBEDDING)]
OptionalEmbeddingOut = Annotated[Path | None, typer.Option(help=_EMBEDDING)]
Dims = Annotated[str, typer.Option(help="Size of each layer, separated by commas.")]
Activation = Annotated[str, typer.Option(help="Activation function of every layer.")]
Dtype = Annotated[str, typer.Option(help="Floating-point precision: float32 or float64.")]
Epochs = Annotated[int, typer.Option(help="Number of training epochs.")]
Seed = Annotated[int, typer.Option(help="Random seed, an integer ≥ 0.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Number of single-threaded processes; chosen automatically."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the method; repeatable."),
]
Device = Annotated[str, typer.Option(help="Device to compute on: cpu or cuda.")]
AttentionOut = Annotated[
    Path | None, typer.Option(help="Write attention, one row per edge: .parquet or .csv.")
]
ReconstructionOut = Annotated[
    Path | None, typer.Option(help="Write reconstructed features: .parquet, .csv or .npz.")
]
Json = Annotated[Path | None, typer.Option(help="Write the result to this .json file.")]
