"""Graph attention auto-encoders: from an attributed graph to embeddings, without labels.

The modules in the order in which a graph passes through them; each imports only those before it:

    errors, versions, progress, files, fields   what every room uses
    intake, edges, locality             what a user hands in, checked once
    attributes, rules, encoding         what is known of the nodes -> features
    structure, graph                    features and edges -> Graph
    sources                             files and tables -> Graph
    sparse, features                    products with fixed patterns and with X
    attention, model, losses            the method as the paper writes it
    collapsed, step, objective          the same, exact and fast
    arguments, presets                  settings, checked; the paper's and its authors'
    tensor_file, model_file             weights in files
    optimizers, training                the loop
    embedder                            GATE: what users hold
    baselines                           the methods that the paper compares it with
    evaluation                          probe, settings, runs and seeds
    experiments                         the paper's tables as data, and the runner that resumes
    figures, explorer                   pictures, and a page to look around in
    demo, cli                           the main job, the command line
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgate.attributes import Attributes
    from graphgate.embedder import GATE, Attention
    from graphgate.encoding import Encoding
    from graphgate.errors import DivergenceError, InputError, InputWarning
    from graphgate.graph import Graph
    from graphgate.sources.citation import load_dataset
    from graphgate.sources.frames import frames_from_graph
    from graphgate.sources.tables import graph_from_frames, read_graph, write_embedding
    from graphgate.training import History

# Names are looked up when they are first used, so that `import graphgate` costs nothing.
_HOMES = {
    "GATE": "embedder",
    "Attention": "embedder",
    "Attributes": "attributes",
    "DivergenceError": "errors",
    "Encoding": "encoding",
    "Graph": "graph",
    "History": "training",
    "InputError": "errors",
    "InputWarning": "errors",
    "frames_from_graph": "sources.frames",
    "graph_from_frames": "sources.tables",
    "load_dataset": "sources.citation",
    "read_graph": "sources.tables",
    "write_embedding": "sources.tables",
}

__all__ = [
    "GATE",
    "Attention",
    "Attributes",
    "DivergenceError",
    "Encoding",
    "Graph",
    "History",
    "InputError",
    "InputWarning",
    "frames_from_graph",
    "graph_from_frames",
    "load_dataset",
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
