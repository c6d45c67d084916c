"""Who stands next to whom: edges with attention, and nearest nodes in the embedding."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphgate.tasks.neighbors import nearest_rows


def attended_pairs(attention: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Pairs u < v, (E, 2), and what each attends to the other, (E, 2), strongest pair first.

    `values[e, 0]` is how much u attends to v, `values[e, 1]` how much v attends to u; NaN where
    it does not look there (directed graphs). A pair's strength is the mean of what is there.
    """
    n = attention.shape[0]
    entries = attention.tocoo()
    other = entries.row != entries.col
    rows, columns = entries.row[other].astype(np.int64), entries.col[other].astype(np.int64)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    keys, pair = np.unique(low * n + high, return_inverse=True)
    values = np.full((len(keys), 2), np.nan, dtype=np.float32)
    values[pair, np.where(rows < columns, 0, 1)] = entries.data[other]
    order = np.argsort(-strength(values), kind="stable")
    return np.stack([keys // n, keys % n], axis=1)[order], values[order]


def strength(values: np.ndarray) -> np.ndarray:
    """(E, 2) -> (E,), the mean of the directions that are there."""
    there = np.isfinite(values)
    total = np.where(there, values, 0).sum(axis=1, dtype=np.float64)
    return (total / np.maximum(there.sum(axis=1), 1)).astype(np.float32)


def nearest_nodes(embedding: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k other nodes of largest cosine, (N, k) rows and (N, k) cosines, nearest first."""
    n = len(embedding)
    if n == 1:
        return np.empty((1, 0), dtype=np.int64), np.empty((1, 0), dtype=np.float32)
    z = np.asarray(embedding, dtype=np.float32)
    return nearest_rows(z, k)
