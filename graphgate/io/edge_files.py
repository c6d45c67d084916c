"""Tables about the edges of a graph that exists: pairs of its nodes, and when edges appeared."""

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.files import StrPath
from graphgate.io.id_columns import id_column, rows_of
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table
from graphgate.io.tables import Table, id_array


def read_pairs(path: StrPath, graph: Graph, options: ReadingOptions) -> np.ndarray:
    """(M, 2) ids of the nodes of a graph, from a table with a source and a target in each row."""
    table = open_table(path)
    rows = _rows(table, graph, options)
    for at, name in enumerate((options.source, options.target)):
        table.refuse_first(rows[:, at] < 0, name, "is not the id of a node")
    pairs: np.ndarray = graph.ids[rows]
    return pairs


def read_times(
    path: StrPath, graph: Graph, options: ReadingOptions, column: str
) -> tuple[np.ndarray, np.ndarray]:
    """(M, 2) ids of the nodes of edges, and their times, numbers or ISO dates, from their table.

    Rows with a node that the graph does not have are left out, as where the graph was read.
    """
    table = open_table(path)
    table.require(column)
    rows = _rows(table, graph, options)
    ((_, cells),) = table.columns([column], {column: "text"})
    if cells.null_count:
        table.refuse_first(cells.is_null().to_numpy(), column, "is no time; give every edge one")
    texts = np.array([str(value) for value in cells.to_pylist()], dtype=str)
    known = (rows >= 0).all(axis=1)
    return graph.ids[rows[known]], _times(texts, table, column)[known]


def _times(texts: np.ndarray, table: Table, column: str) -> np.ndarray:
    for kind in (np.float64, "datetime64[us]"):
        try:
            times: np.ndarray = texts.astype(kind)
        except ValueError:
            continue
        if not (np.isnan(times) if kind is np.float64 else np.isnat(times)).any():
            return times
    raise InputError(
        f"{table.what}, column {column!r}: values such as {str(texts[0])!r} are neither numbers "
        "nor dates like 2024-12-31; write all times in one of these forms"
    )


def _rows(table: Table, graph: Graph, options: ReadingOptions) -> np.ndarray:
    """(M, 2) rows of the graph, -1 for an id that it does not have."""
    names = [options.source, options.target]
    table.require(*names)
    ids = pa.chunked_array([id_array(graph.ids)])
    columns = table.columns(names, dict.fromkeys(names, "text"))
    return np.stack([rows_of(ids, id_column(table, name, each)) for name, each in columns], axis=1)
