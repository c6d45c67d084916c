"""How the files of a graph are read: the same options for every command that reads one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphgate.errors import InputError

if TYPE_CHECKING:
    from graphgate.estimators.gate import GATE
    from graphgate.graph.graph import Graph

_PANEL = "How tables are read"


def _option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class Reading:
    """What a user said of the tables; fields are the options, and arguments of `read_graph`."""

    directed: Annotated[
        bool,
        _option("--directed", help="An edge makes its target attend over its source."),
    ] = False
    source: Annotated[str, _option(help="Column of an edge's source.")] = "source"
    target: Annotated[str, _option(help="Column of an edge's target.")] = "target"
    weight: Annotated[
        str, _option(help="Column of an edge's weight, where there is one; '' ignores it.")
    ] = "weight"
    id: Annotated[str, _option("--id", help="Column of a node's id.")] = "id"
    label: Annotated[
        str, _option(help="Column of a node's label, where there is one; '' has none.")
    ] = "label"
    drop: Annotated[
        list[str] | None, _option(help="A column of the nodes to leave out; repeatable.")
    ] = None
    words: Annotated[
        list[str] | None, _option(help="A column of text to split into words; repeatable.")
    ] = None
    categories: Annotated[
        list[str] | None,
        _option(
            "--category", help="A column of categories, though they look like numbers; repeatable."
        ),
    ] = None
    unknown_nodes: Annotated[
        str,
        _option(
            help="Edges that name a node which the nodes lack: drop (the edge), add (the node, "
            "its attributes missing) or refuse."
        ),
    ] = "drop"
    no_scale: Annotated[
        bool, _option("--no-scale", help="Numbers as they are, not centred and scaled.")
    ] = False

    def read(self, edges: Path, nodes: Path | None, gate: GATE | None = None) -> Graph:
        """The graph; for a trained `gate`, with columns of the kinds that it has learned from."""
        from graphgate.io.graph_files import read_graph

        told = asdict(self)
        told |= {"weight": self.weight or None, "label": self.label or None}
        told |= {name: told[name] or () for name in ("drop", "words", "categories")}
        del told["no_scale"]
        if gate is not None and self.directed and not gate.fitted_on_.directed:
            raise InputError("the model was trained on undirected edges; leave out --directed")
        if gate is not None and self.no_scale:
            raise InputError("the model scales numbers as it has learned; leave out --no-scale")
        told["directed"] = gate.fitted_on_.directed if gate is not None else self.directed or None
        encoder = getattr(gate, "encoder_", None)
        if encoder is not None:
            told["kinds"] = {
                name: kind for name, kind in encoder.kinds.items() if name not in told["drop"]
            }
        return read_graph(edges, nodes, **told)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Reading:
        try:
            return cls(**told)
        except TypeError:
            raise InputError(
                f"the options of reading a graph must be {', '.join(cls.__annotations__)}"
            ) from None


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `Reading`, and hands them to it as `reading`."""
    own = inspect.signature(command, eval_str=True)
    options = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for option in inspect.signature(Reading, eval_str=True).parameters.values()
    ]

    @wraps(command)
    def wrapper(*args: Any, **given: Any) -> None:
        said = {option.name: given.pop(option.name) for option in options}
        command(*args, reading=Reading(**said), **given)

    # Typer reads both, and knows nothing of `Reading`.
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    wrapper.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in [*kept, *options]}
    return wrapper
