"""What a user gave: files, parameters, and the graph, method and model that a command is about."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.console import say
from graphgate.cli.method_options import METHOD_OPTIONS
from graphgate.cli.options import GraphOptions
from graphgate.cli.outputs import print_graph
from graphgate.errors import InputError, MemoryLimitError
from graphgate.estimators.registry import EMBEDDERS, find_method, method_of

if TYPE_CHECKING:
    import numpy as np

    from graphgate.estimators.embedder import Prepared
    from graphgate.estimators.loading import Estimator


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
) -> tuple[str, graphgate.Graph]:
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


def read_extended(
    options: GraphOptions,
    edges: Path,
    nodes: Path | None,
    gate: Estimator,
    with_edges: Path | None,
    with_nodes: Path | None,
) -> tuple[graphgate.Graph, np.ndarray]:
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


def prepare(
    estimator: Estimator,
    graph: graphgate.Graph,
    edges: Path | None,
    nodes: Path | None,
    *,
    force: bool = False,
) -> Prepared:
    """The graph as `fit` takes it; refused if a fit does not fit into memory, unless forced."""
    from graphgate.compute.machine import shortage

    with naming_files(edges, nodes):
        prepared = estimator.prepare(graph)
    try:
        if not force:
            estimator.check_fits(prepared)
    except MemoryLimitError as error:
        limited = estimator.memory_limit is not None
        hint = "" if limited else "; `graphgate embed --force` runs it anyway"
        if error.fitting_dims is not None:
            hint = f"; {fitting_dims(error.fitting_dims)}{hint}"
        needs = shortage(error.needed, error.available, limited=limited)
        raise InputError(f"the run {needs}{hint}") from None
    return prepared


def fitting_dims(dims: tuple[int, ...] | None) -> str:
    return "no --dims would fit" if not dims else f"--dims {','.join(map(str, dims))} would fit"


# --- the method, and a fitted estimator of it ----------------------------------------------------


def choose_method(method: str | None, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method that is named, else the one whose options are given, and its parameters.

    given : values of options of methods, by name; None for those that are not given.
    """
    if method is not None and method not in EMBEDDERS:
        raise InputError(f"unknown method {method!r}; use {' or '.join(EMBEDDERS)}")
    default = next(iter(EMBEDDERS))
    values = {METHOD_OPTIONS[name]: value for name, value in given.items() if value is not None}
    selecting = [option for option in values if option.method != default]
    chosen = method or (selecting[0].method if selecting else default)
    for option in values:
        if option.method != chosen:
            raise InputError(
                f"{option.flag} is an option of --method {option.method}; omit it, or use that "
                "method"
            )
    if method is None and selecting:
        say(f"{selecting[0].flag} selects --method {chosen}", err=True)
    parsed = {option.parameter: option.parse(value) for option, value in values.items()}
    return chosen, {name: value for name, value in parsed.items() if name is not None}


def make_estimator(
    method: str, params: Mapping[str, Any], options: GraphOptions, seed: int = 0
) -> Estimator:
    """An unfitted estimator with these parameters."""
    given = {name: value for name, value in params.items() if value is not None}
    estimator: Estimator = EMBEDDERS[method].maker()(
        **given, random_state=seed, scale=not options.no_scale
    )
    return estimator


def check_outputs(estimator: Estimator, given: Mapping[str, Any]) -> None:
    """Refuse an output that the method of a fitted estimator does not have."""
    choose_method(method_of(estimator).name, given)


def embedded_graph(
    method: str | None,
    dataset: str | None,
    model: Path | None,
    edges: Path | None,
    nodes: Path | None,
    options: GraphOptions,
) -> tuple[str, graphgate.Graph, Estimator]:
    """Name, graph and fitted estimator; without a saved model, one is fitted."""
    if model is not None and method is not None:
        raise InputError("the saved model has its method; omit --method")
    estimator = None if model is None else graphgate.load_model(model)
    name, graph = read_named_graph(dataset, edges, nodes, options, estimator)
    if estimator is not None:
        return name, graph, estimator
    chosen, _ = choose_method(method, {})
    published = find_method(chosen).published_params(name, "transductive") if edges is None else {}
    estimator = make_estimator(chosen, published, options)
    return name, graph, estimator.fit(prepare(estimator, graph, edges, nodes))
