"""The command line: reads what was asked, calls the library, prints. Nothing else lives here.

The modules in import order:

    program, options, printing, reading, demo, datasets, given, demonstration, answers,
    embedding, estimates, evaluation, pictures
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
