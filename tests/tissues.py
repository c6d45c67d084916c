"""Synthetic tissue: layers of cell types in the plane that single cells hardly reveal."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

# Parameters of embed_anndata, by method.
QUICK: dict[str, dict] = {
    "linear": {"n_components": 4, "random_state": 0},
    "gate": {"method": "gate", "dims": (16, 4), "epochs": 5, "random_state": 0, "progress": False},
}


def layered_tissue(
    seed: int = 0, *, side: int = 20, genes: int = 60, layers: int = 4, shift: float = 0.0
) -> anndata.AnnData:
    """side² spots on a grid in horizontal layers; negative-binomial counts, log-normalized, sparse.

    A fraction of the genes is expressed twice as much in each layer, but counts are so low that a
    single spot shows little of it. `shift` moves the coordinates.
    """
    rng = np.random.default_rng(seed)
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) * 1.0
    layer = (places[:, 1] * layers // side).astype(int)
    base = np.random.default_rng(7).gamma(2.0, 0.1, genes)  # the same genes in every sample
    mean = np.tile(base, (len(places), 1))
    for number in range(layers):
        mean[np.ix_(layer == number, np.arange(genes) % layers == number)] *= 2.0
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + mean))
    depth = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    x = np.log1p(counts / depth * np.median(depth)).astype(np.float32)
    adata = anndata.AnnData(
        sp.csr_matrix(x),
        obs=pd.DataFrame(
            {"layer": [f"L{number}" for number in layer]},
            index=[f"s{seed}-{at}" for at in range(len(places))],
        ),
        var=pd.DataFrame(index=[f"gene{at}" for at in range(genes)]),
    )
    adata.obsm["spatial"] = places + shift
    return adata
