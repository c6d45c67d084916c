"""The program `graphgate`: commands register with `app`, `main` reports errors.

Commands report with the other functions: a summary of a graph, and results as JSON.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphgate
from graphgate.cli.console import STDOUT, answer, check_delivered, lose, prepare_streams, say
from graphgate.errors import InputError, InputWarning, TrainingWarning, printable

if TYPE_CHECKING:
    from graphgate.graph.graph import Graph

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
    code = 0
    try:
        shared = int(os.environ.get("WORLD_SIZE", "1")) > 1
        if shared and sys.argv[1:2] != ["embed"]:
            raise InputError("only `graphgate embed` is shared by processes; omit torchrun")
        # A process that waits for another one would not notice the signal.
        ending = nullcontext() if shared else _clean_termination()
        with ending, _printing(leads()), warnings_as_notes():
            code = app(standalone_mode=False) or 0
        check_delivered()
    except InputError as error:
        _fail(str(error))
    except _UsageError as error:
        if error.format_message():  # else the help was printed
            command = "graphgate" if error.ctx is None else error.ctx.command_path
            _fail(f"{error.format_message().rstrip('.')}; see `{command} --help`")
        code = 2
    except (MemoryError, RuntimeError) as error:
        # On CPUs, torch has no type for it.
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        _fail(_NO_MEMORY)
    except OSError as error:
        if error.filename is None:  # help is not printed by `say`
            lose(sys.stdout, error)
        where = "the output" if error.filename is None else error.filename
        _fail(f"{where} cannot be read or written: {error.strerror or error}")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    if code in (_INTERRUPTED, _TERMINATED):
        say("interrupted" if code == _INTERRUPTED else "terminated", err=True)
    sys.exit(code)


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


@contextmanager
def _printing(shown: bool) -> Iterator[None]:
    """Print, or not."""
    if shown:
        yield
        return
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        yield


def _fail(message: str) -> None:
    # What is wrong is the same for all processes, unless it is on another machine.
    if os.environ.get("LOCAL_RANK", "0") == "0":
        where = "" if leads() else f" (process {os.environ['RANK']})"
        say(printable(f"graphgate{where}: {message}"), err=True)
    if not leads():
        time.sleep(_GRACE)
    sys.exit(2)


def print_graph(graph: Graph) -> None:
    """Summarize a graph on standard error, including how many nodes have no edges."""
    isolated = int((graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1) == 0).sum())
    nodes = "node has" if isolated == 1 else "nodes have"
    say(repr(graph) + (f"; {isolated:,} {nodes} no edges" if isolated else ""), err=True)


def write_result(path: Path | None, *parts: Mapping[str, Any]) -> None:
    """Write the parts of a result as JSON, with the command and the versions that produced it."""
    if path is not None:
        from graphgate.io.provenance import versions

        own = {"command": command_line(), "versions": versions()}
        write_content(path, disjoint(*parts, own))


def write_content(path: Path | None, content: Any) -> None:
    """Write JSON to a file, or to standard output."""
    if path is not None:
        from graphgate.io.files import json_text, write_json

        if path == STDOUT:
            answer(json_text(content))
            return
        write_json(path, content)
        say(f"wrote {path}")


def disjoint(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """All parts as one mapping; a name in two of them is a mistake in the command."""
    content: dict[str, Any] = {}
    for part in parts:
        if twice := content.keys() & part.keys():
            raise KeyError(f"two values of the result are named {min(twice)!r}")
        content.update(part)
    return content


def command_line() -> str:
    return " ".join(["graphgate", *sys.argv[1:]])


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
