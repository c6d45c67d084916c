"""Domains of a tissue: clusters of its cells by their embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from graphgate import arguments
from graphgate.errors import InputError
from graphgate.omics.tissue import check_adata

METHODS = ("kmeans", "gaussian-mixture")


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
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if key not in adata.obsm:
        raise InputError(f"obsm has no {key!r}; make it with embed_anndata(adata) first")
    embedding = np.asarray(adata.obsm[key], dtype=np.float64)
    if k > len(embedding):
        raise InputError(
            f"{k:,} domains of {len(embedding):,} cells are asked for; use a smaller k"
        )
    seed = arguments.seed(random_state)
    if method == "kmeans":
        found = KMeans(k, n_init=10, random_state=seed).fit_predict(embedding)
    else:
        # The same scale for all columns, so that the floor under variances means the same for each.
        spread = embedding.std(axis=0)
        scaled = (embedding - embedding.mean(axis=0)) / np.where(spread > 0, spread, 1)
        mixture = GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=seed)
        found = mixture.fit_predict(scaled)
    adata.obs[added] = _categories(found, adata.obs_names)


def _categories(codes: np.ndarray, names: Any) -> Any:
    import pandas as pd

    values, counts = np.unique(codes, return_counts=True)
    rank = {value: at for at, value in enumerate(values[np.argsort(-counts, kind="stable")])}
    texts = [str(rank[code]) for code in codes]
    order = [str(at) for at in range(len(values))]
    return pd.Series(pd.Categorical(texts, categories=order), index=names)
