"""The command line: parses arguments, calls the library, prints. Nothing else lives here.

The modules in import order:

    printing, program, options, graph_options, inputs, embed, estimate, answers, pictures, demo,
    experiments, datasets
"""

from graphgate.cli.program import app, main  # isort: split

from graphgate.cli import embed, estimate  # isort: split

from graphgate.cli import answers  # isort: split

from graphgate.cli import pictures  # isort: split

from graphgate.cli import demo, experiments  # isort: split

from graphgate.cli import datasets

__all__ = [
    "answers",
    "app",
    "datasets",
    "demo",
    "embed",
    "estimate",
    "experiments",
    "main",
    "pictures",
]
