"""What a user gave: files, parameters, and the graph and model that a command is about."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.options import GraphOptions
from graphgate.cli.outputs import print_graph
from graphgate.errors import InputError, MemoryLimitError

if TYPE_CHECKING:
    import numpy as np

    from graphgate.estimators.loading import Estimator
    from graphgate.graph.graph import Graph
    from graphgate.io.embeddings import Embedding


def parse_params(given: list[str] | None) -> dict[str, object]:
    """NAME=VALUE with a TOML value; a word needs no quotes, a list no brackets."""
    params: dict[str, object] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not (sign and name):
            raise InputError(f"--set takes NAME=VALUE, got {text!r}")
        if name in params:
            raise InputError(f"--set gives {name} twice; give each parameter once")
        params[name] = value
        for toml in (f"[{value}]" if "," in value else value, value):
            with suppress(tomllib.TOMLDecodeError):
                params[name] = tomllib.loads(f"value = {toml}")["value"]
    return params


def import_from_here(methods: Sequence[str]) -> None:
    """Let a method of the user's own, module:Class, be found in the current folder too."""
    if any(":" in name for name in methods) and "" not in sys.path:
        sys.path.insert(0, "")


def read_named_graph(
    dataset: str | None,
    edges: Path | None,
    nodes: Path | None,
    options: GraphOptions,
    gate: Estimator | None = None,
) -> tuple[str, Graph]:
    """Name and graph: from files where EDGES is given, else a citation graph."""
    if edges is not None and dataset is not None:
        raise InputError("give either EDGES or --dataset NAME, not both")
    if edges is not None:
        graph = options.read(edges, nodes, gate)
        print_graph(graph)
        return edges.name.partition(".")[0] or edges.name, graph
    if nodes is not None or dataset is None:
        raise InputError("no edges are given; add EDGES, or name a citation graph with --dataset")
    if reading := options.given():
        raise InputError(f"{reading[0]} says how EDGES are read; omit it, or give EDGES")
    return dataset, graphgate.load_dataset(dataset).graph


def named_as_read(embedding: Embedding, id: str, label: str) -> tuple[str, str]:
    """The columns of ids and labels: those that are given, or as the graph was read."""
    reading = embedding.reading
    if reading is None:
        return id, label
    return reading.id if id == "id" else id, (reading.label or label) if label == "label" else label


def read_labels(embedding: Embedding, nodes: Path | None, id: str, label: str) -> list[Any] | None:
    """Labels from a node table, or the embedding's own; None where no node has one."""
    labels = embedding.labels
    if nodes is not None:
        id, label = named_as_read(embedding, id, label)
        from graphgate.tasks import classification

        classification.warn_of_label(embedding.columns, label)
        labels = classification.read_labels(nodes, embedding.ids, id=id, label=label)
    return None if labels is None or all(value is None for value in labels) else labels


def read_extended(
    options: GraphOptions,
    edges: Path,
    nodes: Path | None,
    gate: Estimator,
    with_edges: Path | None,
    with_nodes: Path | None,
) -> tuple[Graph, np.ndarray]:
    """The graph of a command with a saved model, and the rows that are not in the old graph.

    An edge to a node that is in no table is refused, unless options say otherwise.
    """
    import numpy as np

    reading = options.reading(gate)
    if options.unknown_nodes is None and reading.unknown_nodes == "drop":
        options = replace(options, unknown_nodes="refuse")
    if with_edges is None:
        graph = options.read(edges, nodes, gate)
        return graph, np.arange(graph.n_nodes)
    old = options.read(with_edges, with_nodes, gate)
    with naming_files(edges, nodes):
        graph = graphgate.extend_graph(old, edges, nodes, options.reading(gate))
    return graph, np.arange(old.n_nodes, graph.n_nodes)


@contextmanager
def naming_files(edges: Path | None, nodes: Path | None) -> Iterator[None]:
    """Let errors about nodes or edges name the file they come from."""
    try:
        yield
    except InputError as error:
        file = {"nodes": nodes or edges, "edges": edges}.get(error.about or "")
        if file is None:
            raise
        raise InputError(f"{file}: {error}") from None


def check_memory(gate: Estimator, prepared: Graph) -> None:
    """Refuse a graph, as `prepare` returns it, that does not fit into memory."""
    from graphgate.compute.machine import shortage
    from graphgate.estimators.estimate import check_fits

    try:
        check_fits(prepared, gate)
    except MemoryLimitError as error:
        limited = gate.memory_limit is not None
        hint = "" if limited else "; `graphgate embed --force` runs it anyway"
        if error.fitting_dims is not None:
            hint = f"; {fitting_dims(error.fitting_dims)}{hint}"
        needs = shortage(error.needed, error.available, limited=limited)
        raise InputError(f"the run {needs}{hint}") from None


def fitting_dims(dims: tuple[int, ...] | None) -> str:
    return "no --dims would fit" if not dims else f"--dims {','.join(map(str, dims))} would fit"
