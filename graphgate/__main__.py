"""The program: the commands of the library and those of the paper."""

from graphgate.cli import app, main
from graphgate.paper.commands import paper

app.add_typer(paper)

__all__ = ["app", "main"]

if __name__ == "__main__":
    main()
