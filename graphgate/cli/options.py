"""Arguments and options that several commands share, and how tables are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.errors import InputError
from graphgate.io.spreadsheets import SAFE

if TYPE_CHECKING:
    from graphgate.estimators.loading import Estimator
    from graphgate.graph.graph import Graph
    from graphgate.io.reading_options import ReadingOptions

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


def _gate_option(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel="Options of --method gate")


def _linear_option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Options of --method linear")


Components = Annotated[int | None, _linear_option(help="Size of the vectors; default: 128.")]
NoStructure = Annotated[
    bool | None,
    _linear_option(
        "--no-structure",
        help="Ignore the position in the graph, so that the model can embed others.",
    ),
]
Scratch = Annotated[
    Path | None,
    _linear_option(help="New folder for intermediate results, from which the same run resumes."),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="Limit on the memory of the process, such as 2GiB; default: free memory."),
]
ScoresOut = Annotated[
    Path | None,
    _linear_option(help="Write the probability of each edge, one row per edge: .parquet or .csv."),
]
Dims = Annotated[str | None, _gate_option("Sizes of the layers, separated by commas.")]
Preset = Annotated[
    str | None,
    _gate_option(
        "Published formulation: authors (reference implementation) or paper; default: our own, "
        "which takes seconds."
    ),
]
StructureWeight = Annotated[
    float | None, _gate_option("λ, weight of the structure loss relative to the feature loss.")
]
Activation = Annotated[str | None, _gate_option("Activation function of every layer.")]
Epochs = Annotated[
    int | None, _gate_option("Number of training epochs, at most; default: that of the preset.")
]
LearningRate = Annotated[
    float | None, _gate_option("Learning rate of Adam; default: that of the preset.")
]
Patience = Annotated[
    int | None,
    _gate_option("Stop after this many epochs without improvement; default: that of the preset."),
]
BatchSize = Annotated[
    str | None,
    _gate_option(
        "Nodes in each part of the graph to train on, or full for the whole; default: auto, by the "
        "size of the graph."
    ),
]
PartsPerStep = Annotated[
    int | None,
    _gate_option("Parts in a step of training, shared by processes; default: one for each."),
]
CheckpointFile = Annotated[
    Path | None, _gate_option("Save the training state here and resume from it.")
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
Device = Annotated[str | None, _gate_option("Device to compute on: cpu or cuda.")]
AttentionOut = Annotated[
    Path | None, _gate_option("Write attention, one row per edge: .parquet or .csv.")
]
ReconstructionOut = Annotated[
    Path | None, typer.Option(help="Write reconstructed features: .parquet, .csv or .npz.")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        callback=lambda given: SAFE.set(given) and None,
        help="Put an apostrophe before CSV text that a spreadsheet would run as a formula.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(help="Write the result as JSON to this file, or to standard output (-)."),
]


def _option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel="Reading tables")


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

    def read(self, edges: Path, nodes: Path | None, gate: Estimator | None = None) -> Graph:
        """The graph; for a fitted `gate`, read as its training graph unless stated otherwise."""
        options, kinds = self.reading(gate), None
        if gate is not None:
            if self.no_scale:
                raise InputError("the model scales numbers as in training; omit --no-scale")
            if self.directed and not gate.fitted_on_.directed:
                raise InputError("the model was trained on undirected edges; omit --directed")
            if gate.encoder_ is not None:
                known = gate.encoder_.kinds
                kinds = {name: known[name] for name in known if name not in options.drop}
        return graphgate.read_graph(edges, nodes, kinds=kinds, **asdict(options))

    def given(self) -> list[str]:
        """The options of reading that are given."""
        named = vars(self) | {"category": self.categories, "categories": None, "no_scale": None}
        return [f"--{name.replace('_', '-')}" for name, value in named.items() if value is not None]

    def reading(self, gate: Estimator | None = None) -> ReadingOptions:
        """What is given here, else what the model was trained with, else the defaults."""
        options: dict[str, Any] = {}
        if gate is not None:
            options = gate.notes_.get("reading", {}) | {"directed": gate.fitted_on_.directed}
        given = {name: value for name, value in asdict(self).items() if value is not None}
        options |= {name: given[name] for name in given if name != "no_scale"}
        options |= {name: options[name] or None for name in ("weight", "label") if name in options}
        return graphgate.ReadingOptions.from_dict(options)


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `GraphOptions` to a command, which receives them as `options`."""
    own = inspect.signature(command, eval_str=True)
    added = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for option in inspect.signature(GraphOptions, eval_str=True).parameters.values()
    ]

    @wraps(command)
    def wrapper(*args: Any, **given: Any) -> None:
        options = GraphOptions(**{option.name: given.pop(option.name) for option in added})
        command(*args, options=options, **given)

    # Typer reads the signature and the annotations.
    kept = [each for each in own.parameters.values() if each.name != "options"]
    wrapper.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in [*kept, *added]}
    return wrapper
