"""Groups of nodes by their vectors: the same groups in a command, a tissue and a page."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.mixture import GaussianMixture

from graphgate.errors import InputError

ClusterMethod = Literal["kmeans", "gaussian-mixture"]
CLUSTER_METHODS: tuple[str, ...] = get_args(ClusterMethod)


def cluster_nodes(
    embedding: np.ndarray,
    clusters: int,
    *,
    method: str = "kmeans",
    covariance: Literal["diag", "full"] = "diag",
    quick: bool = False,
    seed: int = 0,
) -> np.ndarray:
    """(N,) numbers of clusters from 0, the largest cluster first.

    kmeans : the best of ten starts; `quick` takes three, and a part of the nodes at a time.
    gaussian-mixture : normal distributions, the best of three starts from k-means. Each has a
    variance of its own for every dimension ("diag"), or also for their combinations ("full"),
    which many dimensions have too few nodes for.
    """
    if method not in CLUSTER_METHODS:
        raise InputError(f"unknown method {method!r}; use one of {', '.join(CLUSTER_METHODS)}")
    if not np.isfinite(embedding).all():
        raise InputError("the embedding has values that are not finite, which are in no cluster")
    different = different_vectors(embedding, clusters)
    if clusters < 1 or different < clusters:
        raise InputError(
            f"{clusters} clusters of {len(embedding):,} nodes: ask for at least one, and for no "
            "more than there are different vectors" + f" ({different:,})" * (clusters > 0)
        )
    z = embedding.astype(np.float64, copy=False)
    model: Any
    if method == "gaussian-mixture":
        # The same scale for all columns, so that the floor under variances means the same for each.
        spread = z.std(axis=0)
        z = (z - z.mean(axis=0)) / np.where(spread > 0, spread, 1)
        model = GaussianMixture(
            clusters, covariance_type=covariance, n_init=3, reg_covar=1e-4, random_state=seed
        )
    elif quick:
        model = MiniBatchKMeans(clusters, n_init=3, random_state=seed)
    else:
        model = KMeans(clusters, n_init=10, random_state=seed)
    codes = np.asarray(model.fit_predict(z))
    counts = np.bincount(codes, minlength=clusters)
    rank = np.empty(clusters, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(clusters)
    return rank[codes]


def different_vectors(embedding: np.ndarray, most: int) -> int:
    """How many rows differ from all others, counted up to `most`."""
    seen: set[bytes] = set()
    for row in embedding:
        if len(seen) >= most:
            break
        seen.add(row.tobytes())
    return len(seen)
