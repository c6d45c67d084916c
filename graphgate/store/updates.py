"""A change of a store: what it does to the vectors, and how it is written."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from graphgate.errors import InputWarning
from graphgate.estimators.fitted import VECTOR
from graphgate.estimators.loading import Estimator
from graphgate.estimators.region import Region
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.store.changes import Change, changed_region
from graphgate.store.database import Writer
from graphgate.store.lance_tables import NUMBER, Snapshot
from graphgate.store.neighbors import unit_vectors
from graphgate.store.records import edge_rows, read_content, vector_rows

_STILL = 1e-6  # relative change of a vector that is due to rounding


class Update(NamedTuple):
    """The nodes around a change, all their columns after it, and which vectors have changed."""

    region: Region
    columns: dict[str, np.ndarray]
    moved: np.ndarray

    def vectors(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and vectors of some of the nodes."""
        return self.region.numbers[mask], self.columns[VECTOR][mask]


def update_of(change: Change, snapshot: Snapshot, estimator: Estimator) -> Update:
    """What a change does to the vectors of the nodes around it."""
    reach = estimator.fit_.reach
    region, near = changed_region(
        change,
        snapshot,
        hops=reach.hops,
        hub=reach.hub,
        directed=estimator.fitted_on_.directed,
    )
    if reach.near_features:
        rows = snapshot.find_long("nodes", NUMBER, pa.array(near)).sort_by(NUMBER)
        found: Any = np.empty((0, estimator.n_features_in_), dtype=np.float32)
        if len(rows):
            encoder = estimator.encoder_
            kinds = None if encoder is None else encoder.kinds
            content = read_content(rows, kinds, estimator.n_features_in_)
            with warnings.catch_warnings():  # they were given when the nodes were added
                warnings.simplefilter("ignore", InputWarning)
                found = encoded_features(content, estimator)
        region = replace(region, near_features=found)
    columns = estimator.fit_.update(region)
    before, after = region.states[VECTOR], columns[VECTOR]
    scale = np.linalg.norm(after, axis=1).clip(min=1e-30)
    moved = np.abs(after - before).max(axis=1, initial=0) > _STILL * scale
    return Update(region, columns, moved & ~region.removed)


def write_change(change: Change, update: Update, writer: Writer) -> None:
    """Write a change to the tables; it is not visible until the writer commits."""
    region = update.region
    writer.upsert("nodes", change.rows)
    writer.delete("nodes", NUMBER, pa.array(change.removed))
    stored, kept = change.weights.T > 0
    writer.delete_pairs(change.pairs[stored])
    writer.append("edges", edge_rows(change.pairs[kept], change.weights[kept, 1]))
    resized = (region.sums[0] != region.sums[1]).any(axis=1)
    other = (update.moved | resized | region.changed) & ~region.removed
    columns = {name: values[other] for name, values in update.columns.items()}
    writer.delete("vectors", NUMBER, pa.array(change.removed))
    rows = vector_rows(region.numbers[other], columns, region.sums[1][other])
    writer.upsert("vectors", rows)


def exact_details(version: int, **counts: int) -> dict[str, Any]:
    """The details of a version in which all vectors are exact."""
    return {
        **counts,
        "exact_since": version,
        "stale_nodes": 0,
        "stale_edges": 0,
        "stale_shift": 0.0,
    }


def next_details(
    last: dict[str, Any], change: Change, update: Update, *, exact: bool
) -> dict[str, Any]:
    """The details of the version after a change."""
    added, removed = len(change.new), len(change.removed)
    nodes, edges = len(change.changed) + removed, len(change.pairs)
    fresh, gone = (int((change.weights[:, at] == 0).sum()) for at in (0, 1))
    return {
        "n_nodes": last["n_nodes"] + added - removed,
        "n_edges": last["n_edges"] + fresh - gone,
        "next_number": last["next_number"] + added,
        "exact_since": last["exact_since"],
        "stale_nodes": 0 if exact else last["stale_nodes"] + nodes,
        "stale_edges": 0 if exact else last["stale_edges"] + edges,
        "stale_shift": 0.0 if exact else last["stale_shift"] + _margin_shift(update),
        "added": added,
        "changed": nodes - added - removed,
        "removed": removed,
        "edges": edges,
    }


def _margin_shift(update: Update) -> float:
    """The largest cosine distance that a node at the margin of a region has moved."""
    margin = update.moved & ~update.region.near
    before, after = update.region.states[VECTOR][margin], update.columns[VECTOR][margin]
    cosines = np.einsum("nd,nd->n", unit_vectors(before), unit_vectors(after))
    return float(np.clip(1 - cosines, 0, 2).max(initial=0.0))


def encoded_features(content: Any, estimator: Estimator) -> Features:
    """What describes some nodes, encoded; refuses what the estimator was not fitted on."""
    attributes = content if isinstance(content, Attributes) else None
    graph = Graph(content if attributes is None else None, attributes=attributes)
    return estimator.features(graph)
