"""Files that hold a whole graph beside tables and matrices: what comes from where."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, InputWarning, listing
from graphgate.graph.graph import Graph
from graphgate.io.edge_table import UNKNOWN, EdgeColumns, note_left_out, read_edges
from graphgate.io.frame import Frame
from graphgate.io.matrices import read_matrix
from graphgate.io.network import Network
from graphgate.io.node_table import NodeColumns
from graphgate.io.table import StrPath, Table


class _NetworkTable(Frame):
    """The columns of a network, of which only `names` and places are asked for."""

    def __init__(self, network: Network, what: str) -> None:
        self.what, self.names = what, list(network.columns)


def graph_of_network(network: Network, what: str, chosen: NodeColumns) -> Graph:
    """The graph of a file without another, its attributes chosen as those of a table of nodes."""
    kinds = chosen.told(_NetworkTable(network, what))
    label = chosen.label
    if label == NodeColumns.label and label not in network.columns:
        label = None
    try:
        return network.graph(drop=chosen.drop, kinds=kinds, label=label)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def network_edges(network: Network, edges: StrPath, nodes: StrPath) -> Table:
    """The edges of a file as a table, because another one tells of the nodes."""
    if network.columns:
        names = listing([repr(name) for name in network.columns])
        warnings.warn(
            f"{edges}: the attributes {names} are ignored, because {nodes} tells of the nodes",
            InputWarning,
            stacklevel=3,
        )
    try:
        table = Frame(network.edge_table(), str(edges))
    except InputError as error:
        raise InputError(f"{edges}: {error}") from None
    table.spelled = True
    return table


def graph_of_rows(
    edge_table: Table, features: StrPath, chosen: EdgeColumns, unknown: str, *, directed: bool
) -> Graph:
    """The graph of a matrix of features and of edges that name its rows by number, from 0."""
    if unknown not in UNKNOWN or unknown == "add":
        raise InputError(
            f"unknown_nodes must be drop or refuse beside {features}, which has no row to add, "
            f"got {unknown!r}"
        )
    x = read_matrix(features)
    rows = Frame(pa.table({"id": np.arange(x.shape[0])}), str(features))
    ((_, ids),) = rows.columns(["id"])
    edges = read_edges(edge_table, chosen, ids, rows, unknown)
    try:
        graph = Graph.from_edges(x, edges.pairs, edges.weights, directed=directed)
    except InputError as error:
        raise InputError(f"{features}: {error}") from None
    note_left_out(edge_table, edges, graph)
    return graph
