"""Graph attention auto-encoders: from an attributed graph to embeddings, without labels.

The package in import order; an entry imports only what comes before it, and so does a module
within its sub-package, whose docstring lists the modules in order:

    errors         exceptions and warnings
    graph          the immutable attributed graph, validated when it is made
    io             files and other libraries <-> graphs, embeddings, tensors
    datasets       the citation graphs and their splits
    preprocessing  attributes or edges -> features
    compute        the machine, its processes, matrices with one row per node
    nn             the operators and equations of the paper
    training       the plan of a run, its objective and the loop
    linear         the linear auto-encoder, solved
    estimators     LinearGATE and GATE, what users hold
    store          a graph that grows, with its vectors and their neighbors
    service        a store over HTTP
    tasks          embed, and uses of an embedding: clusters, classes, links
    scverse        AnnData in and out, domains of a tissue
    visualization  figures and the interactive page
    cli            the command line
    paper          baselines, tables and figures of the paper, and their commands
"""

from importlib import import_module
from typing import Any

# The home of every public name, which is imported when the name is first used, so that
# `import graphgate` costs nothing. A line of the stub reads `from home import name as name`.
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
    _HOMES = {words[3]: words[1] for line in stub if (words := line.split())[:1] == ["from"]}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("graphgate")
    if name not in _HOMES:
        raise AttributeError(f"module 'graphgate' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
