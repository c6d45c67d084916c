"""A view of one version of a store: its graph, its model, its vectors and their neighbors."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphgate.compute.neighbors import SimilarNodes
from graphgate.errors import InputError, listing
from graphgate.estimators.fitted import PLACE, VECTOR
from graphgate.estimators.loading import Estimator, load_model
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
from graphgate.store.records import LABEL, array_of, read_content, stored_name
from graphgate.store.vector_index import VectorIndex
from graphgate.store.versions import Version


class StoreView:
    """One version of a store; `Store` can change it."""

    _database: Database
    _version: Version
    _snapshot: Snapshot

    def __init__(self, database: Database, version: Version) -> None:
        self._show(database, version)

    def _show(self, database: Database, version: Version) -> None:
        """Become a view of another version; one assignment, so that threads see either."""
        self.__dict__ = {
            "_database": database,
            "_version": version,
            "_snapshot": database.snapshot(version),
        }

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

    @property
    def model_file(self) -> Path:
        """The model of this version, without what it knows of single nodes; see `model`."""
        return self._database.model(self._version)

    def reload(self) -> bool:
        """Go to the last version, which another process may have made; whether there was one."""
        if self.last_version() == self.version:
            return False
        self._show(self._database, self._database.version())
        return True

    def last_version(self) -> int:
        """The number of the last version, which another process may have made."""
        return self._database.last_number()

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
        rows = self._snapshot.find("vectors", NUMBER, pa.array(numbers), [NUMBER, VECTOR])
        rows = rows.sort_by(NUMBER)
        places = np.searchsorted(rows.column(NUMBER).to_numpy(), numbers)
        return self._embedding_of(numbers, array_of(rows.column(VECTOR))[places])

    def nodes(self, nodes: Any) -> list[dict[str, Any]]:
        """Everything that is stored about these nodes, but for vectors and edges: one dict each."""
        numbers = self._numbers(nodes)
        rows = self._snapshot.find("nodes", NUMBER, pa.array(numbers)).to_pylist()
        found = {row.pop(NUMBER): row for row in rows}
        return [found[number] for number in numbers.tolist()]

    @cached_property
    def estimator(self) -> Estimator:
        """The model, complete enough to encode attributes; `model` can transform other graphs."""
        return load_model(self.model_file)

    def model(self) -> Estimator:
        """The fitted estimator as it was saved, for `transform`."""
        if PLACE not in self._snapshot.schema("vectors").names:
            return self.estimator
        rows = self._snapshot.read("vectors", [NUMBER, PLACE])
        order = np.argsort(rows.column(NUMBER).to_numpy())
        place = array_of(rows.column(PLACE))[order]
        fit = self.estimator.fit_.with_nodes(self._nodes_in_order[1], place)
        return self.estimator.with_fit(fit)

    def graph(self) -> Graph:
        """The whole graph."""
        return self._graph_of(self._snapshot.read("nodes"), self._snapshot.read("edges"))

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
        numbers, ids, _ = self._nodes_in_order
        own = None
        if nodes is not None:
            own = np.searchsorted(numbers, self._numbers(nodes))
            queries, names = self._embedding.vectors[own], ids[own]
        else:
            queries = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
            names = np.arange(len(queries))
            size = self.vector_index.unit.shape[1]
            if queries.ndim != 2 or queries.shape[1] != size or not np.isfinite(queries).all():
                raise InputError(
                    f"vectors must be finite and of size {size}, got shape {queries.shape}"
                )
        allowed = None if where is None else np.searchsorted(numbers, self._matching(where))
        rows, cosines = self.vector_index.nearest(queries, n_neighbors, own, allowed)
        return SimilarNodes(names, ids[rows], cosines)

    def rows_where(self, where: str) -> np.ndarray:
        """The rows of `vectors()` for whose nodes a condition holds, sorted; see `similar`."""
        return np.searchsorted(self._nodes_in_order[0], self._matching(where))

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

    def _matching(self, where: str) -> np.ndarray:
        """The sorted numbers of the nodes for which a condition holds."""
        condition = parse_condition(where, self._columns)
        rows = self._snapshot.read("nodes", [NUMBER, *condition.columns])
        return np.sort(rows.filter(condition.expression).column(NUMBER).to_numpy())

    @cached_property
    def _columns(self) -> dict[str, pa.Field]:
        """What conditions may name; an attribute has its own name and that of its column."""
        schema = self._snapshot.schema("nodes")
        stored = {name: stored_name(name) for name in self._kinds or ()}
        names = (*stored.values(), ID, *[LABEL] * (LABEL in schema.names))
        columns = stored | dict(zip(names, names, strict=True))
        return {name: schema.field(column) for name, column in columns.items()}

    @property
    def attribute_kinds(self) -> dict[str, Kind] | None:
        """Kind of each attribute; None where the nodes have features."""
        return self._kinds

    @property
    def reading(self) -> ReadingOptions:
        """How `add` reads tables: as those of the first graph were."""
        return ReadingOptions.from_dict(self.estimator.notes_.get("reading", {}))

    # --- tables ----------------------------------------------------------------------------------

    @property
    def _kinds(self) -> dict[str, Kind] | None:
        """Kind of each attribute; None where the nodes have features."""
        encoder = self.estimator.encoder_
        return None if encoder is None else encoder.kinds

    @property
    def _made_from(self) -> tuple[str, ...] | None:
        """Names of the attributes or features; None where they have no names."""
        if self._kinds is not None:
            return tuple(self._kinds)
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _content(self, rows: pa.Table) -> Any:
        """Attributes or features of rows of the node table."""
        return read_content(rows, self._kinds, self.estimator.n_features_in_)

    def _graph_of(self, rows: pa.Table, edges: pa.Table) -> Graph:
        """The graph of rows of the tables of nodes and of edges."""
        rows = rows.sort_by(NUMBER)
        numbers = rows.column(NUMBER).to_numpy()
        pairs = np.stack([edges.column(name).to_numpy() for name in ("source", "target")])
        content, kind = self._content(rows), self.estimator.fitted_on_
        described: dict[str, Any] = {}
        if self._kinds is not None:
            described["attributes"] = content
        else:
            described["feature_names"] = self._made_from
        return Graph.from_edge_index(
            None if self._kinds is not None else content,
            np.searchsorted(numbers, pairs),
            edges.column("weight").to_numpy() if kind.weighted else None,
            ids=id_values(rows.column(ID)),
            directed=kind.directed,
            labels=rows.column(LABEL).to_pylist() if LABEL in rows.column_names else None,
            **described,
        )

    def _batch_format(self) -> BatchFormat:
        """What `add` accepts."""
        kind = self.estimator.fitted_on_
        weighted = kind.weighted if kind.has_edges else None
        return BatchFormat(kind.directed, weighted, self._kinds, self._id_type, self.reading)

    @property
    def _id_type(self) -> pa.DataType:
        return self._snapshot.schema("nodes").field(ID).type

    @cached_property
    def _nodes_in_order(self) -> tuple[np.ndarray, np.ndarray, list[Any] | None]:
        """Numbers, sorted, and the ids and labels of all nodes in this order."""
        labeled = LABEL in self._snapshot.schema("nodes").names
        rows = self._snapshot.read("nodes", [NUMBER, ID, *[LABEL] * labeled]).sort_by(NUMBER)
        labels = rows.column(LABEL).to_pylist() if labeled else None
        return rows.column(NUMBER).to_numpy(), id_values(rows.column(ID)), labels

    def _side(self) -> Side:
        """What is compared with another version."""
        rows = self._snapshot.read("nodes").sort_by(NUMBER)
        numbers, ids, _ = self._nodes_in_order
        content = self._content(rows)
        return Side(self.version, numbers, ids, self._embedding.vectors, content)

    @cached_property
    def _embedding(self) -> Embedding:
        """All vectors, in the order of numbers."""
        rows = self._snapshot.read("vectors", [NUMBER, VECTOR])
        order = np.argsort(rows.column(NUMBER).to_numpy())
        _, ids, labels = self._nodes_in_order
        return Embedding(ids, array_of(rows.column(VECTOR))[order], labels, self._made_from)

    def _numbers(self, nodes: Any) -> np.ndarray:
        """The numbers of nodes given by one id or by a list of ids, all of which must be stored."""
        ids = self._typed(nodes)
        rows = self._snapshot.find("nodes", ID, ids, [NUMBER, ID])
        places = rows_of(rows.column(ID), ids)
        if (places < 0).any():
            missing = ids.filter(pa.array(places < 0)).to_pylist()
            raise InputError(f"the store has no node {listing([repr(one) for one in missing])}")
        found: np.ndarray = rows.column(NUMBER).to_numpy()[places]
        return found

    def _typed(self, nodes: Any) -> pa.ChunkedArray:
        """One id or a list of ids in the type of the store."""
        given = list(nodes) if isinstance(nodes, (list, tuple, np.ndarray)) else [nodes]
        return typed_ids(given, self._id_type)

    def _embedding_of(self, numbers: np.ndarray, vectors: np.ndarray) -> Embedding:
        """Ids and labels of these nodes with their vectors."""
        labeled = LABEL in self._snapshot.schema("nodes").names
        columns = [NUMBER, ID, *[LABEL] * labeled]
        rows = self._snapshot.find("nodes", NUMBER, pa.array(numbers), columns).sort_by(NUMBER)
        places = np.searchsorted(rows.column(NUMBER).to_numpy(), numbers)
        rows = rows.take(pa.array(places))
        labels = rows.column(LABEL).to_pylist() if labeled else None
        return Embedding(id_values(rows.column(ID)), vectors, labels, self._made_from)
