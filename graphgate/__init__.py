"""Graph attention auto-encoders: from an attributed graph to embeddings, without labels.

The modules in the order in which a graph passes through them; each imports only those before it:

    errors, versions, progress, files   what every room uses
    intake, edges, locality, graph      what a user hands in -> Graph, checked once
    sources                             files and tables -> Graph
    sparse, features                    products with fixed patterns and with X
    attention, model, losses            the method as the paper writes it
    collapsed, step, objective          the same, exact and fast
    arguments, presets                  settings, checked; the paper's and its authors'
    tensor_file, model_file             weights in files
    optimizers, training                the loop
    embedder                            GATE: what users hold
    capacity                            memory and time of a run, before it
    outputs                             embeddings, attention, reconstructions, runs -> files
    baselines                           the methods that the paper compares it with
    evaluation                          probe, settings, runs and seeds
    answers                             similar nodes, clusters, classes, links
    experiments                         the paper's tables as data, and the runner that resumes
    figures, explorer                   pictures, and a page to look around in
    demo, cli                           the main job, the command line
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgate.embedder import GATE, Attention
    from graphgate.errors import DivergenceError, InputError
    from graphgate.graph import Graph
    from graphgate.outputs.embedding import read_embedding, write_embedding
    from graphgate.sources.citation import load_dataset
    from graphgate.sources.tables import read_graph
    from graphgate.training import History

# Names are looked up when they are first used, so that `import graphgate` costs nothing.
_HOMES = {
    "GATE": "embedder",
    "Attention": "embedder",
    "DivergenceError": "errors",
    "Graph": "graph",
    "History": "training",
    "InputError": "errors",
    "load_dataset": "sources.citation",
    "read_embedding": "outputs.embedding",
    "read_graph": "sources.tables",
    "write_embedding": "outputs.embedding",
}

__all__ = [
    "GATE",
    "Attention",
    "DivergenceError",
    "Graph",
    "History",
    "InputError",
    "load_dataset",
    "read_embedding",
    "read_graph",
    "write_embedding",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("graphgate")
    if name not in _HOMES:
        raise AttributeError(f"module 'graphgate' has no attribute {name!r}")
    return getattr(import_module(f"graphgate.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
