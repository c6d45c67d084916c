"""From a batch to the rows of a commit.

A `Change` lists the nodes and edges that become different; `compared` and `removal` make one. The
fitted model computes the vectors of the nodes around it, its `Region`, from what is stored of
these nodes.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphgate.compute.neighbors import unit_vectors
from graphgate.errors import InputError, InputWarning, warn_ignored
from graphgate.estimators.fitted import VECTOR, Reach
from graphgate.estimators.loading import Estimator
from graphgate.estimators.region import Region, adjacency, scattered
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.additions import Batch, refuse_unknown
from graphgate.io.columns import one_piece
from graphgate.io.id_columns import rows_of
from graphgate.store.database import Writer
from graphgate.store.lance_tables import ID, NUMBER, Snapshot
from graphgate.store.records import (
    LABEL,
    ROW_SUM,
    conforming,
    edge_rows,
    node_columns,
    read_content,
    read_vector_rows,
    stored_form,
    vector_rows,
)

_NONE = np.empty(0, dtype=np.int64)
_ROUNDING = 1e-6  # relative change of a vector or of a sum of weights


@dataclass(frozen=True)
class Change:
    """The nodes and edges of a snapshot that become different; nodes are given by number.

    rows : of the node table, of nodes that are new or have other attributes or another label.
    new, removed : numbers of nodes.
    changed : sorted numbers of nodes that are new or have other attributes.
    features : of the nodes in `changed`; None if there are none.
    pairs : (E, 2) edges that are new, gone, or of another weight.
    weights : (E, 2) their weights before and after; 0 where there is no edge.
    """

    snapshot: Snapshot
    estimator: Estimator
    rows: pa.Table
    pairs: np.ndarray
    weights: np.ndarray
    new: np.ndarray
    changed: np.ndarray
    features: Features | None
    removed: np.ndarray

    def __bool__(self) -> bool:
        return bool(len(self.rows) or len(self.pairs) or len(self.removed))

    @cached_property
    def region(self) -> Region:
        """The nodes around the change, with what is stored of them, before and after it."""
        reach, directed = self.estimator.fit_.reach, self.estimator.fitted_on_.directed
        near, numbers, pairs, weights = _surroundings(self, self.snapshot, reach)
        m = len(numbers)
        new, removed, changed, is_near = (
            np.isin(numbers, each) for each in (self.new, self.removed, self.changed, near)
        )
        rows, changed_rows = np.searchsorted(numbers, pairs), np.searchsorted(numbers, self.pairs)
        unchanged = ~np.isin(rows @ [m, 1], changed_rows @ [m, 1])  # an edge as one integer

        def attended(changed_weights: np.ndarray) -> Any:
            exists = changed_weights > 0
            edges = np.concatenate([rows[unchanged], changed_rows[exists]])
            values = np.concatenate([weights[unchanged], changed_weights[exists]])
            return adjacency(edges, values, m, directed=directed)

        before, after = map(attended, self.weights.T)
        states, sums = _states(self.snapshot, numbers, new)
        difference = after - before
        sums_after = sums + np.stack([difference.sum(axis=1), difference.sum(axis=0)], axis=1)
        sums_after[sums_after < 1e-9 * sums] = 0.0  # rounding
        return Region(
            numbers,
            new,
            removed,
            changed,
            is_near,
            (before, after),
            (sums, sums_after),
            states,
            self.features,
            _stored_features(self.snapshot, numbers[is_near & ~new], self.estimator)
            if reach.near_features
            else None,
        )

    @cached_property
    def states(self) -> dict[str, np.ndarray]:
        """(m, …) all columns of the nodes of the region after the change, `VECTOR` among them."""
        return self.estimator.fit_.update(self.region)

    @cached_property
    def moved(self) -> np.ndarray:
        """(m,) which vectors of the region are different."""
        before, after = self.region.states[VECTOR], self.states[VECTOR]
        scale = np.linalg.norm(after, axis=1).clip(min=1e-30)
        moved = np.abs(after - before).max(axis=1, initial=0) > _ROUNDING * scale
        return moved & ~self.region.removed

    def vectors(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and vectors of some nodes of the region."""
        return self.region.numbers[mask], self.states[VECTOR][mask]

    def write(self, writer: Writer) -> None:
        """Write the change to the tables; it is not visible until the writer commits."""
        region, (existed, exists) = self.region, self.weights.T > 0
        writer.upsert("nodes", self.rows)
        writer.delete("nodes", NUMBER, pa.array(self.removed))
        writer.delete_pairs(self.pairs[existed])
        writer.append("edges", edge_rows(self.pairs[exists], self.weights[exists, 1]))
        resized = (region.sums[0] != region.sums[1]).any(axis=1)
        rows = (self.moved | resized | region.changed) & ~region.removed
        states = {name: values[rows] for name, values in self.states.items()}
        writer.delete("vectors", NUMBER, pa.array(self.removed))
        writer.upsert("vectors", vector_rows(region.numbers[rows], states, region.sums[1][rows]))

    def details(self, last: Mapping[str, Any]) -> dict[str, Any]:
        """The details of the version after the change, from those of the version before it."""
        added, removed, n_pairs = len(self.new), len(self.removed), len(self.pairs)
        n_nodes = len(self.changed) + removed
        new_edges, gone_edges = (self.weights == 0).sum(axis=0).tolist()
        stale = {"stale_nodes": n_nodes, "stale_edges": n_pairs, "stale_shift": self._margin_shift}
        exact = self.estimator.fit_.reach.exact
        return {
            "n_nodes": last["n_nodes"] + added - removed,
            "n_edges": last["n_edges"] + new_edges - gone_edges,
            "next_number": last["next_number"] + added,
            "exact_since": last["exact_since"],
            **{name: 0 if exact else last[name] + more for name, more in stale.items()},
            "added": added,
            "changed": n_nodes - added - removed,
            "removed": removed,
            "edges": n_pairs,
        }

    @property
    def _margin_shift(self) -> float:
        """The largest cosine distance that a node at the margin of the region has moved."""
        margin = self.moved & ~self.region.near
        before, after = (unit_vectors(s[VECTOR][margin]) for s in (self.region.states, self.states))
        cosines = np.einsum("nd,nd->n", before, after)
        return float(np.clip(1 - cosines, 0, 2).max(initial=0.0))


# --- which nodes and edges -----------------------------------------------------------------------


def compared(batch: Batch, snapshot: Snapshot, estimator: Estimator, next_number: int) -> Change:
    """Compare a batch with what is stored: only what is new or different is a change.

    An edge to a node that is neither stored nor in the batch is refused.

    next_number : number of the first new node.
    """
    features = None if batch.content is None else encoded_features(batch.content, estimator)
    stored = snapshot.find("nodes", ID, batch.ids)
    places = rows_of(stored.column(ID), batch.ids)
    new = places < 0
    numbers = np.empty(len(batch.ids), dtype=np.int64)
    numbers[new] = next_number + np.arange(int(new.sum()))
    numbers[~new] = stored.column(NUMBER).to_numpy()[places[~new]]
    rows, different, relabeled = _compared_rows(batch, stored, places, numbers)
    pairs, weights = _compared_edges(batch, snapshot, numbers, estimator.fitted_on_.directed)
    changed = np.flatnonzero(different)
    changed = changed[np.argsort(numbers[changed])]
    return Change(
        snapshot,
        estimator,
        rows.filter(pa.array(different | relabeled)),
        pairs,
        weights,
        new=numbers[new],
        changed=numbers[changed],
        features=features[changed] if features is not None and len(changed) else None,
        removed=_NONE,
    )


def removal(
    numbers: np.ndarray, pairs: np.ndarray, snapshot: Snapshot, estimator: Estimator
) -> Change:
    """The change of removing nodes with all their edges, and edges, which must be stored."""
    no_rows = snapshot.schema("nodes").empty_table()
    incident, weights = incident_edges(snapshot, numbers)
    weights = np.concatenate([weights, _stored_weights(snapshot, pairs)])
    pairs, first = np.unique(np.concatenate([incident, pairs]), axis=0, return_index=True)
    if missing := int((weights[len(incident) :] == 0).sum()):
        raise InputError(
            f"{missing:,} of {len(weights) - len(incident):,} edges are not stored; pass only "
            "edges that are"
        )
    both = np.stack([weights[first], np.zeros(len(first))], axis=1)
    return Change(
        snapshot,
        estimator,
        no_rows,
        pairs,
        both,
        new=_NONE,
        changed=_NONE,
        features=None,
        removed=np.sort(numbers),
    )


def ordered(pairs: np.ndarray, *, directed: bool) -> np.ndarray:
    """Pairs as they are stored: the smaller number of an undirected edge first."""
    return pairs if directed else np.sort(pairs, axis=1)


def incident_edges(snapshot: Snapshot, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges at these nodes, (E, 2), each once, and their weights."""
    edges = pa.concat_tables(
        [snapshot.find("edges", end, pa.array(numbers)) for end in ("source", "target")]
    )
    pairs = np.stack([edges.column(end).to_numpy() for end in ("source", "target")], axis=1)
    pairs, first = np.unique(pairs.reshape(-1, 2), axis=0, return_index=True)
    return pairs, edges.column("weight").to_numpy()[first]


def encoded_features(content: Attributes | Features, estimator: Estimator) -> Features:
    """Encode what describes some nodes; refuses what the estimator was not fitted on."""
    attributes = content if isinstance(content, Attributes) else None
    graph = Graph(content if attributes is None else None, attributes=attributes)
    return estimator.features(graph)


def _compared_rows(
    batch: Batch, stored: pa.Table, places: np.ndarray, numbers: np.ndarray
) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Rows of the node table; which are new or have other attributes, which another label.

    places : (n,) row in `stored` of each node of the batch; -1 if it is new.
    """
    schema, known = stored.schema, places >= 0
    columns = node_columns(numbers, batch.ids, stored_form(batch.content, schema), batch.labels)
    if LABEL not in schema.names:
        lost = [str(label) for label in batch.labels or () if label is not None]
        warn_ignored("the nodes", "label", lost, "a store that is created with labels keeps them")
    elif batch.labels is None:
        columns[LABEL] = one_piece(stored.column(LABEL).take(pa.array(places, mask=~known)))
    rows = conforming(columns, schema, len(batch.ids))
    before, after = stored.take(pa.array(places[known])), rows.filter(pa.array(known))
    different, relabeled = ~known, np.zeros(len(known), dtype=bool)
    for name in schema.names:
        if name in (NUMBER, ID):
            continue
        values = zip(before.column(name).to_pylist(), after.column(name).to_pylist(), strict=True)
        marked = relabeled if name == LABEL else different
        marked[known] |= np.array([old != new for old, new in values], dtype=bool)
    return rows, different, relabeled


def _compared_edges(
    batch: Batch, snapshot: Snapshot, numbers: np.ndarray, directed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Edges that are not stored with the same weight, and their weights before and after."""
    stored = snapshot.find("nodes", ID, batch.ends, [NUMBER, ID])
    known = pa.chunked_array([*batch.ids.chunks, *stored.column(ID).chunks], batch.ends.type)
    rows = rows_of(known, batch.ends)
    missing = batch.ends.filter(pa.array(rows < 0))
    refuse_unknown(missing, "stored and not in the batch")
    ends = np.concatenate([numbers, stored.column(NUMBER).to_numpy()])[rows]
    pairs = ordered(ends[batch.pairs], directed=directed)
    before = _stored_weights(snapshot, pairs)
    different = before != batch.weights
    return pairs[different], np.stack([before, batch.weights], axis=1)[different]


def _stored_weights(snapshot: Snapshot, pairs: np.ndarray) -> np.ndarray:
    """(E,) weights of edges, 0 where an edge is not stored."""
    rows = snapshot.find("edges", "source", pa.array(np.unique(pairs[:, 0])))
    columns = [rows.column(name).to_pylist() for name in ("source", "target", "weight")]
    known = {(source, target): weight for source, target, weight in zip(*columns, strict=True)}
    return np.array([known.get((a, b), 0.0) for a, b in pairs.tolist()], dtype=np.float64)


# --- the nodes around them -----------------------------------------------------------------------


def _surroundings(
    change: Change, snapshot: Snapshot, reach: Reach
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The nodes near a change and all nodes around it, sorted, and the stored edges among them.

    Near are the nodes at changed edges, those with other attributes, and the neighbors of the
    latter. From these, the change spreads along stored edges, one hop at a time, but not from a
    node of so many edges that a few more change its vector very little.

    Returns
    -------
    near, numbers : numbers of nodes.
    pairs, weights : (E, 2) edges and (E,) their weights; all edges of the nodes that are not at the
        margin.
    """
    described = np.setdiff1d(change.changed, change.new)  # stored, with other attributes
    touched = np.unique(np.concatenate([change.pairs.ravel(), change.changed, change.removed]))
    near = np.union1d(touched, incident_edges(snapshot, described)[0])
    inner = near
    for _ in range(reach.hops - 2):
        inner = np.union1d(inner, incident_edges(snapshot, inner)[0])
    spreading = np.setdiff1d(inner, np.union1d(change.new, _hubs(snapshot, touched, reach.hub)))
    pairs, weights = incident_edges(snapshot, np.union1d(spreading, described))
    return near, np.union1d(inner, pairs), pairs, weights


def _hubs(snapshot: Snapshot, numbers: np.ndarray, hub: float) -> np.ndarray:
    """Those of the nodes with a sum of weights above `hub`."""
    if not np.isfinite(hub):
        return _NONE
    rows = snapshot.find("vectors", NUMBER, pa.array(numbers), [NUMBER, ROW_SUM])
    hubs: np.ndarray = rows.filter(pc.field(ROW_SUM) > hub).column(NUMBER).to_numpy()
    return hubs


def _states(
    snapshot: Snapshot, numbers: np.ndarray, new: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of the table of vectors and the sums of weights; zero for new nodes."""
    rows = snapshot.find_long("vectors", NUMBER, pa.array(numbers[~new]))
    known, columns, sums = read_vector_rows(rows, snapshot.schema("vectors"))
    places, m = np.searchsorted(numbers, known), len(numbers)
    states = {name: scattered(values, places, m) for name, values in columns.items()}
    return states, scattered(sums, places, m)


def _stored_features(snapshot: Snapshot, numbers: np.ndarray, estimator: Estimator) -> Features:
    """The features of stored nodes, encoded."""
    rows = snapshot.find_long("nodes", NUMBER, pa.array(numbers)).sort_by(NUMBER)
    if not len(rows):
        return np.empty((0, estimator.n_features_in_), dtype=np.float32)
    content = read_content(rows, estimator)
    with warnings.catch_warnings():  # they were given when the nodes were added
        warnings.simplefilter("ignore", InputWarning)
        return encoded_features(content, estimator)


def exact_details(version: int, **counts: int) -> dict[str, Any]:
    """The details of a version in which all vectors are exact."""
    stale = {"stale_nodes": 0, "stale_edges": 0, "stale_shift": 0.0}
    return {**counts, "exact_since": version, **stale}
