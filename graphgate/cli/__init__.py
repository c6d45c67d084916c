"""The command line: parses arguments, calls the library, prints. Nothing else lives here.

The modules in import order:

    console, program, options, inputs, methods, outputs, embed, transform, store, serve, onnx,
    estimate, answers, links, outliers, pictures, datasets, conventions
"""

from graphgate.cli.conventions import add_conventions
from graphgate.cli.program import app, main

# The help lists commands in the order in which they register.
# isort: off
from graphgate.cli import embed, transform, store, onnx, estimate, answers, links, outliers
from graphgate.cli import serve, pictures, datasets

add_conventions(app)

__all__ = [
    "answers",
    "app",
    "datasets",
    "embed",
    "estimate",
    "links",
    "main",
    "onnx",
    "outliers",
    "pictures",
    "serve",
    "store",
    "transform",
]
