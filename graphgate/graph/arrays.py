"""The arrays of a graph, read-only, and the graphs that can be made from them.

What is made from a valid graph is valid, so nothing is validated here.
"""

import hashlib
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing, printable
from graphgate.graph.attributes import Attributes
from graphgate.graph.notebook import MOST_COLUMNS, MOST_ROWS, html_table
from graphgate.graph.ordering import locality_order
from graphgate.graph.validation import Positions, arrays_of, node_rows, sorted_ranks


@dataclass(frozen=True, init=False, repr=False, eq=False)
class GraphArrays:
    """What a `Graph` consists of; its fields are described there."""

    x: Any  # Features, or None
    attributes: Attributes | None
    adjacency: sp.csr_array
    ids: np.ndarray
    labels: np.ndarray | None
    classes: tuple[Any, ...]
    splits: Mapping[str, np.ndarray]
    feature_names: tuple[str, ...] | None
    directed: bool
    weighted: bool
    graph_index: np.ndarray | None
    reading: Any = None  # how its tables were read; io/reading_options.py describes it

    def _set(self, **values: Any) -> None:
        """The only place where fields are written; their arrays become read-only."""
        for array in (array for value in values.values() for array in arrays_of(value)):
            array.flags.writeable = False
        values["splits"] = MappingProxyType(dict(values["splits"]))
        self.__dict__.update(values)

    def _fields(self) -> dict[str, Any]:
        """What the graph consists of, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return self._fields() | {"splits": dict(self.splits)}  # a proxy cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing of it can change; scikit-learn's `clone` copies parameters deeply

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_features(self) -> int:
        """F, or 0 where the graph has no features."""
        return 0 if self.x is None else int(self.x.shape[1])

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of what describes the nodes, attributes or features; None if these have none."""
        if self.attributes is not None:
            return self.attributes.names
        return self.feature_names if self.x is not None else ()

    @property
    def n_edges(self) -> int:
        """Edges without self-loops; an undirected pair counts once."""
        return int(self.adjacency.nnz if self.directed else self.adjacency.nnz // 2)

    def rows(self, nodes: Any) -> np.ndarray:
        """Row numbers of nodes given by id, or by a boolean mask over all nodes."""
        return node_rows(nodes, self._positions)

    @cached_property
    def id_ranks(self) -> np.ndarray | None:
        """(N,) the position of each id among all of them, sorted; None if they are in order.

        What is drawn for a node by its rank does not depend on the order of the nodes.
        """
        return sorted_ranks(self.ids)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.ids)

    @cached_property
    def attended(self) -> sp.csr_array:
        """(N, N) CSR, sorted: row i lists the nodes that i attends over, without itself."""
        if not self.directed:
            return self.adjacency
        attended = self.adjacency.T.tocsr()
        attended.sort_indices()
        return attended

    def subgraph(self, nodes: Any) -> Self:
        """The graph of these nodes (ids in the order wanted, or a mask) and their edges."""
        rows = self.rows(nodes)
        if len(np.unique(rows)) != len(rows):
            raise InputError("a node of the subgraph is given more than once; list each node once")
        return self.take(rows)

    def without(self, nodes: Any) -> Self:
        """The graph as if these nodes (ids, or a mask) had never been seen."""
        keep = np.ones(self.n_nodes, dtype=bool)
        keep[self.rows(nodes)] = False
        return self.take(np.flatnonzero(keep))

    def without_edges(self, pairs: Any) -> Self:
        """The same nodes without the edges between these pairs of rows, (M, 2), either way."""
        u, v = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
        n, old = self.n_nodes, self.adjacency
        keys = np.repeat(np.arange(n), np.diff(old.indptr)) * n + old.indices
        removed = np.concatenate([u * n + v, v * n + u])
        keep = np.ones(old.nnz, dtype=bool)
        keep[np.searchsorted(keys, removed[contained(removed, keys)])] = False
        before = np.concatenate([[0], np.cumsum(keep)])  # entries that are kept
        indptr = before[old.indptr].astype(old.indptr.dtype)
        parts = (old.data[keep], old.indices[keep], indptr)
        return self._with(adjacency=sp.csr_array(parts, shape=old.shape))

    def neighborhood(self, nodes: Any, hops: int) -> Self:
        """The subgraph that these nodes attend over within `hops` layers, in row order."""
        if not isinstance(hops, numbers.Integral) or hops < 0:
            raise InputError(f"hops must be an integer ≥ 0, got {hops!r}")
        reached = np.unique(self.rows(nodes))
        for _ in range(hops):
            reached = np.union1d(reached, self.attended[reached].indices)
        return self.take(reached)

    def reverse(self) -> Self:
        """The same graph with every directed edge reversed."""
        return self._with(adjacency=self.attended)

    def to_directed(self) -> Self:
        """The same graph as a directed one: every undirected edge becomes one in each direction."""
        return self._with(directed=True)

    def to_undirected(self) -> Self:
        """The same graph without directions; of two different weights the larger is kept."""
        adjacency = self.adjacency.maximum(self.adjacency.T.tocsr())
        adjacency.sort_indices()
        return self._with(adjacency=adjacency, directed=False)

    def to_weighted(self) -> Self:
        """The same graph as a weighted one; edges without weights have weight 1."""
        return self._with(weighted=True)

    def to_unweighted(self) -> Self:
        """The same graph without the weights of its edges."""
        adjacency = self.adjacency.copy()
        adjacency.data = np.ones(adjacency.nnz, dtype=np.float32)
        return self._with(adjacency=adjacency, weighted=False)

    def with_weights_in(self, unit: float) -> Self:
        """The same graph, the weights of its edges divided by `unit`, if it has weights."""
        if unit == 1 or not self.weighted:
            return self
        adjacency = self.adjacency.copy()
        adjacency.data = adjacency.data / unit
        return self._with(adjacency=adjacency)

    def by_locality(self) -> Self:
        """The same graph, its nodes reordered so that neighbors are near each other in memory.

        Products with its adjacency then find more of what they need in the cache.
        """
        return self.take(locality_order(self.adjacency))

    def reveal(self, *splits: str) -> Self:
        """The same graph with only these splits and the labels of their nodes."""
        shown = np.zeros(self.n_nodes, dtype=bool)
        for name in splits:
            shown |= self.splits[name]
        return self._with(
            labels=np.where(shown, self.labels, -1) if splits and self.labels is not None else None,
            splits={name: self.splits[name] for name in splits},
        )

    def label_values(self) -> list[Any] | None:
        """The labels as they were given, None where a node has none; None without labels."""
        if self.labels is None:
            return None
        return [None if code < 0 else self.classes[code] for code in self.labels.tolist()]

    def fingerprint(self) -> str:
        """SHA-256 over features or attributes, edges, ids, and the graph of each node.

        Equal graphs have equal fingerprints. Ids are hashed by their `repr`, which must not
        contain a memory address if the fingerprint is to be stored.
        """
        shape = None if self.x is None else self.x.shape
        digest = hashlib.sha256(repr((shape, self.directed, self.weighted)).encode())
        if (table := self.attributes) is not None:
            columns = [(name, table[name].kind, table[name].tolist()) for name in table]
            digest.update(repr(columns).encode())
        for array in (*arrays_of(self.x), *arrays_of(self.adjacency)):
            wide = array.astype(np.int64) if array.dtype.kind == "i" else array
            digest.update(str(wide.dtype).encode())
            digest.update(np.ascontiguousarray(wide).data)
        digest.update(repr(self.ids.tolist()).encode())
        if self.graph_index is not None:
            digest.update(self.graph_index.astype(np.int64).tobytes())
        return digest.hexdigest()

    def take(self, rows: np.ndarray) -> Self:
        """The graph of these row numbers, in the order given, and their edges."""
        if len(rows) == 0:
            raise InputError("the subgraph would have no nodes; keep at least one")
        adjacency = self.adjacency[rows][:, rows]
        adjacency.sort_indices()
        return self._with(
            x=None if self.x is None else self.x[rows],
            attributes=None if self.attributes is None else self.attributes.take(rows),
            adjacency=adjacency,
            ids=self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            splits={name: mask[rows] for name, mask in self.splits.items()},
            graph_index=None if self.graph_index is None else self.graph_index[rows],
        )

    def with_reading(self, reading: Any) -> Self:
        """The same graph, with a note of how its tables were read."""
        return self._with(reading=reading)

    def _with(self, **changes: Any) -> Self:
        graph = type(self).__new__(type(self))
        graph._set(**(self._fields() | changes))
        return graph

    def __repr__(self) -> str:
        kind = ("weighted " * self.weighted) + ("directed" if self.directed else "undirected")
        parts = [_count(self.n_nodes, "node"), _count(self.n_edges, f"{kind} edge")]
        if self.attributes is not None:
            names = [printable(name) for name in self.attributes.names]
            parts.append(f"{_count(len(names), 'attribute')} ({listing(names)})")
        elif self.x is None:
            parts.append("no features")
        else:
            form = "sparse" if sp.issparse(self.x) else "dense"
            parts.append(_count(self.n_features, f"{form} feature"))
        if self.labels is not None:
            parts.append(_count(len(self.classes), "class", "classes"))
        parts += [f"{name} {int(mask.sum()):,}" for name, mask in self.splits.items()]
        return f"Graph({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """In notebooks: the first nodes with label, (out-)degree and what describes them."""
        rows = np.arange(min(self.n_nodes, MOST_ROWS))
        cells: list[tuple[str, list[Any]]] = [("node", self.ids[rows].tolist())]
        if (labels := self.label_values()) is not None:
            cells.append(("label", labels[: len(rows)]))
        cells.append(("degree", np.diff(self.adjacency.indptr)[rows].tolist()))
        if self.attributes is not None:
            some = self.attributes.take(rows)
            cells += [(name, some[name].tolist()) for name in some.names[:MOST_COLUMNS]]
        elif self.x is not None:
            x = self.x[rows][:, :MOST_COLUMNS]
            names = self.feature_names or [f"x[{at}]" for at in range(x.shape[1])]
            values = (x.toarray() if sp.issparse(x) else x).T.tolist()
            cells += list(zip(names[:MOST_COLUMNS], values, strict=True))
        return html_table(repr(self), cells)


def contained(wanted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether each of the wanted values is one of several, which increase."""
    if not len(values):
        return np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    is_there: np.ndarray = values[places] == wanted
    return is_there


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
