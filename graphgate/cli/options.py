"""Arguments and options that several commands share, and how tables are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.conventions import Output
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.estimators.loading import Estimator

EDGES = typer.Argument(
    metavar="EDGES",
    help="Edge table (.csv, .tsv, .parquet) with source, target and optionally weight, or a graph "
    "file (.graphml, .gml, .gexf, .net, .edgelist, .adjlist, .mtx, .npz).",
)
EMBEDDING_OUT = typer.Option(
    help="Write the embedding to this file: .parquet, .csv, .npz, .npy or .txt (word2vec text)."
)

Edges = Annotated[Path | None, EDGES]
Nodes = Annotated[
    Path | None,
    typer.Option(
        help="Node table with id, attributes of any kind and optionally label, or a feature matrix "
        "(.npz, .npy, .mtx). Without it, structural features are used, which usually give worse "
        "embeddings than attributes."
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(help="Citation graph to use without EDGES: cora, citeseer or pubmed."),
]
Model = Annotated[
    Path | None, typer.Option(help="Saved model; without one, a model is trained first.")
]
Method = Annotated[
    str | None,
    typer.Option(
        help="linear (solved in seconds) or gate (the paper's model, trained); default: linear, or "
        "gate if one of its options is given."
    ),
]


MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Limit on the memory of the process, such as 2GiB; default: free memory."),
]
Dtype = Annotated[str, typer.Option(help="Floating-point precision: float32 or float64.")]
Seed = Annotated[int, typer.Option(help="Random seed, an integer ≥ 0.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Number of single-threaded processes; default: automatic."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the method; repeatable."),
]
ReconstructionOut = Annotated[
    Path | None,
    typer.Option(help="Write reconstructed features: .parquet, .csv or .npz."),
    Output("reconstruction"),
]
TableOut = Annotated[
    Path | None,
    typer.Option(help="Write the table to this .parquet or .csv file."),
    Output("table"),
]
EmbeddingFile = Annotated[
    Path,
    typer.Argument(
        metavar="EMBEDDING", help="Embedding file: .parquet, .csv, .npz or .txt (word2vec text)."
    ),
]
Top = Annotated[int, typer.Option(min=1, help="Number of neighbors per node.")]
Json = Annotated[
    Path | None,
    typer.Option(help="Write the result as JSON to this file, or to standard output (-)."),
    Output("json"),
]


def _option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel="Reading tables")


@dataclass(frozen=True)
class GraphOptions:
    """The fields of `ReadingOptions` as options; None where an option is not given."""

    directed: Annotated[
        bool | None,
        _option(
            "--directed", help="Edges are directed; a node attends to nodes with an edge to it."
        ),
    ] = None
    source: Annotated[
        str | None, _option(help="Column with the source of an edge; default: source.")
    ] = None
    target: Annotated[
        str | None, _option(help="Column with the target of an edge; default: target.")
    ] = None
    weight: Annotated[
        str | None,
        _option(help="Column with the weight of an edge, if any; '' ignores it; default: weight."),
    ] = None
    id: Annotated[
        str | None, _option("--id", help="Column with the id of a node; default: id.")
    ] = None
    label: Annotated[
        str | None,
        _option(help="Column with the label of a node, if any; '' ignores it; default: label."),
    ] = None
    drop: Annotated[list[str] | None, _option(help="Node column to ignore; repeatable.")] = None
    words: Annotated[
        list[str] | None, _option(help="Text column to split into words; repeatable.")
    ] = None
    categories: Annotated[
        list[str] | None,
        _option("--category", help="Numeric column to treat as categories; repeatable."),
    ] = None
    kinds: Annotated[
        list[str] | None,
        _option(
            "--kind",
            metavar="NAME=KIND",
            help="What a node column is read as: number, date, category, text, list, drop, …; "
            "repeatable.",
        ),
    ] = None
    unknown_nodes: Annotated[
        str | None,
        _option(
            help="What to do with edges to nodes that are not in the node table: drop (the edge), "
            "add (the node, without attributes) or refuse; default: drop."
        ),
    ] = None
    no_scale: Annotated[
        bool, _option("--no-scale", help="Use numbers as they are, without standardizing them.")
    ] = False

    def read(
        self, edges: Path, nodes: Path | None, gate: Estimator | None = None
    ) -> graphgate.Graph:
        """The graph; for a fitted `gate`, read as its training graph unless stated otherwise."""
        options = self.reading(gate)
        if gate is not None:
            if self.no_scale:
                raise InputError("the model scales numbers as in training; omit --no-scale")
            if self.directed and not gate.fitted_on_.directed:
                raise InputError("the model was trained on undirected edges; omit --directed")
            if gate.encoder_ is not None:
                options = replace(options, kinds={**gate.encoder_.kinds, **options.kinds})
        return graphgate.read_graph(edges, nodes, **asdict(options))

    def given(self) -> list[str]:
        """The options of reading that are given."""
        named = vars(self) | {
            "category": self.categories,
            "categories": None,
            "kind": self.kinds,
            "kinds": None,
            "no_scale": None,
        }
        return [f"--{name.replace('_', '-')}" for name, value in named.items() if value is not None]

    def reading(self, gate: Estimator | None = None) -> graphgate.ReadingOptions:
        """What is given here, else what the model was trained with, else the defaults."""
        options: dict[str, Any] = {}
        if gate is not None:
            options = gate.notes_.get("reading", {}) | {"directed": gate.fitted_on_.directed}
        given = {name: value for name, value in asdict(self).items() if value is not None}
        named = {*given.get("words", ()), *given.get("categories", ())}
        known = {name: kind for name, kind in options.get("kinds", {}).items() if name not in named}
        kinds = known | _kinds(given.pop("kinds", ()))
        options |= {name: given[name] for name in given if name != "no_scale"}
        options["kinds"] = kinds
        options |= {name: options[name] or None for name in ("weight", "label") if name in options}
        return graphgate.ReadingOptions.from_dict(options)


def _kinds(pairs: Iterable[str]) -> dict[str, str]:
    """Column -> kind, from NAME=KIND."""
    kinds = {}
    for pair in pairs:
        name, sign, kind = pair.rpartition("=")
        if not sign:
            raise InputError(f"--kind takes NAME=KIND, got {pair!r}")
        kinds[name] = kind
    return kinds


@dataclass(frozen=True)
class LabelOptions:
    """Where the labels of an embedding's nodes are."""

    nodes: Annotated[
        Path | None,
        typer.Option(help="Node table with labels; default: the embedding's own labels."),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            "--id", help="Column with the node id in that table; default: id, or as read."
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(help="Column with the label in that table; default: label, or as read."),
    ] = None

    def as_read(self, embedding: graphgate.Embedding) -> tuple[str, str]:
        """The columns that are given, or else as the graph of the embedding was read."""
        read = embedding.reading or graphgate.ReadingOptions()
        return self.id or read.id, self.label or read.label or "label"

    def reading(
        self, embedding: graphgate.Embedding, words: Sequence[str]
    ) -> graphgate.ReadingOptions:
        """How a table of the nodes is read, with these columns as words."""
        id, label = self.as_read(embedding)
        known = {} if embedding.reading is None else embedding.reading.kinds
        kinds = {name: kind for name, kind in known.items() if name not in words}
        return graphgate.ReadingOptions(id=id, label=label, words=words, kinds=kinds)

    def read(self, embedding: graphgate.Embedding) -> list[Any] | None:
        """Labels from the table, or the embedding's own; None where no node has one."""
        labels, (id, label) = embedding.labels, self.as_read(embedding)
        if self.nodes is not None:
            from graphgate.tasks.classification import read_labels, warn_of_label

            warn_of_label(embedding.columns, label)
            labels = read_labels(self.nodes, embedding.ids, id=id, label=label)
        return None if labels is None or all(value is None for value in labels) else labels
