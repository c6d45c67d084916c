"""The features themselves, without any graph: what every embedding has to beat.

The paper takes its numbers from Veličković et al. (2019, "Deep Graph Infomax"), whose features
have rows that add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from graphgate.baselines.tensors import feature_tensor
from graphgate.graph.graph import Graph


@dataclass(kw_only=True)
class RawFeatures:
    """Every node is its features, (N, F).

    Parameters
    ----------
    normalize : divide the features of a node by their sum.
    random_state : not used; nothing here is random.
    """

    normalize: bool = True
    random_state: int = 0
    embedding_: np.ndarray = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        self.embedding_ = self.transform(graph)
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        return feature_tensor(graph, normalize=self.normalize).numpy()
