"""The nodes of a graph <-> the columns of a table.

Attributes are columns of the same name, but for names that begin with an underscore, which get
another one, the name "*", which gets one, and dots and backquotes, which the name of a column of
LanceDB cannot have.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.fitted import PLACE, VECTOR
from graphgate.estimators.loading import Estimator
from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column
from graphgate.graph.validation import Features
from graphgate.io.columns import attribute_column, one_piece
from graphgate.io.graph_writer import attribute_array
from graphgate.io.tables import Table, value_array
from graphgate.store.lance_tables import ID, NUMBER, WIDTHS

LABEL = "_label"
ROW_SUM = "row_sum"
_STATES = "states"
_SUMS = (ROW_SUM, "column_sum")
_DENSE, _AT, _VALUES = "_features", "_feature_numbers", "_feature_values"
_WORDS = pa.list_(pa.struct([("word", pa.string()), ("count", pa.float32())]))


def stored_name(name: str) -> str:
    """The name of the column that holds an attribute."""
    return ("_" * (name.startswith("_") or name == "*") + name).replace(".", "·").replace("`", "'")


def node_columns(
    numbers: np.ndarray, ids: Any, content: Attributes | Features | None, labels: list[Any] | None
) -> dict[str, Any]:
    """The columns of the node table; nodes without content or labels have no such columns."""
    columns = {NUMBER: pa.array(numbers), ID: ids}
    if content is not None:
        columns |= _content_columns(content)
    return columns if labels is None else columns | {LABEL: value_array(labels, "label")}


def _content_columns(content: Attributes | Features) -> dict[str, pa.Array]:
    if isinstance(content, np.ndarray):
        return {_DENSE: fixed_size_lists(content)}
    if not isinstance(content, Attributes):
        offsets = pa.array(content.indptr.astype(np.int32))
        return {
            _AT: pa.ListArray.from_arrays(offsets, pa.array(content.indices.astype(np.int32))),
            _VALUES: pa.ListArray.from_arrays(offsets, pa.array(content.data)),
        }
    columns: dict[str, pa.Array] = {}
    for name in content:
        column = content[name]
        array = _word_counts(column) if column.is_counts else attribute_array(column)
        if column.kind == "category":
            array = array.cast(array.type.value_type)
        elif column.kind == "number":
            array = array.cast(pa.float64())
        if stored_name(name) in columns:
            raise InputError(f"two attributes would both be stored as {stored_name(name)!r}")
        columns[stored_name(name)] = array
    return columns


def read_content(rows: pa.Table, estimator: Estimator) -> Any:
    """The `Attributes` that an estimator encodes, or its features, of rows of the node table."""
    if estimator.encoder_ is not None:
        table = Table(rows, "the store")
        return Attributes(
            {
                name: attribute_column(table, name, rows.column(stored_name(name)), kind)
                for name, kind in estimator.encoder_.kinds.items()
            }
        )
    if _DENSE in rows.column_names:
        return array_of(rows.column(_DENSE))
    numbers, values = (one_piece(rows.column(name)) for name in (_AT, _VALUES))
    indptr = numbers.offsets.to_numpy() - numbers.offsets[0].as_py()
    parts = (values.flatten().to_numpy(), numbers.flatten().to_numpy(), indptr)
    return sp.csr_array(parts, shape=(len(rows), estimator.n_features_in_))


def labels_of(rows: pa.Table) -> list[Any] | None:
    """The labels of rows of the node table; None where the table has none."""
    return rows.column(LABEL).to_pylist() if LABEL in rows.column_names else None


def stored_form(content: Any, schema: pa.Schema) -> Any:
    """Features, dense or sparse as they are in a node table; anything else unchanged."""
    if sp.issparse(content) and _DENSE in schema.names:
        return content.toarray()
    if isinstance(content, np.ndarray) and _AT in schema.names:
        return sp.csr_array(content)
    return content


def conforming(columns: dict[str, Any], schema: pa.Schema, n: int) -> pa.Table:
    """N rows with the columns and types of a node table; columns that are not given are null."""
    converted: dict[str, Any] = {}
    for field in schema:
        column = columns.get(field.name)
        if column is None or column.null_count == len(column):
            column = pa.nulls(n, field.type)
        elif column.type != field.type:
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise InputError(
                    f"the column {field.name!r} has values of type {column.type}, but in the "
                    f"store they are of type {field.type}; write them in the same way",
                    about="nodes",
                ) from None
        converted[field.name] = column
    return pa.table(converted, schema=schema)


def edge_rows(pairs: np.ndarray, weights: np.ndarray) -> pa.Table:
    """Rows of the edge table, of (E, 2) numbers."""
    source, target = pairs.T
    return pa.table({"source": source, "target": target, "weight": weights})


def vector_rows(numbers: np.ndarray, columns: dict[str, np.ndarray], sums: np.ndarray) -> pa.Table:
    """Rows of the table of vectors.

    What is needed only together is one column: single rows of it are read at once, wherever they
    are. The metadata of the column names its parts.
    """
    parts = {name: columns[name] for name in sorted(columns) if name not in (VECTOR, PLACE)}
    widths = json.dumps({name: part.shape[1] for name, part in parts.items()})
    arrays = {NUMBER: pa.array(numbers)} | dict(zip(_SUMS, map(pa.array, sums.T), strict=True))
    arrays[_STATES] = fixed_size_lists(np.concatenate(list(parts.values()), axis=1))
    arrays |= {name: fixed_size_lists(columns[name]) for name in (PLACE, VECTOR) if name in columns}
    described = {_STATES: {WIDTHS: widths}}
    fields = [pa.field(name, of.type, metadata=described.get(name)) for name, of in arrays.items()]
    return pa.table(list(arrays.values()), pa.schema(fields))


def read_vector_rows(
    rows: pa.Table, schema: pa.Schema
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """What `vector_rows` was given; schema : of the table."""
    widths = json.loads(schema.field(_STATES).metadata[WIDTHS])
    ends = np.cumsum(list(widths.values()))[:-1]
    parts = np.split(array_of(rows.column(_STATES)), ends, axis=1)
    columns = dict(zip(widths, parts, strict=True))
    names = [name for name in (PLACE, VECTOR) if name in schema.names]
    columns |= {name: array_of(rows.column(name)) for name in names}
    sums = np.stack([rows.column(name).to_numpy() for name in _SUMS], axis=1)
    return rows.column(NUMBER).to_numpy(), columns, sums


def fixed_size_lists(matrix: np.ndarray) -> pa.Array:
    """(N, C) as a column of lists of C numbers."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])


def array_of(column: pa.ChunkedArray) -> np.ndarray:
    """(N, C), from what `fixed_size_lists` made."""
    values = one_piece(column)
    return values.flatten().to_numpy().reshape(len(values), column.type.list_size)


def _word_counts(column: Column) -> pa.Array:
    """Lists of words with counts, in the order of the vocabulary."""
    matrix = column.values
    words = pa.array(column.vocabulary, pa.string()).take(pa.array(matrix.indices))
    fields = list(_WORDS.value_type)
    pairs = pa.StructArray.from_arrays([words, pa.array(matrix.data)], fields=fields)
    return pa.ListArray.from_arrays(pa.array(matrix.indptr.astype(np.int32)), pairs)
