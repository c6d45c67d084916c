"""What all commands have in common: `--quiet`, JSON on standard output, and how help looks.

An option that takes one value is refused if it is given twice: the last one would win silently.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from graphgate.cli.console import STDOUT, printing
from graphgate.errors import InputError

EXIT_CODES = (
    "Exit codes: 0 success, 1 not reproduced (embed --repeat only), 2 invalid input or usage, "
    "130 interrupted, 143 terminated."
)
QUIET = inspect.Parameter(
    "quiet",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors, and JSON if requested.")
    ],
)

_REMEDIES = {  # other than to give an option once
    "--nodes": "put all nodes into one table, with empty cells where a column does not apply",
}


def add_conventions(app: typer.Typer) -> None:
    """Once all commands are registered."""
    app.info.epilog = f"{app.info.epilog}\n\n{EXIT_CODES}"
    for group in groups(app):
        group.info.cls = _Group
    for command in commands(app):
        command.cls = _Command
        command.callback = _quietly(command.callback)
        command.epilog = f"{command.epilog}\n\n{EXIT_CODES}"


def commands(app: typer.Typer) -> Iterator[Any]:
    """Of the program and of its groups."""
    for group in groups(app):
        yield from group.registered_commands


def groups(app: typer.Typer) -> Iterator[typer.Typer]:
    """The program itself and its groups of commands."""
    yield app
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from groups(group.typer_instance)


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


def _quietly(command: Callable[..., None] | None) -> Callable[..., None]:
    """The command with the option `--quiet`; with `--json -`, only JSON is on standard output."""
    assert command is not None
    own = inspect.signature(command, eval_str=True)

    @wraps(command)
    def wrapper(*args: Any, quiet: bool, **given: Any) -> None:
        logger = logging.getLogger("graphgate")
        level = logger.level
        if quiet:
            logger.setLevel(logging.ERROR)
        try:
            with printing(quiet=quiet, elsewhere=given.get("json") == STDOUT):
                command(*args, **given)
        finally:
            logger.setLevel(level)

    parameters = [*own.parameters.values(), QUIET]
    wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapper
