"""A classifier of nodes that holds the graph, so that scikit-learn can split its nodes."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_memory

from graphgate.errors import InputError, warn_ignored
from graphgate.estimators import hyperparameters
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.graph.validation import listed
from graphgate.io.foreign import refuse_foreign
from graphgate.tasks.classification import warn_of_label


def _classifier_has(name: str) -> Any:
    """Whether the classifier, fitted or not, has a method."""

    def check(model: Any) -> bool:
        classifier = getattr(model, "classifier_", None) or model.classifier or LogisticRegression()
        getattr(classifier, name)  # an AttributeError that names it
        return True

    return available_if(check)


@runtime_checkable
class InductiveEmbedder(Protocol):
    """An embedder of nodes that it has not seen."""

    def transform(self, X: Any) -> np.ndarray: ...


class NodeClassifier(ClassifierMixin, BaseEstimator):
    """Embed the nodes of a graph, and classify them by their vectors.

    X is an array of node ids, so `cross_val_score`, `GridSearchCV` and every other tool of
    scikit-learn can split it. Labels reach only the classifier, and only those given to `fit`; the
    labels of the graph are never looked at.

    Parameters
    ----------
    graph : the `Graph` that all nodes are in.
    embedder : an estimator such as `LinearGATE` or `GATE`, of which a copy is fitted; the default
        is `LinearGATE(random_state=0)`.
    classifier : of vectors; the default is scikit-learn's `LogisticRegression`.
    inductive : whether the embedder is fitted on the nodes given to `fit` and the edges between
        them only, so that nothing of other nodes is known in training, neither to it nor to the
        classifier; they are embedded with `transform`. By default it is fitted once on the whole
        graph: the features and edges of other nodes are known, their labels are not.
    context : with `inductive`, ids of other nodes (or a mask) that are known in training as well,
        without labels, such as the users who rate the movies to be classified; [] for none. Without
        it, `fit` refuses to hide more than half of the neighbors of the nodes that it is given.
    memory : a folder, or a `joblib.Memory`, that keeps the vectors, as in scikit-learn's
        `Pipeline`; a search over parameters of the classifier then embeds the graph only once.

    Attributes
    ----------
    classes_ : the labels.
    embedder_, classifier_ : fitted. `embedder_` is fitted on the graph that `inductive` decides on.
    embedding_ : (N, D), the vectors of all nodes of the graph.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn.model_selection import cross_val_score
    >>> from graphgate import from_networkx
    >>> graph = from_networkx(nx.karate_club_graph(), attributes=[], label="club")
    >>> model = NodeClassifier(graph, LinearGATE(8, random_state=0))
    >>> bool(cross_val_score(model, graph.ids, graph.label_values(), cv=3).mean() > 0.9)
    True
    """

    def __init__(
        self,
        graph: Graph,
        embedder: Any = None,
        classifier: Any = None,
        *,
        inductive: bool = False,
        context: Any = None,
        memory: Any = None,
    ) -> None:
        self.graph = graph
        self.embedder = embedder
        self.classifier = classifier
        self.inductive = inductive
        self.context = context
        self.memory = memory

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the nodes with the ids X, (n,), and their labels y, (n,)."""
        inductive = hyperparameters.boolean("inductive", self.inductive)
        rows, labels = self._rows(X), np.asarray(y)
        if labels.shape != rows.shape:
            raise InputError(
                f"y has shape {labels.shape}, but X has {len(rows):,} nodes; pass one label each"
            )
        embedder = LinearGATE(random_state=0) if self.embedder is None else self.embedder
        classifier = LogisticRegression() if self.classifier is None else clone(self.classifier)
        if not is_classifier(classifier):
            raise InputError(
                f"{type(classifier).__name__} is not a classifier; pass one as classifier=, such "
                "as LogisticRegression()"
            )
        if inductive and not isinstance(embedder, InductiveEmbedder):
            raise InputError(
                f"{type(embedder).__name__} cannot embed nodes that it has not seen; use "
                "inductive=False"
            )
        if not inductive and self.context is not None:
            hint = "pass inductive=True to use it"
            warn_ignored("NodeClassifier", "parameter", ["context"], hint)
        seen = self._seen(np.unique(rows)) if inductive else None
        warn_of_label(self.graph.columns, _label_name(self.graph, rows, y))
        embed = check_memory(self.memory).cache(_embedded)
        self.embedder_, self.embedding_, trained = embed(embedder, self.graph.reveal(), seen)
        self.classifier_ = classifier.fit(trained[rows], labels)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The labels of nodes, (n,)."""
        return self.classifier_.predict(self._vectors(X))

    @_classifier_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes, (n, C), columns as in `classes_`."""
        return self.classifier_.predict_proba(self._vectors(X))

    @_classifier_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the classes by the classifier."""
        return self.classifier_.decision_function(self._vectors(X))

    def _seen(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the nodes that an inductive embedder is fitted on: those given, and `context`."""
        graph = self.graph
        if self.context is not None:
            return np.union1d(rows, graph.rows(self.context))
        joined = graph.adjacency[rows].nnz + graph.attended[rows].nnz
        visible = 2 * graph.adjacency[rows][:, rows].nnz
        if 2 * visible < joined:
            raise InputError(
                f"inductive=True hides {1 - visible / joined:.0%} of the neighbors of the "
                f"{len(rows):,} training nodes, because these are not among them; pass the ids of "
                "nodes that may be known as context=, or context=[] to hide all others anyway"
            )
        return rows

    def _vectors(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.embedding_[self._rows(X)]

    def _rows(self, X: Any) -> np.ndarray:
        """Row numbers of ids, (n,) or one column of them."""
        if not isinstance(self.graph, Graph):
            refuse_foreign(self.graph)
            raise InputError(f"graph must be a Graph, got {type(self.graph).__name__}")
        ids = X.reshape(-1) if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 else X
        if getattr(ids, "ndim", 1) != 1:
            raise InputError(
                f"X must be node ids, one per node, got an array of shape {ids.shape}; the graph "
                "has the features"
            )
        items = listed(ids, "node ids")
        if items and all(type(node) is bool for node in items):
            raise InputError("X must be node ids, got booleans; pass graph.ids[mask]")
        return self.graph.rows(items)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.string = True
        return tags


def _label_name(graph: Graph, rows: np.ndarray, y: Any) -> Any:
    """The name of a Series of labels, or of an attribute that equals them up to the names of the
    classes; None if there is no such name.
    """
    if (name := getattr(y, "name", None)) is not None or graph.attributes is None:
        return name
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    for name in graph.attributes:
        column = graph.attributes[name].take(rows)
        given = ~column.missing
        if (
            column.is_counts or column.kind == "vector" or given.sum() < 2 * len(classes)
        ):  # equal by chance, or ids
            continue
        values, numbers = np.unique(column.values[given], return_inverse=True)
        pairs = np.unique(numbers * len(classes) + codes[given])
        if len(pairs) == len(values) == len(classes) == len(np.unique(codes[given])) > 1:
            return name
    return None


def _embedded(
    embedder: Any, graph: Graph, seen: np.ndarray | None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """A fitted copy of the embedder, the (N, D) vectors of all nodes, and those to train on.

    seen : rows of the nodes that it is fitted on; None for all. To train on, they have the vectors
        of the fit, without what neighbors that are not seen would add.
    """
    fitted = clone(embedder)
    if seen is None:
        z = fitted.fit(graph).embedding_
        return fitted, z, z
    z = fitted.fit(graph.take(seen)).transform(graph)
    trained = z.copy()
    trained[seen] = fitted.embedding_
    return fitted, z, trained
