"""The contract of every embedder: graphs in, one vector per node out.

An estimator takes a `Graph`, or features or `Attributes` with an `adjacency`. Attributes are
encoded here, once: `fit` learns an `AttributeEncoder` from the nodes that it is given, `transform`
applies it. A graph with only edges gets structural attributes, computed from that graph. What does
not fit what the estimator was fitted on is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from graphgate.errors import InputError, listing
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.validation import errors_about
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.preprocessing.structural import structural_attributes

Content = Literal["features", "attributes", "edges"]


@dataclass(frozen=True)
class GraphKind:
    """What an estimator was fitted on; a graph of another kind is refused.

    content : what describes the nodes; "edges" where nothing else is known of them.
    has_edges : whether there was any edge.
    """

    content: Content
    directed: bool
    weighted: bool
    has_edges: bool

    @classmethod
    def of(cls, graph: Graph) -> GraphKind:
        content: Content = "edges" if graph.attributes is None else "attributes"
        content = content if graph.x is None else "features"
        return cls(content, graph.directed, graph.weighted, graph.n_edges > 0)


class GraphEstimator(BaseEstimator):
    """What embedders and classifiers of nodes share: the graph with features, in `fit` and after.

    Attributes
    ----------
    encoder_ : the fitted `AttributeEncoder`, or None where features were given.
    fitted_on_ : the `GraphKind` that `fit` was given.
    n_features_in_ : F, after encoding.
    feature_names_in_ : (F,) names of the features, where they have names.
    """

    encoder_: AttributeEncoder | None
    fitted_on_: GraphKind
    _prepared: Graph | None = None

    def prepare(self, graph: Graph) -> Graph:
        """The graph with the features that `fit` learns from, for looking at it beforehand.

        This learns `encoder_`. A following `fit` of the result is the same as one of `graph`, but
        does not encode it again.
        """
        self._prepared = self._graph_to_fit(graph)
        return self._prepared

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_on_") and self._prepared is None

    def _graph_to_fit(self, X: Any, adjacency: Any = None) -> Graph:
        """The graph with features to learn from; records what `_checked_graph` accepts."""
        prepared = self.__dict__.pop("_prepared", None)
        if prepared is not None and X is prepared and adjacency is None:
            return prepared
        if not isinstance(X, (Graph, Attributes)):
            kinds = [np.float32, np.float64]
            X = validate_data(self, X, accept_sparse="csr", dtype=kinds)
        else:
            self.__dict__.pop("feature_names_in_", None)
        graph = _as_graph(X, adjacency)
        self.fitted_on_ = GraphKind.of(graph)
        self.encoder_ = None
        if graph.x is None:
            graph = _described(graph)
            assert graph.attributes is not None
            encoder = AttributeEncoder(getattr(self, "scale", True))
            with errors_about("nodes"):
                self.encoder_ = encoder.fit(graph.attributes)
            graph = self._encoded(graph)
        self.n_features_in_ = graph.n_features
        if graph.feature_names is not None:
            self.feature_names_in_ = np.array(graph.feature_names, dtype=object)
        return graph

    def _checked_graph(self, X: Any, adjacency: Any = None) -> Graph:
        """The graph, if it fits what `fit` was given; `_encoded` then gives it its features."""
        check_is_fitted(self)
        fitted = self.fitted_on_
        if not isinstance(X, Graph):
            if adjacency is None and fitted.has_edges:
                raise InputError(
                    f"this {type(self).__name__} was fitted on a graph with edges, but only "
                    "features are given here; give a Graph to both, also in a pipeline, or pass "
                    "adjacency= (an empty one if there are no edges)",
                    about="edges",
                )
            if not isinstance(X, Attributes):
                self._refuse_unnamed()
                kinds = [np.float32, np.float64]
                X = validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=False)
        graph = _as_graph(X, adjacency)
        if adjacency is not None and fitted.weighted:
            graph = graph.to_weighted()  # in an array, a weight of 1 is a weight
        self._check_edges(graph)
        return self._check_content(graph)

    def _encoded(self, graph: Graph) -> Graph:
        """The graph with features, in the order of `feature_names_in_`."""
        if graph.attributes is None:
            return graph
        assert self.encoder_ is not None
        with errors_about("nodes"):
            x = self.encoder_.transform(graph.attributes)
        return graph.with_x(x, self.encoder_.get_feature_names_out(), copy=False)

    def _check_edges(self, graph: Graph) -> None:
        fitted = self.fitted_on_
        if graph.n_edges == 0:
            return
        for wrong, was, given, method in (
            (fitted.directed and not graph.directed, "directed", "undirected", "to_directed"),
            (graph.directed and not fitted.directed, "undirected", "directed", "to_undirected"),
            (fitted.weighted and not graph.weighted, "weighted", "unweighted", "to_weighted"),
            (graph.weighted and not fitted.weighted, "unweighted", "weighted", "to_unweighted"),
        ):
            if wrong:
                raise InputError(
                    f"this {type(self).__name__} was fitted on a graph with {was} edges, but these "
                    f"are {given}; convert the graph with Graph.{method}(), or fit again",
                    about="edges",
                )

    def _check_content(self, graph: Graph) -> Graph:
        """The graph with features, or with the attributes to encode."""
        if graph.x is None:
            given, fitted = GraphKind.of(graph).content, self.fitted_on_.content
            if given != fitted:
                raise InputError(self._mismatch(given), about="nodes")
            return _described(graph)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and graph.feature_names is not None:
            return graph.with_features([str(name) for name in names])
        self._refuse_unnamed()
        if graph.n_features != self.n_features_in_:
            raise InputError(
                f"the graph has {graph.n_features} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input",
                about="nodes",
            )
        return graph

    def _refuse_unnamed(self) -> None:
        """Features without names, of the right number by chance, may be anything."""
        if self.encoder_ is not None:
            raise InputError(self._mismatch("features"), about="nodes")

    def _mismatch(self, given: Content) -> str:
        name, wanted = type(self).__name__, self.fitted_on_.content
        was = {"features": "features", "attributes": "attributes", "edges": "edges only"}[wanted]
        seen = {
            "features": "features without names",
            "attributes": "attributes",
            "edges": "only edges",
        }[given]
        if wanted == "attributes":
            assert self.encoder_ is not None
            remedy = f"give the attributes {listing(tuple(self.encoder_.kinds))}"
        elif wanted == "edges":
            remedy = "give the edges without features or attributes"
        else:
            remedy = f"give its {self.n_features_in_:,} features as x"
        return f"this {name} was fitted on {was}, but the graph has {seen}; {remedy}, or fit again"


class GraphEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """An estimator whose `fit` leaves `embedding_`, (N, D): one vector per node of the graph."""

    embedding_: np.ndarray

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`.

        Without an adjacency there are no edges.
        """
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Any:
        """Fit, and return the embedding of the same graph, (N, D)."""
        return self._with_ids(self.fit(X, adjacency=adjacency).embedding_, X)

    def _with_ids(self, z: np.ndarray, X: Any, rows: np.ndarray | None = None) -> Any:
        """After `set_output(transform="pandas")`, vectors are indexed by the ids of their nodes."""
        if _get_output_config("transform", self)["dense"] != "pandas":
            return z
        import pandas as pd

        default = pd.RangeIndex(len(z)) if rows is None else rows
        ids = X.ids if isinstance(X, Graph) else getattr(X, "index", None)
        index = default if ids is None or callable(ids) else ids if rows is None else ids[rows]
        return pd.DataFrame(z, index=index)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _as_graph(X: Any, adjacency: Any) -> Graph:
    if isinstance(X, Attributes):
        return Graph(adjacency=adjacency, attributes=X)
    if not isinstance(X, Graph):
        return Graph(X, adjacency)
    if adjacency is not None:
        raise InputError("a Graph has its own edges; pass either a Graph or adjacency=")
    return X


def _described(graph: Graph) -> Graph:
    """The graph with attributes: its own, or those of its structure."""
    if graph.attributes is not None:
        return graph
    return graph.with_attributes(structural_attributes(graph.adjacency, graph.ids))
