"""What is to be added to a store: tables or a graph, in the types of the store."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from graphgate.errors import InputError, UnknownNodesError, listing
from graphgate.estimators.base import GraphKind
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.columns import is_text, one_piece
from graphgate.io.graph_tables import read_edges, read_nodes
from graphgate.io.id_columns import as_integers, id_values
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table
from graphgate.io.tables import Table, id_array


class Batch(NamedTuple):
    """Nodes with what describes them, and edges between nodes, described or not.

    ids : of the nodes that are described. content : of these nodes; None if there are none.
    labels : of these nodes, None where there is none; or None.
    ends : the distinct ids that edges name. pairs : (E, 2) rows of `ends`, each edge once.
    weights : (E,), all 1 where edges have no weights.
    """

    ids: pa.Array
    content: Attributes | Features | None
    labels: list[Any] | None
    ends: pa.Array
    pairs: np.ndarray
    weights: np.ndarray


class Expected(NamedTuple):
    """What a batch must be like.

    kind : of the graph. kinds : of its attributes, or None where it has features.
    id_type : int64 or text. reading : how tables are read.
    """

    kind: GraphKind
    kinds: Mapping[str, str] | None
    id_type: pa.DataType
    reading: ReadingOptions


def read_batch(edges: Any, nodes: Any, expected: Expected) -> Batch:
    """A batch from files, data frames or Arrow tables of edges and nodes, or from a `Graph`."""
    if isinstance(edges, Graph):
        if nodes is not None:
            raise InputError("a Graph has its own nodes; pass either a Graph or tables")
        return _of_graph(edges, expected)
    if edges is None and nodes is None:
        raise InputError("there is nothing to add; pass edges, nodes or both")
    ids, content, labels = pa.array([], expected.id_type), None, None
    if nodes is not None:
        table = _table(nodes, "the node table")
        if expected.kinds is None:
            raise InputError(
                f"{table.what}: the store has features without names, not attributes; pass a Graph",
                about="nodes",
            )
        reading = expected.reading.for_batch(table)
        read = read_nodes(table, reading, expected.kinds)
        ids = _typed_ids(read.ids, expected.id_type, table.what)
        content, labels = read.read()
    if edges is None:
        none = np.empty((0, 2), dtype=np.int64)
        return Batch(ids, content, labels, ids[:0], none, np.empty(0))
    table = _table(edges, "the edge table")
    found = read_edges(table, expected.reading)
    _check_weights(found.weights is not None, len(found.pairs), expected.kind, table.what)
    graph = (
        Graph.from_edge_index(
            None,
            found.pairs.T,
            found.weights,
            num_nodes=len(found.ids),
            directed=expected.kind.directed,
        )
        if len(found.ids)
        else None
    )
    ends = _typed_ids(found.ids, expected.id_type, table.what)
    return Batch(ids, content, labels, ends, *edge_list(graph))


def extend_graph(
    graph: Graph, edges: Any = None, nodes: Any = None, reading: ReadingOptions | None = None
) -> Graph:
    """A graph with further nodes and edges, between them and to the nodes that it has.

    What is given replaces what the graph has: the attributes of nodes with the same id, and the
    weights of edges. An edge to a node that is neither in the graph nor given is refused.

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
    table, known = graph.attributes, pa.chunked_array([id_array(graph.ids)])
    kinds = None if table is None else table.kinds
    expected = Expected(GraphKind.of(graph), kinds, known.type, reading or ReadingOptions())
    batch = read_batch(edges, nodes, expected)
    places = positions(batch.ids, known)
    new, n = places < 0, graph.n_nodes
    places[new] = n + np.arange(int(new.sum()))
    ids = pa.chunked_array([*known.chunks, batch.ids.filter(pa.array(new))])
    ends = positions(batch.ends, ids)
    refuse_unknown(batch.ends.filter(pa.array(ends < 0)), "in either graph")
    pairs, weights = edge_list(graph)
    pairs = np.concatenate([pairs, ends[batch.pairs]])
    weights = np.concatenate([weights, batch.weights])
    ordered = pairs if graph.directed else np.sort(pairs, axis=1)
    # Of equal pairs, the last one counts.
    _, last = np.unique(ordered[::-1], axis=0, return_index=True)
    last = len(pairs) - 1 - last
    rows = np.arange(len(ids))
    rows[places] = n + np.arange(len(places))
    labels = [*(graph.label_values() or [None] * n), *(batch.labels or [None] * len(places))]
    if table is not None and isinstance(batch.content, Attributes):
        if missing := [name for name in table if name not in batch.content]:
            raise InputError(f"the nodes lack the attribute {missing[0]!r}", about="nodes")
        table = Attributes.joined([table, batch.content]).take(rows)
    found = Graph.from_edge_index(
        None,
        pairs[last].T,
        weights[last] if graph.weighted else None,
        ids=id_values(ids),
        attributes=table,
        directed=graph.directed,
    )
    return found.with_labels([labels[row] for row in rows]) if any(labels) else found


def positions(wanted: pa.Array, ids: pa.ChunkedArray) -> np.ndarray:
    """The row of each wanted id, -1 where there is none."""
    found = pc.index_in(wanted, value_set=one_piece(ids))
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def refuse_unknown(missing: pa.Array, where: str) -> None:
    """Refuse edges to nodes with these ids, if there are any."""
    if len(missing):
        nodes = "a node that is" if len(missing) == 1 else f"{len(missing):,} nodes that are"
        raise UnknownNodesError(
            f"the edges refer to {nodes} not {where}: "
            f"{listing([repr(one) for one in missing.to_pylist()])}; "
            "add rows for them to the nodes, or remove these edges",
            about="edges",
        )


def _of_graph(graph: Graph, expected: Expected) -> Batch:
    if graph.n_edges and graph.directed != expected.kind.directed:
        way = "directed" if expected.kind.directed else "undirected"
        raise InputError(f"the store has {way} edges; convert the graph with Graph.to_{way}()")
    _check_weights(graph.weighted, graph.n_edges, expected.kind, "the graph")
    ids = _typed_ids(pa.chunked_array([id_array(graph.ids)]), expected.id_type, "the graph")
    content: Attributes | Features | None = (
        graph.x if graph.attributes is None else graph.attributes
    )
    described = ids if content is not None else ids[:0]
    return Batch(described, content, graph.label_values(), ids, *edge_list(graph))


def edge_list(graph: Graph | None) -> tuple[np.ndarray, np.ndarray]:
    """Each edge once, and its weight."""
    if graph is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    found = (graph.adjacency if graph.directed else sp.triu(graph.adjacency, 1)).tocoo()
    return np.stack([found.row, found.col], axis=1).astype(np.int64), found.data.astype(np.float64)


def _check_weights(weighted: bool, count: int, kind: GraphKind, what: str) -> None:
    if count and kind.has_edges and weighted != kind.weighted:
        has, lacks = ("weights", "none") if kind.weighted else ("no weights", "weights")
        raise InputError(
            f"{what}: the edges of the store have {has}, but these have {lacks}; "
            f"{'add the column' if kind.weighted else 'ignore the column with weight=None'}",
            about="edges",
        )


def _table(source: Any, what: str) -> Table:
    if isinstance(source, (str, os.PathLike)):
        return open_table(source)
    return Table(source, what)


def typed_ids(ids: list[Any], kind: pa.DataType) -> pa.Array:
    """Ids that a user gives, in the type of the store."""
    return _typed_ids(pa.chunked_array([id_array(ids)]), kind, "the ids")


def _typed_ids(ids: pa.ChunkedArray, kind: pa.DataType, what: str) -> pa.Array:
    """Ids in the type of the store; an integer is the same id as text with the same digits."""
    if is_text(kind) or not is_text(ids.type):
        return one_piece(ids.cast(kind))
    found = as_integers(ids)
    if found is None:
        odd = next(value for value in ids.to_pylist() if not _is_integer(value))
        raise InputError(
            f"{what}: the ids of the store are integers, but {odd!r} is not; "
            "write ids in the same way"
        )
    return one_piece(found)


def _is_integer(text: str) -> bool:
    return as_integers(pa.chunked_array([[text]])) is not None
