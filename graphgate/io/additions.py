"""What is added to a graph: tables, or another graph, with ids of the same type."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError, Subject, UnknownNodesError, listing
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features, errors_about
from graphgate.io.columns import is_text
from graphgate.io.graph_tables import note_left_out, read_edges, read_nodes
from graphgate.io.id_columns import as_integers, id_values, rows_of
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table
from graphgate.io.tables import Table, id_array


class Batch(NamedTuple):
    """Nodes with attributes or features, and edges between these or other nodes.

    ids : of the described nodes.
    content : attributes or features of these nodes; None without nodes.
    labels : of these nodes, None for a node without one; or None.
    ends : the distinct ids that edges name.
    pairs : (E, 2) rows of `ends`, each edge once.
    weights : (E,), all 1 for edges without weights.
    """

    ids: pa.ChunkedArray
    content: Attributes | Features | None
    labels: list[Any] | None
    ends: pa.ChunkedArray
    pairs: np.ndarray
    weights: np.ndarray


class BatchFormat(NamedTuple):
    """The graph that a batch is for.

    directed, weighted : of its edges; any weights are accepted where `weighted` is None.
    kinds : of its attributes; None where nodes have features.
    id_type : int64 or text.
    reading : how tables are read.
    """

    directed: bool
    weighted: bool | None
    kinds: Mapping[str, str] | None
    id_type: pa.DataType
    reading: ReadingOptions

    @classmethod
    def of(cls, graph: Graph, reading: ReadingOptions) -> Self:
        """The format of a graph."""
        weighted = graph.weighted if graph.n_edges else None
        kinds = None if graph.attributes is None else graph.attributes.kinds
        return cls(graph.directed, weighted, kinds, id_array(graph.ids).type, reading)


def read_batch(edges: Any, nodes: Any, wanted: BatchFormat) -> Batch:
    """Read files, data frames or Arrow tables of edges and nodes, or a `Graph`."""
    if isinstance(edges, Graph):
        if nodes is not None:
            raise InputError("a Graph has its own nodes; pass either a Graph or tables")
        return _graph_batch(edges, wanted)
    if edges is None and nodes is None:
        raise InputError("there is nothing to add; pass edges, nodes or both")
    with _about(nodes, "nodes"):
        described = _described(nodes, wanted)
    if edges is None:
        return Batch(*described, described[0][:0], *edge_list(None))
    with _about(edges, "edges"):
        return Batch(*described, *_connected(edges, wanted))


def _described(
    nodes: Any, wanted: BatchFormat
) -> tuple[pa.ChunkedArray, Attributes | None, list[Any] | None]:
    """Ids, attributes and labels of a table of nodes, or of none."""
    if nodes is None:
        return pa.chunked_array([], wanted.id_type), None, None
    table = _table(nodes, "the node table")
    if wanted.kinds is None:
        raise InputError(
            f"{table.what}: the store has features without names, not attributes; pass a Graph",
            about="nodes",
        )
    reading = wanted.reading.for_batch(table)
    node_table = read_nodes(table, replace(reading, kinds={**wanted.kinds, **reading.kinds}))
    attributes, labels, _ = node_table.read()
    return _typed(node_table.ids, wanted.id_type, table.what), attributes, labels


def _connected(edges: Any, wanted: BatchFormat) -> tuple[pa.ChunkedArray, np.ndarray, np.ndarray]:
    """Ids that a table of edges names, edges between these, and their weights."""
    table = _table(edges, "the edge table")
    listed = read_edges(table, wanted.reading)
    _check_weights(listed.weights is not None, len(listed.pairs), wanted, table.what)
    graph = None
    if len(listed.ids):
        graph = Graph.from_edge_index(
            None,
            listed.pairs.T,
            listed.weights,
            num_nodes=len(listed.ids),
            directed=wanted.directed,
        )
        note_left_out(table.what, listed.pairs, listed.weights, graph)
    ends = _typed(listed.ids, wanted.id_type, table.what)
    return ends, *edge_list(graph)


def extend_graph(
    graph: Graph, edges: Any = None, nodes: Any = None, reading: ReadingOptions | None = None
) -> Graph:
    """Add nodes and edges to a graph.

    Nodes and edges that the graph already has get the given attributes and weights. An edge to a
    node that is neither in the graph nor given is refused.

    Parameters
    ----------
    edges, nodes : files, data frames or Arrow tables.
    reading : how they are read.

    >>> import pyarrow as pa
    >>> graph = Graph.from_edges(None, [("a", "b")], ids=["a", "b"], attributes={"age": [1, 2]})
    >>> extend_graph(
    ...     graph,
    ...     pa.table({"source": ["c"], "target": ["a"]}),
    ...     pa.table({"id": ["c"], "age": [3]}),
    ... )
    Graph(3 nodes, 2 undirected edges, 1 attribute (age))
    """
    batch = read_batch(edges, nodes, BatchFormat.of(graph, reading or ReadingOptions()))
    old_ids, n = id_array(graph.ids), graph.n_nodes
    rows = rows_of(pa.chunked_array([old_ids]), batch.ids)
    new = rows < 0
    rows[new] = n + np.arange(int(new.sum()))
    ids = pa.chunked_array([old_ids, *batch.ids.filter(pa.array(new)).chunks])
    ends = rows_of(ids, batch.ends)
    refuse_unknown(batch.ends.filter(pa.array(ends < 0)), "in either graph")
    pairs, weights = edge_list(graph)
    pairs = np.concatenate([pairs, ends[batch.pairs]])
    weights = np.concatenate([weights, batch.weights])
    ordered = pairs if graph.directed else np.sort(pairs, axis=1)
    # Of equal pairs, the last one counts.
    _, last = np.unique(ordered[::-1], axis=0, return_index=True)
    last = len(pairs) - 1 - last
    source = np.arange(len(ids))  # of each node: a row of the graph, or n + a row of the batch
    source[rows] = n + np.arange(len(rows))
    attributes = graph.attributes
    if attributes is not None and isinstance(batch.content, Attributes):
        if missing := [name for name in attributes if name not in batch.content]:
            raise InputError(f"the nodes lack the attribute {missing[0]!r}", about="nodes")
        attributes = Attributes.joined([attributes, batch.content]).take(source)
    extended = Graph.from_edge_index(
        None,
        pairs[last].T,
        weights[last] if graph.weighted else None,
        ids=id_values(ids),
        attributes=attributes,
        directed=graph.directed,
    )
    labels = [*(graph.label_values() or [None] * n), *(batch.labels or [None] * len(rows))]
    return extended.with_labels([labels[row] for row in source]) if any(labels) else extended


def refuse_unknown(missing: pa.ChunkedArray, where: str) -> None:
    """Refuse edges to nodes with these ids, if there are any."""
    if len(missing):
        nodes = "a node that is" if len(missing) == 1 else f"{len(missing):,} nodes that are"
        raise UnknownNodesError(
            f"the edges refer to {nodes} not {where}: "
            f"{listing([repr(node) for node in missing.to_pylist()])}; "
            "add rows for them to the nodes, or remove these edges",
            about="edges",
        )


def edge_list(graph: Graph | None) -> tuple[np.ndarray, np.ndarray]:
    """Each edge once, (E, 2), and its weight; no edges without a graph."""
    if graph is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    edges = (graph.adjacency if graph.directed else sp.triu(graph.adjacency, 1)).tocoo()
    return np.stack([edges.row, edges.col], axis=1).astype(np.int64), edges.data.astype(np.float64)


def typed_ids(ids: list[Any], id_type: pa.DataType) -> pa.ChunkedArray:
    """Ids that a user gives, in the type of a graph."""
    return _typed(pa.chunked_array([id_array(ids)]), id_type, "the ids")


def _typed(ids: pa.ChunkedArray, id_type: pa.DataType, what: str) -> pa.ChunkedArray:
    """Ids as integers or text; an integer is the same id as text with the same digits."""
    if is_text(id_type) or not is_text(ids.type):
        return ids.cast(id_type)
    integers = as_integers(ids)
    if integers is None:
        odd = next(value for value in ids.to_pylist() if not _is_integer(value))
        raise InputError(
            f"{what}: the ids of the store are integers, but {odd!r} is not; "
            "write ids in the same way"
        )
    return integers


def _is_integer(text: str) -> bool:
    return as_integers(pa.chunked_array([[text]])) is not None


def _graph_batch(graph: Graph, wanted: BatchFormat) -> Batch:
    if graph.n_edges and graph.directed != wanted.directed:
        kind = "directed" if wanted.directed else "undirected"
        raise InputError(f"the store has {kind} edges; convert the graph with Graph.to_{kind}()")
    _check_weights(graph.weighted, graph.n_edges, wanted, "the graph")
    ids = _typed(pa.chunked_array([id_array(graph.ids)]), wanted.id_type, "the graph")
    content = graph.x if graph.attributes is None else graph.attributes
    described = ids if content is not None else ids[:0]
    return Batch(described, content, graph.label_values(), ids, *edge_list(graph))


def _check_weights(weighted: bool, count: int, wanted: BatchFormat, what: str) -> None:
    if count and wanted.weighted not in (None, weighted):
        has, lacks = ("weights", "none") if wanted.weighted else ("no weights", "weights")
        raise InputError(
            f"{what}: the edges of the store have {has}, but these have {lacks}; "
            f"{'add the column' if wanted.weighted else 'ignore the column with weight=None'}",
            about="edges",
        )


def _table(source: Any, what: str) -> Table:
    return open_table(source) if _is_file(source) else Table(source, what)


def _about(source: Any, subject: Subject) -> AbstractContextManager[None]:
    """Errors about a table; those about a file name it already."""
    return nullcontext() if _is_file(source) else errors_about(subject)


def _is_file(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))
