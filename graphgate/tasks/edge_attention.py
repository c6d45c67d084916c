"""Attention per edge, and how it differs within and between classes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class EdgeAttention:
    """Attention on the E pairs u < v that attend to each other, without self-loops.

    edges : (E, 2) row numbers u, v, in row order.
    directions : (E, 2), α_uv and α_vu; NaN where a node does not attend to the other.
    sizes : (N,) number of entries per row of α, |N_i|.
    """

    edges: np.ndarray
    directions: np.ndarray
    sizes: np.ndarray

    @property
    def raw(self) -> np.ndarray:
        """(E,) mean of both directions."""
        return np.nanmean(self.directions, axis=1)

    @property
    def corrected(self) -> np.ndarray:
        """(E,) mean of α_ij · |N_i|, which is 1 for uniform attention, whatever the degree."""
        return np.nanmean(self.directions * self.sizes[self.edges], axis=1)


def edge_attention(attention: sp.csr_array) -> EdgeAttention:
    """From (N, N) attention coefficients; row i holds what node i attends to."""
    n = attention.shape[0]
    entries = attention.tocoo()
    between = entries.row != entries.col
    rows, columns = entries.row[between].astype(np.int64), entries.col[between].astype(np.int64)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    keys, pair = np.unique(low * n + high, return_inverse=True)
    directions = np.full((len(keys), 2), np.nan)
    directions[pair, np.where(rows < columns, 0, 1)] = entries.data[between]
    edges = np.stack([keys // n, keys % n], axis=1)
    return EdgeAttention(edges, directions, np.diff(attention.indptr))


def class_attention(attention: EdgeAttention, labels: np.ndarray) -> dict[str, float] | None:
    """Mean attention of edges within and between classes, raw and degree-corrected.

    Attention is the softmax of sigmoids, so the coefficients of two neighbors of a node differ by
    less than a factor of e, the "bound" of the corrected ratio. None if there are no edges of one
    kind.

    labels : (N,), -1 where a node has none; edges with such an end are ignored.
    """
    ends = labels[attention.edges]
    labeled = (ends >= 0).all(axis=1)
    same = labeled & (ends[:, 0] == ends[:, 1])
    other = labeled & ~same
    if not (same.any() and other.any()):
        return None
    means: dict[str, float] = {"same_edges": int(same.sum()), "other_edges": int(other.sum())}
    for name, values in (("raw", attention.raw), ("corrected", attention.corrected)):
        inside, between = float(values[same].mean()), float(values[other].mean())
        means |= {
            f"same_{name}": inside,
            f"other_{name}": between,
            f"{name}_ratio": inside / between,
        }
    return means | {"bound": float(np.e)}
