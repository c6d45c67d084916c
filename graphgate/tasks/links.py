"""Link prediction: held-out edges against sampled non-edges."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate.errors import InputError
from graphgate.estimators.base import inner_products
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import LinkSplit, split_links


@runtime_checkable
class PairScorer(Protocol):
    """An estimator that scores pairs of nodes of the graph given to `fit` in its own way."""

    def pair_scores(self, pairs: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class Predictor(Protocol):
    """A classifier of nodes, which has no vectors."""

    def predict(self, X: Any) -> np.ndarray: ...


def evaluate_links(
    graph: Graph,
    estimator: Any = None,
    *,
    val_size: float = 0.05,
    test_size: float = 0.1,
    random_state: int = 0,
) -> dict[str, float | None]:
    """Hold out edges, train on the rest, and score the held-out edges against non-edges.

    Parameters
    ----------
    graph : its labels are hidden from the estimator.
    estimator : unfitted, with `fit(graph)` and `embedding_`; the default is `LinearGATE`.
    val_size, test_size : fractions of the connected pairs to hold out.
    random_state : seed of the split, and of the default estimator.

    Returns "auc" and "ap" (average precision) of the test edges and "val_auc" and "val_ap" of the
    validation edges, in percent; the latter are None where `val_size` holds out no edge.

    Examples
    --------
    >>> ring = Graph.from_edges(np.eye(40), [(i, (i + 1) % 40) for i in range(40)])
    >>> sorted(evaluate_links(ring))
    ['ap', 'auc', 'val_ap', 'val_auc']
    """
    model = LinearGATE(random_state=random_state) if estimator is None else estimator
    if isinstance(model, Predictor):
        raise InputError(f"{type(model).__name__} is a classifier and gives no vectors to score")
    split = split_links(graph, val_size=val_size, test_size=test_size, random_state=random_state)
    model.fit(split.graph.reveal())
    return score_split(model, split)


def score_split(estimator: Any, split: LinkSplit) -> dict[str, float | None]:
    """AUC and average precision of the test pairs and, prefixed by "val_", the validation pairs.

    estimator : fitted on `split.graph`. Its own `pair_scores` decide or, where it has none, the
        inner products of its vectors.
    """
    sets = (split.test_edges, split.test_non_edges, split.val_edges, split.val_non_edges)
    pairs = np.concatenate(sets)
    if isinstance(estimator, PairScorer):
        scores = estimator.pair_scores(pairs)
    else:
        scores = inner_products(np.asarray(estimator.embedding_), pairs)
    if not np.isfinite(scores).all():
        raise InputError("the embedding has values that are not finite; links cannot be scored")
    test, others, val, val_others = np.split(scores, np.cumsum([*map(len, sets)])[:-1])
    quality: dict[str, float | None] = {"val_auc": None, "val_ap": None}
    if len(val):
        quality = {f"val_{name}": value for name, value in link_quality(val, val_others).items()}
    return link_quality(test, others) | quality


def link_quality(edges: np.ndarray, non_edges: np.ndarray) -> dict[str, float]:
    """AUC and average precision of scores of edges against those of non-edges, in percent."""
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    scores = np.concatenate([edges, non_edges])
    return {
        "auc": round(100 * float(roc_auc_score(truth, scores)), 4),
        "ap": round(100 * float(average_precision_score(truth, scores)), 4),
    }
