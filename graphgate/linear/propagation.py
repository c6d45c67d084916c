"""Smoothing of node vectors along edges.

Row i of the operator holds the nodes that i attends to, as everywhere: an edge j -> i makes i
attend to j. A weight counts in proportion to the mean weight of the graph that the estimator was
fitted on, which is also the weight of the self-loop, so the unit of weights does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.nn.pattern import shared_tensor
from graphgate.training.sparse_operator import SparseOperator

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
        self.dtype = dtype
        attended = in_units_of(graph.attended, unit, dtype)
        rows, columns = _sums(attended)
        self.degrees = shared_tensor(rows + columns * graph.directed, _CPU, dtype)
        loops = sp.eye_array(graph.n_nodes, format="csr", dtype=attended.dtype)
        self._operator = SparseOperator(symmetrically_normalized(attended + loops), dtype)

    def step(self, h: Tensor, out: Tensor | None = None) -> Tensor:
        return self._operator.multiply(h, out)

    def smooth(self, h: Tensor, steps: int, restart: float) -> Tensor:
        """`steps` times: h ← (1 - restart) A h + restart · (the initial h)."""
        return dict(self.walk(h, {"smooth": restarting(steps, restart)}))["smooth"]

    def average(self, h: Tensor, steps: int, own: float) -> Tensor:
        """own · h + (1 - own) · mean(A h … A^steps h), which is S²GC (Zhu & Koniusz, 2021)."""
        return dict(self.walk(h, {"average": averaging(steps, own)}))["average"]

    def walk(
        self, h: Tensor, polynomials: Mapping[str, Sequence[float]]
    ) -> Iterator[tuple[str, Tensor]]:
        """Σ_k c_k A^k h for each list of coefficients c, by name, the shortest ones first."""
        sums = {name: c[0] * h for name, c in polynomials.items()}
        walked, buffers = h, (torch.empty_like(h), torch.empty_like(h))
        for at in range(1, max(map(len, polynomials.values()))):
            walked = self.step(walked, buffers[at % 2])
            for name in list(sums):
                sums[name].add_(walked, alpha=polynomials[name][at])
                if at + 1 == len(polynomials[name]):
                    yield name, sums.pop(name)


def restarting(steps: int, restart: float) -> list[float]:
    """The coefficients of `Propagation.smooth`."""
    return [restart * (1 - restart) ** at for at in range(steps)] + [(1 - restart) ** steps]


def averaging(steps: int, own: float) -> list[float]:
    """The coefficients of `Propagation.average`."""
    return [own] + [(1 - own) / steps] * steps


def in_units_of(matrix: sp.csr_array, unit: float, dtype: torch.dtype) -> sp.csr_array:
    """A matrix divided by a number; its pattern is shared.

    In double precision, unless all entries are 1 and the results need not be in it.
    """
    values = matrix.data
    if unit != 1 or dtype == torch.float64 or not (values == 1).all():
        values = np.divide(values, unit, dtype=np.float64)
    return sp.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)


def symmetrically_normalized(matrix: sp.csr_array) -> sp.csr_array:
    """Every entry divided by the square roots of the sums of its row and of its column."""
    left, right = (
        np.divide(1, np.sqrt(sums), where=sums > 0, out=np.zeros_like(sums)).astype(matrix.dtype)
        for sums in _sums(matrix)
    )
    values = matrix.data * right[matrix.indices]
    values *= np.repeat(left, np.diff(matrix.indptr))
    found = sp.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)
    found.sort_indices()
    return found


def _sums(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Of every row and of every column, in double precision."""
    ones = np.ones(matrix.shape[0])
    return matrix @ ones, matrix.T @ ones
