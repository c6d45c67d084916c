"""The contracts of the baselines: embedders of nodes, and classifiers that learn from labels."""

from typing import Any, ClassVar, Self

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.base import GraphEmbedder, GraphEstimator
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.inputs import scale_to_length


class BaselineEmbedder(GraphEmbedder):
    """An embedder without `transform`: it has vectors only for the nodes it was fitted on."""

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Fit on a `Graph`, or on features or `Attributes` with `adjacency`; `y` is ignored."""
        self.embedding_ = self._learn(self._graph_to_fit(X, adjacency))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def _learn(self, graph: Graph) -> np.ndarray:
        """Train, and return the embedding, (N, D)."""
        raise NotImplementedError


class InductiveEmbedder(BaselineEmbedder):
    """An embedder that can also embed nodes it was not fitted on."""

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """The embedding of a graph, which may have nodes never seen in `fit`, (N, D)."""
        return self._with_ids(self._embed(self._encoded(self._checked_graph(X, adjacency))), X)

    def _embed(self, graph: Graph) -> np.ndarray:
        raise NotImplementedError


class ScaledEmbedder(InductiveEmbedder):
    """An embedder whose vectors are scaled by one number, to a root mean square `length`."""

    length: float
    scale_: float

    def _learn(self, graph: Graph) -> np.ndarray:
        self._train_network(graph)
        z = self._vectors(graph)
        self.scale_ = scale_to_length(z, self.length)
        return z * np.float32(self.scale_)

    def _embed(self, graph: Graph) -> np.ndarray:
        return self._vectors(graph) * np.float32(self.scale_)

    def _train_network(self, graph: Graph) -> None:
        raise NotImplementedError

    def _vectors(self, graph: Graph) -> np.ndarray:
        """The output of the network before scaling, (N, D)."""
        raise NotImplementedError


class GraphClassifier(GraphEstimator):
    """A classifier of nodes.

    `fit` learns from the labels of the split "train" and may use those of "val" to decide when to
    stop; `predict` gives positions in `graph.classes`.

    Attributes
    ----------
    classes_ : the C classes, in the order of the positions.
    ids_ : (N,) the nodes it was fitted on.
    """

    _inductive: ClassVar[bool] = True  # False for one that knows only the nodes of `fit`

    def fit(self, graph: Graph) -> Self:
        """Learn from a graph with labels."""
        if len(labelled_rows(graph, "train")) == 0:
            raise InputError(
                f"{type(self).__name__} learns from labels, but no node of a split 'train' has one"
            )
        graph = self._graph_to_fit(graph)
        self._learn(graph)
        self.classes_, self.ids_ = graph.classes, graph.ids
        return self

    def predict(self, graph: Graph) -> np.ndarray:
        """(N,) positions in `graph.classes`; labels are ignored."""
        checked = self._checked_graph(graph)
        if not self._inductive and not np.array_equal(checked.ids, self.ids_):
            raise InputError(
                f"{type(self).__name__} predicts only for the nodes that it was fitted on"
            )
        return self._predict(self._encoded(checked))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _learn(self, graph: Graph) -> None:
        raise NotImplementedError

    def _predict(self, graph: Graph) -> np.ndarray:
        raise NotImplementedError


def labelled_rows(graph: Graph, split: str) -> np.ndarray:
    """Row numbers of the labelled nodes of a split; empty if there is no such split."""
    if graph.labels is None or split not in graph.splits:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(graph.splits[split] & (graph.labels >= 0))
