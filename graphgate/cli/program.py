"""The program `graphgate`: commands register with `app`, and `main` reports errors."""

import sys
from typing import Annotated

import typer

from graphgate.cli.printing import warnings_as_notes
from graphgate.errors import InputError

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
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Example: graphgate embed edges.csv --nodes nodes.csv --out embedding.parquet",
)

_NO_MEMORY = "not enough memory for this graph; use smaller --dims or a machine with more memory"


def _version(requested: bool) -> None:
    if requested:
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
    """Options of the program itself; its help text is given above."""


def main() -> None:
    """Run a command; a user error is one line and exit code 2."""
    try:
        with warnings_as_notes():
            app()
    except InputError as error:
        sys.exit(_fail(str(error)))
    except MemoryError:
        sys.exit(_fail(_NO_MEMORY))
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # torch has no type for it on CPUs
            raise
        sys.exit(_fail(_NO_MEMORY))
    except SystemExit as stop:
        if stop.code == 130:
            typer.echo("interrupted", err=True)
        raise


def _fail(message: str) -> int:
    typer.echo(f"graphgate: {message}", err=True)
    return 2
