"""Attention of the edges of a graph, and whether it tells classes apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class EdgeAttention:
    """Undirected edges u < v with the mean of α over both directions, self-loops left out.

    corrected : the same of α_ij · |N_i|, which is 1 where a node attends to all alike, so that
        nodes of few neighbours do not stand out for that alone.
    """

    edges: np.ndarray
    raw: np.ndarray
    corrected: np.ndarray


def edge_attention(attention: sp.csr_array) -> EdgeAttention:
    """From an N×N array of attention, row i over what node i attends to."""
    sizes = np.diff(attention.indptr)
    entries = attention.tocoo()
    low, high = np.minimum(entries.row, entries.col), np.maximum(entries.row, entries.col)
    between = low < high
    n = attention.shape[0]
    keys, of = np.unique(low[between].astype(np.int64) * n + high[between], return_inverse=True)
    counts = np.bincount(of, minlength=len(keys))

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(of, weights=values[between], minlength=len(keys)) / counts

    edges = np.stack([keys // n, keys % n], axis=1)
    return EdgeAttention(edges, mean(entries.data), mean(entries.data * sizes[entries.row]))


@dataclass(frozen=True)
class ClassAttention:
    """Mean attention of edges within a class and between classes, raw and corrected for degree.

    Attention is the softmax of sigmoids, so two neighbours of a node differ by less than a factor
    of e: that bounds what any ratio can be, once degrees are out of it.
    """

    same_edges: int
    other_edges: int
    same_raw: float
    other_raw: float
    same_corrected: float
    other_corrected: float

    @property
    def raw_ratio(self) -> float:
        return self.same_raw / self.other_raw

    @property
    def corrected_ratio(self) -> float:
        return self.same_corrected / self.other_corrected

    def to_dict(self) -> dict[str, Any]:
        ratios = {"raw_ratio": self.raw_ratio, "corrected_ratio": self.corrected_ratio}
        return asdict(self) | ratios | {"bound": float(np.e)}


def class_attention(found: EdgeAttention, labels: np.ndarray) -> ClassAttention | None:
    """Edges with an unlabelled end are left out; None where one of the two kinds is missing."""
    ends = labels[found.edges]
    known = (ends >= 0).all(axis=1)
    same = known & (ends[:, 0] == ends[:, 1])
    other = known & ~same
    if not (same.any() and other.any()):
        return None
    return ClassAttention(
        int(same.sum()),
        int(other.sum()),
        float(found.raw[same].mean()),
        float(found.raw[other].mean()),
        float(found.corrected[same].mean()),
        float(found.corrected[other].mean()),
    )
