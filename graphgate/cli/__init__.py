"""The command line: reads what was asked, calls the library, prints. Nothing else lives here.

Heavy imports wait until a command runs, so that help and mistakes are answered at once. The modules
of commands register them when they are imported, and the help lists them in that order.
"""

from graphgate.cli.program import app, main  # isort: split

from graphgate.cli import embedding, estimates  # isort: split

from graphgate.cli import answers  # isort: split

from graphgate.cli import pictures  # isort: split

from graphgate.cli import demonstration, evaluation  # isort: split

from graphgate.cli import datasets

__all__ = [
    "answers",
    "app",
    "datasets",
    "demonstration",
    "embedding",
    "estimates",
    "evaluation",
    "main",
    "pictures",
]
