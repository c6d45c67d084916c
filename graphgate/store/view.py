"""A view of one version of a store: its graph, its model, its vectors and their neighbors."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.compute.neighbors import SimilarNodes
from graphgate.errors import InputError, listing
from graphgate.estimators.fitted import PLACE, VECTOR
from graphgate.estimators.loading import OF_STORE, Estimator
from graphgate.graph.column_kinds import Kind
from graphgate.graph.graph import Graph
from graphgate.io.additions import BatchFormat, typed_ids
from graphgate.io.embeddings import Embedding
from graphgate.io.id_columns import id_values, rows_of
from graphgate.io.reading_options import ReadingOptions
from graphgate.store.change import incident_edges
from graphgate.store.check import StoreCheck, checked
from graphgate.store.conditions import parse_condition
from graphgate.store.database import Database
from graphgate.store.drift import Side
from graphgate.store.info import StoreInfo
from graphgate.store.lance_tables import ID, NUMBER, Snapshot
from graphgate.store.records import LABEL, array_of, labels_of, read_content, stored_name
from graphgate.store.vector_index import VectorIndex
from graphgate.store.versions import Version, version_numbers


class StoreView:
    """One version of a store; `Store` can change it."""

    _database: Database
    _version: Version
    _snapshot: Snapshot

    def __init__(self, database: Database, version: Version) -> None:
        self._database = database
        self._show(version)

    def _show(self, version: Version) -> Version:
        """Become a view of another version; one assignment, so that threads see either."""
        self.__dict__ = {
            "_database": self._database,
            "_version": version,
            "_snapshot": self._database.snapshot(version),
        }
        return version

    @property
    def path(self) -> Path:
        return self._database.folder

    @property
    def version(self) -> int:
        return self._version.version

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, version {self.version}, {len(self):,} nodes)"

    def __len__(self) -> int:
        """The number of nodes."""
        return int(self._version.details["n_nodes"])

    def reload(self) -> bool:
        """Go to the last version, which another process may have made; whether there was one."""
        if self.last_version() == self.version:
            return False
        self._show(self._database.version())
        return True

    def last_version(self) -> int:
        """The number of the last version, which another process may have made."""
        return version_numbers(self.path)[-1]

    def info(self) -> StoreInfo:
        """A summary of this version, and how far its vectors may be off."""
        details, kind = self._version.details, self.estimator.fitted_on_
        return StoreInfo(
            self.version,
            type(self.estimator).__name__,
            details["n_nodes"],
            details["n_edges"],
            self._snapshot.schema("vectors").field(VECTOR).type.list_size,
            kind.directed,
            kind.weighted,
            details["exact_since"],
            details["stale_nodes"],
            details["stale_edges"],
            details["stale_shift"],
        )

    def check(self) -> StoreCheck:
        """Read all files of the store, whichever version they are of, and report what is damaged.

        Vectors, models and tables are verified by checksums whenever a version is opened; this
        also reads older versions, and whether tables agree with each other.
        """
        return checked(self._database)

    def history(self) -> list[Version]:
        """All versions of the store, the oldest first."""
        return self._database.history()

    def vectors(self, nodes: Any = None) -> Embedding:
        """Ids, vectors and, where there are any, labels of these nodes, in this order.

        nodes : one id or a list of ids; None for all nodes.
        """
        if nodes is None:
            return self._embedding
        numbers = self._numbers(nodes)
        vectors = self._rows("vectors", numbers, [NUMBER, VECTOR]).column(VECTOR)
        return self._embedding_of(numbers, array_of(vectors))

    def nodes(self, nodes: Any) -> list[dict[str, Any]]:
        """Everything that is stored about these nodes, but for vectors and edges: one dict each."""
        rows = self._rows("nodes", self._numbers(nodes)).drop_columns(NUMBER)
        return rows.to_pylist()

    @cached_property
    def estimator(self) -> Estimator:
        """The model, complete enough to encode attributes; `model` can transform other graphs."""
        estimator = Estimator.load(self._database.model(self._version))
        estimator.notes_.pop(OF_STORE, None)
        return estimator

    def model(self) -> Estimator:
        """The fitted estimator as it was saved, for `transform`."""
        if PLACE not in self._snapshot.schema("vectors").names:
            return self.estimator
        ids = id_values(self._nodes.column(ID))
        fit = self.estimator.fit_.with_nodes(ids, self._matrix(PLACE))
        return self.estimator.with_fit(fit)

    def graph(self) -> Graph:
        """The whole graph."""
        return self._graph_of(self._all_rows("nodes"), self._snapshot.read("edges"))

    def similar(
        self,
        nodes: Any = None,
        *,
        vectors: Any = None,
        n_neighbors: int = 10,
        where: str | None = None,
    ) -> SimilarNodes:
        """The stored nodes with the largest cosine similarity to nodes or to vectors.

        Up to 20,000 nodes, and among the nodes of a condition, the search is exact; otherwise an
        index gives candidates, which are compared exactly.

        Parameters
        ----------
        nodes : one id or a list of ids of stored nodes, which are not their own neighbors.
        vectors : (M, D) or (D,), in place of nodes; `Store.embed` gives those of nodes that are
            not stored.
        n_neighbors : neighbors per query; fewer if there are not as many nodes.
        where : condition on the attributes of neighbors, such as "age > 30 and town = 'Ulm'", by
            comparisons, `in`, `like`, `between`, `is null`, `and`, `or`, `not` and parentheses; a
            name that is not a plain word stands in backquotes.
        """
        if (nodes is None) == (vectors is None):
            raise InputError("pass either nodes or vectors to find similar nodes for")
        ids, own = self._embedding.ids, None
        if nodes is not None:
            own = np.searchsorted(self._all_numbers, self._numbers(nodes))
            queries, names = self._embedding.vectors[own], ids[own]
        else:
            queries = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
            names = np.arange(len(queries))
            size = self.vector_index.unit.shape[1]
            if queries.ndim != 2 or queries.shape[1] != size or not np.isfinite(queries).all():
                raise InputError(
                    f"vectors must be finite and of size {size}, got shape {queries.shape}"
                )
        allowed = None if where is None else self.rows_where(where)
        rows, cosines = self.vector_index.nearest(queries, n_neighbors, own, allowed)
        return SimilarNodes(names, ids[rows], cosines)

    def rows_where(self, where: str) -> np.ndarray:
        """The rows of `vectors()` for whose nodes a condition holds, sorted; see `similar`."""
        condition = parse_condition(where, self._columns)
        rows = self._snapshot.read("nodes", [NUMBER, *condition.columns])
        matching = rows.filter(condition.expression).column(NUMBER).to_numpy()
        return np.searchsorted(self._all_numbers, np.sort(matching))

    def neighbors(self, node: Any) -> list[Any]:
        """The ids of all nodes that have an edge with a node, in either direction."""
        own = self._numbers(node)
        numbers = np.setdiff1d(incident_edges(self._snapshot, own)[0], own)
        rows = self._snapshot.find("nodes", NUMBER, pa.array(numbers), [ID])
        return rows.column(ID).to_pylist()

    @cached_property
    def vector_index(self) -> VectorIndex:
        """What finds the nearest vectors; it is built when it is first used."""
        return VectorIndex(self._embedding.vectors, self._database.identity)

    @cached_property
    def _columns(self) -> dict[str, pa.Field]:
        """What conditions may name; an attribute has its own name and that of its column."""
        schema = self._snapshot.schema("nodes")
        stored = {name: stored_name(name) for name in self.attribute_kinds or ()}
        names = [*stored.values(), *self._described[1:]]
        columns = stored | dict(zip(names, names, strict=True))
        return {name: schema.field(column) for name, column in columns.items()}

    @property
    def attribute_kinds(self) -> dict[str, Kind] | None:
        """Kind of each attribute; None where the nodes have features."""
        encoder = self.estimator.encoder_
        return None if encoder is None else encoder.kinds

    @property
    def reading(self) -> ReadingOptions:
        """How `add` reads tables: as those of the first graph were."""
        return ReadingOptions.from_dict(self.estimator.notes_.get("reading", {}))

    # --- tables ----------------------------------------------------------------------------------

    @property
    def _made_from(self) -> tuple[str, ...] | None:
        """Names of the attributes or features; None where they have no names."""
        if self.attribute_kinds is not None:
            return tuple(self.attribute_kinds)
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _graph_of(self, rows: pa.Table, edges: pa.Table) -> Graph:
        """The graph of rows of the table of nodes, sorted by number, and of that of edges."""
        pairs = np.stack([edges.column(name).to_numpy() for name in ("source", "target")])
        content, kind = read_content(rows, self.estimator), self.estimator.fitted_on_
        x, attributes = (None, content) if self.attribute_kinds is not None else (content, None)
        return Graph.from_edge_index(
            x,
            np.searchsorted(rows.column(NUMBER).to_numpy(), pairs),
            edges.column("weight").to_numpy() if kind.weighted else None,
            ids=id_values(rows.column(ID)),
            directed=kind.directed,
            labels=labels_of(rows),
            attributes=attributes,
            feature_names=None if x is None else self._made_from,
        )

    def _batch_format(self) -> BatchFormat:
        """What `add` accepts."""
        kind = self.estimator.fitted_on_
        weighted = kind.weighted if kind.has_edges else None
        kinds, id_type = self.attribute_kinds, self._snapshot.schema("nodes").field(ID).type
        return BatchFormat(kind.directed, weighted, kinds, id_type, self.reading)

    @cached_property
    def _described(self) -> list[str]:
        """The columns of the node table that every kind of graph has: number, id, label."""
        return [NUMBER, ID, *[LABEL] * (LABEL in self._snapshot.schema("nodes").names)]

    def _all_rows(self, table: str, columns: list[str] | None = None) -> pa.Table:
        """All rows of a table, by number."""
        return self._snapshot.read(table, columns).sort_by(NUMBER)

    def _rows(self, table: str, numbers: np.ndarray, columns: list[str] | None = None) -> pa.Table:
        """The rows of these nodes, in this order."""
        rows = self._snapshot.find(table, NUMBER, pa.array(numbers), columns).sort_by(NUMBER)
        return rows.take(np.searchsorted(rows.column(NUMBER).to_numpy(), numbers))

    def _matrix(self, column: str) -> np.ndarray:
        """A column of the table of vectors, (N, …), by number."""
        rows = self._snapshot.read("vectors", [NUMBER, column])
        matrix: np.ndarray = array_of(rows.column(column))
        return matrix[np.argsort(rows.column(NUMBER).to_numpy())]

    @cached_property
    def _nodes(self) -> pa.Table:
        """Number, id and label of all nodes, by number."""
        return self._all_rows("nodes", self._described)

    @property
    def _all_numbers(self) -> np.ndarray:
        """The numbers of all nodes, sorted."""
        return self._nodes.column(NUMBER).to_numpy()

    @cached_property
    def _embedding(self) -> Embedding:
        """All vectors, in the order of numbers."""
        return self._embedded(self._nodes, self._matrix(VECTOR))

    def _embedding_of(self, numbers: np.ndarray, vectors: np.ndarray) -> Embedding:
        """Ids and labels of these nodes with their vectors."""
        return self._embedded(self._rows("nodes", numbers, self._described), vectors)

    def _embedded(self, rows: pa.Table, vectors: np.ndarray) -> Embedding:
        """The vectors of rows of the node table."""
        ids = id_values(rows.column(ID))
        return Embedding(ids, vectors, labels_of(rows), self._made_from)

    def _side(self) -> Side:
        """What is compared with another version."""
        return Side(
            self.version,
            self._version.model,
            self.estimator.encoder_,
            self._all_numbers,
            self._embedding,
            read_content(self._all_rows("nodes"), self.estimator),
        )

    def _numbers(self, nodes: Any) -> np.ndarray:
        """The numbers of nodes given by one id or by a list of ids, all of which must be stored."""
        ids = self._typed(nodes)
        rows = self._snapshot.find("nodes", ID, ids, [NUMBER, ID])
        places = rows_of(rows.column(ID), ids)
        if (places < 0).any():
            missing = ids.filter(pa.array(places < 0)).to_pylist()
            raise InputError(f"the store has no node {listing([repr(one) for one in missing])}")
        numbers: np.ndarray = rows.column(NUMBER).to_numpy()[places]
        return numbers

    def _typed(self, nodes: Any) -> pa.ChunkedArray:
        """One id or a list of ids in the type of the store."""
        given = list(nodes) if isinstance(nodes, (list, tuple, np.ndarray)) else [nodes]
        return typed_ids(given, self._snapshot.schema("nodes").field(ID).type)
