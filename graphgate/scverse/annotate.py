"""An embedding of the cells of an AnnData, written where tools for AnnData look for it."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.fitted import Attention, EdgeScores, Encoded, Summary
from graphgate.estimators.loading import Estimator, named_estimator
from graphgate.estimators.registry import method_of
from graphgate.io.provenance import versions
from graphgate.scverse.expression import check_adata, keys_of
from graphgate.scverse.tissue import TissueOptions, tissue_graph
from graphgate.tasks.embed import TISSUE_PARAMS

EDGE_VALUES = {kind.name: f"gate_{kind.name}" for kind in (Attention, EdgeScores)}  # keys of obsp
RECORD, DENOISED = "gate", "gate"


def embed_anndata(
    adata: Any,
    *,
    method: str = "linear",
    obsp: str | None = None,
    radius: float | None = None,
    n_neighbors: int | None = None,
    batch_key: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    use_rep: str | None = None,
    key_added: str = "X_gate",
    denoise: bool = False,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Learn an embedding of the cells (or spots) of a tissue and write it into the AnnData.

    Parameters
    ----------
    adata : an AnnData in memory. X, or `layer`, should be normalized and log-transformed; sparse
        stays sparse.
    method : "linear" for `LinearGATE`, "gate" for `GATE`.
    obsp : a key of obsp whose values are edge weights; None finds neighbors by the coordinates in
        obsm["spatial"]. If it is not symmetric, the graph is directed: a cell attends over its row.
    radius : neighbors are all cells within this distance, in the unit of the coordinates.
    n_neighbors : or the nearest cells, in either direction; 6 if neither is given.
    batch_key : a column of obs with the sample of each cell. Cells of different samples are never
        neighbors, whatever their coordinates.
    layer : the layer with the features; None is X.
    neighbors_key : the key of uns under which scanpy or squidpy has stored neighbors, such as
        "neighbors" or "spatial_neighbors", in place of `obsp`.
    use_rep : the key of obsm with the features, such as "X_pca", in place of X.
    key_added : the key of obsm for the embedding.
    denoise : also write the reconstruction X̂ of the features as a dense layer.
    copy : annotate a copy, and return that in place of the estimator.
    params : parameters of the estimator, such as random_state. Defaults that differ are
        n_components=30 and structure=False for "linear", and dims=(512, 30) for "gate".

    Writes obsm[key_added] (one vector per cell), uns["gate"] (method, parameters, versions, and the
    report or the losses) and, with `denoise`, layers["gate"]. Also writes values of edges as a
    sparse matrix: obsp["gate_edge_scores"], how likely each edge is by the structure decoder, if
    there are enough edges to learn it; for "gate" obsp["gate_attention"], in row i how much cell i
    attends to each neighbor and to itself. After an error the AnnData is unchanged.

    Returns the fitted estimator, which `transform_anndata` applies to further samples.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> places = np.stack(np.divmod(np.arange(36.0), 6), axis=1)
    >>> adata = anndata.AnnData(rng.random((36, 8)), obsm={"spatial": places})
    >>> gate = embed_anndata(adata, n_neighbors=4, n_components=5, random_state=0)
    >>> adata.obsm["X_gate"].shape
    (36, 5)
    """
    options = TissueOptions(*(obsp, radius, n_neighbors, batch_key, layer), neighbors_key, use_rep)
    _check_denoise(options, denoise=denoise)
    gate = named_estimator(method, TISSUE_PARAMS.get(method, {}) | params)
    prepared = gate.prepare(tissue_graph(adata, options))
    gate.fit(prepared)
    gate.notes_ = {"tissue": asdict(options)}
    adata = adata.copy() if copy else adata
    _write(adata, gate, options, gate.embedding_, gate.encode(prepared), key_added, denoise=denoise)
    adata.uns[RECORD] |= _training_record(gate.summary())
    return adata if copy else gate


def transform_anndata(
    gate: Estimator,
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
    what `embed_anndata` writes, except for the report or the losses, into `adata`, or into a copy
    that is returned.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> places = np.stack(np.divmod(np.arange(36.0), 6), axis=1)
    >>> adata = anndata.AnnData(rng.random((36, 8)), obsm={"spatial": places})
    >>> gate = embed_anndata(adata, n_neighbors=4, n_components=5, random_state=0)
    >>> other = anndata.AnnData(rng.random((36, 8)), obsm={"spatial": places})
    >>> transform_anndata(gate, other, copy=True).obsm["X_gate"].shape
    (36, 5)
    """
    options = _tissue_options(gate)
    if batch_key is not None:
        options = replace(options, batch_key=batch_key)
    check_adata(adata)
    if (key := options.batch_key) is not None and key not in adata.obs:
        raise InputError(
            f"obs has no column {key!r}, which separated samples in training; its columns are "
            f"{keys_of(adata.obs)}; pass batch_key= or, if this is one sample, set "
            f"adata.obs[{key!r}] to its name"
        )
    _check_denoise(options, denoise=denoise)
    genes = [str(name) for name in gate.feature_names_in_]
    if denoise and len(genes) != adata.n_vars:
        raise InputError(
            f"denoise=True needs exactly the {len(genes):,} genes of the model, but the AnnData "
            f"has {adata.n_vars:,}; use adata[:, gate.feature_names_in_].copy()"
        )
    graph = tissue_graph(adata, options, genes)
    adata = adata.copy() if copy else adata
    encoded = gate.encode(graph)
    _write(adata, gate, options, encoded.embedding, encoded, key_added, denoise=denoise)
    return adata if copy else None


def _check_denoise(options: TissueOptions, *, denoise: bool) -> None:
    if denoise and options.use_rep not in (None, "X"):
        raise InputError(
            f"denoise=True reconstructs genes, but the features are obsm[{options.use_rep!r}]; "
            "use one of the two"
        )


def _tissue_options(gate: Estimator) -> TissueOptions:
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
    gate: Estimator,
    options: TissueOptions,
    embedding: np.ndarray,
    encoded: Encoded,
    key_added: str,
    *,
    denoise: bool,
) -> None:
    """Compute everything, then write it, so that an error leaves nothing half-written."""
    edge_values = encoded.edge_values
    if denoise:
        genes = adata.var_names.get_indexer(list(gate.feature_names_in_))
        adata.layers[DENOISED] = encoded.reconstruction()[:, np.argsort(genes)]
    adata.obsm[key_added] = embedding
    for key in EDGE_VALUES.values():  # not to be taken for those of this model
        adata.obsp.pop(key, None)
    if edge_values is not None:
        # Tools expect matrices, not arrays.
        adata.obsp[EDGE_VALUES[edge_values.name]] = sp.csr_matrix(edge_values.average)
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in gate.get_params().items()
        if isinstance(value, (bool, int, float, str, tuple)) and name != "progress"
    }
    adata.uns[RECORD] = {
        "method": method_of(gate).name,
        "params": params | {"random_state": gate.seed_},
        "tissue": _without_none(asdict(options)),
        "key_added": key_added,
        "versions": versions(),
    }


def _training_record(summary: Summary) -> dict[str, Any]:
    """What is known of the fit, for uns."""
    record: dict[str, Any] = {}
    if summary.history is not None:
        record["loss"] = np.array(summary.history["loss"])
    if (report := summary.to_dict()) is not None:
        record["report"] = _without_none(report)
    return record


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    """An AnnData file cannot hold None."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }
