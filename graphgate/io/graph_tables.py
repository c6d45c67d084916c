"""Tables -> `Graph`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.csv_file import COMPRESSIONS, SEPARATORS, CsvFile
from graphgate.io.edge_table import UNKNOWN, EdgeColumns, note_left_out, read_edges
from graphgate.io.frame import Frame
from graphgate.io.graph_files import (
    GRAPH_ENDINGS,
    is_adjacency_file,
    is_graph_file,
    read_graph_file,
    read_network,
)
from graphgate.io.joined import graph_of_network, graph_of_rows, network_edges
from graphgate.io.matrices import MATRIX_ENDINGS, is_matrix_file
from graphgate.io.node_table import NodeColumns, read_nodes
from graphgate.io.parquet_file import ENDINGS as PARQUET
from graphgate.io.parquet_file import ParquetFile
from graphgate.io.table import StrPath, Table, check_file


def read_graph(
    edges: StrPath,
    nodes: StrPath | None = None,
    *,
    directed: bool | None = None,
    unknown_nodes: str = "drop",
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    id: str = "id",
    label: str | None = "label",
    drop: Iterable[str] = (),
    words: Iterable[str] = (),
    categories: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
) -> Graph:
    """The graph of a table of edges and perhaps a table of nodes, read by the endings of files.

    Tables are CSV (.csv) or TSV (.tsv), also compressed (.gz, .bz2, .zst, .xz), with a header and
    in UTF-8, or Parquet (.parquet, .pq). Without a table of nodes there are those that the edges
    name, in order of first appearance.

    In place of a table of edges there may be a file that holds a whole graph: GraphML, GML, GEXF,
    Pajek, an edge list, an adjacency list or an adjacency matrix (`graph_file.GRAPH_ENDINGS`); its
    own attributes count where there is no table of nodes. In place of that there may be a matrix of
    features (.npz, .npy, .mtx), whose rows are nodes 0, 1, ….

    Parameters
    ----------
    source, target, weight : columns of the edges; there need be no weight, and None ignores it.
        Other columns are ignored with a warning.
    id, label : columns of the nodes; there need be no label, and None makes an attribute of it.
    drop : columns of the nodes to leave out. All others are attributes.
    words, categories : columns of the nodes that are text to be split at white space into words,
        and categories although they look like numbers.
    kinds : "number", "boolean", "category" or "words" by column, where known: those of a model are
        `gate.encoder_.kinds`. Columns that are not there are passed over.
    unknown_nodes : what to do with edges that name a node which the node table lacks. "drop" leaves
        the edge out, "add" adds the node with all attributes missing, both with a warning that
        counts them; "refuse" is an error.
    directed : None is as the file says; a table does not, and is undirected.
    """
    node_columns = NodeColumns(id, label, drop, words, categories, kinds)
    edge_columns = EdgeColumns(source, target, weight)
    features = nodes if nodes is not None and is_matrix_file(nodes) else None
    if is_adjacency_file(edges):
        if nodes is not None and features is None:
            raise InputError(
                f"{edges} is a matrix, whose nodes have no names, so {nodes} cannot tell of them; "
                f"give features row by row ({', '.join(MATRIX_ENDINGS)})"
            )
        named = [*drop, *words, *categories]
        return read_graph_file(edges, features, drop=named, directed=directed)
    if is_graph_file(edges):
        network = read_network(edges, directed=directed, weight=weight)
        if nodes is None:
            return graph_of_network(network, str(edges), node_columns)
        edge_table, directed = network_edges(network, edges, nodes), network.directed
        edge_columns = EdgeColumns()
    else:
        edge_table = open_table(edges, others=tuple(GRAPH_ENDINGS))
    if features is not None:
        return graph_of_rows(
            edge_table, features, edge_columns, unknown_nodes, directed=bool(directed)
        )
    return _graph(
        edge_table,
        None if nodes is None else open_table(nodes),
        edge_columns,
        node_columns,
        unknown_nodes,
        directed=bool(directed),
    )


def from_tables(
    edges: Any,
    nodes: Any = None,
    *,
    directed: bool = False,
    unknown_nodes: str = "drop",
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    id: str = "id",
    label: str | None = "label",
    drop: Iterable[str] = (),
    words: Iterable[str] = (),
    categories: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
) -> Graph:
    """The graph of data frames of pandas or Polars, or of Arrow tables; all as `read_graph` does.

    >>> import pyarrow as pa
    >>> from_tables(pa.table({"source": ["a", "b"], "target": ["b", "c"]}))
    Graph(3 nodes, 2 undirected edges, no features)
    """
    return _graph(
        Frame(edges, "the table of edges"),
        None if nodes is None else Frame(nodes, "the table of nodes"),
        EdgeColumns(source, target, weight),
        NodeColumns(id, label, drop, words, categories, kinds),
        unknown_nodes,
        directed=directed,
    )


def open_table(path: StrPath, *, others: Sequence[str] = ()) -> Table:
    """A file by its ending; `others` would not be tables, but might be used in this place."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in PARQUET:
        return ParquetFile.open(path)
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    if endings and endings[-1] in SEPARATORS:
        return CsvFile.open(path)
    check_file(path)
    raise InputError(
        f"{path} is not named as a table: use .csv or .tsv, perhaps with "
        f"{', '.join(COMPRESSIONS)} after it, or {' or '.join(PARQUET)}"
        + (f"; or as a graph: {', '.join(others)}" if others else "")
    )


def _graph(
    edge_table: Table,
    node_table: Table | None,
    edge_columns: EdgeColumns,
    node_columns: NodeColumns,
    unknown: str,
    *,
    directed: bool,
) -> Graph:
    if unknown not in UNKNOWN:
        raise InputError(f"unknown_nodes must be one of {', '.join(UNKNOWN)}, got {unknown!r}")
    if node_table is None:
        edges = read_edges(edge_table, edge_columns)
        if len(edges.ids) == 0:
            raise InputError(f"{edge_table.what} has no edges, and there is no table of nodes")
        attributes = labels = None
    else:
        nodes = read_nodes(node_table, node_columns)
        edges = read_edges(edge_table, edge_columns, nodes.ids, node_table, unknown)
        attributes, labels = nodes.attributes, nodes.labels
        if edges.added:
            attributes = None if attributes is None else attributes.padded(edges.added)
            labels = None if labels is None else [*labels, *[None] * edges.added]
    ids = edges.ids
    whole = pa.types.is_integer(ids.type)
    try:
        graph = Graph.from_edge_index(
            None,
            edges.pairs.T,
            edges.weights,
            attributes=attributes,
            ids=ids.to_numpy() if whole else ids.to_pylist(),
            labels=labels,
            directed=directed,
        )
    except InputError as error:
        of_nodes = node_table is not None and error.about == "nodes"
        what = node_table.what if node_table is not None and of_nodes else edge_table.what
        raise InputError(f"{what}: {error}", about=error.about) from None
    note_left_out(edge_table, edges, graph)
    return graph
