"""The command line: parses arguments, calls the library, prints. Nothing else lives here.

The modules in import order:

    console, program, conventions, options, method_options, outputs, inputs, embed, inspect,
    transform, store, onnx, estimate, similar, cluster, classify, links, predict_links, recommend,
    outliers, serve, explore, data
"""

from graphgate.cli.conventions import add_conventions
from graphgate.cli.program import app, main

# The help lists commands in the order in which they register.
# isort: off
from graphgate.cli import embed, inspect, transform, store, onnx, estimate, similar, cluster
from graphgate.cli import classify, links, predict_links, recommend, outliers, serve, explore, data

add_conventions(app)

__all__ = [
    "app",
    "classify",
    "cluster",
    "data",
    "embed",
    "estimate",
    "explore",
    "inspect",
    "links",
    "main",
    "onnx",
    "outliers",
    "predict_links",
    "recommend",
    "serve",
    "similar",
    "store",
    "transform",
]
