"""What a store should hold, as plain dictionaries, and operations on both.

An operation is plain data: the store and the model each carry it out in their own way.
"""

import multiprocessing
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from benchmarks.processes import Process
from graphgate import GATE, Attributes, Graph, LinearGATE, Store

FEWEST = 5  # nodes that are never removed
N_FEATURES = 4
TOWNS = ("Ulm", "Bern", "Graz", "O'Hara", "日本", None)
WORDS = ("x", "y", "z", "not; --", "")
KINDS: Any = {"age": "number", "town": "category", "a.b": "boolean", "_text": "words"}
LABELS = ("a", "b", None)

Pair = tuple[Any, Any]
multiprocessing.set_forkserver_preload(["graphgate.store.store", "lancedb", "fuzz.store_model"])


class StoreProcess(Process):
    """A process that has imported what stores need."""

    context = multiprocessing.get_context("forkserver")

    def next(self, timeout: float | None = 60) -> dict[str, Any]:
        return super().next(timeout)


class Node(NamedTuple):
    content: tuple[Any, ...]
    label: str | None


@dataclass(frozen=True)
class Shape:
    """What kind of graph a store holds, and by which method.

    content : "attributes", "dense" or "sparse".
    """

    method: str
    content: str
    directed: bool
    weighted: bool
    integers: bool

    def estimator(self) -> Any:
        if self.method == "linear":
            return LinearGATE(n_components=2, random_state=0, progress=False)
        dims = (3, 2) if self.method == "gate" else (4, 3, 2)
        return GATE(dims, epochs=2, random_state=0, progress=False)

    def node(self, number: int) -> Any:
        return number if self.integers else f"n{number}'" if number % 7 == 0 else f"n{number}"

    def content_of(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """What describes a node: attributes, or features."""
        if self.content != "attributes":
            return tuple(rng.integers(-8, 9, N_FEATURES) / 4 * (rng.random(N_FEATURES) < 0.7))
        counts = {word: float(rng.integers(1, 4)) for word in WORDS[:4] if rng.random() < 0.4}
        return (
            None if rng.random() < 0.1 else float(rng.integers(-80, 80)) / 8,
            TOWNS[rng.integers(len(TOWNS))],
            None if rng.random() < 0.1 else bool(rng.random() < 0.5),
            counts,
        )

    def pair(self, a: Any, b: Any) -> Pair:
        return (a, b) if self.directed or str(a) <= str(b) else (b, a)

    def graph(self, nodes: dict[Any, Node], edges: dict[Pair, float]) -> Graph:
        """A graph of these nodes, between which all edges are."""
        rows = [node.content for node in nodes.values()]
        described: dict[str, Any] = {}
        x: Any = None
        if self.content == "attributes":
            columns = dict(zip(KINDS, zip(*rows, strict=True), strict=True))
            words = [
                [word for word, count in cell.items() for _ in range(int(count))]
                for cell in columns["_text"]
            ]
            columns = {name: list(cells) for name, cells in columns.items()} | {"_text": words}
            described["attributes"] = Attributes.from_columns(columns, kinds=KINDS)
        else:
            x = np.array(rows, dtype=np.float32)
            x = sp.csr_array(x) if self.content == "sparse" else x
        places = {node: at for at, node in enumerate(nodes)}
        pairs = np.array([[places[a], places[b]] for a, b in edges], dtype=np.int64).reshape(-1, 2)
        labels = [node.label for node in nodes.values()]
        return Graph.from_edge_index(
            x,
            pairs.T,
            np.array(list(edges.values())) if self.weighted else None,
            ids=list(nodes),
            labels=labels if any(label is not None for label in labels) else None,
            directed=self.directed,
            **described,
        )

    def table(self, edges: dict[Pair, float]) -> pa.Table:
        """Edges as a table."""
        columns = {"source": [a for a, _ in edges], "target": [b for _, b in edges]}
        weights = {"weight": list(edges.values())} if self.weighted else {}
        return pa.table(columns | weights)


@dataclass(frozen=True)
class Content:
    """What one version holds.

    exact : whether all vectors are those of a transform of the whole graph.
    vectors : as they were when the version was new, once they have been looked at.
    """

    nodes: dict[Any, Node]
    edges: dict[Pair, float]
    exact: bool = True
    vectors: np.ndarray | None = None


class Operation(NamedTuple):
    """What is done to a store.

    name : a method of `Store`.
    nodes, edges : what is added or removed; a weight of 0 for edges that are removed.
    number : of a version, or of versions to keep.
    """

    name: str
    nodes: dict[Any, Node | None] = {}  # noqa: RUF012
    edges: dict[Pair, float] = {}  # noqa: RUF012
    number: int = 0


def perform(store: Store, shape: Shape, operation: Operation) -> None:
    """Carry out an operation with a store."""
    name, nodes, edges, number = operation
    arguments: tuple[Any, ...] = ()
    if name == "add":
        described: Any = nodes
        inside = {pair: weight for pair, weight in edges.items() if set(pair) <= nodes.keys()}
        arguments = (shape.graph(described, inside) if nodes else shape.table(edges),)
    elif name == "remove":
        arguments = (list(nodes) or None, shape.table(edges) if edges else None)
    elif name == "erase":
        arguments = (list(nodes),)
    elif name in ("rollback", "prune"):
        arguments = (number,)
    with warnings.catch_warnings(action="ignore"):
        getattr(store, name)(*arguments)


@dataclass
class PlainStore:
    """The versions that a store should have, by number, with what each should hold."""

    shape: Shape
    versions: dict[int, Content]
    used: int = 0  # ids of nodes that were ever given
    actions: dict[int, str] = field(default_factory=lambda: {1: "create"})

    @property
    def last(self) -> Content:
        return self.versions[self.number]

    @property
    def number(self) -> int:
        return max(self.versions)

    def after(self, operation: Operation) -> Self:
        """After an operation; the same object if it changes nothing."""
        name, number = operation.name, self.number + 1
        if name == "rollback":
            return self._with(name, replace(self.versions[operation.number]))
        if name == "prune":
            return self._with(name, self.last)._without(number - operation.number)
        if name == "erase":
            return self._with(name, self._erased(operation))._without(number - 1)
        content = self._content(operation)
        return self if content is self.last else self._with(name, content)

    def _with(self, action: str, content: Content) -> Self:
        number = self.number + 1
        versions, actions = self.versions | {number: content}, self.actions | {number: action}
        return replace(self, versions=versions, actions=actions)

    def _without(self, last: int) -> Self:
        """Without the versions up to one of them."""
        kept = {number: content for number, content in self.versions.items() if number > last}
        return replace(self, versions=kept, actions={n: self.actions[n] for n in kept})

    def _erased(self, operation: Operation) -> Content:
        nodes = {id: node for id, node in self.last.nodes.items() if id not in operation.nodes}
        edges = {pair: w for pair, w in self.last.edges.items() if nodes.keys() >= set(pair)}
        return Content(nodes, edges)

    def _content(self, operation: Operation) -> Content:
        """After an operation that makes a version with other nodes, edges or vectors."""
        name, nodes, edges, _ = operation
        last, exact = self.last, self.shape.method != "linear"
        if name in ("refresh", "refit"):
            return Content(last.nodes, last.edges)
        if name == "remove":
            kept = self._erased(operation)
            left = {pair: w for pair, w in kept.edges.items() if pair not in edges}
            return Content(kept.nodes, left, exact)
        unlabeled = all(node is None or node.label is None for node in nodes.values())
        merged = dict(last.nodes)
        for id, node in nodes.items():
            assert node is not None
            if unlabeled and id in merged:  # then the batch has no labels at all
                node = Node(node.content, merged[id].label)
            merged[id] = node
        inside = {pair: w for pair, w in edges.items() if not nodes or set(pair) <= nodes.keys()}
        joined = Content(merged, last.edges | inside, exact)
        same = (joined.nodes, joined.edges) == (last.nodes, last.edges)
        return last if same else joined


# --- comparison ----------------------------------------------------------------------------------


def plain(shape: Shape, graph: Graph) -> tuple[dict[Any, Node], dict[Pair, float]]:
    """A graph as dictionaries."""
    if shape.content == "attributes":
        assert graph.attributes is not None
        columns = [graph.attributes.column(name).tolist() for name in KINDS]
        rows = [tuple(row) for row in zip(*columns, strict=True)]
    else:
        x = graph.x.toarray() if sp.issparse(graph.x) else graph.x
        rows = [tuple(row) for row in x.tolist()]
    labels = graph.label_values() or [None] * graph.n_nodes
    ids = graph.ids.tolist()
    nodes = {id: Node(*pair) for id, pair in zip(ids, zip(rows, labels, strict=True), strict=True)}
    matrix = (graph.adjacency if graph.directed else sp.triu(graph.adjacency)).tocoo()
    entries = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    return nodes, {shape.pair(ids[a], ids[b]): w for a, b, w in entries}


def check_version(store: Store, expected: Content, shape: Shape) -> None:
    """Assert that nodes, edges and vectors of a version are what they should be."""
    graph = store.graph()
    nodes, edges = plain(shape, graph)
    assert list(nodes) == list(expected.nodes), f"nodes are {list(nodes)}"
    for id, node in expected.nodes.items():
        assert nodes[id] == node, f"node {id!r} is {nodes[id]}, not {node}"
    assert edges == expected.edges, f"edges are {edges}, not {expected.edges}"
    info, embedding = store.info(), store.vectors()
    assert (info.n_nodes, info.n_edges) == (len(nodes), len(edges)), f"counts are {info}"
    assert len(store) == len(nodes)
    assert embedding.ids.tolist() == list(nodes), "vectors are of other nodes"
    assert np.isfinite(embedding.vectors).all(), "vectors are not finite"
    if embedding.labels is not None:
        assert list(embedding.labels) == [node.label for node in nodes.values()]
    if expected.vectors is not None:
        assert np.array_equal(embedding.vectors, expected.vectors), "vectors have changed"
    if expected.exact:
        assert (info.stale_nodes, info.stale_edges) == (0, 0), f"vectors are exact, but {info}"
        with warnings.catch_warnings(action="ignore"):
            exact = store.model().transform(graph)
        # Sums are corrected by what has changed, in single precision.
        off = np.abs(embedding.vectors - exact).max() / max(1.0, np.abs(exact).max())
        assert off <= 1e-4, f"vectors are off by {off:.2g}"


def difference(store: Store, expected: PlainStore, *, older: int) -> str | None:
    """How a store differs from the model; `older` selects an older version to look at, too."""
    number = sorted(expected.versions)[older % len(expected.versions)]
    try:
        actions = {version.version: version.action for version in store.history()}
        assert actions == expected.actions, f"versions are {actions}, not {expected.actions}"
        assert store.version == expected.number
        check_version(store, expected.last, expected.shape)
        assert not store.check().problems, f"check reports: {store.check().problems}"
        check_version(Store.open(store.path, number), expected.versions[number], expected.shape)
    except AssertionError as error:
        return str(error) or "the store holds something else"
    return None
