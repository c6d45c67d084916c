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
    scverse        AnnData in and out
    tasks          embed, and uses of an embedding: clusters, classes, links
    visualization  figures and the interactive page
    cli            the command line
    paper          baselines, tables and figures of the paper, and their commands
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgate.datasets.citation import fetch_dataset, load_dataset
    from graphgate.errors import (
        DivergenceError,
        InputError,
        InputWarning,
        MemoryLimitError,
        TrainingWarning,
        UnknownNodesError,
        UnknownNodesWarning,
    )
    from graphgate.estimators.embedded_graph import Attention
    from graphgate.estimators.estimate import Estimate, estimate
    from graphgate.estimators.gate import GATE
    from graphgate.estimators.linear_gate import LinearGATE
    from graphgate.estimators.loading import load_model
    from graphgate.estimators.onnx_file import export_onnx
    from graphgate.estimators.runs import read_run, rerun, write_run
    from graphgate.graph.attributes import Attributes
    from graphgate.graph.graph import Graph
    from graphgate.graph.joining import join_graphs
    from graphgate.io.embeddings import Embedding, read_embedding, write_embedding
    from graphgate.io.graph_files import read_graph
    from graphgate.io.graph_tables import from_tables
    from graphgate.io.graph_writer import to_tables, write_graph
    from graphgate.io.limits import limits
    from graphgate.io.networkx import from_networkx, to_networkx
    from graphgate.io.pyg import from_pyg, to_pyg
    from graphgate.io.reading_options import ReadingOptions
    from graphgate.io.spreadsheets import spreadsheet_safe
    from graphgate.paper.experiments.evaluation import evaluate
    from graphgate.paper.experiments.reproduce import reproduce
    from graphgate.preprocessing.attribute_encoder import AttributeEncoder
    from graphgate.scverse.annotate import embed_anndata, transform_anndata
    from graphgate.scverse.conversion import from_anndata, to_anndata
    from graphgate.service.server import serve
    from graphgate.store.batch import extend_graph
    from graphgate.store.neighbors import similar
    from graphgate.store.store import Store
    from graphgate.tasks.classification import classify
    from graphgate.tasks.clustering import cluster
    from graphgate.tasks.comparison import compare_nodes
    from graphgate.tasks.description import Trait, describe_clusters
    from graphgate.tasks.domains import cluster_anndata, transfer_anndata
    from graphgate.tasks.holdings import embed
    from graphgate.tasks.links import evaluate_links
    from graphgate.tasks.node_classifier import NodeClassifier
    from graphgate.tasks.outliers import find_outliers
    from graphgate.tasks.pooling import pool
    from graphgate.training.history import History
    from graphgate.visualization.gallery import write_figures
    from graphgate.visualization.maps import plot_embedding
    from graphgate.visualization.page.page_html import write_page

# Names are looked up when they are first used, so that `import graphgate` costs nothing.
_HOMES = {
    "GATE": "estimators.gate",
    "Attention": "estimators.embedded_graph",
    "AttributeEncoder": "preprocessing.attribute_encoder",
    "Attributes": "graph.attributes",
    "DivergenceError": "errors",
    "Embedding": "io.embeddings",
    "Estimate": "estimators.estimate",
    "Graph": "graph.graph",
    "History": "training.history",
    "InputError": "errors",
    "InputWarning": "errors",
    "LinearGATE": "estimators.linear_gate",
    "MemoryLimitError": "errors",
    "NodeClassifier": "tasks.node_classifier",
    "ReadingOptions": "io.reading_options",
    "Store": "store.store",
    "TrainingWarning": "errors",
    "Trait": "tasks.description",
    "UnknownNodesError": "errors",
    "UnknownNodesWarning": "errors",
    "classify": "tasks.classification",
    "cluster": "tasks.clustering",
    "cluster_anndata": "tasks.domains",
    "compare_nodes": "tasks.comparison",
    "describe_clusters": "tasks.description",
    "embed": "tasks.holdings",
    "embed_anndata": "scverse.annotate",
    "estimate": "estimators.estimate",
    "evaluate": "paper.experiments.evaluation",
    "evaluate_links": "tasks.links",
    "export_onnx": "estimators.onnx_file",
    "extend_graph": "store.batch",
    "fetch_dataset": "datasets.citation",
    "find_outliers": "tasks.outliers",
    "from_anndata": "scverse.conversion",
    "from_networkx": "io.networkx",
    "from_pyg": "io.pyg",
    "from_tables": "io.graph_tables",
    "join_graphs": "graph.joining",
    "limits": "io.limits",
    "load_dataset": "datasets.citation",
    "load_model": "estimators.loading",
    "plot_embedding": "visualization.maps",
    "pool": "tasks.pooling",
    "read_embedding": "io.embeddings",
    "read_graph": "io.graph_files",
    "read_run": "estimators.runs",
    "reproduce": "paper.experiments.reproduce",
    "rerun": "estimators.runs",
    "serve": "service.server",
    "similar": "store.neighbors",
    "spreadsheet_safe": "io.spreadsheets",
    "to_anndata": "scverse.conversion",
    "to_networkx": "io.networkx",
    "to_pyg": "io.pyg",
    "to_tables": "io.graph_writer",
    "transfer_anndata": "tasks.domains",
    "transform_anndata": "scverse.annotate",
    "write_embedding": "io.embeddings",
    "write_figures": "visualization.gallery",
    "write_graph": "io.graph_writer",
    "write_page": "visualization.page.page_html",
    "write_run": "estimators.runs",
}

__all__ = [
    "GATE",
    "Attention",
    "AttributeEncoder",
    "Attributes",
    "DivergenceError",
    "Embedding",
    "Estimate",
    "Graph",
    "History",
    "InputError",
    "InputWarning",
    "LinearGATE",
    "MemoryLimitError",
    "NodeClassifier",
    "ReadingOptions",
    "Store",
    "TrainingWarning",
    "Trait",
    "UnknownNodesError",
    "UnknownNodesWarning",
    "classify",
    "cluster",
    "cluster_anndata",
    "compare_nodes",
    "describe_clusters",
    "embed",
    "embed_anndata",
    "estimate",
    "evaluate",
    "evaluate_links",
    "export_onnx",
    "extend_graph",
    "fetch_dataset",
    "find_outliers",
    "from_anndata",
    "from_networkx",
    "from_pyg",
    "from_tables",
    "join_graphs",
    "limits",
    "load_dataset",
    "load_model",
    "plot_embedding",
    "pool",
    "read_embedding",
    "read_graph",
    "read_run",
    "reproduce",
    "rerun",
    "serve",
    "similar",
    "spreadsheet_safe",
    "to_anndata",
    "to_networkx",
    "to_pyg",
    "to_tables",
    "transfer_anndata",
    "transform_anndata",
    "write_embedding",
    "write_figures",
    "write_graph",
    "write_page",
    "write_run",
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
