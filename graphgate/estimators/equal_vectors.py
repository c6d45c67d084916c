"""Nodes that an embedding does not distinguish, found without labels."""

import warnings

import numpy as np

from graphgate.errors import InputWarning
from graphgate.graph.graph import Graph

FEWEST = 10  # nodes of one vector; smaller components than that are common
LEAST = 0.05  # fraction of all nodes
_CLOSE = 1e-5  # relative difference of numbers that is due to rounding
_ROWS = 1 << 14  # of a block


def warn_of_equal_vectors(vectors: np.ndarray, graph: Graph) -> None:
    """Warn if many nodes have the same vector as many others."""
    groups = equal_groups(vectors)
    sizes = np.bincount(groups)
    count, n = int(sizes[sizes >= FEWEST].sum()), len(vectors)
    if count == 0 or count < LEAST * n:
        return
    first, second = graph.ids[groups == sizes.argmax()][:2].tolist()
    remedy = "count edges in both directions, or " if graph.directed else ""
    warnings.warn(
        f"{count:,} of {n:,} nodes have the same vector as at least {FEWEST - 1} others, such as "
        f"{first!r} and {second!r}, usually because neither features nor edges distinguish them; "
        f"{remedy}add features or edges, or omit these nodes",
        InputWarning,
        stacklevel=3,
    )


def equal_groups(vectors: np.ndarray) -> np.ndarray:
    """(N,) numbers from 0, the same for rows that are equal up to rounding.

    Equal rows are next to each other in the order of any linear function, here a random one.
    """
    n, d = vectors.shape
    direction = np.random.default_rng(0).normal(size=d) / np.sqrt(d)
    starts = range(0, n, _ROWS)
    values = [vectors[at : at + _ROWS].astype(np.float64) @ direction for at in starts]
    order = np.argsort(np.concatenate(values), kind="stable")
    differs = np.zeros(n, dtype=bool)  # from the row before it
    for start in starts:
        rows = order[start : start + _ROWS + 1]
        block = vectors[rows]
        size = np.abs(block[:-1]).max(axis=1)
        gaps = np.abs(np.diff(block, axis=0)).max(axis=1)
        differs[start + 1 : start + len(rows)] = gaps > _CLOSE * size
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.cumsum(differs)
    return groups
