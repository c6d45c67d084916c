"""Domains of a tissue: clusters of its cells by their embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators import hyperparameters as arguments
from graphgate.scverse.tissue import check_adata
from graphgate.tasks.clustering import CLUSTER_METHODS, cluster_vectors


def cluster_domains(
    adata: Any,
    k: int,
    *,
    method: str = "kmeans",
    key: str = "X_gate",
    added: str = "gate_domain",
    random_state: int = 0,
) -> None:
    """Parts the cells into k domains by obsm[key], and writes them as categories into obs[added].

    `method` is "kmeans" or "gaussian-mixture" (which allows domains of different size and
    spread). Domains are numbered by size, "0" the largest.
    """
    check_adata(adata)
    k = arguments.whole("k", k)
    if method not in CLUSTER_METHODS:
        raise InputError(f"method must be one of {', '.join(CLUSTER_METHODS)}, got {method!r}")
    if key not in adata.obsm:
        raise InputError(f"obsm has no {key!r}; make it with embed_anndata(adata) first")
    embedding = np.asarray(adata.obsm[key], dtype=np.float64)
    if k > len(embedding):
        raise InputError(
            f"{k:,} domains of {len(embedding):,} cells are asked for; use a smaller k"
        )
    seed = arguments.seed(random_state)
    # Tissues have many cells and few dimensions, so that whole covariances can be learned.
    found = cluster_vectors(embedding, k, method=method, covariance_type="full", random_state=seed)
    adata.obs[added] = _categories(found, adata.obs_names)


def _categories(codes: np.ndarray, names: Any) -> Any:
    import pandas as pd

    order = [str(code) for code in range(int(codes.max()) + 1)]
    return pd.Series(pd.Categorical.from_codes(codes, categories=order), index=names)
