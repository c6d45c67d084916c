"""How badly a model reconstructs each node of a graph."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def angles(one: Any, other: np.ndarray) -> np.ndarray:
    """(N,) 1 - cosine of the rows of two matrices, the first of which may be sparse."""
    squares = one.multiply(one).sum(axis=1) if sp.issparse(one) else (one**2).sum(axis=1)
    products = (one.multiply(other) if sp.issparse(one) else one * other).sum(axis=1)
    lengths = np.sqrt(squares * (other**2).sum(axis=1))
    return 1 - products / np.maximum(lengths, 1e-30)


def mean_per_node(values: np.ndarray, pattern: sp.csr_array) -> np.ndarray:
    """(N,) mean over edges from or to a node other than itself; NaN where there is none."""
    n = pattern.shape[0]
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    between = rows != pattern.indices
    ends = np.concatenate([rows[between], pattern.indices[between]])
    sums = np.bincount(ends, np.tile(values[between], 2), n)
    counts = np.bincount(ends, minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
