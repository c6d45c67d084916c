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

from graphgate.compute.sparse_operator import (
    CPU,
    SparseOperator,
    shared_tensor,
    sums_of,
    symmetrically_normalized,
)
from graphgate.graph.graph import Graph

Polynomial = Sequence[float]  # coefficients of 1, Â, Â² …


def restarting(steps: int, restart: float) -> Polynomial:
    """P(h; K, a): K times h ← (1 - a) Â h + a h₀."""
    return [restart * (1 - restart) ** at for at in range(steps)] + [(1 - restart) ** steps]


def averaging(steps: int, own: float) -> Polynomial:
    """M(h; K, α) = α h + (1 - α) · mean(Â h … Âᴷ h), which is S²GC (Zhu & Koniusz, 2021)."""
    return [own] + [(1 - own) / steps] * steps


def mean_weight(graph: Graph) -> float:
    """The mean weight of the edges, 1 where there are none."""
    weights = graph.adjacency.data
    return float(weights.mean(dtype=np.float64)) if len(weights) else 1.0


class Propagation:
    """Â = D^-½ (A + I) D^-½, with weights in units of `unit`; or its transpose.

    Attributes
    ----------
    attended : (N, N) the edges of the graph.
    degrees : (N,) sum of the weights at each node, in both directions, without the self-loop.
    """

    def __init__(
        self, graph: Graph, unit: float, dtype: torch.dtype, *, transposed: bool = False
    ) -> None:
        self.attended = graph.attended
        attended = in_units_of(graph.attended, unit, dtype)
        rows, columns = sums_of(attended)
        self.degrees = shared_tensor(rows + columns * graph.directed, CPU, dtype)
        loops = sp.eye_array(graph.n_nodes, format="csr", dtype=attended.dtype)
        normalized = symmetrically_normalized(attended + loops)
        self._operator = SparseOperator(normalized.T.tocsr() if transposed else normalized, dtype)

    def apply(self, h: Tensor, polynomial: Polynomial) -> Tensor:
        """Σ_k c_k Âᵏ h, for the coefficients c."""
        return dict(self.walk(h, {"": polynomial}))[""]

    def walk(
        self, h: Tensor, polynomials: Mapping[str, Polynomial]
    ) -> Iterator[tuple[str, Tensor]]:
        """Σ_k c_k Âᵏ h for each polynomial by its name, those of lowest degree first."""
        # The identity is h itself, not a copy.
        sums = {name: h if tuple(c) == (1.0,) else c[0] * h for name, c in polynomials.items()}
        walked, buffers = h, (torch.empty_like(h), torch.empty_like(h))
        for at in range(max(map(len, polynomials.values()))):
            if at:
                walked = self._operator.multiply(walked, buffers[at % 2])
            for name in list(sums):
                if at:
                    sums[name].add_(walked, alpha=polynomials[name][at])
                if at + 1 == len(polynomials[name]):
                    yield name, sums.pop(name)


def in_units_of(matrix: sp.csr_array, unit: float, dtype: torch.dtype) -> sp.csr_array:
    """A matrix divided by a number; its pattern is shared.

    In double precision, unless all entries are 1 and the results need not be in it.
    """
    values = matrix.data
    if unit != 1 or dtype == torch.float64 or not (values == 1).all():
        values = np.divide(values, unit, dtype=np.float64)
    return sp.csr_array((values, matrix.indices, matrix.indptr), matrix.shape)
