"""Files that hold a whole graph, told apart by their endings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.content import file_ending
from graphgate.io.matrices import read_adjacency, read_matrix
from graphgate.io.network import Network, warn_of_merged_edges
from graphgate.io.network_file import NETWORK_ENDINGS, read_network_file
from graphgate.io.pajek import read_pajek
from graphgate.io.plain_list import read_adjacency_list, read_edge_list

StrPath = str | os.PathLike[str]

# Every ending, each of which may be followed by one of content.COMPRESSIONS.
GRAPH_ENDINGS = {
    ".npz": "SciPy's sparse adjacency",
    ".mtx": "Matrix Market",
    ".graphml": "GraphML",
    ".gml": "GML",
    ".gexf": "GEXF",
    ".net": "Pajek",
    ".pajek": "Pajek",
    ".edgelist": "edge list",
    ".edges": "edge list",
    ".txt": "edge list",
    ".adjlist": "adjacency list",
}


def is_graph_file(path: StrPath) -> bool:
    """Whether the ending is that of a file which holds a whole graph."""
    return file_ending(path)[0] in GRAPH_ENDINGS


def is_adjacency_file(path: StrPath) -> bool:
    """Whether the ending is that of a matrix, in which nodes have no names."""
    return file_ending(path)[0] in (".npz", ".mtx")


def read_graph_file(
    path: StrPath,
    nodes: StrPath | None = None,
    *,
    directed: bool | None = None,
    attributes: Iterable[str] | str | None = None,
    drop: Iterable[str] | str = (),
    kinds: Mapping[str, str] | None = None,
    label: str | None = None,
    weight: str | None = "weight",
) -> Graph:
    """The graph in a file of one of `GRAPH_ENDINGS`.

    Parameters
    ----------
    path : the file; an adjacency, or nodes and edges.
    nodes : beside an adjacency: a file of one of `MATRIX_ENDINGS` with the features, row by row.
        Without one the graph has only edges.
    directed : None is as the file says: a matrix that is not symmetric is directed, edge lists and
        adjacency lists, which do not say, are undirected.
    attributes, drop, label : names of node attributes to take (None: all), to leave out, and the
        one that holds the classes.
    kinds : name -> "number", "boolean", "category" or "words", where the values do not say it.
    weight : the edge attribute with the weights, None if there are none; of GraphML and GML, the
        other formats have one place for them.
    """
    if is_adjacency_file(path):
        if label is not None or attributes not in (None, [], ()) or drop or kinds:
            raise InputError(
                f"{path} is a matrix, which has neither labels nor names of attributes"
            )
        adjacency, way = read_adjacency(path, directed)
        x = None if nodes is None else read_matrix(nodes)
        if x is not None and x.shape[0] != adjacency.shape[0]:
            raise InputError(
                f"{nodes} has {x.shape[0]:,} rows, but {path} has {adjacency.shape[0]:,} nodes; "
                "give one row of features a node"
            )
        return _named(path, lambda: Graph(x, adjacency, directed=way))
    if nodes is not None:
        raise InputError(f"{path} names its nodes itself, so {nodes} cannot be their features")
    network = read_network(path, directed=directed, weight=weight, keep_label=label == "label")
    return _named(
        path,
        lambda: network.graph(attributes=attributes, drop=drop, kinds=kinds, label=label),
    )


def read_network(
    path: StrPath,
    *,
    directed: bool | None = None,
    weight: str | None = "weight",
    keep_label: bool = False,
) -> Network:
    """Names, edges and columns of a file that names its nodes, to be joined with others."""
    ending, _ = file_ending(path)
    if ending in NETWORK_ENDINGS:
        network = read_network_file(path, weight, keep_label)
        network = network if directed is None else replace(network, directed=directed)
    elif ending in (".net", ".pajek"):
        network = read_pajek(path, directed)
    elif ending == ".adjlist":
        network = read_adjacency_list(path, bool(directed))
    elif GRAPH_ENDINGS.get(ending) == "edge list":
        network = read_edge_list(path, bool(directed))
    else:
        shown = ", ".join(GRAPH_ENDINGS)
        raise InputError(f"{path} must end in one of {shown}; that names its format")
    warn_of_merged_edges(network)
    return network


def _named(path: StrPath, make: Callable[[], Graph]) -> Graph:
    """Refusals of a graph name the file it comes from."""
    try:
        return make()
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
