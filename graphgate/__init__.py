"""Graph attention auto-encoders: from an attributed graph to embeddings, without labels.

The modules in the order in which a graph passes through them; each imports only those before it:

    errors, versions, progress, files, fields   what every room uses
    intake, edges, locality             what a user hands in, checked once
    attributes, rules, encoding         what is known of the nodes -> features
    structure, graph                    features and edges -> Graph
    exchange                            NetworkX, PyTorch Geometric <-> Graph
    sources                             files and tables -> Graph
    sparse, features                    products with fixed patterns and with X
    attention, model, losses            the method as the paper writes it
    collapsed, step, objective          the same, exact and fast
    arguments, presets                  settings, checked; the paper's and its authors'
    tensor_file, model_file             weights in files
    optimizers, training                the loop
    embedder                            GATE: what users hold
    clustering                          groups of nodes by their vectors
    omics                               GATE on an AnnData
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
    from graphgate.attributes import Attributes
    from graphgate.embedder import GATE, Attention
    from graphgate.encoding import Encoding
    from graphgate.errors import DivergenceError, InputError, InputWarning
    from graphgate.exchange.with_networkx import graph_from_networkx, to_networkx
    from graphgate.exchange.with_pyg import graph_from_pyg, to_pyg
    from graphgate.graph import Graph
    from graphgate.omics.domains import cluster_domains
    from graphgate.omics.embedding import embed_anndata, transform_anndata
    from graphgate.omics.graphs import graph_from_anndata, to_anndata
    from graphgate.outputs.embedding import read_embedding, write_embedding
    from graphgate.sources.citation import load_dataset
    from graphgate.sources.frames import frames_from_graph
    from graphgate.sources.tables import graph_from_frames, read_graph
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
    "cluster_domains": "omics.domains",
    "embed_anndata": "omics.embedding",
    "frames_from_graph": "sources.frames",
    "graph_from_anndata": "omics.graphs",
    "graph_from_frames": "sources.tables",
    "graph_from_networkx": "exchange.with_networkx",
    "graph_from_pyg": "exchange.with_pyg",
    "load_dataset": "sources.citation",
    "read_embedding": "outputs.embedding",
    "read_graph": "sources.tables",
    "to_anndata": "omics.graphs",
    "to_networkx": "exchange.with_networkx",
    "to_pyg": "exchange.with_pyg",
    "transform_anndata": "omics.embedding",
    "write_embedding": "outputs.embedding",
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
    "cluster_domains",
    "embed_anndata",
    "frames_from_graph",
    "graph_from_anndata",
    "graph_from_frames",
    "graph_from_networkx",
    "graph_from_pyg",
    "load_dataset",
    "read_embedding",
    "read_graph",
    "to_anndata",
    "to_networkx",
    "to_pyg",
    "transform_anndata",
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
