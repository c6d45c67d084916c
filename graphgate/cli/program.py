"""The program `graphgate`: commands register with `app`, `main` reports errors."""

import logging
import os
import shlex
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Annotated, Any

import typer

import graphgate
from graphgate.cli.console import check_delivered, lose, prepare_streams, printing, say
from graphgate.errors import InputError, InputWarning, TrainingWarning, UnclearRolesError, printable

# The command groups of the help, in the order in which a user meets them.
EMBEDDINGS, ANSWERS, PICTURES, PAPER = (
    "Embeddings",
    "Using an embedding",
    "Figures",
    "The paper's results",
)

app = typer.Typer(
    name="graphgate",
    help="Node embeddings of attributed graphs by graph attention auto-encoders (GATE).",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # joins the lines of a paragraph
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet",
)

_GRACE = 2.0  # seconds for the first process to say what is wrong before torchrun ends all
_NO_MEMORY = "not enough memory for this graph; use smaller --dims or a machine with more memory"
_UsageError: Any = typer.BadParameter.__base__  # typer has no name for it
_INTERRUPTED, _TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes, as in shells


def _version(requested: bool) -> None:
    if requested:
        say(f"graphgate {graphgate.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of the program itself; its help text is given above."""


def leads() -> bool:
    """Whether this process prints and writes: the only one, or the first that `torchrun` starts."""
    return os.environ.get("RANK", "0") == "0"


def main() -> None:
    """Run a command; a user error is one line and exit code 2."""
    prepare_streams()
    try:
        code = _run()
        check_delivered()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        code = 2
        if message:
            _fail(message)
    if code in (_INTERRUPTED, _TERMINATED):
        say("interrupted" if code == _INTERRUPTED else "terminated", err=True)
    sys.exit(code)


def _run() -> int:
    """Run the command that the arguments name, and return its exit code."""
    shared = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if shared and sys.argv[1:2] != ["embed"]:
        raise InputError("only `graphgate embed` is shared by processes; omit torchrun")
    # A process that waits for another one would not notice the signal.
    ending = nullcontext() if shared else _clean_termination()
    with ending, printing(quiet=not leads(), elsewhere=False), warnings_as_notes():
        return app(standalone_mode=False) or 0


def _message(error: Exception) -> str | None:
    """What a user did wrong, empty if it was printed; None for a bug in the program."""
    if isinstance(error, UnclearRolesError):
        given = [part for name, column in error.roles.items() for part in (f"--{name}", column)]
        return f"{error}: {shlex.join(['graphgate', *sys.argv[1:], *given])}"
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, _UsageError):
        usage: Any = error
        if not usage.format_message():  # the help was printed
            return ""
        command = "graphgate" if usage.ctx is None else usage.ctx.command_path
        return f"{usage.format_message().rstrip('.')}; see `{command} --help`"
    # On CPUs, torch has no type for it.
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "allocate memory" in str(error)
    ):
        return _NO_MEMORY
    if isinstance(error, OSError):
        if error.filename is None:  # help is not printed by `say`
            lose(sys.stdout, error)
        where = "the output" if error.filename is None else error.filename
        return f"{where} cannot be read or written: {error.strerror or error}"
    return None


@contextmanager
def _clean_termination() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does: nothing half-written is left."""
    before = signal.getsignal(signal.SIGTERM)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fail(message: str) -> None:
    # What is wrong is the same for all processes, unless it is on another machine.
    if os.environ.get("LOCAL_RANK", "0") == "0":
        where = "" if leads() else f" (process {os.environ['RANK']})"
        say(printable(f"graphgate{where}: {message}"), err=True)
    if not leads():
        time.sleep(_GRACE)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(printable(f"note: {record.getMessage()}"), err=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings and log messages as one line each."""
    logger, handler = logging.getLogger("graphgate"), _Notes()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.simplefilter("always", TrainingWarning)
            warnings.showwarning = lambda message, *_, **__: logger.warning("%s", message)
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
