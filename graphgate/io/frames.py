"""`Graph` -> tables of nodes and edges, which `from_tables` reads as the same graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.attributes import Column
from graphgate.graph.graph import Graph


def to_tables(graph: Graph, *, id: str = "id", label: str = "label") -> tuple[pa.Table, pa.Table]:
    """Nodes and edges as Arrow tables.

    Nodes: `id`, a column an attribute, and `label` where there are labels. Numbers are numbers,
    missing where they were; categories are dictionaries; words are lists where all counts are small
    whole numbers, else maps of words to counts. Features that were no attributes are a column each,
    or one map where they are sparse. A graph that has only edges has no such columns.

    Edges: `source`, `target` and, where there are weights, `weight`; an undirected edge once.
    """
    columns: dict[str, Any] = {id: plain_column(graph.ids.tolist(), "node id")}
    for name, column in _node_columns(graph).items():
        if name in (id, label):
            raise InputError(
                f"an attribute is named {name!r}, as the column of ids or labels is; "
                "name that another way: id= or label="
            )
        columns[name] = column
    if graph.labels is not None:
        known = [None if code < 0 else graph.classes[code] for code in graph.labels.tolist()]
        columns[label] = plain_column(known, "label")
    pairs = (graph.adjacency if graph.directed else sp.triu(graph.adjacency, 1)).tocoo()
    ids = columns[id]
    edges = {"source": ids.take(pa.array(pairs.row)), "target": ids.take(pa.array(pairs.col))}
    if graph.weighted:
        edges["weight"] = pa.array(pairs.data)
    return pa.table(columns), pa.table(edges)


def _node_columns(graph: Graph) -> dict[str, pa.Array]:
    if graph.attributes is not None:
        table = graph.attributes
        return {name: _array(table.column(name)) for name in table.names}
    if graph.x is None:
        return {}
    names = graph.feature_names or tuple(f"feature {at}" for at in range(graph.n_features))
    if isinstance(graph.x, np.ndarray):
        return {name: pa.array(graph.x[:, at]) for at, name in enumerate(names)}
    return {"features": _map(graph.x, names)}


def _array(column: Column) -> pa.Array:
    values = column.values
    if column.kind == "number":
        return pa.array(values, mask=column.missing)
    if column.kind == "boolean":
        return pa.array(values == 1, mask=column.missing)
    if column.kind == "category":
        codes = pa.array(values, mask=column.missing)
        known = plain_column(column.vocabulary, "category")
        known = known if len(known) else known.cast(pa.string())
        return pa.DictionaryArray.from_arrays(codes, known)
    counts = values.data
    if (
        (counts != np.floor(counts)).any()
        or (counts < 1).any()
        or counts.sum() > 2 * values.nnz + 99
    ):
        return _map(values, column.vocabulary)
    times = counts.astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(times)])[values.indptr]
    words = pa.array(column.vocabulary, pa.string()).take(
        pa.array(np.repeat(values.indices, times))
    )
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), words)


def _map(matrix: sp.csr_array, names: tuple[str, ...]) -> pa.Array:
    keys = pa.array(names, pa.string()).take(pa.array(matrix.indices))
    return pa.MapArray.from_arrays(pa.array(matrix.indptr, pa.int32()), keys, pa.array(matrix.data))


def plain_column(values: Any, what: str) -> pa.Array:
    """Whole numbers, text or other values of one plain kind, missing where None."""
    try:
        return pa.array(list(values))
    except (pa.ArrowException, OverflowError, TypeError):
        raise InputError(
            f"values of several kinds as {what} do not fit into one column; use only whole numbers "
            "or only text"
        ) from None
