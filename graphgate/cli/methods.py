"""Which estimator a command is about, from the options that it was given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphgate
from graphgate.cli.console import say
from graphgate.cli.inputs import prepare, read_named_graph
from graphgate.cli.method_options import METHOD_OPTIONS
from graphgate.cli.options import GraphOptions
from graphgate.errors import InputError
from graphgate.estimators.registry import EMBEDDERS, find_method, method_of

if TYPE_CHECKING:
    from graphgate.estimators.loading import Estimator


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
