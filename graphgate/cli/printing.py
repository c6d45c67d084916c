"""What commands print: tables, one-line notes, and the result as JSON."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphgate.errors import InputWarning, TrainingWarning

if TYPE_CHECKING:
    from graphgate.graph.graph import Graph


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row))  # a name in square brackets is not markup
    # Without a terminal there is no width to fit into.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)


def print_graph(graph: Graph) -> None:
    """Summarize a graph on standard error, including how many nodes have no edges."""
    isolated = int((graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1) == 0).sum())
    nodes = "node has" if isolated == 1 else "nodes have"
    typer.echo(repr(graph) + (f"; {isolated:,} {nodes} no edges" if isolated else ""), err=True)


def write_result(path: Path | None, content: dict[str, Any]) -> None:
    """Write a result as JSON, with the command and the versions that produced it."""
    if path is None:
        return
    from graphgate.io.files import write_json
    from graphgate.io.provenance import versions

    write_json(path, content | {"command": command_line(), "versions": versions()})
    typer.echo(f"wrote {path}")


def command_line() -> str:
    return " ".join(["graphgate", *sys.argv[1:]])


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings and log messages as one line each."""
    logger, handler = logging.getLogger("graphgate"), _NoteHandler()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.simplefilter("always", TrainingWarning)
            warnings.showwarning = lambda message, *_, **__: _print_note(message)
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _print_note(record.getMessage())


def _print_note(message: object) -> None:
    typer.echo(f"note: {message}", err=True)
