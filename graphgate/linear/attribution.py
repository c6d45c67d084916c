"""What views and sources contribute to the similarity of two nodes.

A vector is a sum over views, and every view of features is, up to the length of its row, a linear
function of the features of all nodes. So it is a sum over sources as well. What reaches a node from
all others follows from one walk that starts at this node alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import Coordinates
from graphgate.linear.model import POLYNOMIALS, LinearModel
from graphgate.linear.propagation import Propagation

STRUCTURE = "(structure)"  # what structure factors are made of, among the names of sources
Part = tuple[str, str]  # names of a view and of a source


@dataclass(frozen=True)
class SimilarityParts:
    """The cosine similarity of two nodes, and what it is made of.

    cosine : of their vectors.
    parts : by view and source, which add up to it. Negative where two nodes differ.
    """

    cosine: float
    parts: Mapping[Part, float]

    @property
    def views(self) -> dict[str, float]:
        """What each view contributes."""
        return self._sums(0)

    @property
    def sources(self) -> dict[str, float]:
        """What each source contributes; structure factors are "(structure)"."""
        return self._sums(1)

    def __str__(self) -> str:
        return "; ".join(map(_listed, (self.views, self.sources)))

    def _sums(self, at: int) -> dict[str, float]:
        sums: dict[str, float] = {}
        for part, value in self.parts.items():
            sums[part[at]] = sums.get(part[at], 0.0) + value
        return sums


def _listed(values: Mapping[str, float], most: int = 5) -> str:
    """Largest magnitudes first, and the sum of the others."""
    order = sorted(values, key=lambda name: -abs(values[name]))
    named = [f"{name} {values[name]:+.2f}" for name in order[:most]]
    others = sum(values[name] for name in order[most:])
    return ", ".join(named + [f"others {others:+.2f}"] * (len(order) > most))


def similarity_parts(
    model: LinearModel, graph: Graph, row: int, others: Sequence[int]
) -> list[SimilarityParts]:
    """What the cosine of a node with each of some others is made of.

    A part is the mean of two inner products: of what it adds to the vector of the one node with the
    whole vector of the other, and the other way round.
    """
    parts = contributions(model, graph, np.array([row, *others]))
    vectors = sum(parts.values(), torch.zeros(()))
    lengths = torch.linalg.vector_norm(vectors, dim=1, keepdim=True).clamp_min(1e-30)
    unit, parts = vectors / lengths, {name: part / lengths for name, part in parts.items()}
    values = {
        name: ((unit[1:] @ part[0] + part[1:] @ unit[0]) / 2).tolist()
        for name, part in parts.items()
    }
    cosines = (unit[1:] @ unit[0]).tolist()
    return [
        SimilarityParts(cosine, {name: value[at] for name, value in values.items()})
        for at, cosine in enumerate(cosines)
    ]


def contributions(model: LinearModel, graph: Graph, rows: np.ndarray) -> dict[Part, Tensor]:
    """(m, D) of every view and source, which add up to the vectors of these rows of a graph."""
    dtype, n = model.projection.dtype, graph.n_nodes
    start = torch.zeros(n, len(rows), dtype=dtype)
    start[torch.from_numpy(rows), torch.arange(len(rows))] = 1.0
    reaching = dict(Propagation(graph, model.unit, dtype, transposed=True).walk(start, POLYNOMIALS))
    features = model.coordinates.source(graph.x).matrix
    names = [source.name for source in model.coordinates.sources]
    width = len(model.coordinates.center)
    after, added = 0, {}
    for view in model.weights:
        if view in reaching:
            q = reaching[view].contiguous()
            sums = features.multiply_transposed(q, q.new_empty(features.shape[1], len(rows)))
            states = _by_source(model.coordinates, sums, q.sum(dim=0))
            sources, columns = names, width
        else:
            assert model.structure is not None
            factors = model.structure.of(graph, Columns(n, dtype)).whole()
            states = [factors[torch.from_numpy(rows)]]
            sources, columns = [STRUCTURE], factors.shape[1]
        projection = model.projection[after : after + columns]
        for source, block in zip(sources, model.views.blocks(view, states), strict=True):
            added[view, source] = block @ projection
        after += columns
    return added


def _by_source(coordinates: Coordinates, sums: Tensor, total: Tensor) -> list[Tensor]:
    """(m, r) coordinates that come from each source.

    sums : (F, m) of the weighted features of all nodes, each times what reaches a node from it.
    total : (m,) of what reaches a node.
    """
    v, center = coordinates.components, coordinates.center
    # VᵀV = I, so what the mean would have of a source is that source's rows of V times it.
    apart = sums - torch.outer(center if v is None else v @ center, total)
    states = []
    for number in range(len(coordinates.sources)):
        own = torch.from_numpy(coordinates.places == number)
        states.append(
            torch.where(own[:, None], apart, 0.0).T if v is None else apart[own].T @ v[own]
        )
    return states
