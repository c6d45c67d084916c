"""One vector per graph, from those of its nodes."""

from typing import Any

import numpy as np

from graphgate.errors import InputError, check_choice

POOLS = {"mean": np.add, "sum": np.add, "max": np.maximum}


def pool(vectors: Any, graph_index: Any, how: str = "mean") -> np.ndarray:
    """One vector per graph, (G, D).

    Parameters
    ----------
    vectors : (N, D), one vector per node.
    graph_index : (N,) the number of each node's graph, 0 … G-1, as in `join_graphs(…).graph_index`;
        or a list of graphs whose nodes these are, in order.
    how : "mean", "sum" or "max", in each column.

    >>> pool([[1.0, 2.0], [3.0, 0.0], [5.0, 5.0]], [0, 0, 1])
    array([[2., 1.],
           [5., 5.]])
    """
    check_choice("how", how, POOLS)
    z = np.asarray(vectors)
    if isinstance(graph_index, (list, tuple)) and all(hasattr(g, "n_nodes") for g in graph_index):
        graph_index = np.repeat(np.arange(len(graph_index)), [g.n_nodes for g in graph_index])
    index = np.asarray(graph_index)
    if z.ndim != 2 or index.shape != z.shape[:1] or index.dtype.kind not in "iu":
        raise InputError(
            f"graph_index must be one graph number per vector, got shape {index.shape} of "
            f"{index.dtype} for vectors of shape {z.shape}"
        )
    order = np.argsort(index, kind="stable")
    numbers, starts, counts = np.unique(index[order], return_index=True, return_counts=True)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise InputError(
            f"graph_index must have a node of every graph 0 … {index.max()}; a graph without nodes "
            "has no vector"
        )
    if z.dtype.kind != "f":
        z = z.astype(np.float64)
    pooled = POOLS[how].reduceat(z[order], starts, axis=0)
    return pooled / counts[:, None].astype(z.dtype) if how == "mean" else pooled
