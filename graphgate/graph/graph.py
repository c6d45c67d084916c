"""The attributed graph: everything before this module builds one, everything after uses one.

A `Graph` is validated once, when it is created, and is immutable afterwards, so nothing that
receives one validates it again.
"""

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypedDict, Unpack

import numpy as np

from graphgate.errors import InputError, listing, warn_ignored
from graphgate.graph import validation
from graphgate.graph.arrays import GraphArrays
from graphgate.graph.attributes import Attributes
from graphgate.graph.edges import (
    adjacency_entries,
    edge_pairs,
    edge_weights,
    merged_adjacency,
    row_pairs,
)
from graphgate.graph.validation import Features, errors_about


class GraphFields(TypedDict, total=False):
    """Arguments of `Graph` that its other constructors take as well."""

    attributes: Attributes | Mapping[str, Any] | None
    labels: Sequence[Any] | np.ndarray | None
    splits: Mapping[str, Any] | None
    directed: bool
    feature_names: Iterable[str] | None


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Graph(GraphArrays):
    """An immutable graph of N nodes with features, with attributes, or with edges only.

    Parameters
    ----------
    x : (N, F) features, a NumPy or SciPy sparse array. Sparse stays sparse; float32 and float64
        are kept, every other numeric dtype becomes float32.
    adjacency : (N, N), `adjacency[u, v]` is the weight of the edge from u to v; None means no
        edges. A graph whose stored values are all 1 is unweighted. Self-loops are dropped (the
        method adds exactly one of weight 1 per node); explicit zeros are not edges; weights are
        positive and finite.
    attributes : `Attributes`, or a mapping of column names to N values each, in place of `x`.
        Estimators encode them; the graph only stores them.
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
    ids : (N,) array of int64, of text (`numpy.dtypes.StringDType`) or, for any other ids, of
        objects.
    labels : (N,) int64, positions in `classes`, -1 where a node has none; or None.
    classes : tuple of the distinct labels.
    splits : read-only mapping of read-only boolean masks.
    graph_index : (N,) int64, the number of the graph that each node comes from, where `join_graphs`
        or a PyG `Batch` made one of several; else None.
    reading : `TablesRead`, what was decided of the tables that it was read from; else None.

    Examples
    --------
    >>> graph = Graph(np.eye(3), [[0, 1, 0], [1, 0, 0], [0, 0, 0]], ids=["a", "b", "c"])
    >>> graph
    Graph(3 nodes, 1 undirected edge, 3 dense features)
    >>> graph.without(["b"]).ids.tolist()
    ['a', 'c']
    """

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
        self._fill(
            content,
            validation.node_ids(ids, n),
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
    ) -> Self:
        """From E pairs (source, target) of node ids, or of row numbers where there are no `ids`.

        Further arguments are those of `Graph`: attributes, labels, splits, directed and
        feature_names. Without features and ids there are as many nodes as row numbers require.

        >>> Graph.from_edges([[1.0], [2.0]], [("p", "q")], ids=["p", "q"]).n_edges
        1
        """
        checked = None if ids is None else validation.node_ids(ids)
        return cls.from_edge_index(x, edge_pairs(edges, checked).T, weights, ids=checked, **fields)

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
    ) -> Self:
        """From a (2, E) array of row numbers, sources above targets, as in PyTorch Geometric.

        Further arguments are those of `Graph`: attributes, labels, splits, directed and
        feature_names.

        num_nodes : N, where neither features nor ids determine it; the default is the largest row
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
        n = int(pairs.max(initial=-1)) + 1 if n is None else n
        if known is None:
            known = validation.node_ids(None, n)
        validation.check_count(known, n)
        weights = None if edge_weight is None else edge_weights(edge_weight, len(pairs))
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
            raise InputError(
                "feature_names name the columns of x, but there is no x; leave them out"
            )
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
            graph_index=None,
        )

    def with_splits(self, splits: Mapping[str, Any]) -> Self:
        """The same graph with other splits."""
        return self._with(splits=validation.split_masks(splits, self.ids))

    def with_labels(self, labels: Sequence[Any] | np.ndarray | None) -> Self:
        """The same graph with other labels, None or NaN where a node has none."""
        codes, classes = validation.label_codes(labels, self.n_nodes)
        return self._with(labels=codes, classes=classes)

    def with_attributes(self, attributes: Attributes) -> Self:
        """The same graph with these attributes in place of what describes its nodes."""
        if len(attributes) != self.n_nodes:
            raise InputError(
                f"attributes have {len(attributes):,} rows for {self.n_nodes:,} nodes; "
                "pass one row per node",
                about="nodes",
            )
        return self._with(x=None, attributes=attributes, feature_names=None)

    def with_x(
        self, x: Any, feature_names: Iterable[str] | None = None, *, copy: bool = True
    ) -> Self:
        """The same graph with these (N, F) features in place of what describes its nodes.

        With `copy=False` a float array is used as it is, and becomes read-only.

        >>> Graph(adjacency=np.ones((2, 2))).with_x([[1.0], [2.0]])
        Graph(2 nodes, 1 undirected edge, 1 dense feature)
        """
        features = validation.features(x, copy=copy)
        if features.shape[0] != self.n_nodes:
            raise InputError(
                f"features have {features.shape[0]:,} rows for {self.n_nodes:,} nodes; "
                "pass one row per node",
                about="nodes",
            )
        names = validation.feature_names(feature_names, features.shape[1])
        return self._with(x=features, attributes=None, feature_names=names)

    def with_features(self, names: Sequence[str]) -> Self:
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
        warn_ignored("the graph", "unknown feature", sorted(place.keys() - names))
        columns = [place[name] for name in names]
        return self._with(x=self.x[:, columns], feature_names=tuple(names))


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
