"""Link prediction: held-out edges against sampled non-edges, scored by inner products."""

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import LinkSplit, split_links


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
    estimator : unfitted, with `fit(graph)` and `embedding_`; the default is `GATE`.
    val_size, test_size : fractions of the connected pairs to hold out.
    random_state : seed of the split, and of the default estimator.

    Returns "auc" and "ap" (average precision) of the test edges and "val_auc" and "val_ap" of the
    validation edges, in percent; the latter are None where `val_size` holds out no edge.

    Examples
    --------
    >>> ring = Graph.from_edges(np.eye(40), [(i, (i + 1) % 40) for i in range(40)])
    >>> gate = GATE((8, 2), epochs=300, learning_rate=0.01, random_state=0)
    >>> sorted(evaluate_links(ring, gate))
    ['ap', 'auc', 'val_ap', 'val_auc']
    """
    model = GATE(random_state=random_state) if estimator is None else estimator
    if hasattr(model, "predict"):
        raise InputError(f"{type(model).__name__} is a classifier and gives no vectors to score")
    split = split_links(graph, val_size=val_size, test_size=test_size, random_state=random_state)
    return score_split(model.fit(split.graph.reveal()).embedding_, split)


def link_quality(vectors: np.ndarray, edges: np.ndarray, non_edges: np.ndarray) -> dict[str, float]:
    """AUC and average precision of h_i · h_j for edges against non-edges, in percent."""
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    left, right = np.concatenate([edges, non_edges]).T
    scores = np.einsum("md,md->m", vectors[left], vectors[right], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise InputError("the embedding has values that are not finite; links cannot be scored")
    return {
        "auc": round(100 * float(roc_auc_score(truth, scores)), 4),
        "ap": round(100 * float(average_precision_score(truth, scores)), 4),
    }


def score_split(vectors: np.ndarray, split: LinkSplit) -> dict[str, float | None]:
    """`link_quality` of the test pairs and, prefixed by "val_", of the validation pairs."""
    test = link_quality(vectors, split.test_edges, split.test_non_edges)
    scores: dict[str, float | None] = {**test, "val_auc": None, "val_ap": None}
    if len(split.val_edges):
        val = link_quality(vectors, split.val_edges, split.val_non_edges)
        scores |= {f"val_{name}": value for name, value in val.items()}
    return scores
