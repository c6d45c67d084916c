"""The features of cells in an AnnData, checked before anything is computed from them."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning, listing, warn_ignored
from graphgate.graph.validation import Features


def check_adata(adata: Any) -> None:
    """Require an AnnData in memory whose cells and genes have unique names."""
    if not all(hasattr(adata, part) for part in ("obs_names", "var_names", "obsm", "isbacked")):
        raise InputError(f"expected an AnnData, got {type(adata).__name__}")
    if adata.isbacked:
        raise InputError("the AnnData is backed by a file; load it with adata.to_memory()")
    if adata.is_view:
        raise InputError("the AnnData is a view, which cannot be written to; use adata.copy()")
    if adata.n_obs == 0 or adata.n_vars == 0:
        raise InputError(f"the AnnData is empty: {adata.n_obs} cells, {adata.n_vars} genes")
    for axis, names in (("obs", adata.obs_names), ("var", adata.var_names)):
        if not names.is_unique:
            repeated = names[names.duplicated()][0]
            raise InputError(
                f"{repeated!r} is in {axis}_names more than once; "
                f"call adata.{axis}_names_make_unique()"
            )


def keys_of(mapping: Any) -> str:
    """The keys of a part of an AnnData, for a message."""
    return listing([repr(key) for key in mapping.keys()]) or "none"  # noqa: SIM118


def obs_column(adata: Any, key: str) -> Any:
    """A column of obs, a pandas Series."""
    if key not in adata.obs:
        raise InputError(f"obs has no column {key!r}; its columns are {keys_of(adata.obs)}")
    return adata.obs[key]


def representation(adata: Any, use_rep: str) -> np.ndarray:
    """(cells, D) finite numbers in obsm."""
    if use_rep not in adata.obsm:
        raise InputError(
            f"obsm has no {use_rep!r}; run embed_anndata first, or use one of its keys: "
            f"{keys_of(adata.obsm)}"
        )
    try:
        vectors = np.asarray(adata.obsm[use_rep], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"obsm[{use_rep!r}] must be a matrix of numbers: {error}") from None
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InputError(
            f"obsm[{use_rep!r}] has shape {vectors.shape}, or values that are not finite; it needs "
            "one finite vector per cell"
        )
    return vectors


def connectivities_key(adata: Any, neighbors_key: str) -> str:
    """The key of obsp that a key of uns names, as scanpy's and squidpy's neighbors write it."""
    neighbors = adata.uns.get(neighbors_key)
    if isinstance(neighbors, Mapping) and "params" in neighbors and "connectivities" in adata.obsp:
        neighbors = {"connectivities_key": "connectivities", **neighbors}  # as in older files
    if not isinstance(neighbors, Mapping) or "connectivities_key" not in neighbors:
        raise InputError(
            f"uns has no neighbors {neighbors_key!r}; its keys are {keys_of(adata.uns)}, and "
            "scanpy.pp.neighbors writes 'neighbors'"
        )
    return str(neighbors["connectivities_key"])


def expression(adata: Any, layer: str | None, genes: Sequence[str] | None) -> Features:
    """(cells, genes) values of X or of a layer; with `genes`, their columns in that order."""
    if layer is not None and layer not in adata.layers:
        raise InputError(
            f"the AnnData has no layer {layer!r}; its layers are {keys_of(adata.layers)}"
        )
    what = "X" if layer is None else f"layers[{layer!r}]"
    x = adata.X if layer is None else adata.layers[layer]
    if x is None:
        raise InputError("the AnnData has no X; pass the name of a layer")
    if not sp.issparse(x) and not isinstance(x, np.ndarray):
        raise InputError(f"{what} is a {type(x).__name__}; use a NumPy or SciPy sparse array")
    names = adata.var_names
    if genes is not None and list(genes) != list(names):
        columns = names.get_indexer(list(genes))
        if missing := [gene for gene, column in zip(genes, columns, strict=True) if column < 0]:
            raise InputError(
                f"the AnnData lacks {len(missing):,} of the {len(genes):,} genes that the model "
                f"was trained on: {listing(missing)}; add them (0 where a gene was not measured)"
            )
        unknown = names.difference(list(genes), sort=False)
        warn_ignored("the AnnData", "gene", list(unknown), "the model was not trained on them")
        x = sp.csr_array(x)[:, columns] if sp.issparse(x) else x[:, columns]
        names = names[columns]
    values = x.data if sp.issparse(x) else x
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        entries = sp.coo_array(x)
        entry = int(np.argmin(np.isfinite(entries.data)))
        cell, gene = adata.obs_names[entries.row[entry]], names[entries.col[entry]]
        raise InputError(
            f"{what} contains {entries.data[entry]} for gene {gene!r} in cell {cell!r}; fill or "
            "drop it"
        )
    if looks_like_counts(values):
        warnings.warn(
            f"{what} looks like raw counts (integers up to {values.max():,.0f}); normalize and "
            "log1p first",
            InputWarning,
            stacklevel=4,
        )
    return x


def looks_like_counts(values: np.ndarray) -> bool:
    """Whether these are non-negative integers, some above 1.

    Normalization leaves hardly any integer but 0; zeros and ones alone are binarized data.
    """
    if not values.size or values.min() < 0 or values.max() <= 1:
        return False
    return values.dtype.kind in "iu" or bool((values == np.floor(values)).all())
