"""`Graph` -> tables of edges and nodes, which `from_tables` and `read_graph` read back."""

import json
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning, warn_ignored
from graphgate.graph.column_kinds import Column, moments_of
from graphgate.graph.graph import Graph
from graphgate.io.files import StrPath, make_folder
from graphgate.io.table_files import TABLE_ENDINGS, write_table
from graphgate.io.tables import id_array, value_array


def to_tables(graph: Graph, *, id: str = "id", label: str = "label") -> tuple[pa.Table, pa.Table]:
    """The edges and the nodes of a graph as Arrow tables, in the order of `from_tables`.

    Edges have the columns source, target and, in a weighted graph, weight; an undirected edge is
    listed once.

    Nodes have the columns `id`, one per attribute and, where there are labels, `label`. Numbers,
    booleans, dates and categories (as Arrow dictionaries) are null where missing. Words are lists
    where all counts are small integers, otherwise maps from words to counts. Features that are not
    attributes are one column each, or a single map if they are sparse.

    A warning names what tables do not hold: splits, and options for reading them, such as
    `directed=True`.

    >>> edges, nodes = to_tables(Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]))
    >>> edges.to_pydict()
    {'source': ['p'], 'target': ['q']}
    """
    tables = _tables(graph, id, label)
    _note(graph, "the tables", {"directed": True} if graph.directed else {})
    return tables


def _tables(graph: Graph, id: str = "id", label: str = "label") -> tuple[pa.Table, pa.Table]:
    ids = id_array(graph.ids)
    columns = _node_columns(graph)
    if taken := columns.keys() & {id, label}:
        raise InputError(
            f"an attribute is named {min(taken)!r}, like the column of ids or labels; "
            "choose another name with id= or label="
        )
    labels = graph.label_values()
    if labels is not None:
        columns[label] = value_array(labels, "label")
    pairs = (graph.adjacency if graph.directed else sp.triu(graph.adjacency, 1)).tocoo()
    edges = {"source": ids.take(pa.array(pairs.row)), "target": ids.take(pa.array(pairs.col))}
    if graph.weighted:
        edges["weight"] = pa.array(pairs.data)
    return pa.table(edges), pa.table({id: ids} | columns)


def write_graph(folder: StrPath, graph: Graph, ending: str = ".csv") -> tuple[Path, Path]:
    """Write a graph as two tables, from which `read_graph` reads it again.

    Parameters
    ----------
    folder : where the files `edges` and `nodes` go; created if necessary.
    ending : ".csv" or ".parquet". The columns are those of `to_tables`. CSV has no lists, so words
        become text, and sparse 0/1 features without names become a column `words` of w0, w1, …;
        other sparse features become one column each. A warning names splits, which are not
        written, and the options with which `read_graph` makes the same graph.

    Returns
    -------
    The paths of the edges and of the nodes, in the order of `read_graph`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> graph = Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"])
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_graph(folder, graph)]
    ['edges.csv', 'nodes.csv']
    """
    if ending not in TABLE_ENDINGS:
        raise InputError(f"a graph is written as {' or '.join(TABLE_ENDINGS)}, not {ending!r}")
    edges, nodes = _tables(graph)
    options: dict[str, Any] = {"directed": True} if graph.directed else {}
    if ending == ".csv":
        options |= _spelled(nodes, graph)
        nodes = _flat(nodes, graph)
    target = make_folder(folder)
    paths = (
        write_table(target / f"edges{ending}", edges),
        write_table(target / f"nodes{ending}", nodes),
    )
    _note(graph, str(folder), options)
    return paths


def _note(graph: Graph, where: str, options: Mapping[str, Any]) -> None:
    """Warn about what tables do not hold; `options` read them as they were."""
    warn_ignored(where, "split", list(graph.splits), "tables have no place for splits")
    if options:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        warnings.warn(InputWarning(f"{where}: read the same graph with {given}"), stacklevel=3)


def _spelled(nodes: pa.Table, graph: Graph) -> dict[str, Any]:
    """The columns whose kind is not that of their cells in a text file, by option."""
    table = graph.attributes
    if table is None:
        binary = "features" in nodes.column_names and graph.feature_names is None
        return {"words": ["words"]} if binary and (graph.x.data == 1).all() else {}
    options: dict[str, Any] = {
        "words": [name for name in table if table[name].kind == "words"],
        "categories": [name for name in table if _looks_numeric(table[name])],
        "kinds": {
            name: table[name].kind for name in table if table[name].kind in ("text", "vector")
        },
    }
    return {option: names for option, names in options.items() if names}


def _looks_numeric(column: Column) -> bool:
    """Whether a category would be read as numbers, booleans or dates from a text file."""
    if column.kind != "category" or not column.vocabulary:
        return False
    spelled = pa.array([str(value).lower() for value in column.vocabulary])
    for kind in (pa.float64(), pa.bool_(), pa.timestamp("us")):
        with suppress(pa.ArrowInvalid):
            spelled.cast(kind)
            return True
    return False


def _node_columns(graph: Graph) -> dict[str, pa.Array]:
    if graph.attributes is not None:
        return {name: _stored(graph.attributes[name]) for name in graph.attributes}
    if graph.x is None:
        return {}
    names = graph.feature_names or tuple(f"feature {at}" for at in range(graph.n_features))
    if isinstance(graph.x, np.ndarray):
        return {name: pa.array(graph.x[:, at]) for at, name in enumerate(names)}
    return {"features": _map(graph.x, names)}


def _stored(column: Column) -> pa.Array:
    """The values, dates as such: without a time of day if none has one."""
    moments = moments_of(column)
    if moments is None:
        return attribute_array(column)
    days = moments.astype("datetime64[D]")
    return pa.array(days if ((days == moments) | np.isnat(moments)).all() else moments)


def attribute_array(column: Column) -> pa.Array:
    """The values as Arrow stores them, null where missing."""
    values = column.values
    if column.kind in ("number", "boolean"):
        return pa.array(values if column.kind == "number" else values == 1, mask=column.missing)
    if column.kind == "category":
        codes = pa.array(values, mask=column.missing)
        return pa.DictionaryArray.from_arrays(codes, value_array(column.vocabulary, "category"))
    if column.kind == "vector":
        gone = pa.array(column.missing)
        return pa.FixedSizeListArray.from_arrays(
            pa.array(values.ravel(), from_pandas=True), values.shape[1], mask=gone
        )
    counts = values.data
    if (
        counts.sum() > 2 * values.nnz + 99
        or (counts != np.floor(counts)).any()
        or (counts < 1).any()
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


# --- CSV -----------------------------------------------------------------------------------------


def _flat(nodes: pa.Table, graph: Graph) -> pa.Table:
    """The table without lists and maps."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in nodes.column_names:
        column = nodes.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) and pc.any(pc.equal(column, "")).as_py():
            raise InputError(
                f"the column {name!r} contains empty text, which CSV cannot distinguish from a "
                "missing value; write .parquet"
            )
        if pa.types.is_fixed_size_list(column.type):
            rows = column.to_pylist()
            columns[name] = pa.array([None if v is None else json.dumps(v) for v in rows])
        elif pa.types.is_list(column.type):
            columns[name] = _text(name, column)
        elif not pa.types.is_map(column.type):
            columns[name] = column
        elif graph.attributes is not None:
            raise InputError(
                f"the column {name!r} contains word counts, which CSV cannot store; write .parquet"
            )
        else:
            columns |= _features(graph)
    return pa.table(columns)


def _text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pc.any(pc.match_substring_regex(pc.list_flatten(column), r"\s|^$")).as_py():
        raise InputError(
            f"the column {name!r} contains a word that is empty or has white space, which CSV "
            "cannot store; write .parquet"
        )
    return pc.binary_join(column, " ")


def _features(graph: Graph) -> dict[str, pa.Array]:
    x = graph.x
    assert sp.issparse(x)
    names = graph.feature_names or [f"w{at}" for at in range(x.shape[1])]
    if graph.feature_names is None and (x.data == 1).all():
        rows = np.split(np.array(names, dtype=object)[x.indices], x.indptr[1:-1])
        return {"words": pa.array([" ".join(row) for row in rows], pa.string())}
    dense = x.toarray()
    return {name: pa.array(dense[:, at]) for at, name in enumerate(names)}
