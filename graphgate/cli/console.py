"""What commands print, whatever becomes of standard output and standard error.

A reader that has seen enough (`… | head`) is no error, and what is written to files does not depend
on it. Output that is lost otherwise, as on a full disk, is reported at the end.
"""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from graphgate.errors import InputError, printable

STDOUT = Path("-")  # in place of a file for JSON
_WIDEST_CELL = 200
_answers: list[TextIO] = []  # standard output, while all but answers is printed elsewhere
_lost: list[str] = []  # why standard output could not be written


def prepare_streams() -> None:
    """Let every character be printed, and let no file take the place of a closed stream."""
    _lost.clear()
    with suppress(OSError):
        while (number := os.open(os.devnull, os.O_RDWR)) < 3:
            pass
        os.close(number)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, err: bool = False) -> None:
    """Print lines; a node id or a column name among them cannot control the terminal."""
    _emit("\n".join(map(printable, text.split("\n"))) + "\n", err=err)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*heads, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(printable(cell, _WIDEST_CELL) for cell in row))
    # Without a terminal there is no width to fit into. A name in square brackets is not markup.
    width = None if sys.stdout is not None and sys.stdout.isatty() else 200
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(table)
    _emit(captured.get())


@contextmanager
def printing(*, quiet: bool, elsewhere: bool) -> Iterator[None]:
    """Print nothing, or all but answers on standard error, so that these can be piped."""
    if not quiet and not elsewhere:
        yield
        return
    _answers.append(sys.stdout)
    try:
        if not quiet:
            with redirect_stdout(sys.stderr):
                yield
            return
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            yield
    finally:
        _answers.pop()


def answer(text: str) -> None:
    """Print an answer on standard output, whatever else is not printed there."""
    with redirect_stdout(_answers[-1] if _answers else sys.stdout):
        _emit(text)


def check_delivered() -> None:
    """Raise `InputError` if part of standard output was lost."""
    if _lost:
        raise InputError(f"standard output cannot be written: {_lost[0]}; redirect it elsewhere")


def lose(stream: TextIO, error: OSError) -> None:
    """From now on, what is printed to a stream that cannot be written goes nowhere."""
    if stream is sys.stdout and not isinstance(error, BrokenPipeError):
        _lost.append(error.strerror or str(error))
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _emit(text: str, *, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed before the program started
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        lose(stream, error)
