"""The version of a store that is served, held in memory, and how it follows the store."""

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError, listing
from graphgate.graph.validation import Positions
from graphgate.io.additions import typed_ids
from graphgate.io.tables import python_column
from graphgate.service.live_index import LiveIndex
from graphgate.service.messages import NewEdge, NewNode
from graphgate.store.store import Store, StoreChange

logger = logging.getLogger(__name__)


class UnknownNodeError(InputError):
    """A node that the store does not have."""


@dataclass(frozen=True)
class Served:
    """One version: its store, and ids, vectors and nearest nodes in memory."""

    store: Store
    ids: np.ndarray
    vectors: np.ndarray
    index: LiveIndex
    positions: Positions
    id_type: pa.DataType

    @classmethod
    def of(cls, store: Store, before: "Served | None" = None) -> Self:
        """A version; the index of the one before it is used where there is one."""
        stored = store.vectors()
        ids, vectors = stored.ids, stored.vectors
        if before is None:
            index = LiveIndex.of(ids, store.vector_index)
        else:
            index = before.index.follow(ids, vectors)
        id_type = pa.int64() if ids.dtype == np.int64 else pa.string()
        return cls(store, ids, vectors, index, Positions(ids), id_type)

    @property
    def version(self) -> int:
        return self.store.version

    def rows(self, ids: Sequence[Any]) -> np.ndarray:
        """Rows of nodes; an integer is the same id as text with the same digits."""
        try:
            return self.positions.rows(typed_ids(list(ids), self.id_type).to_pylist())
        except InputError as error:
            raise UnknownNodeError(str(error)) from None

    def tables(
        self, nodes: Sequence[NewNode], edges: Sequence[NewEdge]
    ) -> tuple[pa.Table | None, pa.Table | None]:
        """Edges and nodes as tables with the columns that the store reads."""
        return self._edge_table(edges), self._node_table(nodes)

    def _edge_table(self, edges: Sequence[NewEdge]) -> pa.Table | None:
        if not edges:
            return None
        reading, columns = self.store.reading, {}
        for name in ("source", "target"):
            ends = [getattr(edge, name) for edge in edges]
            columns[getattr(reading, name)] = typed_ids(ends, self.id_type)
        if loops := [edge.source for edge in edges if str(edge.source) == str(edge.target)]:
            sentence = f"an edge leads from {loops[0]!r} to itself, which means nothing here"
            raise InputError(sentence, about="edges")
        weights = [edge.weight for edge in edges]
        if any(weight is not None for weight in weights):
            columns[reading.weight or "weight"] = pa.array(weights, pa.float64())
        return pa.table(columns)

    def _node_table(self, nodes: Sequence[NewNode]) -> pa.Table | None:
        if not nodes:
            return None
        reading, kinds = self.store.reading, self.store.attribute_kinds
        if kinds is None:
            raise InputError(
                "the nodes of this store have features without names, so new ones can be added "
                "from Python only",
                about="nodes",
            )
        _check_attributes(nodes, list(kinds))
        columns = {reading.id: typed_ids([node.id for node in nodes], self.id_type)}
        for name in kinds:
            columns[name] = _column(name, [node.attributes[name] for node in nodes])
        labels = [node.label for node in nodes]
        if any(label is not None for label in labels):
            if self.store.vectors().labels is None:
                raise InputError("the nodes of this store have no labels", about="nodes")
            columns[reading.label or "label"] = _column("label", labels)
        return pa.table(columns)


class Follower:
    """Serves the last version of a store, and changes it; safe to use from several threads.

    The version that is served is replaced as a whole: a request finishes on the version it started
    with.
    """

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.abspath(path))  # by which errors name the store
        self._changing = threading.Lock()
        self.served = self._last(None)

    @property
    def folders(self) -> frozenset[str]:
        """The names by which errors may mention the store's folder."""
        return frozenset((str(self._path), str(self._path.resolve())))

    def add(self, nodes: Sequence[NewNode], edges: Sequence[NewEdge]) -> StoreChange:
        """Add nodes and edges, and serve the version with them."""
        tables = self.served.tables(nodes, edges)
        with self._changing:
            change = Store.open(self._path).add(*tables)
            self._advance()
        return change

    def follow(self) -> bool:
        """Serve the last version if another process has made one; whether there was one."""
        if self.served.store.last_version() == self.served.version:
            return False
        with self._changing:
            return self._advance()

    def rebuild(self) -> None:
        """Build an index of the version that is served if that is due."""
        served = self.served
        if not served.index.outdated:
            return
        logger.info("building an index of %s vectors", f"{len(served.ids):,}")
        index = LiveIndex.of(served.ids, served.store.vector_index)
        with self._changing:
            now = self.served
            index = index if now is served else index.follow(now.ids, now.vectors)
            self.served = replace(now, index=index)

    def _advance(self) -> bool:
        before = self.served
        self.served = self._last(before)
        return self.served is not before

    def _last(self, before: Served | None) -> Served:
        """The last version; another process may prune what is being read, so it is tried twice."""
        try:
            return self._opened(before)
        except Exception:
            return self._opened(before)

    def _opened(self, before: Served | None) -> Served:
        last = Store.open(self._path)
        if before is not None and last.version == before.version:
            return before
        return Served.of(last, before)


def _check_attributes(nodes: Sequence[NewNode], names: list[str]) -> None:
    for node in nodes:
        if odd := [name for name in node.attributes if name not in names]:
            raise InputError(
                f"node {node.id!r} has the unknown attribute {odd[0]!r}; the attributes are "
                f"{listing(names)}",
                about="nodes",
            )
        if lacking := [name for name in names if name not in node.attributes]:
            raise InputError(
                f"node {node.id!r} lacks the attribute {lacking[0]!r}; give all attributes, null "
                "where a value is missing",
                about="nodes",
            )


def _column(name: str, values: list[Any]) -> pa.Array:
    with suppress(pa.ArrowException, OverflowError):
        if (column := python_column(values)) is not None:
            return column
    raise InputError(
        f"the values of {name!r} are of several kinds; use one for all nodes", about="nodes"
    )
