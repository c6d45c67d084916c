"""Which estimator a command is about, from the options that it was given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import (
    check_memory,
    naming_files,
    parse_batch_size,
    parse_dims,
    read_named_graph,
)
from graphgate.cli.options import GraphOptions
from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.estimators.loading import Estimator
    from graphgate.graph.graph import Graph

METHODS = ("linear", "gate")


def chosen_method(
    method: str | None, gate: Mapping[str, Any], linear: Mapping[str, Any] | None = None
) -> str:
    """The method that is named, else the one whose options are given, else "linear".

    gate, linear : options that only that method has, None where they are not given.
    """
    if method is not None and method not in METHODS:
        raise InputError(f"unknown method {method!r}; use {' or '.join(METHODS)}")
    of_gate = [name for name, value in gate.items() if value is not None]
    of_linear = [name for name, value in (linear or {}).items() if value is not None]
    chosen = method or ("gate" if of_gate else "linear")
    foreign = of_gate if chosen == "linear" else of_linear
    if foreign:
        other = METHODS[chosen == "linear"]
        raise InputError(
            f"{_option(foreign[0])} is an option of --method {other}; omit it, or use that method"
        )
    if method is None and of_gate:
        say(f"{_option(of_gate[0])} selects --method gate", err=True)
    return chosen


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def make_estimator(
    method: str, given: Mapping[str, Any], options: GraphOptions, seed: int = 0
) -> Estimator:
    """An estimator with the parameters that are given, and defaults for those that are None."""
    params = {name: value for name, value in given.items() if value is not None}
    common: dict[str, Any] = {"random_state": seed, "scale": not options.no_scale}
    if "dims" in params:
        params["dims"] = parse_dims(params["dims"])
    if "batch_size" in params:
        params["batch_size"] = parse_batch_size(params["batch_size"])
    from graphgate.estimators.loading import named_estimator

    return named_estimator(method, params | common)


def embedded_graph(
    method: str | None,
    dataset: str | None,
    model: Path | None,
    edges: Path | None,
    nodes: Path | None,
    options: GraphOptions,
) -> tuple[str, Graph, Estimator]:
    """Name, graph and fitted estimator; without a saved model, one is fitted."""
    if model is not None and method is not None:
        raise InputError("the saved model has its method; omit --method")
    gate = None if model is None else graphgate.load_model(model)
    name, graph = read_named_graph(dataset, edges, nodes, options, gate)
    if gate is not None:
        return name, graph, gate
    gate = make_estimator(chosen_method(method, {}), {}, options)
    if edges is None:
        from graphgate.estimators.registry import find_method, method_of

        assert dataset is not None
        row = find_method(method_of(gate).name)
        gate.set_params(**row.published_params(dataset, "transductive"))
    with naming_files(edges, nodes):
        prepared = gate.prepare(graph)
    check_memory(gate, prepared)
    return name, graph, gate.fit(prepared)
