"""Nodes that the reconstructions miss: their features, or their edges, are not as expected."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from graphgate.errors import InputError
from graphgate.estimators.embedder import Embedder
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph


class Outliers(NamedTuple):
    """How unexpected each node is, from 0 to 1: the fraction of nodes that are less so.

    ids : (N,).
    features : (N,) by the features of a node, given those of other nodes.
    edges : (N,) by the edges of a node, given the features and the place of all nodes.

    Both are NaN where a node has no edges.
    """

    ids: np.ndarray
    features: np.ndarray
    edges: np.ndarray

    def top(self, n: int = 10) -> list[tuple[Any, float, float]]:
        """Id, features and edges of the n nodes for which the larger of the two is largest."""
        larger = np.fmax(self.features, self.edges)
        order = np.argsort(-np.where(np.isnan(larger), -1, larger), kind="stable")[:n]
        rows = [row for row in order.tolist() if not np.isnan(larger[row])]
        ids = self.ids[rows].tolist()
        return list(zip(ids, self.features[rows].tolist(), self.edges[rows].tolist(), strict=True))


def find_outliers(graph: Graph, estimator: Any = None) -> Outliers:
    """How badly the features and the edges of each node are reconstructed.

    Parameters
    ----------
    graph : labels are not looked at.
    estimator : `LinearGATE` or `GATE`, fitted or not; the default is `LinearGATE(random_state=0)`.

    The features of a node are compared, by their angle, with the features that the estimator
    expects from the neighborhood; `LinearGATE` leaves out the node itself. Edges are judged by the
    mean of -log p, where p is the probability of an edge by the structure decoder; those of `GATE`,
    which has none, by the angle of vectors.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> block = np.arange(60) // 30
    >>> edges = np.triu(rng.random((60, 60)) < np.where(block[:, None] == block, 0.3, 0.02), 1)
    >>> x = np.eye(2)[block] + rng.normal(0, 0.1, (60, 2))
    >>> x[7] = [0, 1]  # features of the other block
    >>> find_outliers(Graph(x, edges)).features.argmax()
    np.int64(7)
    """
    model = LinearGATE(random_state=0) if estimator is None else estimator
    if not isinstance(model, Embedder):
        raise InputError(f"{type(model).__name__} reconstructs nothing; use LinearGATE or GATE")
    given: Any = graph.reveal()
    try:
        check_is_fitted(model)
    except NotFittedError:
        given = model.prepare(given)
        model.fit(given)
    encoded = model.encode(given)
    alone = (np.diff(graph.adjacency.indptr) == 0) & (np.diff(graph.attended.indptr) == 0)
    features, edges = encoded.feature_errors(), encoded.edge_errors()
    return Outliers(
        graph.ids,
        _fraction_below(np.where(alone, np.nan, features)),
        _fraction_below(np.where(alone, np.nan, edges)),
    )


def _fraction_below(errors: np.ndarray) -> np.ndarray:
    """NaN where an error is."""
    below = np.full(len(errors), np.nan)
    finite = ~np.isnan(errors)
    below[finite] = (rankdata(errors[finite]) - 1) / max(finite.sum() - 1, 1)
    return below
