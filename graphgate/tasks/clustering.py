"""Clusters of nodes by their vectors, and how well they agree with known classes."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture

from graphgate.errors import InputError
from graphgate.estimators.hyperparameters import seed
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import as_embedding
from graphgate.io.progress import progress_bar
from graphgate.tasks.classification import encode_labels
from graphgate.tasks.cluster_number import choose_n_clusters
from graphgate.tasks.description import Trait, describe_clusters

ClusterMethod = Literal["kmeans", "gaussian-mixture"]
CLUSTER_METHODS: tuple[str, ...] = get_args(ClusterMethod)


@dataclass(frozen=True)
class Clustering:
    """Clusters of nodes.

    clusters : (N,) integers from 0, the largest cluster first.
    sizes : number of nodes per cluster; a single one if no number of clusters is supported.
    agreement : "nmi", "ari" and "accuracy" against the labels, in percent; None without labels.
    traits : per cluster, what is over-represented in it, by `describe_clusters`; None if nothing
        was given that describes the nodes.
    """

    clusters: np.ndarray
    sizes: np.ndarray
    agreement: dict[str, float] | None
    traits: list[list[Trait]] | None = None


def cluster(
    embedding: Any,
    n_clusters: int | str | None = None,
    *,
    method: str = "kmeans",
    labels: Any = None,
    described: Graph | Attributes | None = None,
    random_state: int | None = 0,
    progress: bool = True,
) -> Clustering:
    """Cluster the nodes of an embedding, describe the clusters, and compare them with labels.

    Parameters
    ----------
    embedding : an `Embedding`, or an (N, D) array.
    n_clusters : "auto" chooses it by the vectors alone, at most 20, and gives a single cluster if
        the vectors support no number, because they vary continuously; the default is the number of
        classes, or "auto" without labels.
    method : "kmeans" or "gaussian-mixture".
    labels : as in `classify`; they never influence the clusters.
    described : the graph, or the attributes of its nodes, to describe the clusters by.
    random_state : seed of the starting points.
    progress : show a progress bar (on terminals only).

    Examples
    --------
    >>> clustering = cluster(np.array([[0.0], [0.1], [0.2], [5.0], [5.1]]), 2, labels=[*"aaabb"])
    >>> clustering.clusters.tolist(), clustering.agreement["accuracy"]
    ([0, 0, 0, 1, 1], 100.0)
    """
    codes, classes = encode_labels(embedding, labels)
    clusters = cluster_vectors(
        as_embedding(embedding).vectors,
        (len(classes) or "auto") if n_clusters is None else n_clusters,
        method=method,
        random_state=random_state,
        progress=progress,
    )
    return Clustering(
        clusters,
        np.bincount(clusters),
        agreement(codes, clusters) if classes else None,
        None if described is None else describe_clusters(described, clusters),
    )


def cluster_vectors(
    vectors: np.ndarray,
    n_clusters: int | str,
    *,
    method: str = "kmeans",
    covariance_type: Literal["diag", "full"] = "diag",
    mini_batch: bool = False,
    random_state: int | None = 0,
    progress: bool = False,
) -> np.ndarray:
    """(N,) cluster numbers from 0, the largest cluster first; `n_clusters` may be "auto".

    "kmeans" keeps the best of ten initializations, or of three with `mini_batch`.
    "gaussian-mixture" keeps the best of three; `covariance_type` "full" needs many nodes per
    dimension. `progress` shows a progress bar (on terminals only).
    """
    if method not in CLUSTER_METHODS:
        raise InputError(f"unknown method {method!r}; use one of {', '.join(CLUSTER_METHODS)}")
    if not np.isfinite(vectors).all():
        raise InputError("the embedding has values that are not finite; train it again")
    random_state = None if random_state is None else seed(random_state)
    if n_clusters == "auto":
        n_clusters = choose_n_clusters(vectors, random_state=random_state, progress=progress)
    if isinstance(n_clusters, str) or n_clusters < 1:
        raise InputError(f"n_clusters must be an integer ≥ 1 or 'auto', got {n_clusters!r}")
    if (distinct := count_distinct(vectors, n_clusters)) < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters}, but the {len(vectors):,} nodes have only {distinct:,} "
            "distinct vectors; use fewer clusters"
        )
    if n_clusters == 1:
        return np.zeros(len(vectors), dtype=np.int64)
    z = vectors.astype(np.float64, copy=False)
    generator = np.random.RandomState(random_state)  # shared by the initializations
    model: Any
    if method == "gaussian-mixture":
        # The floor under variances should mean the same for each column. A full covariance adapts
        # to columns of any scale; keeping their ratios lets k-means, which the mixture starts from,
        # ignore columns that vary little.
        z = z - z.mean(axis=0)
        scale = z.std(axis=0) if covariance_type == "diag" else z.std()
        z = z / np.where(scale > 0, scale, 1)
        model = GaussianMixture(
            n_clusters, covariance_type=covariance_type, reg_covar=1e-4, random_state=generator
        )
        starts = 3
    elif mini_batch:  # chooses among its initializations before the first step
        model, starts = MiniBatchKMeans(n_clusters, n_init=3, random_state=generator), 1
    else:
        model, starts = KMeans(n_clusters, n_init=1, random_state=generator), 10
    codes, best = np.zeros(len(z), dtype=np.int64), -np.inf
    with progress_bar("clusters", starts, show=progress) as advance:
        for _ in range(starts):
            labels = model.fit_predict(z)
            quality = model.lower_bound_ if method == "gaussian-mixture" else -model.inertia_
            if quality > best:
                codes, best = np.asarray(labels), quality
            advance()
    by_size = np.argsort(-np.bincount(codes, minlength=n_clusters), kind="stable")
    return np.argsort(by_size)[codes]


def count_distinct(vectors: np.ndarray, most: int) -> int:
    """The number of distinct rows, counted up to `most`."""
    distinct: set[bytes] = set()
    for row in vectors:
        if len(distinct) < most:
            distinct.add(row.tobytes())
    return len(distinct)


def agreement(labels: np.ndarray, clusters: np.ndarray) -> dict[str, float]:
    """NMI, ARI and matched accuracy over the nodes with a label (not -1), in percent."""
    labeled = labels >= 0
    if not labeled.any():
        raise InputError("no node has a label to compare the clusters with")
    metrics = {
        "nmi": normalized_mutual_info_score,
        "ari": adjusted_rand_score,
        "accuracy": matched_accuracy,
    }
    scores = {name: metric(labels[labeled], clusters[labeled]) for name, metric in metrics.items()}
    return {name: round(100 * float(value), 4) for name, value in scores.items()}


def matched_accuracy(labels: np.ndarray, clusters: np.ndarray) -> float:
    """The accuracy under the best one-to-one matching of clusters and classes, a fraction."""
    counts = contingency_matrix(labels, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / len(labels))
