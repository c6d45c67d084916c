"""Nearest vectors: exact up to a size, and beyond it by an index whose candidates are re-ranked.

The index is usearch's graph index (HNSW). It is built from the vectors of a version, and kept in
the user's cache until the vectors change; nothing is lost if the cache is.
"""

import hashlib
from typing import Any

import numpy as np

from graphgate.compute.neighbors import nearest_units, unit_vectors
from graphgate.errors import InputError
from graphgate.store.index_cache import IndexCache

EXACT_UP_TO = 20_000  # vectors
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 160
_CANDIDATES = 4  # times as many as are asked for


class VectorIndex:
    """The nearest of N vectors, by cosine.

    Parameters
    ----------
    vectors : (N, D).
    identity : name under which the index is cached; None keeps it in memory only.
    exact : whether to search without an index; the default is up to `EXACT_UP_TO` vectors.
    """

    def __init__(
        self, vectors: np.ndarray, identity: str | None = None, *, exact: bool | None = None
    ) -> None:
        self.unit = unit_vectors(vectors).astype(np.float32, copy=False)
        self.exact = len(vectors) <= EXACT_UP_TO if exact is None else exact
        self._index = None if self.exact else _index(self.unit, identity)

    def nearest(
        self,
        queries: np.ndarray,
        n_neighbors: int,
        own: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(M, K) rows and cosines of the nearest vectors to (M, D) queries, nearest first.

        own : (M,) the row that each query is, which is left out; -1 for none.
        allowed : rows to choose from, sorted; the search among them is exact.
        """
        units = unit_vectors(queries).astype(np.float32, copy=False)
        own = np.full(len(units), -1) if own is None else own
        if allowed is None and self._index is not None:
            return self._approximate(self._index, units, n_neighbors, own)
        if allowed is None:
            return nearest_units(self.unit, n_neighbors, units, own)
        if not len(allowed):
            return np.empty((len(units), 0), np.int64), np.empty((len(units), 0), np.float32)
        places = np.searchsorted(allowed, own).clip(max=len(allowed) - 1)
        inside = np.where(allowed[places] == own, places, -1)
        rows, cosines = nearest_units(self.unit[allowed], n_neighbors, units, inside)
        return allowed[rows], cosines

    def _approximate(
        self, index: Any, units: np.ndarray, n_neighbors: int, own: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if n_neighbors < 1:
            raise InputError(f"n_neighbors must be an integer ≥ 1, got {n_neighbors}")
        k = min(n_neighbors, len(self.unit) - int((own >= 0).any()))
        count = min(len(self.unit), _CANDIDATES * (k + 1))
        candidates = index.search(units, count)
        keys = candidates.keys.reshape(len(units), -1).astype(np.int64)
        if min(getattr(candidates, "counts", [keys.shape[1]])) < count:  # not all can be reached
            return nearest_units(self.unit, n_neighbors, units, own)
        cosines = np.einsum("md,mcd->mc", units, self.unit[keys])
        cosines[keys == own[:, None]] = -np.inf
        order = np.lexsort((keys, -cosines), axis=1)[:, :k]
        rows, values = (np.take_along_axis(each, order, axis=1) for each in (keys, cosines))
        return rows, np.clip(values, -1.0, 1.0)

    def recall(self, n_queries: int = 200, n_neighbors: int = 10, seed: int = 0) -> float:
        """The fraction of the nearest rows that are found, for some rows at random; 1 if exact."""
        rng = np.random.default_rng(seed)
        n = len(self.unit)
        rows = np.sort(rng.choice(n, min(n, n_queries), replace=False))
        exact = nearest_units(self.unit, n_neighbors, self.unit[rows], rows)[0]
        nearest = self.nearest(self.unit[rows], n_neighbors, rows)[0]
        return float(np.mean([np.isin(a, b).mean() for a, b in zip(exact, nearest, strict=True)]))


def _index(unit: np.ndarray, identity: str | None) -> Any:
    try:
        from usearch import __version__
        from usearch.index import Index
    except ImportError:
        raise InputError(
            f"more than {EXACT_UP_TO:,} vectors are searched by usearch: "
            "pip install 'graphgate[store]'"
        ) from None
    settings = {
        "ndim": unit.shape[1],
        "metric": "ip",
        "dtype": "f32",
        "connectivity": _CONNECTIVITY,
        "expansion_add": _EXPANSION_ADD,
        "expansion_search": _EXPANSION_SEARCH,
    }
    index = Index(**settings)
    cache = None if identity is None else IndexCache(identity)
    key = hashlib.sha256(f"{__version__} {settings} ".encode())
    key.update(np.ascontiguousarray(unit).data)
    if cache is not None and (path := cache.find(key.hexdigest())) is not None:
        index.load(str(path))
        return index
    index.add(np.arange(len(unit)), unit)
    if cache is not None:
        cache.keep(key.hexdigest(), index.save)
    return index
