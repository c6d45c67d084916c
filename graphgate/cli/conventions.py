"""What all commands have in common: `--quiet`, JSON on standard output, and how help looks.

Commands that write tables or vectors have `--spreadsheet-safe` too.

Before a command runs, its outputs are checked: they can be written, and none is an input.

A parameter of a command may stand for several options: one that is annotated with a dataclass for
the fields of the class, `Annotated[dict[str, Any], table]` for the options in a table by name.

An option that takes one value is refused if it is given twice: the last one would win silently.
"""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import is_dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

import graphgate
from graphgate.cli.console import STDOUT, printing
from graphgate.errors import InputError

EXIT_CODES = (
    "Exit codes: 0 success, 1 not reproduced (embed --repeat only), 2 invalid input or usage, "
    "130 interrupted, 143 terminated."
)
_Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only errors, and JSON if requested.")
]
_SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put an apostrophe before CSV text that a spreadsheet would run as a formula.",
    ),
]
_TABULAR = {"embedding", "reconstruction", "table"}  # kinds of output that may be CSV
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_REMEDIES = {  # other than to give an option once
    "--nodes": "put all nodes into one table, with empty cells where a column does not apply",
}


def add_conventions(app: typer.Typer) -> None:
    """Apply the conventions to all commands, once they are registered."""
    app.info.epilog = f"{app.info.epilog}\n\n{EXIT_CODES}"
    for group in groups(app):
        group.info.cls = _Group
    for command in commands(app):
        assert command.callback is not None
        command.cls = _Command
        command.callback = _with_options(command.callback)
        command.epilog = f"{command.epilog}\n\n{EXIT_CODES}"


def commands(app: typer.Typer) -> Iterator[Any]:
    """The commands of the program and of its groups."""
    for group in groups(app):
        yield from group.registered_commands


def groups(app: typer.Typer) -> Iterator[typer.Typer]:
    """The program itself and its groups of commands."""
    yield app
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from groups(group.typer_instance)


class Output(NamedTuple):
    """Marks an option that names a file to write, of a kind that decides on its endings.

    kind : "run" and "store" are new folders.
    """

    kind: str


SHARED = "an input that may also be given by another option"


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        _refuse_repeated(given)
        return super().parse_args(ctx, args)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))


def _refuse_repeated(given: Iterable[Any]) -> None:
    """given : the parameters in the order of the command line; a flag may be repeated."""
    for option, times in Counter(given).items():
        flag = getattr(option, "is_flag", False) and not option.secondary_opts
        if times > 1 and not (flag or option.multiple):
            name = max(option.opts, key=len)
            remedy = _REMEDIES.get(name, "give it once")
            raise InputError(f"{name} is given {times} times, but takes one value; {remedy}")


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """In the help, a flag takes no value, so it has no type."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a parameter per option, its own and the common ones, as Typer reads them."""
    signature = inspect.signature(command, eval_str=True)
    bundles: dict[str, _Bundle] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        bundle = _bundle(parameter.annotation)
        if bundle is not None:
            bundles[name] = bundle
        options += [parameter] if bundle is None else bundle.options
    marks = {option.name: getattr(option.annotation, "__metadata__", ()) for option in options}
    common: dict[str, Any] = {"quiet": _Quiet}
    if any(getattr(mark, "kind", None) in _TABULAR for mark in chain(*marks.values())):
        common["spreadsheet_safe"] = _SpreadsheetSafe
    options += [
        inspect.Parameter(name, _KEYWORD, default=False, annotation=kind)
        for name, kind in common.items()
    ]

    @wraps(command)
    def wrapper(*, quiet: bool, spreadsheet_safe: bool = False, **given: Any) -> None:
        _check_files({name: path for name, path in given.items() if isinstance(path, Path)}, marks)
        for name, (make, bundled) in bundles.items():
            given[name] = make(**{option.name: given.pop(option.name) for option in bundled})
        # With `--json -`, only JSON is on standard output.
        text = graphgate.spreadsheet_safe() if spreadsheet_safe else nullcontext()
        with printing(quiet=quiet, elsewhere=given.get("json") == STDOUT), text:
            command(**given)

    keywords = [option.replace(kind=_KEYWORD) for option in options]
    wrapper.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {option.name: option.annotation for option in options}
    return wrapper


def _check_files(paths: Mapping[str, Path], marks: Mapping[str, tuple[Any, ...]]) -> None:
    """Before any work: outputs can be written, and none is an input or another output.

    paths : the files and folders that are given, by the names of their options.
    marks : what options are annotated with.
    """
    kinds = {name: mark.kind for name in paths for mark in marks[name] if isinstance(mark, Output)}
    if paths.get("json") == STDOUT:
        paths = {name: path for name, path in paths.items() if name != "json"}
    seen: dict[str, Path] = {}
    for name in sorted(paths, key=lambda name: name in kinds):
        same = seen.setdefault(os.path.realpath(paths[name]), paths[name])
        if same is not paths[name] and SHARED not in marks[name]:
            raise InputError(
                f"{paths[name]} is given twice; use a different file for each input and output"
            )
    for name in paths.keys() & kinds.keys():
        _check_output(paths[name], kinds[name])


def _check_output(path: Path, kind: str) -> None:
    from graphgate.io.embeddings import EMBEDDING_ENDINGS
    from graphgate.io.files import check_new_folder, check_output_path
    from graphgate.io.model_outputs import RECONSTRUCTION_ENDINGS
    from graphgate.io.table_files import TABLE_ENDINGS

    endings = {
        "embedding": EMBEDDING_ENDINGS,
        "table": TABLE_ENDINGS,
        "reconstruction": RECONSTRUCTION_ENDINGS,
        "model": (".safetensors",),
        "page": (".html",),
        "json": (".json",),
        "onnx": (".onnx",),
    }
    if kind in endings:
        check_output_path(path, endings[kind])
    else:
        check_new_folder(path)


class _Bundle(NamedTuple):
    """The options that a parameter of a command stands for, and what makes its value of theirs."""

    make: Callable[..., Any]
    options: list[inspect.Parameter]


def _bundle(annotation: Any) -> _Bundle | None:
    """The bundle that a parameter of this type is; None if it is a single option."""
    if isinstance(annotation, type) and is_dataclass(annotation):
        fields = inspect.signature(annotation, eval_str=True).parameters.values()
        return _Bundle(annotation, list(fields))
    for table in getattr(annotation, "__metadata__", ()):
        if isinstance(table, dict):
            options = [
                inspect.Parameter(name, _KEYWORD, default=None, annotation=option.annotation)
                for name, option in table.items()
            ]
            return _Bundle(dict, options)
    return None
