"""Nearest vectors of the version that is served, without an index of its own for every version.

Building an index takes long, and every change of the store makes a version. So the index of an
older version answers for all vectors that are still the same, and the others are compared one by
one, until they are so many that another index is worth it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from graphgate.io.id_columns import rows_of
from graphgate.io.tables import id_array
from graphgate.store.vector_index import VectorIndex

_MANY, _FRACTION = 2000, 0.02  # fresh vectors at which another index is due


@dataclass(frozen=True)
class LiveIndex:
    """The nearest of N vectors, by cosine.

    exact : these vectors, compared one by one.
    base : of an older version with M vectors. base_ids : their nodes.
    rows : (M,) the row that each is now; -1 where the vector has changed or is gone.
    fresh : the rows that `base` does not have, sorted.
    """

    exact: VectorIndex
    base: VectorIndex
    base_ids: pa.ChunkedArray
    rows: np.ndarray
    fresh: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, index: VectorIndex) -> Self:
        """An index of the version that is served."""
        exact = index if index.exact else VectorIndex(index.unit, exact=True)
        rows, ids = np.arange(len(ids)), pa.chunked_array([id_array(ids)])
        return cls(exact, index, ids, rows, np.empty(0, dtype=np.int64))

    def follow(self, ids: np.ndarray, vectors: np.ndarray) -> "LiveIndex":
        """The same for the vectors of another version."""
        exact = VectorIndex(vectors, exact=True)
        if self.base.exact or exact.unit.shape[1] != self.base.unit.shape[1]:
            return LiveIndex.of(ids, VectorIndex(vectors))
        rows = rows_of(pa.chunked_array([id_array(ids)]), self.base_ids)
        known = np.flatnonzero(rows >= 0)
        same = (exact.unit[rows[known]] == self.base.unit[known]).all(axis=1)
        rows[known[~same]] = -1
        fresh = np.setdiff1d(np.arange(len(ids)), rows[rows >= 0], assume_unique=True)
        return LiveIndex(exact, self.base, self.base_ids, rows, fresh)

    @property
    def outdated(self) -> bool:
        """Whether another index is due."""
        n = len(self.exact.unit)
        return not self.base.exact and len(self.fresh) > max(_MANY, _FRACTION * n)

    def nearest(
        self,
        queries: np.ndarray,
        n_neighbors: int,
        own: np.ndarray,
        allowed: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `VectorIndex.nearest`, but row -1 with cosine -inf where there are fewer.

        own : (Q,) the row that each query is, which is left out; -1 for none.
        """
        if allowed is not None or self.base is self.exact:
            nearest = self.exact.nearest(queries, n_neighbors + 1, None, allowed)
            return _best([nearest], n_neighbors, own)
        more = 1
        while True:
            keys, cosines = self.base.nearest(queries, min(n_neighbors + more, len(self.rows)))
            rows = self.rows[keys]
            usable = (rows >= 0) & (rows != own[:, None])
            if usable.sum(axis=1).min() >= n_neighbors or keys.shape[1] == len(self.rows):
                break
            more *= 4
        fresh = self.exact.nearest(queries, n_neighbors + 1, None, self.fresh)
        return _best([(rows, cosines), fresh], n_neighbors, own)


def _best(
    searches: list[tuple[np.ndarray, np.ndarray]], k: int, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The k best rows of several searches, without those that the queries are."""
    rows = np.concatenate([each for each, _ in searches], axis=1)
    cosines = np.concatenate([each for _, each in searches], axis=1)
    usable = (rows >= 0) & (rows != own[:, None])
    rows, cosines = np.where(usable, rows, -1), np.where(usable, cosines, -np.inf)
    order = np.lexsort((rows, -cosines), axis=1)[:, :k]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)
