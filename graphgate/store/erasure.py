"""A store without some nodes, as if they had never been stored."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.io.id_columns import rows_of
from graphgate.store.lance_tables import ID, NUMBER, Snapshot


def never_stored(ids: pa.ChunkedArray, snapshots: Iterable[Snapshot]) -> list[Any]:
    """Those of the ids that no snapshot that can be read has."""
    ever = np.zeros(len(ids), dtype=bool)
    for snapshot in snapshots:
        with suppress(InputError):
            ever |= rows_of(snapshot.find("nodes", ID, ids, [ID]).column(ID), ids) >= 0
    never: list[Any] = ids.filter(pa.array(~ever)).to_pylist()
    return never


def without_nodes(snapshot: Snapshot, ids: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """The rows of all other nodes, sorted by number, and of the edges between them."""
    nodes, edges = snapshot.read("nodes").sort_by(NUMBER), snapshot.read("edges")
    nodes = nodes.filter(pc.invert(pc.is_in(nodes.column(ID), ids)))
    if not len(nodes):
        raise InputError("the store would have no nodes; delete its folder instead")
    for end in ("source", "target"):
        edges = edges.filter(pc.is_in(edges.column(end), nodes.column(NUMBER)))
    return nodes, edges
