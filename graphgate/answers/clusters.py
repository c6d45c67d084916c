"""Groups of nodes, and how well they agree with classes where these are known."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture

from graphgate.errors import InputError

ClusterMethod = Literal["kmeans", "gaussian-mixture"]
CLUSTER_METHODS: tuple[str, ...] = get_args(ClusterMethod)


def cluster_nodes(
    embedding: np.ndarray, clusters: int, *, method: str = "kmeans", seed: int = 0
) -> np.ndarray:
    """(N,) numbers of clusters from 0, the largest cluster first.

    kmeans : the best of ten starts. gaussian-mixture : normal distributions, each with a variance
    of its own for every dimension, started from k-means.
    """
    if method not in CLUSTER_METHODS:
        raise InputError(f"unknown method {method!r}; use one of {', '.join(CLUSTER_METHODS)}")
    seen: set[bytes] = set()
    for row in embedding:
        if len(seen) >= clusters:
            break
        seen.add(row.tobytes())
    if clusters < 1 or len(seen) < clusters:
        raise InputError(
            f"{clusters} clusters of {len(embedding):,} nodes: ask for at least one, and for no "
            "more than there are different vectors" + f" ({len(seen):,})" * (clusters > 0)
        )
    z = embedding.astype(np.float64, copy=False)
    model: Any
    if method == "kmeans":
        model = KMeans(clusters, n_init=10, random_state=seed)
    else:
        model = GaussianMixture(clusters, covariance_type="diag", random_state=seed)
    codes = np.asarray(model.fit_predict(z))
    counts = np.bincount(codes, minlength=clusters)
    rank = np.empty(clusters, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(clusters)
    return rank[codes]


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
