"""What people hold -> `Graph` -> `Embedding`: graphs of other libraries, tables, files."""

import inspect
from collections.abc import Callable
from typing import Any

import graphgate
from graphgate.errors import InputError, listing
from graphgate.estimators.base import is_graphs
from graphgate.estimators.loading import named_estimator, parameters_by_method
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs
from graphgate.io.embeddings import Embedding
from graphgate.io.foreign import recognized
from graphgate.io.reading_options import ReadingOptions

# The public functions that make a `Graph`, by the kind of object that they take.
CONVERTERS = {
    "networkx": "from_networkx",
    "pyg": "from_pyg",
    "anndata": "from_anndata",
    "tables": "from_tables",
    "files": "read_graph",
}
# Parameters for the cells of a tissue. On synthetic tissues, k-means is as good with 8 as with 128
# components, but a Gaussian mixture needs few. Every slice is a new graph, in which cells have no
# place that the model knows.
TISSUE_PARAMS: dict[str, dict[str, Any]] = {
    "linear": {"n_components": 30, "structure": False},
    "gate": {"dims": (512, 30)},
}
_WITH_NODES = ("tables", "files")  # a second object describes the nodes


def embed(data: Any, nodes: Any = None, *, method: Any = "linear", **options: Any) -> Embedding:
    """Learn one vector per node, straight from a graph, a table or a file.

    Parameters
    ----------
    data : a `Graph` or a list of them, a NetworkX graph, a `Data` of PyTorch Geometric, an
        AnnData, a data frame of edges, or the path of a file of edges.
    nodes : the data frame or the file of the nodes, where `data` is one of edges.
    method : "linear" for `LinearGATE`, "gate" for `GATE`, or an estimator of your own with `fit`
        and `embedding_`. It is fitted, so that it can embed other nodes later.
    options : parameters of `LinearGATE` or `GATE`, and options of the function that makes the
        graph: `from_networkx`, `from_pyg`, `from_anndata`, `from_tables` or `read_graph`.

    The random seed is 0 unless `random_state` is given. Cells of an AnnData are embedded with the
    defaults of `embed_anndata`.

    Examples
    --------
    >>> import networkx as nx
    >>> embedding = embed(nx.karate_club_graph(), attributes=[], label="club", n_components=8)
    >>> embedding
    Embedding(34 nodes, 8 dimensions, 2 classes)
    >>> embedding.to_dict()[33].shape
    (8,)
    """
    hyperparameters = set().union(*parameters_by_method().values())
    params = {name: options.pop(name) for name in [*options] if name in hyperparameters}
    if isinstance(method, str):
        foreign = recognized(data)
        is_tissue = foreign is not None and foreign.kind == "anndata"
        defaults = TISSUE_PARAMS.get(method, {}) if is_tissue else {}
        estimator: Any = named_estimator(method, {"random_state": 0} | defaults | params)
    elif params:
        raise InputError(
            f"{next(iter(params))} is a parameter of the estimator; pass it to "
            f"{type(method).__name__}"
        )
    else:
        estimator = method
    graph = as_graph(data, nodes, **options)
    estimator.fit(graph.reveal())
    return Embedding.of(graph, estimator.embedding_)


def as_graph(data: Any, nodes: Any = None, **options: Any) -> Graph:
    """The graph of any object that `embed` takes; options are those of its converter."""
    if is_graphs(data):
        data = join_graphs(data)
    foreign = None if isinstance(data, Graph) else recognized(data)
    takes_nodes = foreign is not None and foreign.kind in _WITH_NODES
    if nodes is not None and not takes_nodes:
        raise InputError("nodes describe a table or a file of edges; omit them here")
    if isinstance(data, Graph):
        if options:
            raise InputError(f"a Graph is used as it is; omit {next(iter(options))}")
        return data
    if foreign is None or foreign.kind not in CONVERTERS:
        hint = "" if foreign is None else f"; convert it with {foreign.converter}"
        raise InputError(
            "expected a Graph, a NetworkX graph, a PyG Data, an AnnData, a data frame or a file, "
            f"got {type(data).__name__ if foreign is None else foreign.title}{hint}"
        )
    convert = getattr(graphgate, CONVERTERS[foreign.kind])
    _check_options(convert, options)
    return convert(data, *([nodes] if takes_nodes else []), **options)


def _check_options(convert: Callable[..., Graph], options: dict[str, Any]) -> None:
    parameters = inspect.signature(convert).parameters.values()
    allowed = [
        parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    ]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        allowed += list(ReadingOptions().to_dict())
    if unknown := [name for name in options if name not in allowed]:
        raise InputError(
            f"unknown option {unknown[0]!r}: it is neither a parameter of an estimator nor an "
            f"option of {convert.__name__}, which are {listing(allowed, 16)}"
        )
