"""`Store`: a folder with a graph that grows, a model, and the vectors of all nodes."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from graphgate.errors import InputError
from graphgate.estimators.base import GraphKind
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import Estimator
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.embeddings import Embedding
from graphgate.io.files import StrPath, check_new_folder
from graphgate.io.id_columns import id_values
from graphgate.io.tables import id_array
from graphgate.store.batch import edge_list, read_batch
from graphgate.store.changes import Change, changed_region, ordered, removal, resolved
from graphgate.store.database import ID, NUMBER, Database, Snapshot, Version, Writer, find_version
from graphgate.store.growth import VECTOR, growth_of, trimmed
from graphgate.store.records import content_columns, edge_rows, label_column, vector_rows
from graphgate.store.region import Region
from graphgate.store.view import StoreView

_STILL = 1e-6  # relative change of a vector that is due to rounding


class StoreChange(NamedTuple):
    """What a change of a store has done.

    version : the version it made, or the current one where nothing has changed.
    added : ids and vectors of the nodes that are new.
    changed : ids and vectors of the nodes that were there before and whose vectors have changed.
    removed : number of nodes removed. n_edges : edges that are new, gone or of another weight.
    """

    version: int
    added: Embedding
    changed: Embedding
    removed: int
    n_edges: int


class Store(StoreView):
    """A graph that grows, with a model and the vectors of all nodes, in a folder.

    The folder holds LanceDB tables of nodes, edges and vectors, and models as safetensors. Every
    change makes a new version; an object of this class is a view of one of them. Use `create` or
    `open`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> graph = Graph.from_edges(np.eye(4), [("a", "b"), ("b", "c"), ("c", "d")], ids=list("abcd"))
    >>> more = Graph.from_edges(np.eye(4)[:2], [("a", "e")], ids=["a", "e"])
    >>> with TemporaryDirectory() as folder:
    ...     store = Store.create(f"{folder}/store", graph, LinearGATE(n_components=2))
    ...     store.add(more).added.ids.tolist()
    ['e']
    """

    @classmethod
    def create(cls, path: StrPath, graph: Graph, estimator: Estimator | None = None) -> "Store":
        """A new store with this graph.

        Parameters
        ----------
        path : a new folder.
        graph : with attributes or features. A graph of edges only is refused: its structural
            features change everywhere with every edge.
        estimator : `LinearGATE` or `GATE`, fitted on this graph, or still to be fitted; the
            default is `LinearGATE()`.
        """
        check_new_folder(path)
        if GraphKind.of(graph).content == "edges":
            raise InputError(
                "a store needs nodes with attributes or features; structural features of a graph "
                "that has edges only change everywhere with every new edge",
                about="nodes",
            )
        estimator = LinearGATE() if estimator is None else estimator
        if not hasattr(estimator, "model_"):
            estimator.fit(graph)
        numbers = np.arange(graph.n_nodes)
        nodes = {NUMBER: pa.array(numbers), ID: id_array(graph.ids)}
        nodes |= label_column(graph.label_values())
        nodes |= content_columns(graph.x if graph.attributes is None else graph.attributes)
        tables = {
            "nodes": pa.table(nodes),
            "edges": edge_rows(*edge_list(graph)),
            "vectors": vector_rows(numbers, growth_of(estimator).columns(graph), _sums(graph)),
        }
        details = {
            "n_nodes": graph.n_nodes,
            "n_edges": graph.n_edges,
            "next_number": graph.n_nodes,
            "exact_since": 1,
            "stale_nodes": 0,
            "stale_edges": 0,
        }
        database = Database.create(path, tables, details, trimmed(estimator).save)
        return cls(database, database.history()[-1])

    @classmethod
    def open(cls, path: StrPath, version: int | None = None) -> "Store":
        """The store in a folder, at its last version or at an older one."""
        database = Database(path)
        return cls(database, find_version(database.history(), version))

    def add(self, edges: Any = None, nodes: Any = None) -> StoreChange:
        """Add nodes and edges, or change attributes, labels and weights.

        New nodes are embedded together with their stored neighbors, and nodes within two hops are
        updated. What is stored already changes nothing, so the same batch can be added again. The
        batch goes in as a whole or, if there is an error, not at all.

        Parameters
        ----------
        edges : a file (.csv, .tsv, .parquet), a data frame or an Arrow table of edges between nodes
            of the batch or of the store; or a `Graph` with nodes and edges. An edge to any other
            node is refused.
        nodes : a table of nodes, new or known, with all their attributes.
        """
        batch = read_batch(edges, nodes, self._expected())
        directed = self.estimator.fitted_on_.directed
        with self._database.writing() as writer:
            self._follow(writer)
            next_number = writer.last.details["next_number"]
            return self._applied(
                "add", resolved(batch, writer, next_number, directed=directed), writer
            )

    def remove(self, nodes: Any = None, edges: Any = None) -> StoreChange:
        """Remove nodes with all their edges, or edges.

        nodes : one id or a list of ids. edges : as in `add`; an edge that is not stored is refused.
        """
        directed = self.estimator.fitted_on_.directed
        with self._database.writing() as writer:
            self._follow(writer)
            numbers = np.unique(self._numbers(nodes)) if nodes is not None else np.empty(0, int)
            pairs = np.empty((0, 2), dtype=np.int64)
            if edges is not None:
                batch = read_batch(edges, None, self._expected())
                ends = self._numbers(batch.ends.to_pylist())
                pairs = ordered(ends[batch.pairs], directed=directed)
            if len(numbers) == writer.last.details["n_nodes"]:
                raise InputError("the store would have no nodes; keep at least one")
            change = removal(numbers, pairs, writer)
            if (change.weights[:, 0] == 0).any():
                raise InputError(
                    f"{int((change.weights[:, 0] == 0).sum()):,} of {len(pairs):,} edges are not "
                    "stored; pass only edges that are"
                )
            return self._applied("remove", change, writer)

    def embed(self, edges: Any = None, nodes: Any = None) -> Embedding:
        """The vectors that `add` would give to new nodes, without adding them."""
        batch = read_batch(edges, nodes, self._expected())
        directed = self.estimator.fitted_on_.directed
        next_number = self._version.details["next_number"]
        change = resolved(batch, self._snapshot, next_number, directed=directed)
        if not len(change.new):
            raise InputError("every node of the batch is stored already; ask for its vector")
        region, found = self._updated(change, self._snapshot)
        new = np.isin(change.rows.column(NUMBER).to_numpy(), change.new)
        ids = id_values(change.rows.filter(pa.array(new)).column(ID))
        return Embedding(ids, found[VECTOR][np.searchsorted(region.numbers, change.new)])

    def rollback(self, version: int) -> Version:
        """Make an older version the last one again; nothing is lost, this is a new version."""
        old = find_version(self.history(), version)
        with self._database.writing() as writer:
            made = self._database.append_version(
                writer.last,
                "rollback",
                old.tables,
                old.details | {"of": version},
                model=old.model,
            )
        self._show(self._database, made)
        return made

    def _follow(self, writer: Writer) -> None:
        """A change starts from the last version, which another process may have made."""
        if writer.last.version != self.version:
            self._show(self._database, writer.last)

    def _applied(self, action: str, change: Change, writer: Writer) -> StoreChange:
        """Write a change, and become a view of the version that it makes."""
        if not change:
            none = self._embedding_of(np.empty(0, dtype=np.int64), self._no_vectors)
            return StoreChange(self.version, none, none, 0, 0)
        region, found = self._updated(change, writer)
        before, after = region.states[VECTOR], found[VECTOR]
        scale = np.linalg.norm(after, axis=1).clip(min=1e-30)
        moved = (np.abs(after - before).max(axis=1, initial=0) > _STILL * scale) & ~region.removed
        resized = (region.sums[0] != region.sums[1]).any(axis=1)
        kept = (moved | resized | region.changed) & ~region.removed
        rows = {name: values[kept] for name, values in found.items()}
        writer.upsert("nodes", change.rows, NUMBER)
        writer.delete("nodes", NUMBER, pa.array(change.removed))
        gone = change.weights[:, 1] == 0
        fresh = change.weights[:, 0] == 0
        writer.delete_pairs(change.pairs[gone])
        writer.append("edges", edge_rows(change.pairs[fresh], change.weights[fresh, 1]))
        others = ~gone & ~fresh
        writer.upsert(
            "edges",
            edge_rows(change.pairs[others], change.weights[others, 1]),
            ["source", "target"],
        )
        writer.delete("vectors", NUMBER, pa.array(change.removed))
        writer.upsert(
            "vectors", vector_rows(region.numbers[kept], rows, region.sums[1][kept]), NUMBER
        )
        details = _next_details(writer.last.details, change, growth_of(self.estimator).exact)
        self._show(self._database, writer.commit(action, details))
        known = moved & ~region.new
        return StoreChange(
            self.version,
            self._embedding_of(region.numbers[region.new], after[region.new]),
            self._embedding_of(region.numbers[known], after[known]),
            len(change.removed),
            len(change.pairs),
        )

    def _updated(self, change: Change, snapshot: Snapshot) -> tuple[Region, dict[str, np.ndarray]]:
        """The region of a change, and all columns of its nodes after it."""
        growth = growth_of(self.estimator)
        features = None if change.content is None else self._features(change.content)
        region, near = changed_region(
            change,
            snapshot,
            hops=growth.hops,
            directed=self.estimator.fitted_on_.directed,
            features=features,
        )
        if growth.needs_near_features:
            rows = snapshot.find("nodes", NUMBER, pa.array(near)).sort_by(NUMBER)
            empty = np.empty((0, self.estimator.n_features_in_), dtype=np.float32)
            found = self._features(self._content(rows)) if len(rows) else empty
            region = replace(region, near_features=found)
        return region, growth.update(region)

    def _features(self, content: Any) -> Features:
        """What describes some nodes, encoded."""
        attributes = content if self._kinds is not None else None
        return self.estimator.features(
            Graph(None if attributes is not None else content, attributes=attributes)
        )

    @property
    def _no_vectors(self) -> np.ndarray:
        return np.empty((0, self.info().n_components), dtype=np.float32)


def _next_details(last: dict[str, Any], change: Change, exact: bool) -> dict[str, Any]:
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
        "added": added,
        "changed": nodes - added - removed,
        "removed": removed,
        "edges": edges,
    }


def _sums(graph: Graph) -> np.ndarray:
    """(N, 2) of the weights in rows and columns of what nodes attend to."""
    attended = graph.attended.astype(np.float64)
    return np.stack([attended.sum(axis=1), attended.sum(axis=0)], axis=1)
