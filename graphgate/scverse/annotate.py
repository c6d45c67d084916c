"""GATE on an AnnData; results are written where tools for AnnData look for them."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.embedded_graph import Attention
from graphgate.estimators.gate import GATE
from graphgate.io.provenance import versions
from graphgate.scverse.expression import check_adata, keys_of
from graphgate.scverse.tissue import TissueOptions, tissue_graph
from graphgate.tasks.clustering import cluster_vectors

ATTENTION, RECORD, DENOISED = "gate_attention", "gate", "gate"


def embed_anndata(
    adata: Any,
    *,
    dims: tuple[int, ...] = (512, 30),
    obsp: str | None = None,
    radius: float | None = None,
    n_neighbors: int | None = None,
    batch_key: str | None = None,
    layer: str | None = None,
    key_added: str = "X_gate",
    denoise: bool = False,
    **params: Any,
) -> GATE:
    """Learn an embedding of the cells (or spots) of a tissue and write it into the AnnData.

    Parameters
    ----------
    adata : an AnnData in memory. X, or `layer`, should be normalized and log-transformed; sparse
        stays sparse.
    dims : size of each layer of the encoder; the last is that of the embedding.
    obsp : a key of obsp whose values are edge weights; None finds neighbors by the coordinates in
        obsm["spatial"]. If it is not symmetric, the graph is directed: a cell attends over its row.
    radius : neighbors are all cells within this distance, in the unit of the coordinates.
    n_neighbors : or the nearest cells, in either direction; 6 if neither is given.
    batch_key : a column of obs with the sample of each cell. Cells of different samples are never
        neighbors, whatever their coordinates.
    layer : the layer with the features; None is X.
    key_added : the key of obsm for the embedding.
    denoise : also write the decoder's reconstruction X̂ as a dense layer.
    params : further parameters of `GATE`, such as epochs or random_state.

    Writes obsm[key_added] (cells × dims[-1]), obsp["gate_attention"] (sparse; row i is how much
    cell i attends to each neighbor and to itself), uns["gate"] (parameters, losses, versions) and,
    with `denoise`, layers["gate"]. After an error the AnnData is unchanged.

    Returns the fitted `GATE`, which `transform_anndata` applies to further samples.
    """
    options = TissueOptions(obsp, radius, n_neighbors, batch_key, layer)
    if unknown := sorted(params.keys() - GATE().get_params().keys()):
        raise InputError(f"GATE has no parameter {unknown[0]!r}")
    gate = GATE(dims, **params)
    graph = tissue_graph(adata, options)
    gate.fit(graph)
    gate.notes_ = {"tissue": asdict(options)}
    denoised = gate.reconstruct(graph) if denoise else None
    _write(adata, gate, options, gate.embedding_, gate.attention_, key_added, denoised)
    adata.uns[RECORD]["loss"] = np.array(gate.history_["loss"])
    return gate


def transform_anndata(
    gate: GATE,
    adata: Any,
    *,
    batch_key: str | None = None,
    key_added: str = "X_gate",
    denoise: bool = False,
    copy: bool = False,
) -> Any:
    """Embed the cells of another tissue with a model of `embed_anndata`, fitted or loaded.

    Neighbors and features are taken as in training. Genes are matched by name; genes that the
    model does not know are ignored. `batch_key` replaces the column that training used. Writes
    what `embed_anndata` writes, except for the losses, into `adata`, or into a copy that is
    returned.
    """
    options = _tissue_options(gate)
    if batch_key is not None:
        options = replace(options, batch_key=batch_key)
    check_adata(adata)
    genes = [str(name) for name in gate.feature_names_in_]
    if denoise and len(genes) != adata.n_vars:
        raise InputError(
            f"denoise=True needs exactly the {len(genes):,} genes of the model, but the AnnData "
            f"has {adata.n_vars:,}; use adata[:, gate.feature_names_in_].copy()"
        )
    graph = tissue_graph(adata, options, genes)
    adata = adata.copy() if copy else adata
    encoded = gate.encode(graph)
    denoised = encoded.reconstruction() if denoise else None
    _write(adata, gate, options, encoded.embedding, encoded.attention, key_added, denoised)
    return adata if copy else None


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


def _tissue_options(gate: GATE) -> TissueOptions:
    """How the tissue was read that the model was trained on."""
    options = getattr(gate, "notes_", {}).get("tissue")
    if options is None:
        raise InputError("the model was not trained by embed_anndata; use gate.transform(graph)")
    try:
        return TissueOptions(**options)
    except TypeError as error:
        raise InputError(f"the model's tissue options are not readable: {error}") from None


def _write(
    adata: Any,
    gate: GATE,
    options: TissueOptions,
    embedding: np.ndarray,
    attention: Attention,
    key_added: str,
    denoised: np.ndarray | None,
) -> None:
    """Write everything that is already computed, so that an error leaves nothing half-written."""
    if denoised is not None:
        genes = adata.var_names.get_indexer(list(gate.feature_names_in_))
        adata.layers[DENOISED] = denoised[:, np.argsort(genes)]
    adata.obsm[key_added] = embedding
    adata.obsp[ATTENTION] = sp.csr_matrix(attention.average)  # tools expect matrices, not arrays
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in gate.get_params().items()
        if isinstance(value, (bool, int, float, str, tuple))
    }
    adata.uns[RECORD] = {
        "params": params | {"random_state": gate.seed_},
        # An AnnData file cannot hold None.
        "tissue": {name: value for name, value in asdict(options).items() if value is not None},
        "key_added": key_added,
        "versions": versions(),
    }
