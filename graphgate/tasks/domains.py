"""Domains of a tissue: clusters of the cells of an AnnData, carried to other slices."""

from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.scverse.expression import check_adata, keys_of
from graphgate.tasks.clustering import cluster_vectors


def cluster_anndata(
    adata: Any,
    n_clusters: int,
    *,
    method: str = "kmeans",
    use_rep: str = "X_gate",
    key_added: str = "gate_cluster",
    random_state: int | None = 0,
    copy: bool = False,
) -> Any:
    """Cluster the cells by obsm[use_rep] and write the clusters as categories into obs[key_added].

    `method` is "kmeans" or "gaussian-mixture" (clusters of different size and spread). Clusters
    are numbered by size, "0" being the largest. Returns None, or with `copy` an annotated copy.
    """
    check_adata(adata)
    if use_rep not in adata.obsm:
        raise InputError(
            f"obsm has no {use_rep!r}; run embed_anndata first, or use one of its keys: "
            f"{keys_of(adata.obsm)}"
        )
    vectors = np.asarray(adata.obsm[use_rep], dtype=np.float64)
    # Tissues have many cells per dimension, enough to learn full covariances.
    found = cluster_vectors(
        vectors, n_clusters, method=method, covariance_type="full", random_state=random_state
    )
    import pandas as pd

    adata = adata.copy() if copy else adata
    categories = pd.Categorical.from_codes(found, [*map(str, range(n_clusters))])
    adata.obs[key_added] = pd.Series(categories, index=adata.obs_names)
    return adata if copy else None
