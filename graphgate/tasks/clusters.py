"""Groups of nodes, and how well they agree with classes where these are known."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from graphgate.errors import InputError


def agreement(labels: np.ndarray, clusters: np.ndarray) -> dict[str, float]:
    """NMI, ARI and accuracy of clusters as classes, in percent, over the nodes that have a label.

    Accuracy names each cluster by another class, in the way that makes most nodes right.
    """
    known = labels >= 0
    if not known.any():
        raise InputError("no node has a label, so clusters can be compared with nothing")
    truth, found = labels[known], clusters[known]
    scores = {
        "nmi": normalized_mutual_info_score(truth, found),
        "ari": adjusted_rand_score(truth, found),
        "accuracy": matched_accuracy(truth, found),
    }
    return {name: round(100 * float(value), 4) for name, value in scores.items()}


def matched_accuracy(labels: np.ndarray, clusters: np.ndarray) -> float:
    """The share of nodes whose cluster's class is their own, by the best matching (Hungarian)."""
    counts = contingency_matrix(labels, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / len(labels))
