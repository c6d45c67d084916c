"""What `LinearGATE`, `GATE` and any further method have in common."""

from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.base import GraphEmbedder
from graphgate.estimators.fitted import Encoded, Fitted, Summary
from graphgate.graph.graph import Graph


class Embedder(GraphEmbedder):
    """An embedder whose model encodes other graphs, is saved, and grows in a store.

    Attributes
    ----------
    fit_ : what was learned, of a class of its own for every method.
    seed_ : the random seed that was used.
    notes_ : anything else to save with the model, as plain JSON.
    """

    fit_: Fitted
    seed_: int
    notes_: dict[str, Any]
    memory_limit: float | str | None

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Learn from a `Graph`, or from features or `Attributes` with `adjacency`; not from `y`.

        Without an adjacency there are no edges.
        """
        raise NotImplementedError

    def encode(self, X: Any, *, adjacency: Any = None) -> Encoded:
        """All that the model computes for a graph, from one pass over it."""
        raise NotImplementedError

    def predict_links(self, graph: Graph, n: int = 100) -> tuple[np.ndarray, Any]:
        """The likeliest edges that a graph does not have, by methods that propose any."""
        raise InputError(f"{type(self).__name__} proposes no edges; use LinearGATE")

    def summary(self) -> Summary:
        """What the fit reports about itself."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file (safetensors with a JSON header)."""
        raise NotImplementedError

    def refitted(self, graph: Graph, n_components: int) -> Self:
        """Fitted on another graph, with vectors of this size."""
        raise NotImplementedError

    def with_fit(self, fit: Any) -> Self:
        """A copy that has learned something else."""
        other = copy(self)
        other.fit_ = fit
        return other
