"""Whether the tables of a version agree with each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.store.lance_tables import ID, INDEXED, NUMBER, Snapshot
from graphgate.store.layout import TABLES


def problems_of(snapshot: Snapshot, details: Mapping[str, Any]) -> list[str]:
    """Read every row of every table, and say what does not fit, a sentence for each."""
    columns, problems = {}, []
    for table in TABLES:
        columns[table], finite = _read(snapshot, table)
        if not finite:
            problems.append(f"the table of {table} has numbers that are not finite")
        expected = details["n_edges" if table == "edges" else "n_nodes"]
        if (count := len(columns[table])) != expected:
            problems.append(f"the table of {table} has {count:,} rows, not {expected:,}")
        problems += [
            f"the index of the column {name!r} of the table of {table} does not find every row"
            for name in INDEXED[table]
            if len(snapshot.find(table, name, columns[table].column(name).unique(), [name]))
            != count
        ]
    nodes, vectors = columns["nodes"], columns["vectors"]
    numbers = np.sort(nodes.column(NUMBER).to_numpy())
    if pc.count_distinct(nodes.column(ID)).as_py() != len(nodes):
        problems.append("two nodes have the same id")
    if (numbers[1:] == numbers[:-1]).any() or (numbers >= details["next_number"]).any():
        problems.append("two nodes have the same number, or one has a number that is not used yet")
    if not np.array_equal(numbers, np.sort(vectors.column(NUMBER).to_numpy())):
        problems.append("nodes and vectors are not of the same nodes")
    ends = [columns["edges"].column(name).to_numpy() for name in INDEXED["edges"]]
    if not np.isin(np.concatenate(ends), numbers).all():
        problems.append("an edge leads to a node that is not stored")
    if len(np.unique(np.stack(ends), axis=1).T) != len(ends[0]):
        problems.append("an edge is stored twice")
    return problems


def _read(snapshot: Snapshot, table: str) -> tuple[pa.Table, bool]:
    """The indexed columns, and whether all numbers of the others are finite."""
    finite, keep = True, []
    names = list(INDEXED[table])
    for batch in snapshot.batches(table):
        finite = finite and all(map(_finite, batch.columns))
        keep.append(batch.select(names))
    schema = pa.schema([snapshot.schema(table).field(name) for name in names])
    return pa.Table.from_batches(keep, schema), finite


def _finite(column: pa.Array) -> bool:
    """Whether all numbers of a column are finite; null is not a number."""
    if pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
    if not pa.types.is_floating(column.type):
        return True
    return bool(pc.all(pc.is_finite(column)).as_py() is not False)
