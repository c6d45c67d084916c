"""A store without some nodes, as if they had never been stored."""

from collections.abc import Iterable
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import clone

from graphgate.errors import InputError, listing
from graphgate.estimators.loading import Estimator
from graphgate.graph.graph import Graph
from graphgate.io.id_columns import rows_of
from graphgate.store.lance_tables import ID, NUMBER, Snapshot


def ever_stored(ids: pa.ChunkedArray, snapshots: Iterable[Snapshot]) -> np.ndarray:
    """(M,) whether a node with an id is in any of the snapshots that can be read."""
    ever = np.zeros(len(ids), dtype=bool)
    for snapshot in snapshots:
        with suppress(InputError):
            ever |= rows_of(snapshot.find("nodes", ID, ids, [ID]).column(ID), ids) >= 0
    return ever


def without_nodes(snapshot: Snapshot, ids: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """The rows of all other nodes, sorted by number, and of the edges between them."""
    nodes, edges = snapshot.read("nodes").sort_by(NUMBER), snapshot.read("edges")
    nodes = nodes.filter(pc.invert(pc.is_in(nodes.column(ID), ids)))
    if not len(nodes):
        raise InputError("the store would have no nodes; delete its folder instead")
    for end in ("source", "target"):
        edges = edges.filter(pc.is_in(edges.column(end), nodes.column(NUMBER)))
    return nodes, edges


def fitted_afresh(estimator: Estimator, graph: Graph) -> Estimator:
    """An estimator with the same parameters that has seen nothing but this graph.

    It does not start from old weights, nor are its vectors rotated onto old ones: both depend on
    nodes that were erased.
    """
    fresh: Estimator = clone(estimator).fit(graph)
    fresh.notes_ = dict(estimator.notes_)
    return fresh


def refuse_never_stored(ids: pa.ChunkedArray, ever: np.ndarray) -> None:
    """Refuse ids that no version has.

    ever : (M,) which of them any version has.
    """
    if not ever.all():
        missing = listing([repr(one) for one in ids.filter(pa.array(~ever)).to_pylist()])
        raise InputError(
            f"no version of the store has a node {missing}; check how ids are written, and leave "
            "out those that were erased already"
        )
