"""The embedders among the baselines: what they add to the contract of estimators."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from graphgate.estimators.base import GraphEmbedder
from graphgate.graph.graph import Graph


class BaselineEmbedder(GraphEmbedder):
    """An embedder without `transform`: it has vectors only for the nodes it was fitted on."""

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`."""
        self.embedding_ = self._learn(self._graph_to_fit(X, adjacency))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def _learn(self, graph: Graph) -> np.ndarray:
        """Train, and return the embedding, (N, D)."""
        raise NotImplementedError


class InductiveEmbedder(BaselineEmbedder):
    """An embedder that also gives vectors to nodes it was not fitted on."""

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """The embedding of a graph, which may have nodes never seen in `fit`, (N, D)."""
        return self._with_ids(self._embed(self._encoded(self._checked_graph(X, adjacency))), X)

    def _embed(self, graph: Graph) -> np.ndarray:
        raise NotImplementedError
