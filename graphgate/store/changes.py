"""A batch compared with what is stored: only what is new or different is a change."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.errors import InputError
from graphgate.estimators.region import Region, adjacency, scattered
from graphgate.graph.attributes import Attributes
from graphgate.graph.validation import Features
from graphgate.io.columns import one_piece
from graphgate.store.batch import Batch, positions, refuse_unknown
from graphgate.store.lance_tables import ID, NUMBER, Snapshot
from graphgate.store.records import (
    LABEL,
    ROW_SUM,
    conforming,
    content_columns,
    label_column,
    read_vector_rows,
    stored_form,
)

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Change:
    """Nodes by number, and edges as pairs of numbers.

    rows : of the node table, of new nodes and of those with other attributes or labels.
    changed : the numbers of nodes that are new or have other attributes, and `features` of these.
    new, removed : numbers of nodes.
    pairs : (E, 2) edges that are new, gone, or of another weight.
    weights : (E, 2) their weights before and after, 0 where there is no edge.
    """

    rows: pa.Table
    new: np.ndarray
    changed: np.ndarray
    features: Features | None
    removed: np.ndarray
    pairs: np.ndarray
    weights: np.ndarray

    def __bool__(self) -> bool:
        return bool(len(self.rows) or len(self.pairs) or len(self.removed))


def resolved(
    batch: Batch,
    features: Features | None,
    snapshot: Snapshot,
    next_number: int,
    *,
    directed: bool,
) -> Change:
    """What a batch changes; an edge to a node that is neither stored nor in the batch is refused.

    features : of the nodes that are described, encoded.
    next_number : that of the first new node.
    """
    if (twice := len(batch.ids) - pc.count_distinct(batch.ids).as_py()) > 0:
        raise InputError(f"{twice:,} node ids are given more than once; give each once")
    stored = snapshot.find("nodes", ID, batch.ids)
    places = positions(batch.ids, stored.column(ID))
    new = places < 0
    numbers = np.empty(len(batch.ids), dtype=np.int64)
    numbers[new] = np.arange(next_number, next_number + int(new.sum()))
    numbers[~new] = stored.column(NUMBER).to_numpy()[places[~new]]
    rows, other, relabeled = _compared(batch, stored, places, numbers, snapshot)
    pairs, weights = _edge_changes(batch, snapshot, numbers, directed)
    return Change(
        rows.filter(pa.array(other | relabeled)),
        numbers[new],
        numbers[other],
        features[np.flatnonzero(other)] if features is not None and other.any() else None,
        _NONE,
        pairs,
        weights,
    )


def removal(numbers: np.ndarray, pairs: np.ndarray, snapshot: Snapshot) -> Change:
    """Without these nodes and their edges, and without these edges, which must be stored."""
    empty = snapshot.schema("nodes").empty_table()
    own, weights = incident_edges(snapshot, numbers)
    before = _stored_weights(snapshot, pairs)
    pairs, keep = np.unique(np.concatenate([own, pairs]), axis=0, return_index=True)
    before = np.concatenate([weights, before])[keep]
    both = np.stack([before, np.zeros(len(before))], axis=1)
    return Change(empty, _NONE, _NONE, None, np.sort(numbers), pairs, both)


def ordered(pairs: np.ndarray, *, directed: bool) -> np.ndarray:
    """Pairs as they are stored: of an undirected edge, the smaller number first."""
    return pairs if directed else np.sort(pairs, axis=1)


def incident_edges(snapshot: Snapshot, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) edges at these nodes, each once, and their weights."""
    values = pa.array(numbers)
    found = pa.concat_tables(
        [snapshot.find("edges", column, values) for column in ("source", "target")]
    )
    pairs = np.stack([found.column(name).to_numpy() for name in ("source", "target")], axis=1)
    pairs, keep = np.unique(pairs.reshape(-1, 2), axis=0, return_index=True)
    return pairs, found.column("weight").to_numpy()[keep]


def changed_region(
    change: Change,
    snapshot: Snapshot,
    *,
    hops: int,
    hub: float,
    directed: bool,
) -> tuple[Region, np.ndarray]:
    """The region of a change, without `near_features`, and the numbers that need them.

    hub : sum of weights above which an edge more or less counts for nothing to the neighbors of a
        node, which then are not part of the region on its account.
    """
    known = np.setdiff1d(change.changed, change.new)
    touched = np.unique(np.concatenate([change.pairs.ravel(), change.changed, change.removed]))
    near = np.union1d(touched, incident_edges(snapshot, known)[0])
    ring = near
    for _ in range(hops - 2):
        ring = np.union1d(ring, incident_edges(snapshot, ring)[0])
    spreading = np.setdiff1d(ring, np.concatenate([change.new, _hubs(snapshot, touched, hub)]))
    stored, weights = incident_edges(snapshot, np.union1d(spreading, known))
    numbers = np.union1d(ring, stored)
    m = len(numbers)
    new, removed, changed, close = (
        np.isin(numbers, some) for some in (change.new, change.removed, change.changed, near)
    )
    states, sums = _states(snapshot, numbers, new)
    local, other = np.searchsorted(numbers, stored), np.searchsorted(numbers, change.pairs)
    difference = change.weights[:, 1] - change.weights[:, 0]
    delta = adjacency(other, difference, m, directed=directed)
    after = sums + np.stack([delta.sum(axis=1), delta.sum(axis=0)], axis=1)
    after[after < 1e-9 * sums] = 0.0  # rounding
    same = ~np.isin(local @ [m, 1], other @ [m, 1])
    kept = change.weights[:, 1] > 0
    pairs = np.concatenate([local[same], other[kept]])
    grown = np.concatenate([weights[same], change.weights[kept, 1]])
    order = np.argsort(change.changed)
    region = Region(
        numbers,
        new,
        removed,
        changed,
        close,
        (
            adjacency(local, weights, m, directed=directed),
            adjacency(pairs, grown, m, directed=directed),
        ),
        (sums, after),
        states,
        None if change.features is None else change.features[order],
        None,
    )
    return region, numbers[close & ~new]


def _hubs(snapshot: Snapshot, numbers: np.ndarray, hub: float) -> np.ndarray:
    if not np.isfinite(hub):
        return _NONE
    rows = snapshot.find("vectors", NUMBER, pa.array(numbers), [NUMBER, ROW_SUM])
    found: np.ndarray = rows.column(NUMBER).to_numpy()[rows.column(ROW_SUM).to_numpy() > hub]
    return found


def _states(
    snapshot: Snapshot, numbers: np.ndarray, new: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of the table of vectors, and the sums; zero for new nodes."""
    rows = snapshot.find_long("vectors", NUMBER, pa.array(numbers[~new]))
    known, columns, sums = read_vector_rows(rows, snapshot.schema("vectors"))
    places, m = np.searchsorted(numbers, known), len(numbers)
    found = {name: scattered(values, places, m) for name, values in columns.items()}
    return found, scattered(sums, places, m)


def _compared(
    batch: Batch, stored: pa.Table, places: np.ndarray, numbers: np.ndarray, snapshot: Snapshot
) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Rows of the node table, which have other content, and which have only another label."""
    n, schema = len(batch.ids), snapshot.schema("nodes")
    columns: dict[str, Any] = {NUMBER: pa.array(numbers), ID: batch.ids}
    if isinstance(batch.content, Attributes):
        columns |= content_columns(batch.content)
    elif batch.content is not None:
        columns |= content_columns(stored_form(batch.content, schema))
    known = places >= 0
    at = pa.array(places, mask=~known)
    if batch.labels is not None:
        columns |= label_column(batch.labels)
    elif LABEL in schema.names:
        columns[LABEL] = one_piece(stored.column(LABEL).take(at))
    rows = conforming(columns, schema, n)
    other, relabeled = ~known, np.zeros(n, dtype=bool)
    before = stored.take(pa.array(places[known]))
    now = rows.filter(pa.array(known))
    for name in schema.names:
        if name in (NUMBER, ID):
            continue
        pairs = zip(before.column(name).to_pylist(), now.column(name).to_pylist(), strict=True)
        different = np.zeros(n, dtype=bool)
        different[known] = [old != new for old, new in pairs]
        if name == LABEL:
            relabeled |= different
        else:
            other = other | different
    return rows, other, relabeled & ~other


def _edge_changes(
    batch: Batch, snapshot: Snapshot, numbers: np.ndarray, directed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Edges that are not stored with the same weight, and their weights before and after."""
    if not len(batch.pairs):
        return np.empty((0, 2), dtype=np.int64), np.empty((0, 2))
    inside = positions(batch.ends, pa.chunked_array([batch.ids]))
    ends = np.where(inside >= 0, numbers[inside] if len(numbers) else -1, -1)
    outside = batch.ends.filter(pa.array(ends < 0))
    stored = snapshot.find("nodes", ID, outside, [NUMBER, ID])
    places = positions(outside, stored.column(ID))
    refuse_unknown(outside.filter(pa.array(places < 0)), "stored and not in the batch")
    ends[ends < 0] = stored.column(NUMBER).to_numpy()[places]
    pairs = ordered(ends[batch.pairs], directed=directed)
    before = _stored_weights(snapshot, pairs)
    changed = before != batch.weights
    return pairs[changed], np.stack([before, batch.weights], axis=1)[changed]


def _stored_weights(snapshot: Snapshot, pairs: np.ndarray) -> np.ndarray:
    """(E,), 0 where an edge is not stored."""
    rows = snapshot.find("edges", "source", pa.array(np.unique(pairs[:, 0])))
    columns = [rows.column(name).to_pylist() for name in ("source", "target", "weight")]
    known = {(source, target): weight for source, target, weight in zip(*columns, strict=True)}
    return np.array([known.get((a, b), 0.0) for a, b in pairs.tolist()], dtype=np.float64)
