"""The attributed graph: everything before this module builds one, everything after uses one.

A `Graph` is validated once, when it is made, and is immutable afterwards, so nothing that receives
one validates it again.
"""

from __future__ import annotations

import hashlib
import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning, listing
from graphgate.graph import validation
from graphgate.graph.attributes import Attributes
from graphgate.graph.edges import (
    adjacency_entries,
    edge_pairs,
    edge_weights,
    merged_adjacency,
    row_pairs,
)
from graphgate.graph.ordering import locality_order
from graphgate.graph.validation import Features, errors_about


class GraphFields(TypedDict, total=False):
    """Arguments of `Graph` that its other constructors take as well."""

    attributes: Attributes | Mapping[str, Any] | None
    labels: Sequence[Any] | np.ndarray | None
    splits: Mapping[str, Any] | None
    directed: bool
    feature_names: Iterable[str] | None


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Graph:
    """An immutable graph of N nodes with features, with attributes, or with edges only.

    Parameters
    ----------
    x : (N, F) features, a NumPy or SciPy sparse array. Sparse stays sparse; float32 and float64
        are kept, every other numeric dtype becomes float32.
    adjacency : (N, N), `adjacency[u, v]` is the weight of the edge from u to v; None means no
        edges. A graph whose stored values are all 1 is unweighted. Self-loops are dropped (the
        method adds exactly one of weight 1 per node); explicit zeros are no edges; weights are
        positive and finite.
    attributes : `Attributes`, or a mapping of column names to N values each, in place of `x`.
        Estimators encode them; the graph only holds them.
    ids : N distinct hashable node ids; the default is 0 … N-1.
    labels : N values, None or NaN where a node has no label.
    splits : name -> boolean mask over the nodes; no node is in two of them.
    directed : an edge u -> v makes v attend over u (`reverse()` for the other reading). In an
        undirected graph (the default) a pair may be given in one direction or in both.
    feature_names : F distinct names of the columns of `x`.

    With neither `x` nor `attributes` the graph has only edges, and estimators use structural
    features. Duplicate edges are one edge in an unweighted graph and add their weights in a
    weighted one.

    Attributes
    ----------
    x : (N, F) array or CSR array, or None.
    attributes : `Attributes`, or None.
    adjacency : (N, N) CSR array, sorted, without self-loops; symmetric when undirected.
    ids : (N,) array of int64 or object.
    labels : (N,) int64, positions in `classes`, -1 where a node has none; or None.
    classes : tuple of the distinct labels.
    splits : read-only mapping of read-only boolean masks.

    Examples
    --------
    >>> graph = Graph(np.eye(3), [[0, 1, 0], [1, 0, 0], [0, 0, 0]], ids=["a", "b", "c"])
    >>> graph
    Graph(3 nodes, 1 undirected edge, 3 dense features)
    >>> graph.without(["b"]).ids.tolist()
    ['a', 'c']
    """

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

    def __init__(
        self,
        x: Any = None,
        adjacency: Any = None,
        *,
        attributes: Attributes | Mapping[str, Any] | None = None,
        ids: Iterable[Hashable] | None = None,
        labels: Sequence[Any] | np.ndarray | None = None,
        splits: Mapping[str, Any] | None = None,
        directed: bool = False,
        feature_names: Iterable[str] | None = None,
    ) -> None:
        content = _content(x, attributes)
        n, edges, weights = adjacency_entries(adjacency, _n_rows(content))
        known = validation.node_ids(ids, n)
        self._fill(
            content,
            known,
            edges,
            weights,
            labels=labels,
            splits=splits,
            directed=directed,
            feature_names=feature_names,
        )

    @classmethod
    def from_edges(
        cls,
        x: Any,
        edges: Any,
        weights: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        **fields: Unpack[GraphFields],
    ) -> Graph:
        """From E pairs (source, target) of node ids, or of row numbers where there are no `ids`.

        Further arguments are those of `Graph`: attributes, labels, splits, directed and
        feature_names. Without features and ids there are as many nodes as row numbers require.

        >>> Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]).n_edges
        1
        """
        known = None if ids is None else validation.node_ids(ids)
        return cls.from_edge_index(x, edge_pairs(edges, known).T, weights, ids=known, **fields)

    @classmethod
    def from_edge_index(
        cls,
        x: Any,
        edge_index: Any,
        edge_weight: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        num_nodes: int | None = None,
        **fields: Unpack[GraphFields],
    ) -> Graph:
        """From a (2, E) array of row numbers, sources above targets, as in PyTorch Geometric.

        Further arguments are those of `Graph`: attributes, labels, splits, directed and
        feature_names.

        num_nodes : N, where neither features nor ids give it; the default is the largest row
            number plus one.

        >>> Graph.from_edge_index(None, [[0, 1], [1, 2]], num_nodes=4)
        Graph(4 nodes, 2 undirected edges, no features)
        """
        others: Any = dict(fields)
        content = _content(x, others.pop("attributes", None))
        known = None if ids is None else validation.node_ids(ids)
        rows = _n_rows(known if content is None else content)
        n = num_nodes if rows is None else rows
        if num_nodes is not None and (
            not isinstance(num_nodes, numbers.Integral) or num_nodes != n
        ):
            raise InputError(f"num_nodes must be the number of nodes, {n}, got {num_nodes!r}")
        pairs = row_pairs(edge_index, n)
        known = validation.node_ids(known, int(pairs.max(initial=-1)) + 1 if n is None else n)
        weights = edge_weights(edge_weight, len(pairs))
        graph = cls.__new__(cls)
        graph._fill(content, known, pairs, weights, **others)
        return graph

    def _fill(
        self,
        content: Features | Attributes | None,
        ids: np.ndarray,
        edges: np.ndarray,
        weights: np.ndarray | None,
        *,
        labels: Any = None,
        splits: Any = None,
        directed: bool = False,
        feature_names: Any = None,
    ) -> None:
        if feature_names is not None and (content is None or isinstance(content, Attributes)):
            raise InputError("feature_names are names of columns of x; leave them out")
        if len(ids) == 0:
            raise InputError("the graph is empty: it has no nodes", about="nodes")
        table = content if isinstance(content, Attributes) else None
        x: Any = None if table is not None else content
        codes, classes = validation.label_codes(labels, len(ids))
        self._set(
            x=x,
            attributes=table,
            adjacency=merged_adjacency(edges, weights, ids, directed=directed),
            ids=ids,
            labels=codes,
            classes=classes,
            splits=validation.split_masks(splits, ids),
            feature_names=None
            if x is None
            else validation.feature_names(feature_names, x.shape[1]),
            directed=bool(directed),
            weighted=weights is not None,
        )

    def _set(self, **values: Any) -> None:
        """The only place where fields are written; their arrays become read-only."""
        for array in (array for value in values.values() for array in _arrays(value)):
            array.flags.writeable = False
        values["splits"] = MappingProxyType(dict(values["splits"]))
        self.__dict__.update(values)

    def _fields(self) -> dict[str, Any]:
        """What the graph consists of, without cached properties."""
        return {field.name: self.__dict__[field.name] for field in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return self._fields() | {"splits": dict(self.splits)}  # a proxy cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_features(self) -> int:
        """F, or 0 where the graph has no features."""
        return 0 if self.x is None else int(self.x.shape[1])

    @property
    def n_edges(self) -> int:
        """Edges without self-loops; an undirected pair counts once."""
        return int(self.adjacency.nnz if self.directed else self.adjacency.nnz // 2)

    def rows(self, nodes: Any) -> np.ndarray:
        """Row numbers of nodes given by id, or by a boolean mask over all nodes."""
        return validation.node_rows(nodes, self._positions)

    @cached_property
    def _positions(self) -> validation.Positions:
        return validation.Positions(self.ids)

    @cached_property
    def attended(self) -> sp.csr_array:
        """(N, N) CSR, sorted: row i lists the nodes that i attends over, without itself."""
        if not self.directed:
            return self.adjacency
        attended = self.adjacency.T.tocsr()
        attended.sort_indices()
        return attended

    def subgraph(self, nodes: Any) -> Graph:
        """The graph of these nodes (ids in the order wanted, or a mask) and their edges."""
        rows = self.rows(nodes)
        if len(np.unique(rows)) != len(rows):
            raise InputError("a node of the sub-graph is given more than once; give each once")
        return self._take(rows)

    def without(self, nodes: Any) -> Graph:
        """The graph as if these nodes (ids, or a mask) had never been seen."""
        keep = np.ones(self.n_nodes, dtype=bool)
        keep[self.rows(nodes)] = False
        return self._take(np.flatnonzero(keep))

    def without_edges(self, pairs: Any) -> Graph:
        """The same nodes without the edges between these pairs of rows, (M, 2), either way."""
        u, v = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
        n = self.n_nodes
        entries = self.adjacency.tocoo()
        gone = np.concatenate([u * n + v, v * n + u])
        keep = ~np.isin(entries.row.astype(np.int64) * n + entries.col, gone)
        kept = (entries.data[keep], (entries.row[keep], entries.col[keep]))
        adjacency = sp.csr_array(kept, shape=(n, n))
        adjacency.sort_indices()
        return self._with(adjacency=adjacency)

    def neighborhood(self, nodes: Any, hops: int) -> Graph:
        """The sub-graph of all that these nodes attend over within `hops` layers, in row order."""
        if not isinstance(hops, numbers.Integral) or hops < 0:
            raise InputError(f"hops must be an integer ≥ 0, got {hops!r}")
        reached = np.unique(self.rows(nodes))
        for _ in range(hops):
            reached = np.union1d(reached, self.attended[reached].indices)
        return self._take(reached)

    def reverse(self) -> Graph:
        """The same graph with every directed edge reversed."""
        return self._with(adjacency=self.attended)

    def to_directed(self) -> Graph:
        """The same graph as a directed one: every undirected edge becomes one in each direction."""
        return self._with(directed=True)

    def to_undirected(self) -> Graph:
        """The same graph without directions; of two different weights the larger is kept."""
        adjacency = self.adjacency.maximum(self.adjacency.T.tocsr())
        adjacency.sort_indices()
        return self._with(adjacency=adjacency, directed=False)

    def to_weighted(self) -> Graph:
        """The same graph as a weighted one; edges without weights have weight 1."""
        return self._with(weighted=True)

    def to_unweighted(self) -> Graph:
        """The same graph without the weights of its edges."""
        adjacency = self.adjacency.copy()
        adjacency.data = np.ones(adjacency.nnz, dtype=np.float32)
        return self._with(adjacency=adjacency, weighted=False)

    def by_locality(self) -> Graph:
        """The same graph, its nodes reordered so that neighbors are near each other in memory.

        Products with its adjacency then find more of what they need in the cache.
        """
        return self._take(locality_order(self.adjacency))

    def reveal(self, *splits: str) -> Graph:
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

    def with_splits(self, splits: Mapping[str, Any]) -> Graph:
        """The same graph with other splits."""
        return self._with(splits=validation.split_masks(splits, self.ids))

    def with_x(
        self, x: Any, feature_names: Iterable[str] | None = None, *, copy: bool = True
    ) -> Graph:
        """The same graph with these (N, F) features in place of what describes its nodes.

        With `copy=False` a float array is taken over, and becomes read-only.

        >>> Graph(adjacency=np.ones((2, 2))).with_x([[1.0], [2.0]])
        Graph(2 nodes, 1 undirected edge, 1 dense feature)
        """
        features = validation.features(x, copy=copy)
        if features.shape[0] != self.n_nodes:
            raise InputError(
                f"features have {features.shape[0]:,} rows for {self.n_nodes:,} nodes; "
                "give one row per node",
                about="nodes",
            )
        names = validation.feature_names(feature_names, features.shape[1])
        return self._with(x=features, attributes=None, feature_names=names)

    def with_features(self, names: Sequence[str]) -> Graph:
        """The same graph with the features of these names, in this order."""
        if self.feature_names is None or self.x is None:
            raise InputError("the graph's features have no names to select them by", about="nodes")
        if tuple(names) == self.feature_names:
            return self
        place = {name: at for at, name in enumerate(self.feature_names)}
        if lacking := [name for name in names if name not in place]:
            raise InputError(
                f"the graph lacks the feature {lacking[0]!r}; it has {listing(self.feature_names)}",
                about="nodes",
            )
        wanted = set(names)
        if extra := [name for name in self.feature_names if name not in wanted]:
            warnings.warn(
                f"{len(extra):,} unknown feature(s) are ignored: {listing(extra)}",
                InputWarning,
                stacklevel=2,
            )
        x = self.x[:, [place[name] for name in names]]
        return self._with(x=x, feature_names=tuple(names))

    def fingerprint(self) -> str:
        """SHA-256 over features or attributes, edges and ids.

        Equal graphs have equal fingerprints. Ids count by their `repr`, which must not contain an
        address if the fingerprint is to be kept.
        """
        shape = None if self.x is None else self.x.shape
        digest = hashlib.sha256(repr((shape, self.directed, self.weighted)).encode())
        if (table := self.attributes) is not None:
            columns = [(name, table[name].kind, table[name].tolist()) for name in table]
            digest.update(repr(columns).encode())
        for array in (*_arrays(self.x), *_arrays(self.adjacency)):
            wide = array.astype(np.int64) if array.dtype.kind == "i" else array
            digest.update(str(wide.dtype).encode())
            digest.update(np.ascontiguousarray(wide).data)
        digest.update(repr(self.ids.tolist()).encode())
        return digest.hexdigest()

    def _take(self, rows: np.ndarray) -> Graph:
        if len(rows) == 0:
            raise InputError("the sub-graph would have no nodes; keep at least one")
        adjacency = self.adjacency[rows][:, rows]
        adjacency.sort_indices()
        return self._with(
            x=None if self.x is None else self.x[rows],
            attributes=None if self.attributes is None else self.attributes.take(rows),
            adjacency=adjacency,
            ids=self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            splits={name: mask[rows] for name, mask in self.splits.items()},
        )

    def _with(self, **changes: Any) -> Graph:
        graph = type(self).__new__(type(self))
        graph._set(**(self._fields() | changes))
        return graph

    def __repr__(self) -> str:
        edges = f"{'directed' if self.directed else 'undirected'} edge"
        parts = [
            _count(self.n_nodes, "node"),
            _count(self.n_edges, f"{'weighted ' if self.weighted else ''}{edges}"),
        ]
        if self.attributes is not None:
            parts.append(_count(len(self.attributes.names), "attribute"))
        else:
            kind = "sparse" if sp.issparse(self.x) else "dense"
            named = _count(self.n_features, f"{kind} feature")
            parts.append("no features" if self.x is None else named)
        if self.labels is not None:
            parts.append(_count(len(self.classes), "class", "classes"))
        parts += [f"{name} {int(mask.sum()):,}" for name, mask in self.splits.items()]
        return f"Graph({', '.join(parts)})"


@errors_about("nodes")
def _content(x: Any, attributes: Any) -> Features | Attributes | None:
    """What describes the nodes: features, attributes, or nothing."""
    if isinstance(x, Attributes):
        raise InputError("x is a table of attributes; pass it as attributes=")
    if attributes is None:
        return None if x is None else validation.features(x)
    if x is not None:
        raise InputError("pass either x or attributes, not both")
    return attributes if isinstance(attributes, Attributes) else Attributes.from_columns(attributes)


def _n_rows(content: Features | Attributes | None) -> int | None:
    if content is None or isinstance(content, Attributes):
        return None if content is None else len(content)
    return int(content.shape[0])


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _arrays(value: Any) -> list[np.ndarray]:
    """The NumPy arrays that hold a field's data."""
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr]
    parts = value.values() if isinstance(value, Mapping) else [value]
    return [part for part in parts if isinstance(part, np.ndarray)]
