"""A graph as two files, nodes and edges, which `read_graph` and every command read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.io.frames import to_tables
from graphgate.io.places import StrPath
from graphgate.io.table_writer import TABLE_ENDINGS, write_table


def write_graph(folder: StrPath, graph: Graph, ending: str = ".csv") -> tuple[Path, Path]:
    """Writes `nodes` and `edges` with this ending into a folder, which is made if need be.

    Columns are those of `to_tables`. CSV has no lists, so there words are text, and 0/1
    features that are sparse and have no names are a column `words` of w0, w1, …: read it with
    `words=["words"]`. Other sparse features are a column each.
    """
    if ending not in TABLE_ENDINGS:
        raise InputError(f"a graph is written as {' or '.join(TABLE_ENDINGS)}, not {ending!r}")
    target = Path(folder)
    nodes, edges = to_tables(graph)
    if ending == ".csv":
        nodes = _flat(nodes, graph)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {target} cannot be made: {error.strerror}") from None
    written = [
        write_table(target / f"{name}{ending}", table)
        for name, table in (("nodes", nodes), ("edges", edges))
    ]
    return written[0], written[1]


def _flat(nodes: pa.Table, graph: Graph) -> pa.Table:
    """The table without lists and maps."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in nodes.column_names:
        column = nodes.column(name)
        if pa.types.is_dictionary(column.type):
            columns[name] = column.cast(column.type.value_type)
        elif pa.types.is_list(column.type):
            columns[name] = _text(name, column)
        elif not pa.types.is_map(column.type):
            columns[name] = column
        elif graph.attributes is not None:
            raise InputError(
                f"the column {name!r} holds counts of words, for which CSV has no place; "
                "write .parquet"
            )
        else:
            columns |= _features(graph)
    return pa.table(columns)


def _text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    words = pc.list_flatten(column)
    if pc.any(pc.match_substring_regex(words, r"\s|^$")).as_py():
        raise InputError(
            f"the column {name!r} has a word with white space in it, for which CSV has no place; "
            "write .parquet"
        )
    return pc.binary_join(column, " ")


def _features(graph: Graph) -> dict[str, pa.Array]:
    x, names = graph.x, graph.feature_names
    assert not isinstance(x, np.ndarray)
    if names is None and (x.data == 1).all():
        known = np.array([f"w{at}" for at in range(x.shape[1])], dtype=object)
        rows = np.split(known[x.indices], x.indptr[1:-1])
        return {"words": pa.array([" ".join(row) for row in rows], pa.string())}
    dense = x.toarray()
    named = names or [f"w{at}" for at in range(x.shape[1])]
    return {name: pa.array(dense[:, at]) for at, name in enumerate(named)}
