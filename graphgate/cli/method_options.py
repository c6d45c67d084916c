"""The options of methods: parameters of their estimators, and outputs that only one method has.

The table stands for the signatures of the estimators, which import torch; a test compares the two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import not_
from pathlib import Path
from typing import Annotated, Any

import typer

from graphgate.cli.conventions import Output
from graphgate.errors import InputError


@dataclass(frozen=True)
class MethodOption:
    """An option that only one method has.

    kind : the type of its value on the command line.
    parse : makes the value of the parameter of the value of the option.
    """

    method: str
    name: str
    kind: Any
    help: str
    parse: Callable[[Any], Any] = lambda value: value

    @property
    def parameter(self) -> str | None:
        """The parameter of the estimator that it sets; None for an output."""
        return _PARAMETERS.get(self.name, self.name)

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def annotation(self) -> Any:
        """Its type as Typer reads it; the value is None where the option is not given."""
        panel = f"Options of --method {self.method}"
        option = typer.Option(self.flag, help=self.help, rich_help_panel=panel)
        return Annotated[self.kind | None, option, *_MARKS.get(self.name, ())]


def _dims(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--dims takes integers such as 512,512, got {text!r}") from None


def _batch_size(text: str) -> int | str:
    if text in ("auto", "full"):
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--batch-size takes an integer, auto or full, got {text!r}") from None


_MARKS = {
    "scores": [Output("table")],
    "attention": [Output("table")],
    "checkpoint": [Output("model")],
}
# Options that are not named like their parameter.
_PARAMETERS = {
    "components": "n_components",
    "no_structure": "structure",
    "scores": None,
    "attention": None,
}
_OPTIONS = (
    MethodOption("linear", "components", int, "Size of the vectors; default: 128."),
    MethodOption(
        "linear",
        "no_structure",
        bool,
        "Ignore the position in the graph, so that the model can embed others.",
        not_,
    ),
    MethodOption(
        "linear",
        "scratch",
        Path,
        "New folder for intermediate results, from which the same run resumes.",
    ),
    MethodOption(
        "linear",
        "scores",
        Path,
        "Write the probability of each edge, one row per edge: .parquet or .csv.",
    ),
    MethodOption("gate", "attention", Path, "Write attention, one row per edge: .parquet or .csv."),
    MethodOption("gate", "dims", str, "Sizes of the layers, separated by commas.", _dims),
    MethodOption(
        "gate",
        "preset",
        str,
        "Published formulation: authors (reference implementation) or paper; default: our own, "
        "which takes seconds.",
    ),
    MethodOption(
        "gate",
        "structure_weight",
        float,
        "λ, weight of the structure loss relative to the feature loss.",
    ),
    MethodOption("gate", "activation", str, "Activation function of every layer."),
    MethodOption(
        "gate",
        "epochs",
        int,
        "Number of training epochs, at most; default: that of the preset.",
    ),
    MethodOption(
        "gate",
        "learning_rate",
        float,
        "Learning rate of Adam; default: that of the preset.",
    ),
    MethodOption(
        "gate",
        "patience",
        int,
        "Stop after this many epochs without improvement; default: that of the preset.",
    ),
    MethodOption(
        "gate",
        "batch_size",
        str,
        "Nodes in each part of the graph to train on, or full for the whole; default: auto, by the "
        "size of the graph.",
        _batch_size,
    ),
    MethodOption(
        "gate",
        "parts_per_step",
        int,
        "Parts in a step of training, shared by processes; default: one for each.",
    ),
    MethodOption(
        "gate",
        "checkpoint",
        Path,
        "Save the training state here and resume from it.",
    ),
    MethodOption("gate", "device", str, "Device to compute on: cpu or cuda."),
)
METHOD_OPTIONS = {option.name: option for option in _OPTIONS}
MethodOptions = Annotated[dict[str, Any], METHOD_OPTIONS]


def only_options(*names: str) -> dict[str, MethodOption]:
    """The options of these names, for a command that takes no others."""
    return {name: METHOD_OPTIONS[name] for name in names}
