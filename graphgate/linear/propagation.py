"""Smoothing of node vectors along edges.

Row i of the operator holds the nodes that i attends to, as everywhere: an edge j -> i makes i
attend to j. A weight counts in proportion to the mean weight of the graph that the estimator was
fitted on, which is also the weight of the self-loop, so the unit of weights does not matter.
"""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.nn.pattern import csr_tensor, index_tensor, shared_tensor

_CPU = torch.device("cpu")


def mean_weight(graph: Graph) -> float:
    """The mean weight of the edges, 1 where there are none."""
    weights = graph.adjacency.data
    return float(weights.mean(dtype=np.float64)) if len(weights) else 1.0


class Propagation:
    """D^-½ (A + I) D^-½, with weights in units of `unit`.

    Attributes
    ----------
    degrees : (N,) sum of the weights at each node, in both directions, without the self-loop.
    """

    def __init__(self, graph: Graph, unit: float, dtype: torch.dtype) -> None:
        attended = graph.attended.astype(np.float64) / unit
        loops = sp.eye_array(graph.n_nodes, format="csr")
        self._operator = csr_matrix(symmetrically_normalized(attended + loops), dtype)
        both = attended.sum(axis=1) + attended.sum(axis=0) * graph.directed
        self.degrees = shared_tensor(both, _CPU, dtype)

    def step(self, h: Tensor) -> Tensor:
        return self._operator @ h

    def smooth(self, h: Tensor, steps: int, restart: float) -> Tensor:
        """`steps` times: h ← (1 - restart) A h + restart · (the initial h)."""
        found = h
        for _ in range(steps):
            found = torch.addmm(h, self._operator, found, beta=restart, alpha=1 - restart)
        return found

    def average(self, h: Tensor, steps: int, own: float) -> Tensor:
        """own · h + (1 - own) · mean(A h … A^steps h), which is S²GC (Zhu & Koniusz, 2021)."""
        total, walked = torch.zeros_like(h), h
        buffers = (torch.empty_like(h), torch.empty_like(h))
        for at in range(steps):
            out = buffers[at % 2]
            walked = torch.addmm(out, self._operator, walked, beta=0.0, out=out)
            total += walked
        return total.mul_((1 - own) / steps).add_(h, alpha=own)


def symmetrically_normalized(matrix: sp.csr_array) -> sp.csr_array:
    """Every entry divided by the square roots of the sums of its row and of its column."""
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    left, right = (
        np.divide(1, np.sqrt(sums), where=sums > 0, out=np.zeros_like(sums))
        for sums in (rows, columns)
    )
    found = (sp.diags_array(left) @ matrix @ sp.diags_array(right)).tocsr()
    found.sort_indices()
    return found


def csr_matrix(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    return csr_tensor(
        index_tensor(matrix.indptr, _CPU),
        index_tensor(matrix.indices, _CPU),
        shared_tensor(matrix.data, _CPU, dtype),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )
