"""A tissue in an AnnData -> `Graph`: cells are nodes, genes features, neighbours edges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from graphgate.errors import InputError, InputWarning
from graphgate.estimators import hyperparameters as arguments
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features

SPATIAL = "spatial"
NEAREST = 6  # of a hexagonal array of spots


@dataclass(frozen=True)
class Neighborhood:
    """Which cells are neighbours, and which numbers describe a cell.

    neighbors : "spatial", by the places in obsm["spatial"], or a key of obsp.
    radius : all cells within it are neighbours, in the unit of the places.
    k : or the k nearest are, and those whose k nearest a cell is among.
    slices : a column of obs; cells of different slices are never neighbours.
    layer : the layer with the features; None is X.
    """

    neighbors: str = SPATIAL
    radius: float | None = None
    k: int | None = None
    slices: str | None = None
    layer: str | None = None

    @classmethod
    def checked(
        cls, neighbors: Any, radius: Any, k: Any, slices: str | None, layer: str | None
    ) -> Self:
        if not isinstance(neighbors, str):
            raise InputError(f"neighbors must be 'spatial' or a key of obsp, got {neighbors!r}")
        if neighbors != SPATIAL and (radius is not None or k is not None):
            raise InputError(
                f"radius and k are for neighbors='spatial'; obsp[{neighbors!r}] has its neighbours"
            )
        if radius is not None and k is not None:
            raise InputError("radius and k are two ways to find neighbours; give one of them")
        if radius is not None:
            radius = arguments.number("radius", radius)
            if not 0 < radius < np.inf:
                raise InputError(f"radius must be positive and finite, got {radius}")
        elif neighbors == SPATIAL:
            k = arguments.whole("k", NEAREST if k is None else k)
        return cls(neighbors, radius, k, slices, layer)

    def to_dict(self) -> dict[str, Any]:
        """Without what is None, which a file of AnnData has no place for."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def tissue_graph(adata: Any, how: Neighborhood, genes: Sequence[str] | None = None) -> Graph:
    """The graph of a tissue; with `genes`, their columns in that order."""
    check_adata(adata)
    x = _expression(adata, how.layer, genes)
    slices = _slices(adata, how.slices)
    if how.neighbors == SPATIAL:
        adjacency, directed = _spatial(adata, how, slices), False
    else:
        adjacency, directed = _given(adata, how.neighbors, slices)
    return Graph(
        x,
        adjacency,
        ids=list(adata.obs_names),
        directed=directed,
        feature_names=list(adata.var_names) if genes is None else list(genes),
    )


def check_adata(adata: Any) -> None:
    """An AnnData in memory whose cells and genes have names of their own."""
    if not all(hasattr(adata, part) for part in ("obs_names", "var_names", "obsm", "isbacked")):
        raise InputError(f"an AnnData is needed, got {type(adata).__name__}")
    if adata.isbacked:
        raise InputError("the AnnData is backed by a file; load it with adata.to_memory()")
    if adata.is_view:
        raise InputError("the AnnData is a view, which cannot be written to; use adata.copy()")
    if adata.n_obs == 0 or adata.n_vars == 0:
        raise InputError(f"the AnnData is empty: {adata.n_obs} cells of {adata.n_vars} genes")
    for kind, names in (("obs", adata.obs_names), ("var", adata.var_names)):
        if not names.is_unique:
            twice = names[names.duplicated()][0]
            raise InputError(
                f"{twice!r} is in {kind}_names more than once; "
                f"call adata.{kind}_names_make_unique()"
            )


def _expression(adata: Any, layer: str | None, genes: Sequence[str] | None) -> Features:
    if layer is not None and layer not in adata.layers:
        raise InputError(
            f"the AnnData has no layer {layer!r}; its layers are {shown_keys(adata.layers)}"
        )
    what = "X" if layer is None else f"layers[{layer!r}]"
    x = adata.X if layer is None else adata.layers[layer]
    if x is None:
        raise InputError("the AnnData has no X; name a layer")
    if not sp.issparse(x) and not isinstance(x, np.ndarray):
        raise InputError(f"{what} is a {type(x).__name__}; give a NumPy or SciPy sparse array")
    names = adata.var_names
    if genes is not None:
        columns = names.get_indexer(list(genes))
        if (columns < 0).any():
            missing = [gene for gene, at in zip(genes, columns, strict=True) if at < 0]
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise InputError(
                f"the AnnData has no gene {missing[0]!r}{more}, of {len(genes):,} that the model "
                "was trained with; give all of them (zeros where a gene was not measured)"
            )
        if len(genes) != len(names) or (columns != np.arange(len(names))).any():
            x = sp.csr_array(x)[:, columns] if sp.issparse(x) else x[:, columns]
            names = names[columns]
    values = x.data if sp.issparse(x) else x
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        entries = sp.coo_array(x)
        at = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        cell, gene = adata.obs_names[entries.row[at]], names[entries.col[at]]
        raise InputError(
            f"{what} has the value {entries.data[at]} for gene {gene!r} in cell {cell!r}; "
            "fill or drop it"
        )
    if values.size and values.max() > 100 and (values == np.floor(values)).all():
        warnings.warn(
            f"{what} seems to hold raw counts (whole numbers up to {values.max():,.0f}), which a "
            "few genes and the depth of cells then decide; normalise and take logarithms first",
            InputWarning,
            stacklevel=4,
        )
    return x


def _slices(adata: Any, column: str | None) -> np.ndarray:
    """A number a cell, the same for the cells of a slice."""
    if column is None:
        return np.zeros(adata.n_obs, dtype=np.int64)
    if column not in adata.obs:
        raise InputError(
            f"obs has no column {column!r} to tell slices apart; name another by slices=, or "
            f"slices=None if all cells are of one; its columns are {shown_keys(adata.obs)}"
        )
    codes, _ = adata.obs[column].factorize()
    if (codes < 0).any():
        cell = adata.obs_names[int(np.argmax(codes < 0))]
        raise InputError(f"the cell {cell!r} has no value in obs[{column!r}]; name its slice")
    return np.asarray(codes, dtype=np.int64)


def _spatial(adata: Any, how: Neighborhood, slices: np.ndarray) -> sp.coo_array:
    if SPATIAL not in adata.obsm:
        raise InputError(
            f"obsm has no 'spatial' with the places of cells; its keys are {shown_keys(adata.obsm)}"
        )
    try:
        places = np.asarray(adata.obsm[SPATIAL], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"obsm['spatial'] must be numbers: {error}") from None
    if places.ndim != 2 or not 1 <= places.shape[1] <= 3:
        raise InputError(f"obsm['spatial'] must have 1 to 3 columns, got shape {places.shape}")
    if not np.isfinite(places).all():
        cell = adata.obs_names[int(np.argmin(np.isfinite(places).all(axis=1)))]
        raise InputError(f"the place of cell {cell!r} in obsm['spatial'] is not finite; drop it")
    pairs = []
    for number in range(int(slices.max()) + 1):
        rows = np.flatnonzero(slices == number)
        pairs.append(rows[_near(places[rows], how, adata.obs_names[rows[0]])])
    edges = np.concatenate(pairs)
    n = adata.n_obs
    lonely = n - len(np.unique(edges))
    if lonely:
        warnings.warn(
            f"{lonely:,} of {n:,} cells have no neighbour within {how.radius:g}; "
            "a larger radius, or k=, would give them some",
            InputWarning,
            stacklevel=4,
        )
    return sp.coo_array((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), (n, n))


def _near(places: np.ndarray, how: Neighborhood, a_cell: str) -> np.ndarray:
    """(E, 2) pairs of rows that are neighbours."""
    tree = KDTree(places)
    if how.radius is not None:
        return np.asarray(tree.query_pairs(how.radius, output_type="ndarray"), dtype=np.int64)
    assert how.k is not None
    if len(places) <= how.k:
        raise InputError(
            f"k={how.k} nearest neighbours are asked for, but the slice of cell {a_cell!r} has "
            f"{len(places):,} cells; use a smaller k, or a radius"
        )
    # Cells in the same place are at distance 0 as a cell is from itself, which need not come first.
    _, near = tree.query(places, how.k + 1)
    own = near == np.arange(len(places))[:, None]
    own[~own.any(axis=1), -1] = True
    targets = near[~own].reshape(len(places), how.k)
    return np.stack([np.repeat(np.arange(len(places)), how.k), targets.ravel()], axis=1)


def _given(adata: Any, key: str, slices: np.ndarray) -> tuple[sp.coo_array, bool]:
    """The adjacency in obsp, and whether it is directed; row i lists what cell i attends over."""
    if key not in adata.obsp:
        raise InputError(f"obsp has no {key!r}; its keys are {shown_keys(adata.obsp)}")
    if "distance" in key:
        raise InputError(
            f"obsp[{key!r}] holds distances, and a large one would count as a close tie; "
            "name connectivities"
        )
    attended = sp.csr_array(adata.obsp[key])
    directed = bool((attended != attended.T).nnz)
    entries = attended.T.tocoo()
    across = slices[entries.row] != slices[entries.col]
    if across.any():
        count = int(across.sum() if directed else across.sum() // 2)
        warnings.warn(
            f"{count:,} {'edges' if count > 1 else 'edge'} of obsp[{key!r}] between different "
            "slices are left out",
            InputWarning,
            stacklevel=4,
        )
        entries = sp.coo_array(
            (entries.data[~across], (entries.row[~across], entries.col[~across])), entries.shape
        )
    return entries, directed


def shown_keys(mapping: Any) -> str:
    names = [repr(name) for name in mapping.keys()]  # noqa: SIM118 - AnnData's mappings
    return ", ".join(names[:8]) + (", …" * (len(names) > 8)) if names else "none"
