"""What a user gave, read: sizes, settings, paths, and the graph that a command is about."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from graphgate.cli.printing import notes, summary
from graphgate.cli.reading import Reading
from graphgate.errors import InputError, MemoryLimitError

if TYPE_CHECKING:
    from graphgate.estimators.gate import GATE
    from graphgate.graph.graph import Graph


def distinct(*paths: Path | None) -> None:
    """Refuse to write over what is read, or one output over another."""
    seen: dict[Path, Path] = {}
    for path in paths:
        if path is not None and seen.setdefault(path.resolve(), path) is not path:
            raise InputError(f"{path} is named twice; give every input and output its own file")


def layer_sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--dims takes whole numbers such as 512,512, got {text!r}") from None


def settings_of(given: list[str]) -> dict[str, object]:
    """NAME=VALUE as TOML reads the value; a word needs no quotes, a list no brackets."""
    import tomllib

    found: dict[str, object] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (sign and name):
            raise InputError(f"--set takes NAME=VALUE, got {text!r}")
        found[name] = value
        for written in (f"[{value}]" if "," in value else value, value):
            with suppress(tomllib.TOMLDecodeError):
                found[name] = tomllib.loads(f"value = {written}")["value"]
    return found


def find_own(methods: list[str]) -> None:
    """A method of the user's own, module:Class, is looked for in the current folder too."""
    if any(":" in name for name in methods) and "" not in sys.path:
        sys.path.insert(0, "")


def named_graph(
    dataset: str | None,
    edges: Path | None,
    nodes: Path | None,
    reading: Reading,
    gate: GATE | None = None,
) -> tuple[str, Graph]:
    """Name and graph: the user's own where its edges are given, else a citation graph."""
    if edges is not None:
        graph = reading.read(edges, nodes, gate)
        typer.echo(summary(graph), err=True)
        return edges.name.partition(".")[0] or edges.name, graph
    if nodes is not None:
        raise InputError(f"there are nodes ({nodes}) but no edges; name the edges too: EDGES")
    from graphgate.datasets.citation import load_dataset

    assert dataset is not None
    return dataset, load_dataset(dataset).graph


def written_dims(dims: tuple[int, ...]) -> str:
    return ",".join(map(str, dims))


def check_memory(prepared: Graph, gate: GATE) -> None:
    """Refuse a graph, as `GATE.prepare` returns it, that does not fit into memory."""
    from graphgate.estimators.estimate import check_fits, format_bytes

    try:
        check_fits(prepared, gate)
    except MemoryLimitError as error:
        dims = error.fitting_dims
        instead = "no --dims would" if dims is None else f"--dims {written_dims(dims)} would"
        raise InputError(
            f"this run needs about {format_bytes(error.needed)} of memory, but "
            f"{format_bytes(error.available)} is available; {instead} fit (`graphgate embed "
            "--force` runs it anyway)"
        ) from None


@contextmanager
def naming_files(edges: Path | None, nodes: Path | None) -> Iterator[None]:
    """Errors about nodes or edges name the file that these come from."""
    try:
        yield
    except InputError as error:
        file = {"nodes": nodes or edges, "edges": edges}.get(error.about or "")
        if file is None:
            raise
        raise InputError(f"{file}: {error}") from None


def embedded_graph(
    dataset: str, model: Path | None, edges: Path | None, nodes: Path | None, reading: Reading
) -> tuple[str, Graph, GATE]:
    """Name, graph and model of what is to be shown; where no model is given, one is trained."""
    from graphgate.estimators.gate import GATE

    gate = None if model is None else GATE.load(model)
    name, graph = named_graph(dataset, edges, nodes, reading, gate)
    if gate is None:
        gate = GATE(random_state=0, scale=not reading.no_scale)
        if edges is None:
            from graphgate.experiments.experiment import find_experiment

            experiment = find_experiment("gate", dataset, "transductive")
            assert experiment is not None
            gate.set_params(**experiment.params)
        with naming_files(edges, nodes):
            prepared = gate.prepare(graph)
        check_memory(prepared, gate)
        with notes():
            gate.fit(prepared)
    return name, graph, gate
