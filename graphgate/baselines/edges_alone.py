"""GATE on a graph of which only the edges are known: what attributes are worth.

It gets the structural features that `Graph` makes where there are no others; all else is GATE with
its own defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph


@dataclass(kw_only=True)
class EdgesAlone:
    """`GATE` that never sees the features of a graph.

    Parameters
    ----------
    dimensions : size of both layers.
    structure_weight, epochs : as of `GATE`.
    """

    dimensions: int = 512
    structure_weight: float = 1.0
    epochs: int = 200
    random_state: int = 0
    embedding_: np.ndarray = field(init=False, repr=False, compare=False)
    gate_: GATE = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        self.gate_ = GATE(
            (self.dimensions, self.dimensions),
            structure_weight=self.structure_weight,
            epochs=self.epochs,
            random_state=self.random_state,
            progress=False,
        ).fit(_bare(graph))
        self.embedding_ = self.gate_.embedding_
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        return self.gate_.transform(_bare(graph))


def _bare(graph: Graph) -> Graph:
    return Graph(None, graph.adjacency, ids=graph.ids, directed=graph.directed)
