"""How commands print: tables, and warnings of the library as plain lines."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
        table.add_row(*map(Text, row))  # a name in square brackets is no markup
    # Where nobody's terminal sets a width, lines are as long as they need to be.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)


def summary(graph: Graph) -> str:
    """What was read, and how many nodes no edge names."""
    alone = int((graph.adjacency.sum(axis=0) + graph.adjacency.sum(axis=1) == 0).sum())
    nodes = "node has" if alone == 1 else "nodes have"
    return repr(graph) + (f"; {alone:,} {nodes} no edge" if alone else "")


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(f"note: {record.getMessage()}", err=True)


@contextmanager
def notes() -> Iterator[None]:
    """Print the library's warnings and log messages as plain lines."""
    logger, handler = logging.getLogger("graphgate"), _Notes()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    for warning in caught:
        if issubclass(warning.category, (InputWarning, TrainingWarning)):
            typer.echo(f"note: {warning.message}", err=True)
