"""The most similar nodes: exact cosine search in blocks of bounded memory."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from graphgate.errors import InputError
from graphgate.io.embeddings import as_embedding

BLOCK_ENTRIES = 8_000_000  # cosines in memory at once, 32 MB in single precision


class SimilarNodes(NamedTuple):
    """ids : (M,) the query nodes. neighbors : (M, K) ids. cosines : (M, K), largest first."""

    ids: np.ndarray
    neighbors: np.ndarray
    cosines: np.ndarray


def similar(embedding: Any, nodes: Any = None, *, n_neighbors: int = 10) -> SimilarNodes:
    """Find the nodes with the largest cosine similarity to each query node.

    Parameters
    ----------
    embedding : an `Embedding`, or an (N, D) array whose ids are its row numbers.
    nodes : one id, a list of ids, or a mask over all nodes; None queries all nodes.
    n_neighbors : neighbors per query node; K is N - 1 where there are fewer others.

    Examples
    --------
    >>> similar(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), 0, n_neighbors=1).neighbors
    array([[2]])
    """
    given = as_embedding(embedding)
    ids, rows = given.ids, np.arange(len(given)) if nodes is None else given.rows(nodes)
    nearest, cosines = nearest_rows(given.vectors, n_neighbors, rows)
    return SimilarNodes(ids[rows], ids[nearest], cosines)


def nearest_rows(
    vectors: np.ndarray, n_neighbors: int, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(M, K) row numbers of the nearest other rows, nearest first, and their (M, K) cosines.

    Equal cosines are in row order. A vector of length 0 has cosine 0 with every other.

    scikit-learn's `NearestNeighbors(metric="cosine")` is slower, loses precision in float32 by
    going through 1 - cosine, and picks arbitrary rows among equals at the end.
    """
    n = len(vectors)
    rows = np.arange(n) if rows is None else rows
    if n < 2:
        raise InputError(f"need at least two nodes, got {n}")
    unit = unit_vectors(vectors)
    return nearest_units(unit, n_neighbors, unit[rows], rows)


def nearest_units(
    unit: np.ndarray, n_neighbors: int, queries: np.ndarray, own: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """As `nearest_rows`, for (M, D) queries; all vectors have length 1.

    own : (M,) row of `unit` that each query is, which is not its own neighbor; -1 for none.
    """
    if n_neighbors < 1:
        raise InputError(f"n_neighbors must be an integer ≥ 1, got {n_neighbors}")
    n = len(unit)
    k = min(n_neighbors, n - int(own is not None and (own >= 0).any()))
    rows = np.empty((len(queries), k), dtype=np.int64)
    cosines = np.empty((len(queries), k), dtype=unit.dtype)
    for block in gen_batches(len(queries), max(1, BLOCK_ENTRIES // n)):
        cosine = queries[block] @ unit.T  # (B, N)
        if own is not None:
            stored = np.flatnonzero(own[block] >= 0)
            cosine[stored, own[block][stored]] = -np.inf
        rows[block] = _largest(cosine, k)
        cosines[block] = np.take_along_axis(cosine, rows[block], axis=1)
    return rows, np.clip(cosines, -1.0, 1.0)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1, or 0."""
    return _scaled(_scaled(vectors, np.inf), 2)  # by the maximum first: no square overflows


def _scaled(vectors: np.ndarray, order: float) -> np.ndarray:
    """Rows of norm 1, or 0; scikit-learn's `normalize` takes rows shorter than 1e-6 for 0."""
    norms = np.linalg.norm(vectors, ord=order, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k largest values per row, largest first, equal values in column order."""
    bounds = np.partition(values, -k, axis=1)[:, -k]  # the k-th largest value
    largest = np.empty((len(values), k), dtype=np.int64)
    for row, (line, bound) in enumerate(zip(values, bounds, strict=True)):
        columns = np.flatnonzero(line >= bound)
        largest[row] = columns[np.argsort(-line[columns], kind="stable")[:k]]
    return largest
