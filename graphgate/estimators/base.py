"""The contract of every embedder: graphs in, one vector per node out.

An estimator takes a `Graph`, a list of them, or features or `Attributes` with an `adjacency`. A
list is one graph, see `join_graphs`; vectors follow in the order of the list. Attributes are
encoded here, once: `fit` learns an `AttributeEncoder` from the nodes that it is given, `transform`
applies it. A graph with only edges gets structural attributes, computed from that graph. What does
not fit what the estimator was fitted on is refused.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from graphgate.errors import InputError, InputWarning, listing
from graphgate.estimators import hyperparameters
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs
from graphgate.graph.validation import Features
from graphgate.io.foreign import refuse_foreign
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
    def of(cls, graph: Graph) -> Self:
        described: Content = "edges" if graph.attributes is None else "attributes"
        content = described if graph.x is None else "features"
        return cls(content, graph.directed, graph.weighted, graph.n_edges > 0)


class Given(NamedTuple):
    """What an estimator learns from: a graph with features, and how they were made.

    encoder : of attributes; None where features were given.
    """

    graph: Graph
    kind: GraphKind
    encoder: AttributeEncoder | None


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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_on_")

    def _graph_to_fit(self, X: Any, adjacency: Any = None) -> Graph:
        """The graph with features to learn from; records what `_checked_graph` accepts."""
        given = self._given(X, adjacency)
        self._learned_from(given)
        return given.graph

    def _given(self, X: Any, adjacency: Any = None) -> "Given":
        """The graph with features to learn from, as an encoder learned from it encodes it."""
        graph, encoder = self._as_graph(X, adjacency, reset=True), None
        kind = GraphKind.of(graph)
        if graph.x is None:
            attributes = _attributes(graph)
            scale = hyperparameters.boolean("scale", getattr(self, "scale", True))
            encoder = AttributeEncoder(scale).fit(attributes)
            graph = _with_features(graph, encoder, attributes)
        return Given(graph, kind, encoder)

    def _learned_from(self, given: "Given") -> None:
        """Record what `_checked_graph` accepts."""
        self.fitted_on_, self.encoder_ = given.kind, given.encoder
        self.n_features_in_ = given.graph.n_features
        self.__dict__.pop("feature_names_in_", None)
        if given.graph.feature_names is not None:
            self.feature_names_in_ = np.array(given.graph.feature_names, dtype=object)

    def _checked_graph(self, X: Any, adjacency: Any = None) -> Graph:
        """The graph, if it fits what `fit` was given.

        Attributes are still to be encoded (`_encoded`), if need be of a part of the graph only;
        structural ones are those of the whole graph.
        """
        check_is_fitted(self)
        fitted, name = self.fitted_on_, type(self).__name__
        described = isinstance(X, Graph) or is_graphs(X)
        if not described and adjacency is None and fitted.has_edges:
            refuse_foreign(X)
            raise InputError(
                f"this {name} was fitted on a graph with edges, but there are none here; pass a "
                "Graph to fit and to every later call, also in a pipeline, or pass adjacency= "
                "(an empty one for nodes without edges)",
                about="edges",
            )
        graph = self._as_graph(X, adjacency, reset=False)
        for kind, was, given in (
            ("directed", fitted.directed, graph.directed),
            ("weighted", fitted.weighted, graph.weighted),
        ):
            if was != given and graph.n_edges > 0:
                right, wrong = (kind, f"un{kind}") if was else (f"un{kind}", kind)
                raise InputError(
                    f"this {name} was fitted on a graph with {right} edges, but these are {wrong}; "
                    f"convert the graph with Graph.to_{right}(), or fit again",
                    about="edges",
                )
        names = getattr(self, "feature_names_in_", None)
        if graph.feature_names is not None and names is not None:
            return graph.with_features([str(name) for name in names])
        self._check_content(GraphKind.of(graph).content)
        if graph.x is not None and graph.n_features != self.n_features_in_:
            raise InputError(
                f"the graph has {graph.n_features} features, but {name} is expecting "
                f"{self.n_features_in_} features as input",
                about="nodes",
            )
        return self._encoded(graph, _attributes(graph)) if fitted.content == "edges" else graph

    def features(self, X: Any, *, adjacency: Any = None) -> Features:
        """(N, F), the features of the nodes of a graph, encoded as in `fit`."""
        found: Features = self._encoded(self._checked_graph(X, adjacency)).x
        return found

    def _as_graph(self, X: Any, adjacency: Any, *, reset: bool) -> Graph:
        if is_graphs(X):
            X = join_graphs(X)
        if isinstance(X, Graph):
            if adjacency is not None:
                raise InputError("a Graph has its own edges; pass either a Graph or adjacency=")
            return X
        refuse_foreign(X)
        if isinstance(X, Attributes):
            graph = Graph(adjacency=adjacency, attributes=X)
        else:
            if not reset:
                self._check_content("features")
            dtypes = [np.float32, np.float64]
            x = validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=reset)
            names = getattr(self, "feature_names_in_", None) if reset else None
            graph = Graph(x, adjacency, feature_names=None if names is None else names.tolist())
        if reset and adjacency is None:
            self._warn_of_no_edges()
        # In an array, a weight of 1 is a weight.
        return graph.to_weighted() if not reset and self.fitted_on_.weighted else graph

    def _warn_of_no_edges(self) -> None:
        """Features alone are rarely what is meant: in a pipeline, the adjacency may be lost."""
        name = type(self).__name__
        if self._get_metadata_request().fit.requests.get("adjacency") is True:
            raise InputError(
                f"this {name} requests an adjacency, but none has arrived; pass adjacency= to the "
                "pipeline too",
                about="edges",
            )
        warnings.warn(
            f"{name} is fitted without edges, because no adjacency is given; pass a Graph, or "
            "adjacency= (an empty one for nodes without edges), which a pipeline passes on only if "
            "set_fit_request(adjacency=True) and set_transform_request(adjacency=True) ask for it",
            InputWarning,
            stacklevel=6,
        )

    def _check_content(self, given: Content) -> None:
        """Features without names, of the right number by chance, may be anything."""
        wanted = self.fitted_on_.content
        columns = () if self.encoder_ is None else tuple(self.encoder_.kinds)
        said = {
            "features": ("features", f"pass its {self.n_features_in_:,} features as x"),
            "attributes": ("attributes", f"pass the attributes {listing(columns)}"),
            "edges": ("edges only", "pass the edges without features or attributes"),
        }
        if given != wanted:
            raise InputError(
                f"this {type(self).__name__} was fitted on {said[wanted][0]}, but the graph has "
                f"{said[given][0]}; {said[wanted][1]}, or fit again",
                about="nodes",
            )

    def _encoded(self, graph: Graph, attributes: Attributes | None = None) -> Graph:
        """The graph with features, in the order of `feature_names_in_`."""
        attributes = graph.attributes if attributes is None else attributes
        if attributes is None or self.encoder_ is None:
            return graph
        return _with_features(graph, self.encoder_, attributes)


class GraphEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """An estimator whose `fit` leaves `embedding_`, (N, D): one vector per node of the graph."""

    embedding_: np.ndarray

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Any:
        """Fit, and return the embedding of the same graph, (N, D)."""
        return self._with_ids(self.fit(X, adjacency=adjacency).embedding_, X)

    def pair_scores(self, pairs: np.ndarray) -> np.ndarray:
        """How likely an edge is, (M,), for (M, 2) rows of the graph given to `fit`.

        Larger is likelier; here it is the inner product of the two vectors.
        """
        return inner_products(self.embedding_, pairs)

    def _with_ids(self, z: np.ndarray, X: Any, rows: np.ndarray | None = None) -> Any:
        """After `set_output(transform="pandas")`, vectors are indexed by the ids of their nodes."""
        if _get_output_config("transform", self)["dense"] != "pandas":
            return z
        import pandas as pd

        if is_graphs(X):
            ids = pd.Index([(number, id) for number, graph in enumerate(X) for id in graph.ids])
        else:
            ids = X.ids if isinstance(X, Graph) else X.index if hasattr(X, "iloc") else None
        if rows is not None:
            ids = rows if ids is None else ids[rows]
        return pd.DataFrame(z, index=ids)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _with_features(graph: Graph, encoder: AttributeEncoder, attributes: Attributes) -> Graph:
    """The graph with features, in the order of `feature_names_in_`."""
    return graph.with_x(encoder.transform(attributes), encoder.get_feature_names_out(), copy=False)


def is_graphs(X: Any) -> bool:
    """Whether it is a list of graphs; what else the list has is checked when they are joined."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Graph)


def _attributes(graph: Graph) -> Attributes:
    """What is to be encoded: the graph's attributes, or those of its structure."""
    if graph.attributes is not None:
        return graph.attributes
    return structural_attributes(graph.adjacency, graph.ids)


def inner_products(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(M,) of the vectors of each of (M, 2) pairs of rows."""
    left, right = pairs.T
    return np.einsum("md,md->m", vectors[left], vectors[right], dtype=np.float64)
