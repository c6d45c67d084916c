"""GATE on an AnnData: what it learns is written where tools for AnnData look for it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.provenance import versions
from graphgate.io.schema import Schema, check_fields
from graphgate.scverse.tissue import SPATIAL, Neighborhood, check_adata, tissue_graph

ATTENTION, RECORD, DENOISED = "gate_attention", "gate", "gate"
LIKE_THE_MODEL: Final = "like the model"

_TISSUE: Schema = {
    "neighbors": str,
    "radius": (float, int, type(None)),
    "k": (int, type(None)),
    "slices": (str, type(None)),
    "layer": (str, type(None)),
}


def embed_anndata(
    adata: Any,
    *,
    dims: tuple[int, ...] = (512, 30),
    neighbors: str = SPATIAL,
    radius: float | None = None,
    k: int | None = None,
    slices: str | None = None,
    layer: str | None = None,
    key: str = "X_gate",
    denoise: bool = False,
    **settings: Any,
) -> GATE:
    """Learns an embedding of the cells (or spots) of a tissue and writes it into the AnnData.

    Parameters
    ----------
    adata : an AnnData in memory. X, or `layer`, should be normalised; a sparse one stays sparse.
    dims : the size of each layer of the encoder; the last is the embedding's.
    neighbors : "spatial", by the places in obsm["spatial"], or a key of obsp. An obsp that is not
        symmetric makes the graph directed: a cell attends over those in its row.
    radius, k : neighbours by place are all cells within `radius`, or the `k` nearest and those
        whose nearest a cell is among; if neither is given, k = 6.
    slices : a column of obs. Cells of different slices are no neighbours, whatever their places.
    layer : the layer with the features; None is X.
    key : where in obsm the embedding goes.
    denoise : also write X̂, what the decoder makes of the embedding, as a dense layer.
    settings : further arguments of `GATE`, such as epochs or random_state.

    Written are obsm[key] (cells × dims[-1]), obsp["gate_attention"] (sparse; row i says how much
    cell i attends to each neighbour, and to itself), uns["gate"] (the settings, the losses, the
    versions) and, if asked for, layers["gate"]. Nothing is written unless all of it can be.

    Returns the fitted `GATE`, which `transform_anndata` takes to further slices.
    """
    how = Neighborhood.checked(neighbors, radius, k, slices, layer)
    try:
        gate = GATE(dims, **settings)
    except TypeError as error:
        raise InputError(f"a setting is none of GATE's: {str(error).split('() ')[-1]}") from None
    graph = tissue_graph(adata, how)
    gate.fit(graph)
    gate.notes_ = {"tissue": {name: getattr(how, name) for name in _TISSUE}}
    record = _record(gate, how, key) | {"loss": np.array(gate.history_["loss"])}
    _write(adata, gate, graph, gate.embedding_, gate.attention_.average, record, key, denoise)
    return gate


def transform_anndata(
    gate: GATE,
    adata: Any,
    *,
    slices: str | None = LIKE_THE_MODEL,
    key: str = "X_gate",
    denoise: bool = False,
) -> np.ndarray:
    """Embeds the cells of another tissue by a model of `embed_anndata`, fitted or loaded.

    Neighbours are found and features taken as for the tissue that the model was trained on; genes
    are matched by name, whatever their order, and genes that the model does not know are left out.
    `slices` names another column of obs, or None where all cells are of one slice. Writes what
    `embed_anndata` writes, and returns the embedding.
    """
    how = _learned(gate)
    if slices != LIKE_THE_MODEL:
        how = Neighborhood(how.neighbors, how.radius, how.k, slices, how.layer)
    check_adata(adata)
    genes = [str(name) for name in gate.feature_names_in_]
    graph = tissue_graph(adata, how, genes)
    encoded = gate.encode(graph)
    embedding, attention = encoded.embedding, encoded.attention.average
    if denoise and len(genes) != adata.n_vars:
        raise InputError(
            f"denoised values are of the model's {len(genes):,} genes, but the AnnData has "
            f"{adata.n_vars:,}; keep only these: adata[:, gate.feature_names_in_].copy()"
        )
    record = _record(gate, how, key)
    _write(adata, gate, graph, embedding, attention, record, key, denoise)
    return embedding


def _learned(gate: GATE) -> Neighborhood:
    notes = getattr(gate, "notes_", None) or {}
    if "tissue" not in notes:
        raise InputError("the model was not trained by embed_anndata; use gate.transform(graph)")
    check_fields(notes["tissue"], _TISSUE, "the model cannot be used", "tissue")
    return Neighborhood.checked(**notes["tissue"])


def _record(gate: GATE, how: Neighborhood, key: str) -> dict[str, Any]:
    """What uns keeps; without None, which old files of AnnData have no place for."""
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in gate.get_params().items()
        if isinstance(value, (bool, int, float, str, tuple))
    }
    return {
        "params": settings | {"random_state": gate.seed_},
        "tissue": how.to_dict(),
        "key": key,
        "versions": versions(),
    }


def _write(
    adata: Any,
    gate: GATE,
    graph: Graph,
    embedding: np.ndarray,
    attention: sp.csr_array,
    record: dict[str, Any],
    key: str,
    denoise: bool,
) -> None:
    layer = _denoised(gate, graph, adata) if denoise else None
    adata.obsm[key] = embedding
    # Tools for AnnData expect SciPy's matrices, not its arrays.
    adata.obsp[ATTENTION] = sp.csr_matrix(attention)
    adata.uns[RECORD] = record
    if layer is not None:
        adata.layers[DENOISED] = layer


def _denoised(gate: GATE, graph: Graph, adata: Any) -> np.ndarray:
    """X̂ with genes in the order of the AnnData."""
    assert graph.feature_names is not None
    values = gate.reconstruct(graph)
    names = adata.var_names
    if list(graph.feature_names) == list(names):
        return values
    place = {gene: at for at, gene in enumerate(graph.feature_names)}
    return values[:, [place[gene] for gene in names]]
