"""`Store`: a folder with a graph that grows, a model, and the vectors of all nodes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.linalg import svd
from sklearn.base import clone

from graphgate.compute.neighbors import unit_vectors
from graphgate.errors import InputError, listing
from graphgate.estimators.base import GraphKind
from graphgate.estimators.fitted import VECTOR, Encoded
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import OF_STORE, Estimator
from graphgate.graph.graph import Graph
from graphgate.io.additions import edge_list, read_batch
from graphgate.io.embeddings import Embedding
from graphgate.io.files import StrPath, check_new_folder
from graphgate.io.id_columns import id_values
from graphgate.io.tables import id_array
from graphgate.store.change import Change, compared, exact_details, ordered, removal
from graphgate.store.database import ERASE, Database, Writer
from graphgate.store.drift import Drift, drift_between
from graphgate.store.lance_tables import ID, NUMBER, Snapshot
from graphgate.store.records import edge_rows, node_columns, vector_rows
from graphgate.store.versions import Version
from graphgate.store.view import StoreView


class StoreChange(NamedTuple):
    """What a change of a store has done.

    version : the version it made, or the current one where nothing has changed.
    added : ids and vectors of the nodes that are new.
    changed : ids and vectors of the nodes that were there before and whose vectors have changed.
    removed : number of nodes removed. n_edges : edges that are new, gone or of another weight.
    updated : number of stored nodes with other attributes or another label.
    """

    version: int
    added: Embedding
    changed: Embedding
    removed: int
    n_edges: int
    updated: int

    def vectors(self) -> Embedding:
        """All that is new or has changed, new nodes first."""
        ids = np.concatenate([self.added.ids, self.changed.ids])
        vectors = np.concatenate([self.added.vectors, self.changed.vectors])
        labels = None
        if self.added.labels is not None and self.changed.labels is not None:
            labels = [*self.added.labels, *self.changed.labels]
        return Embedding(ids, vectors, labels, self.added.columns)


class Store(StoreView):
    """A graph that grows, with a model and the vectors of all nodes, in a folder.

    The folder holds LanceDB tables of nodes, edges and vectors, and models as safetensors. Every
    change makes a new version; an object of this class is a view of one of them. Splits of a graph
    are not stored. Use `create` or `open`.

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
    def create(
        cls,
        path: StrPath,
        graph: Graph,
        estimator: Estimator | None = None,
        encoded: Encoded | None = None,
    ) -> "Store":
        """A new store with this graph.

        Parameters
        ----------
        path : a new folder.
        graph : with attributes or features. A graph of edges only is refused: its structural
            features change everywhere with every edge.
        estimator : `LinearGATE` or `GATE`, fitted on this graph, or still to be fitted; the
            default is `LinearGATE()`.
        encoded : of this graph, by `estimator.encode`, where it has been computed already.
        """
        check_new_folder(path)
        if GraphKind.of(graph).content == "edges":
            raise InputError(
                "a store needs nodes with attributes or features; structural features of a graph "
                "that has edges only change everywhere with every new edge",
                about="nodes",
            )
        estimator = LinearGATE() if estimator is None else estimator
        if not hasattr(estimator, "fit_"):
            estimator.fit(graph)
        n, numbers = graph.n_nodes, np.arange(graph.n_nodes)
        content = graph.x if graph.attributes is None else graph.attributes
        nodes = node_columns(numbers, id_array(graph.ids), content, graph.label_values())
        tables = {
            "nodes": pa.table(nodes),
            "edges": edge_rows(*edge_list(graph)),
            "vectors": vector_rows(numbers, _states(estimator, graph, encoded), _sums(graph)),
        }
        details = exact_details(1, n_nodes=n, n_edges=graph.n_edges, next_number=n)
        Database.create(path, tables, details, _saver(estimator))
        return cls.open(path)

    @classmethod
    def open(cls, path: StrPath, version: int | None = None) -> "Store":
        """The store in a folder, at its last version or at an older one."""
        database = Database(path)
        return cls(database, database.version(version))

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
        with self._writing() as writer:
            return self._applied("add", self._change(edges, nodes, writer), writer)

    def remove(self, nodes: Any = None, edges: Any = None) -> StoreChange:
        """Remove nodes with all their edges, or edges.

        nodes : one id or a list of ids. edges : as in `add`; an edge that is not stored is refused.
        """
        with self._writing() as writer:
            numbers = np.unique(self._numbers([] if nodes is None else nodes))
            pairs = np.empty((0, 2), dtype=np.int64)
            if edges is not None:
                batch = read_batch(edges, None, self._batch_format())
                ends = self._numbers(batch.ends.to_pylist())
                directed = self.estimator.fitted_on_.directed
                pairs = ordered(ends[batch.pairs], directed=directed)
            if len(numbers) == writer.last.details["n_nodes"]:
                raise InputError("the store would have no nodes; keep at least one")
            change = removal(numbers, pairs, writer, self.estimator)
            return self._applied("remove", change, writer)

    def embed(self, edges: Any = None, nodes: Any = None) -> Embedding:
        """The vectors that `add` would give to new nodes, without adding them."""
        change = self._change(edges, nodes, self._snapshot)
        if not len(change.new):
            raise InputError(
                "every node of the batch is stored already; ask for its vector", about="nodes"
            )
        new = np.isin(change.rows.column(NUMBER).to_numpy(), change.new)
        ids = id_values(change.rows.filter(pa.array(new)).column(ID))
        return Embedding(ids, change.vectors(change.region.new)[1], columns=self._made_from)

    def refresh(self) -> Version:
        """Compute all vectors again from the whole graph, so that they are exact."""
        with self._writing() as writer:
            graph = self.graph()
            states = _states(self.model(), graph)
            return self._replaced("refresh", writer, graph, states)

    def cosines_to_exact(self) -> np.ndarray:
        """(N,) cosine between the stored vector of each node and the exact one.

        This takes as long as `refresh`, but changes nothing.
        """
        exact = _states(self.model(), self.graph())[VECTOR]
        stored = unit_vectors(self.vectors().vectors)
        return np.clip(np.einsum("nd,nd->n", stored, unit_vectors(exact)), -1.0, 1.0)

    def refit(self, estimator: Estimator | None = None) -> Drift:
        """Fit the model again, on all that is stored, and report what has changed.

        `LinearGATE` is solved again; `GATE` starts from its weights. The new vectors are rotated
        onto the old ones (orthogonal Procrustes), so that classifiers trained on old vectors keep
        working. Only a `GATE` whose activation is not the identity cannot be rotated. The old
        version is kept.

        estimator : an estimator that is not fitted, in place of the stored one.
        """
        with self._writing() as writer:
            before, graph = self._side(), self.graph()
            old = before.embedding.vectors
            known = StoreView(self._database, self._version).estimator  # which may be changed
            fresh = (known if estimator is None else estimator).refitted(graph, old.shape[1])
            fresh.notes_ = dict(known.notes_)
            states = _states(fresh, graph)
            # Orthogonal Procrustes: the R, (D, D') with orthonormal rows, for which ‖new R - old‖
            # is smallest, also where new vectors are shorter than old ones.
            products = states[VECTOR].astype(np.float64).T @ old.astype(np.float64)
            left, _, right = svd(products, full_matrices=False)
            rotation = left @ right
            if (rotated := fresh.fit_.rotated(rotation)) is not None:
                states[VECTOR] = (states[VECTOR] @ rotation).astype(states[VECTOR].dtype)
                fresh = fresh.with_fit(rotated)
            self._replaced("refit", writer, graph, states, fresh)
            return drift_between(before, self._side())

    def drift(self, since: int | None = None) -> Drift:
        """Report what has changed since an older version.

        since : the default is the version in which the model was fitted or, if that is this one,
            the one before it.
        """
        if since is None:
            history = self.history()
            fitted = min(each.version for each in history if each.model == self._version.model)
            since = fitted if fitted < self.version else max(history[0].version, self.version - 1)
        older = StoreView(self._database, self._database.version(since))
        return drift_between(older._side(), self._side())

    def rollback(self, version: int) -> Version:
        """Make an older version the last one again; nothing is lost, this is a new version."""
        with self._database.writing(last_lost=True) as writer:
            old = self._database.version(version)
            # A number is never given to a second node, or versions could not be compared.
            more = {"of": version, "next_number": writer.last.details["next_number"]}
            return self._show(writer.commit_again(old, "rollback", old.details | more))

    def erase(self, nodes: Any) -> Version:
        """Delete all traces of nodes, and with them the history: the new version is the only one.

        The model is fitted from scratch on the other nodes, so that neither weights nor words come
        from the erased ones; the vectors are those of a new store of the other nodes, and are not
        comparable with the old ones. The next change, such as `erase` of the same nodes, completes
        an interrupted erasure. A process that still reads an older version will fail.

        nodes : one id or a list of ids, each of which any version must have. If none has any of
            them, what interrupted changes have left is deleted; an error if there is nothing.
        """
        with self._writing() as writer:
            ids = self._typed(nodes)
            never = self._database.never_stored(ids)
            if len(never) == len(ids) and (writer.completed or writer.forget()):
                return writer.last
            if never:
                raise InputError(
                    f"no version of the store has a node {listing([*map(repr, never)])}; check how "
                    "ids are written, and leave out those that were erased already"
                )
            rows, edges = self._all_rows("nodes"), self._snapshot.read("edges")
            rows = rows.filter(pc.invert(pc.is_in(rows.column(ID), ids)))
            if not len(rows):
                raise InputError("the store would have no nodes; delete its folder instead")
            for end in ("source", "target"):
                edges = edges.filter(pc.is_in(edges.column(end), rows.column(NUMBER)))
            graph = self._graph_of(rows, edges)
            # It neither starts from old weights nor is it rotated onto old vectors: both depend on
            # nodes that are erased.
            fresh = clone(self.estimator).fit(graph)
            fresh.notes_ = dict(self.estimator.notes_)
            states = _states(fresh, graph)
            writer.replace("nodes", rows)
            writer.replace("edges", edges)
            erased = len(self) - graph.n_nodes
            return self._replaced(ERASE, writer, graph, states, fresh, keep=1, erased=erased)

    def prune(self, keep: int = 1) -> Version:
        """Forget old versions with their models, and free the space that only they need.

        This makes a version with the same content in few files, and reads all of it before anything
        is deleted. A process that still reads a version that was pruned will fail.

        keep : how many of the last versions to keep, the one that this makes among them.
        """
        if keep < 1:
            raise InputError(f"at least one version must be kept, got keep={keep}")
        with self._database.writing() as writer:
            writer.compact()
            return self._show(writer.commit("prune", writer.last.details, keep=keep))

    def _change(self, edges: Any, nodes: Any, snapshot: Snapshot) -> Change:
        """What a batch would change in this version."""
        batch = read_batch(edges, nodes, self._batch_format())
        return compared(batch, snapshot, self.estimator, self._version.details["next_number"])

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """The only writer; it starts from the last version, perhaps of another process."""
        with self._database.writing() as writer:
            if writer.last.version != self.version:
                self._show(writer.last)
            yield writer

    def _applied(self, action: str, change: Change, writer: Writer) -> StoreChange:
        """Write a change, and become a view of the version that it makes."""
        if not change:
            none = self.vectors([])
            return StoreChange(self.version, none, none, 0, 0, 0)
        change.write(writer)
        details, new = change.details(writer.last.details), change.region.new
        self._show(writer.commit(action, details))
        return StoreChange(
            self.version,
            self._embedding_of(*change.vectors(new)),
            self._embedding_of(*change.vectors(change.moved & ~new)),
            len(change.removed),
            len(change.pairs),
            len(change.rows) - len(change.new),
        )

    def _replaced(
        self,
        action: str,
        writer: Writer,
        graph: Graph,
        states: dict[str, np.ndarray],
        estimator: Estimator | None = None,
        keep: int | None = None,
        **counts: int,
    ) -> Version:
        """Write exact vectors of all nodes and perhaps a model, and show the version made.

        graph : its nodes are the rows of the node table, by number.
        """
        numbers = np.sort(writer.read("nodes", [NUMBER]).column(NUMBER).to_numpy())
        writer.replace("vectors", vector_rows(numbers, states, _sums(graph)))
        counts |= {"n_nodes": graph.n_nodes, "n_edges": graph.n_edges}
        counts["next_number"] = writer.last.details["next_number"]
        save = None if estimator is None else _saver(estimator)
        details = exact_details(writer.number, **counts)
        return self._show(writer.commit(action, details, save, keep))


def _states(
    estimator: Estimator, graph: Graph, encoded: Encoded | None = None
) -> dict[str, np.ndarray]:
    """What is kept of every node, computed from the whole graph."""
    return estimator.fit_.states(encoded or estimator.encode(graph))


def _saver(estimator: Estimator) -> Callable[[Path], None]:
    """What saves the model, without what the tables hold of single nodes; the file says so."""
    stored = estimator.with_fit(estimator.fit_.without_nodes())
    stored.notes_ = estimator.notes_ | {OF_STORE: True}
    return stored.save


def _sums(graph: Graph) -> np.ndarray:
    """(N, 2) of the weights in rows and columns of what nodes attend to."""
    attended = graph.attended.astype(np.float64)
    return np.stack([attended.sum(axis=1), attended.sum(axis=0)], axis=1)
