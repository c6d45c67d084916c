"""The program `graphgate`: its commands register with `app`, and `main` answers mistakes."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer

from graphgate.errors import InputError, InputWarning

# The groups of commands in the list of the help, in the order in which a user meets them.
EMBEDDINGS, ANSWERS, PICTURES, PAPER = (
    "Embeddings",
    "Answers from an embedding",
    "Pictures",
    "The paper's results",
)

app = typer.Typer(
    name="graphgate",
    help="Node embeddings of attributed graphs by graph attention auto-encoders (GATE).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet",
)

_NO_MEMORY = "not enough memory for this graph; use smaller --dims or a larger machine"


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"graphgate {version('graphgate')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that stand before every command; the help of the program is given above."""


def main() -> None:
    """The command `graphgate`: what a user did wrong is one line and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = _show_note  # type: ignore[assignment]
            app()
    except InputError as error:
        sys.exit(_fail(str(error)))
    except MemoryError:
        sys.exit(_fail(_NO_MEMORY))
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # torch's words for it
            raise
        sys.exit(_fail(_NO_MEMORY))
    except SystemExit as stop:
        if stop.code == 130:
            typer.echo("interrupted", err=True)
        raise


def _show_note(message: Warning | str, *_: object) -> None:
    typer.echo(f"note: {message}", err=True)


def _fail(message: str) -> int:
    typer.echo(f"graphgate: {message}", err=True)
    return 2
