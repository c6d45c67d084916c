"""The attributed graph: everything before this module makes one, everything after uses one.

A `Graph` is checked once, when it is made, and cannot change afterwards, so nothing that
receives one checks it again.
"""

from __future__ import annotations

import hashlib
import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning, listing
from graphgate.graph import validation as intake
from graphgate.graph.attributes import Attributes
from graphgate.graph.edges import adjacency_entries, edge_rows, edge_weights, merged_adjacency
from graphgate.graph.ordering import locality_order
from graphgate.graph.validation import Features
from graphgate.preprocessing.attribute_encoder import Encoding
from graphgate.preprocessing.structural import structural_attributes


class Graph:
    """An immutable graph of N nodes with F features each.

    Parameters
    ----------
    x : features, (N, F), a NumPy or SciPy sparse array. Sparse stays sparse. float32 and
        float64 are kept, every other numeric kind becomes float32. Or `Attributes`, which are
        encoded by an `Encoding` learned from them; or None, which makes structural attributes
        of the edges and ids (`graphgate.preprocessing.structural`).
    adjacency : (N, N), `adjacency[u, v]` is the weight of the edge from u to v; None means no
        edges. A graph whose stored values are all 1 is unweighted. Self-loops are dropped (the
        method adds exactly one of weight 1 a node); explicit zeros are no edges; weights are
        positive and finite.
    ids : N distinct hashable names; the default is 0 … N-1.
    labels : N values, None or NaN where there is none.
    splits : name -> boolean mask over the nodes; no node is in two of them.
    directed : an edge u -> v makes v attend over u (`reverse()` for the other reading). In an
        undirected graph (the default) a pair may be given one way or both ways.
    feature_names : F names; attributes bring their own.
    scale : whether numbers among attributes are scaled.

    Duplicate edges are one edge in an unweighted graph and add their weights in a weighted one.

    Attributes
    ----------
    x : (N, F) array or CSR array.
    attributes : what x was encoded from, or None.
    encoding : the `Encoding` by which it was, or None.
    structural : whether the attributes were made of edges and ids.
    adjacency : (N, N) CSR array, sorted, no self-loops; symmetric when undirected.
    ids : (N,) array of int64 or object.
    labels : (N,) int64, positions in `classes`, -1 where a node has none; or None.
    classes : tuple of the label values.
    splits : read-only mapping of read-only boolean masks.

    >>> graph = Graph(np.eye(3), [[0, 1, 0], [1, 0, 0], [0, 0, 0]], ids=["a", "b", "c"])
    >>> graph
    Graph(3 nodes, 1 undirected edge, 3 dense features)
    >>> graph.without(["b"]).ids.tolist()
    ['a', 'c']
    """

    x: Features
    adjacency: sp.csr_array
    ids: np.ndarray
    labels: np.ndarray | None
    classes: tuple[Any, ...]
    splits: Mapping[str, np.ndarray]
    feature_names: tuple[str, ...] | None
    directed: bool
    weighted: bool
    attributes: Attributes | None
    encoding: Encoding | None
    structural: bool
    _own_encoding: bool  # learned from exactly these nodes

    def __init__(
        self,
        x: Any,
        adjacency: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        labels: Sequence[Any] | np.ndarray | None = None,
        splits: Mapping[str, Any] | None = None,
        directed: bool = False,
        feature_names: Iterable[str] | None = None,
        scale: bool = True,
    ) -> None:
        features = _features(x)
        n = _nodes_of_adjacency(adjacency) if features is None else _count_rows(features)
        edges, weights = adjacency_entries(adjacency, n)
        self._fill(
            x=features,
            ids=intake.node_ids(ids, n),
            edges=edges,
            weights=weights,
            labels=labels,
            splits=splits,
            directed=directed,
            feature_names=feature_names,
            scale=scale,
        )

    @classmethod
    def from_edges(
        cls,
        x: Any,
        edges: Any,
        weights: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        labels: Sequence[Any] | np.ndarray | None = None,
        splits: Mapping[str, Any] | None = None,
        directed: bool = False,
        feature_names: Iterable[str] | None = None,
        scale: bool = True,
        by_row: bool = False,
    ) -> Graph:
        """From E pairs (source, target) of ids, or of row numbers where there are no ids.

        `by_row` tells that pairs are of row numbers although there are ids.

        A graph without features needs ids, or has as many nodes as its row numbers call for.

        >>> Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]).n_edges
        1
        """
        features = _features(x)
        if features is not None:
            n = _count_rows(features)
        elif ids is not None:
            ids = ids if isinstance(ids, np.ndarray) else intake.listed(ids, "node ids")
            n = len(ids)
        else:
            n = _nodes_of(edges)
        if n == 0:
            raise InputError("the graph is empty: it has neither features nor nodes")
        known = intake.node_ids(ids, n)
        pairs = edge_rows(edges, known, has_ids=ids is not None and not by_row)
        graph = cls.__new__(cls)
        graph._fill(
            x=features,
            ids=known,
            edges=pairs,
            weights=edge_weights(weights, len(pairs)),
            labels=labels,
            splits=splits,
            directed=directed,
            feature_names=feature_names,
            scale=scale,
        )
        return graph

    def _fill(
        self,
        *,
        x: Features | Attributes | None,
        ids: np.ndarray,
        edges: np.ndarray,
        weights: np.ndarray | None,
        labels: Any,
        splits: Mapping[str, Any] | None,
        directed: bool,
        feature_names: Iterable[str] | None,
        scale: bool,
    ) -> None:
        codes, classes = intake.label_codes(labels, len(ids))
        adjacency = merged_adjacency(edges, weights, ids, directed=directed)
        attributes = structural_attributes(adjacency, ids) if x is None else x
        encoding: Encoding | None = None
        names: tuple[str, ...] | None
        if isinstance(attributes, Attributes):
            if feature_names is not None:
                raise InputError("attributes name their features; leave feature_names out")
            encoding = Encoding.learn(attributes, scale=scale)
            features, names = encoding.apply(attributes), encoding.feature_names
        else:
            features, attributes = attributes, None
            names = intake.feature_names(feature_names, features.shape[1])
        self._set(
            x=features,
            adjacency=adjacency,
            ids=ids,
            labels=codes,
            classes=classes,
            splits=intake.split_masks(splits, ids),
            feature_names=names,
            directed=bool(directed),
            weighted=weights is not None,
            attributes=attributes,
            encoding=encoding,
            structural=x is None,
            _own_encoding=encoding is not None,
        )

    def _set(self, **fields: Any) -> None:
        """The only place where fields are written; their arrays become read-only."""
        for value in fields.values():
            for array in _arrays(value):
                array.flags.writeable = False
        fields["splits"] = MappingProxyType(dict(fields["splits"]))
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"a Graph cannot be changed, so {name!r} cannot be set; make a new one"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Graph cannot be changed, so {name!r} cannot be deleted")

    def _fields(self) -> dict[str, Any]:
        """What the graph consists of, without what is derived from it and kept."""
        return {name: self.__dict__[name] for name in Graph.__annotations__}

    def __getstate__(self) -> dict[str, Any]:
        return self._fields() | {"splits": dict(self.splits)}  # a proxy cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    @property
    def n_nodes(self) -> int:
        return int(self.x.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.x.shape[1])

    @property
    def n_edges(self) -> int:
        """Edges without self-loops; an undirected pair counts once."""
        return int(self.adjacency.nnz if self.directed else self.adjacency.nnz // 2)

    def rows(self, nodes: Any) -> np.ndarray:
        """Row numbers of nodes given by id, or by a boolean mask over all nodes."""
        return intake.node_rows(nodes, self._positions)

    @cached_property
    def _positions(self) -> intake.Positions:
        return intake.Positions(self.ids)

    @cached_property
    def attended(self) -> sp.csr_array:
        """(N, N) CSR, sorted: row i lists those that i attends over, without itself."""
        if not self.directed:
            return self.adjacency
        attended = self.adjacency.T.tocsr()
        attended.sort_indices()
        return attended

    def subgraph(self, nodes: Any) -> Graph:
        """The graph of these nodes (ids in the order wanted, or a mask) and their edges."""
        rows = self.rows(nodes)
        if len(np.unique(rows)) != len(rows):
            raise InputError("a sub-graph names a node twice; give every node once")
        return self._take(rows)._restructured()

    def without(self, nodes: Any) -> Graph:
        """The graph as if these nodes (ids, or a mask) had never been seen."""
        keep = np.ones(self.n_nodes, dtype=bool)
        keep[self.rows(nodes)] = False
        return self._take(np.flatnonzero(keep))._restructured()

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
        return self._with(adjacency=adjacency)._restructured()

    def neighborhood(self, nodes: Any, hops: int) -> Graph:
        """The sub-graph of all that these nodes attend over within `hops` layers, in row order."""
        if not isinstance(hops, numbers.Integral) or hops < 0:
            raise InputError(f"hops must be a whole number of at least 0, got {hops!r}")
        reached = np.zeros(self.n_nodes, dtype=bool)
        frontier = np.unique(self.rows(nodes))
        reached[frontier] = True
        for _ in range(hops):
            found = np.unique(self.attended[frontier].indices)
            frontier = found[~reached[found]]
            reached[frontier] = True
        return self._take(np.flatnonzero(reached))

    def reverse(self) -> Graph:
        """The same graph with every directed edge turned round."""
        return self._with(adjacency=self.attended)

    def by_locality(self) -> Graph:
        """The same graph, its nodes renumbered so that neighbours stand near each other.

        Products with its adjacency then find more of what they need in the cache.
        """
        return self._take(locality_order(self.adjacency))

    def reveal(self, *splits: str) -> Graph:
        """The same graph, showing these splits and the labels of their nodes only."""
        shown = np.zeros(self.n_nodes, dtype=bool)
        for name in splits:
            shown |= self.splits[name]
        return self._with(
            labels=np.where(shown, self.labels, -1) if splits and self.labels is not None else None,
            splits={name: self.splits[name] for name in splits},
        )

    def label_values(self) -> list[Any] | None:
        """The labels as they were given, None where a node has none; None: there are none."""
        if self.labels is None:
            return None
        return [None if code < 0 else self.classes[code] for code in self.labels.tolist()]

    def with_splits(self, splits: Mapping[str, Any]) -> Graph:
        """The same graph with other splits."""
        return self._with(splits=intake.split_masks(splits, self.ids))

    def encoded(self, encoding: Encoding | None = None) -> Graph:
        """The same graph, its attributes encoded by this encoding, or by one learned from them.

        A part of a graph keeps the encoding of the whole. One learned anew knows of nothing but
        the nodes at hand: not of those that were left out.
        """
        if self.attributes is None or self.encoding is None:
            if encoding is None:
                return self
            raise InputError("the graph was made of features and has no attributes to encode")
        own = encoding is None
        if encoding is None:
            if self._own_encoding:
                return self
            # What the whole was allowed, a part is: it may have more values a row.
            scale = self.encoding.scale
            encoding = Encoding.learn(self.attributes, scale=scale, check=False)
        elif encoding == self.encoding:
            return self
        return self._with(
            x=encoding.apply(self.attributes),
            encoding=encoding,
            feature_names=encoding.feature_names,
            _own_encoding=own,
        )

    def with_features(self, names: Sequence[str]) -> Graph:
        """The same graph with the features of these names, in this order."""
        if self.feature_names is None:
            raise InputError("the graph's features have no names to choose them by")
        if tuple(names) == self.feature_names:
            return self
        place = {name: at for at, name in enumerate(self.feature_names)}
        if lacking := [name for name in names if name not in place]:
            raise InputError(
                f"the graph lacks the feature {lacking[0]!r}; it has {listing(self.feature_names)}"
            )
        wanted = set(names)
        if extra := [name for name in self.feature_names if name not in wanted]:
            warnings.warn(
                f"{len(extra):,} feature(s) that are not asked for are ignored: {listing(extra)}",
                InputWarning,
                stacklevel=2,
            )
        return self._with(
            x=self.x[:, [place[name] for name in names]],
            feature_names=tuple(names),
            attributes=None,
            encoding=None,
            structural=False,
            _own_encoding=False,
        )

    def fingerprint(self) -> str:
        """SHA-256 over features, edges and ids: equal graphs of equal type have equal prints.

        Ids count by their `repr`, which must not name an address if the print is to be kept.
        """
        digest = hashlib.sha256(repr((self.x.shape, self.directed, self.weighted)).encode())
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
            x=self.x[rows],
            adjacency=adjacency,
            ids=self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            splits={name: mask[rows] for name, mask in self.splits.items()},
            attributes=None if self.attributes is None else self.attributes.take(rows),
            _own_encoding=False,
        )

    def _restructured(self) -> Graph:
        """Where attributes come from the edges, those of the edges that there are."""
        if not self.structural or self.encoding is None:
            return self
        attributes = structural_attributes(self.adjacency, self.ids)
        return self._with(
            attributes=attributes, x=self.encoding.apply(attributes), _own_encoding=False
        )

    def _with(self, **changes: Any) -> Graph:
        graph = type(self).__new__(type(self))
        graph._set(**(self._fields() | changes))
        return graph

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.x) else "dense"
        kind = "structural" if self.structural else kind
        edges = f"{'directed' if self.directed else 'undirected'} edge"
        parts = [
            _count(self.n_nodes, "node"),
            _count(self.n_edges, f"{'weighted ' if self.weighted else ''}{edges}"),
            _count(self.n_features, f"{kind} feature"),
        ]
        if self.labels is not None:
            parts.append(_count(len(self.classes), "class", "classes"))
        parts += [f"{name} {int(mask.sum()):,}" for name, mask in self.splits.items()]
        return f"Graph({', '.join(parts)})"


def _features(x: Any) -> Features | Attributes | None:
    return x if x is None or isinstance(x, Attributes) else intake.features(x)


def _count_rows(x: Features | Attributes) -> int:
    return len(x) if isinstance(x, Attributes) else int(x.shape[0])


def _nodes_of_adjacency(adjacency: Any) -> int:
    try:
        n = int(np.shape(adjacency)[0])
    except (ValueError, IndexError):
        raise InputError(
            "give features of two dimensions, or None and a square adjacency"
        ) from None
    if n == 0:
        raise InputError("the graph is empty: its adjacency has 0 rows")
    return n


def _nodes_of(edges: Any) -> int:
    """As many as the largest row number calls for; what is no edge is refused later on."""
    try:
        return int(np.max(np.asarray(edges), initial=-1)) + 1
    except (TypeError, ValueError):
        raise InputError("edges between named nodes need the names of all nodes: `ids`") from None


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _arrays(value: Any) -> list[np.ndarray]:
    """The NumPy arrays that hold a field's data."""
    if isinstance(value, np.ndarray):
        return [value]
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, Mapping):
        return [array for item in value.values() for array in _arrays(item)]
    return []
