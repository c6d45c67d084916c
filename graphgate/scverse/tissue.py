"""A tissue in an AnnData -> `Graph`: cells are nodes, genes features, neighbors edges."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from graphgate.errors import InputError, InputWarning
from graphgate.estimators.hyperparameters import integer, number
from graphgate.graph.graph import Graph
from graphgate.scverse.expression import (
    check_adata,
    connectivities_key,
    expression,
    keys_of,
    obs_column,
    representation,
)

SPATIAL = "spatial"
HEXAGONAL = 6  # neighbors of a spot in a hexagonal array
MOST_SAMPLES = 100  # a column of obs with more values does not name samples
CLOSEST = 0.1  # fraction of the cells whose nearest neighbor shows whether samples overlap


@dataclass(frozen=True)
class TissueOptions:
    """Which cells are neighbors, and which values are their features.

    obsp : a key of obsp; None finds neighbors by the coordinates in obsm["spatial"].
    neighbors_key : or a key of uns that names it, as scanpy's neighbors writes it.
    radius : all cells within this distance are neighbors, in the unit of the coordinates.
    n_neighbors : or the nearest cells are, in either direction; 6 if neither is given.
    batch_key : a column of obs; cells of different samples are never neighbors.
    layer : the layer with the features; None is X.
    use_rep : or a key of obsm with the features, such as "X_pca"; "X" is X.
    """

    obsp: str | None = None
    radius: float | None = None
    n_neighbors: int | None = None
    batch_key: str | None = None
    layer: str | None = None
    neighbors_key: str | None = None
    use_rep: str | None = None

    def __post_init__(self) -> None:
        for name in ("obsp", "batch_key", "layer", "neighbors_key", "use_rep"):
            if not isinstance(value := getattr(self, name), str | None):
                raise InputError(f"{name} must be a string or None, got {value!r}")
        if self.radius is not None and self.n_neighbors is not None:
            raise InputError("radius and n_neighbors are mutually exclusive; pass one of them")
        if self.obsp is not None and self.neighbors_key is not None:
            raise InputError("obsp and neighbors_key are mutually exclusive; pass one of them")
        stored = self.obsp or self.neighbors_key
        if stored is not None and not self.radius is self.n_neighbors is None:
            raise InputError(
                "radius and n_neighbors apply to coordinates; leave them out to use the neighbors "
                f"of {stored!r}"
            )
        if self.layer is not None and self.use_rep is not None:
            raise InputError("layer and use_rep are mutually exclusive; pass one of them")
        if self.n_neighbors is not None:
            integer("n_neighbors", self.n_neighbors)
        if self.radius is not None and not 0 < number("radius", self.radius) < np.inf:
            raise InputError(f"radius must be positive and finite, got {self.radius}")


def tissue_graph(
    adata: Any, options: TissueOptions, genes: Sequence[str] | None = None, **fields: Any
) -> Graph:
    """The graph of a tissue; with `genes`, their features in that order.

    fields : further arguments of `Graph`, such as labels.
    """
    check_adata(adata)
    if options.use_rep in (None, "X"):
        x = expression(adata, options.layer, genes)
        names = list(adata.var_names) if genes is None else list(genes)
    else:
        x = representation(adata, options.use_rep)
        names = [f"{options.use_rep}[{column}]" for column in range(x.shape[1])]
    samples = _samples(adata, options.batch_key)
    obsp = options.obsp
    if options.neighbors_key is not None:
        obsp = connectivities_key(adata, options.neighbors_key)
    if obsp is None:
        adjacency, directed = _by_coordinates(adata, options, samples), False
    else:
        adjacency, directed = _by_obsp(adata, obsp, samples)
    return Graph(
        x,
        adjacency,
        ids=list(adata.obs_names),
        directed=directed,
        feature_names=names,
        **fields,
    )


def _samples(adata: Any, batch_key: str | None) -> np.ndarray:
    """(N,) integers, equal for cells of one sample."""
    if batch_key is None:
        return np.zeros(adata.n_obs, dtype=np.int64)
    codes, _ = obs_column(adata, batch_key).factorize()
    if (codes < 0).any():
        cell = adata.obs_names[int(np.argmax(codes < 0))]
        raise InputError(f"the cell {cell!r} has no value in obs[{batch_key!r}]; fill it in")
    return np.asarray(codes, dtype=np.int64)


def _by_coordinates(adata: Any, options: TissueOptions, samples: np.ndarray) -> sp.coo_array:
    places = _coordinates(adata)
    if options.batch_key is None:
        _warn_of_overlap(adata, places)
    parts = [np.flatnonzero(samples == sample) for sample in range(samples.max() + 1)]
    edges = np.concatenate(
        [rows[_neighbor_pairs(places[rows], options, adata.obs_names[rows[0]])] for rows in parts]
    )
    n = adata.n_obs
    if not len(edges) and len(nearest := _nearest(places, parts)):
        raise InputError(
            f"no two cells are within radius={options.radius:g} of each other; half of the cells "
            f"have their nearest neighbor within {np.median(nearest):.4g}, so use a larger radius, "
            "or n_neighbors"
        )
    if isolated := n - len(np.unique(edges)):
        warnings.warn(
            f"{isolated:,} of {n:,} cells have no neighbor within {options.radius:g}; use a larger "
            "radius, or n_neighbors",
            InputWarning,
            stacklevel=4,
        )
    return sp.coo_array((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), (n, n))


def _nearest(places: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """The distance of each cell to the nearest of its sample, where there are others in it."""
    several = [places[rows] for rows in parts if len(rows) > 1]
    distances = [KDTree(sample).query(sample, 2)[0][:, 1] for sample in several]
    return np.concatenate([np.empty(0), *distances])


def _coordinates(adata: Any) -> np.ndarray:
    """(N, 1 to 3), finite."""
    if SPATIAL not in adata.obsm:
        raise InputError(
            f"obsm has no 'spatial' coordinates; its keys are {keys_of(adata.obsm)}; copy them to "
            "obsm['spatial'], or pass neighbors_key= or obsp= to use a graph of the cells"
        )
    try:
        places = np.asarray(adata.obsm[SPATIAL], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"obsm['spatial'] must be numeric: {error}") from None
    if places.ndim != 2 or not 1 <= places.shape[1] <= 3:
        raise InputError(f"obsm['spatial'] must have 1 to 3 columns, got shape {places.shape}")
    if not (finite := np.isfinite(places).all(axis=1)).all():
        cell = adata.obs_names[int(np.argmin(finite))]
        raise InputError(
            f"the coordinates of cell {cell!r} in obsm['spatial'] are not finite; drop the cell"
        )
    return places


def _warn_of_overlap(adata: Any, places: np.ndarray) -> None:
    """Warn if cells seem to come from several samples that share one coordinate system."""
    _, counts = np.unique(places, axis=0, return_counts=True)
    shared = int(counts[counts > 1].sum())
    what = f"{shared:,} of {len(places):,} cells have the same coordinates as another cell"
    if shared <= CLOSEST * len(places):
        overlapping = list(_overlapping_columns(adata.obs, places))
        if not overlapping:
            return
        what = f"cells that differ in obs[{overlapping[0]!r}] lie closer together than others"
    warnings.warn(
        f"{what}; if these are several samples, pass the column of obs that separates them as "
        "batch_key",
        InputWarning,
        stacklevel=5,
    )


def _overlapping_columns(obs: Any, places: np.ndarray) -> Iterator[str]:
    """Columns whose values seem to name samples that lie on top of each other.

    Cells do not overlap within a sample, so the closest pairs of two overlaid samples belong to
    different samples. Cell types or regions mix otherwise: close pairs share them at least as
    often as random pairs do.
    """
    if len(places) < 2:
        return
    distances, near = KDTree(places).query(places, 2)
    closest = np.argsort(distances[:, 1], kind="stable")[: max(1, int(CLOSEST * len(places)))]
    other = np.where(near[closest, 0] == closest, near[closest, 1], near[closest, 0])
    for name in obs.select_dtypes(exclude="number").columns:
        codes, values = obs[name].factorize()
        if not 2 <= len(values) <= MOST_SAMPLES or (codes < 0).any():
            continue
        by_chance = float(((np.bincount(codes) / len(codes)) ** 2).sum()) * len(closest)
        shared = int((codes[closest] == codes[other]).sum())
        if by_chance >= 5 and shared < by_chance / 5:
            yield str(name)


def _neighbor_pairs(places: np.ndarray, options: TissueOptions, a_cell: str) -> np.ndarray:
    """(E, 2) rows of neighbors among the cells of one sample."""
    tree = KDTree(places)
    if options.radius is not None:
        return np.asarray(tree.query_pairs(options.radius, output_type="ndarray"), dtype=np.int64)
    k, n = options.n_neighbors or HEXAGONAL, len(places)
    if n <= k:
        raise InputError(
            f"n_neighbors={k}, but the sample of cell {a_cell!r} has only {n:,} cells; use a "
            "smaller n_neighbors, or a radius"
        )
    # Cells in one place are all at distance 0, so a cell need not be its own first neighbor.
    _, near = tree.query(places, k + 1)
    itself = near == np.arange(n)[:, None]
    itself[~itself.any(axis=1), -1] = True
    return np.stack([np.repeat(np.arange(n), k), near[~itself]], axis=1)


def _by_obsp(adata: Any, key: str, samples: np.ndarray) -> tuple[sp.coo_array, bool]:
    """The adjacency in obsp, and whether it is directed; a cell attends over its row."""
    if key not in adata.obsp:
        raise InputError(f"obsp has no {key!r}; its keys are {keys_of(adata.obsp)}")
    if key.endswith("distances"):  # as scanpy and squidpy name them
        raise InputError(
            f"obsp[{key!r}] contains distances, which would make distant cells close neighbors; "
            "use connectivities"
        )
    attended = sp.csr_array(adata.obsp[key])
    directed = bool((attended != attended.T).nnz)
    entries = attended.T.tocoo()
    loops = entries.row == entries.col
    across = samples[entries.row] != samples[entries.col]
    n_across = int(across.sum()) // (1 if directed else 2)
    for count, where in (
        (int(np.count_nonzero(entries.data[loops])), "from a cell to itself"),
        (n_across, "between different samples"),
    ):
        if count:
            warnings.warn(
                f"ignored {count:,} {'edges' if count > 1 else 'edge'} of obsp[{key!r}] {where}",
                InputWarning,
                stacklevel=4,
            )
    kept = (entries.data[~across], (entries.row[~across], entries.col[~across]))
    return sp.coo_array(kept, entries.shape), directed
