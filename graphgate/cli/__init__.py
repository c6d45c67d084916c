"""The command line: parses arguments, calls the library, prints. Nothing else lives here.

The modules in import order:

    console, program, options, inputs, methods, outputs, embed, store, serve, estimate,
    answers, links, pictures, experiments, datasets
"""

from graphgate.cli.program import app, main

# The help lists commands in the order in which they register.
# isort: off
from graphgate.cli import embed, store, estimate, answers, links, serve, pictures, experiments
from graphgate.cli import datasets

__all__ = [
    "answers",
    "app",
    "datasets",
    "embed",
    "estimate",
    "experiments",
    "links",
    "main",
    "pictures",
    "serve",
    "store",
]
