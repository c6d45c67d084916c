"""DeepWalk beside the features, the "DeepWalk + features" of Veličković et al. (2019, "Deep Graph
Infomax"), where the paper takes its numbers from.

Deviation: their setting of DeepWalk is not told, so it is that of `deepwalk`; their features have
rows that add up to 1, and so have these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from graphgate.baselines.deepwalk import DeepWalk
from graphgate.baselines.tensors import feature_tensor
from graphgate.graph import Graph


@dataclass(kw_only=True)
class DeepWalkFeatures(DeepWalk):
    """The embedding of `DeepWalk` and after it the features, (N, D + F).

    Parameters
    ----------
    normalize : divide the features of a node by their sum.
    """

    normalize: bool = True

    def fit(self, graph: Graph) -> Self:
        features = feature_tensor(graph, normalize=self.normalize).numpy()
        self.embedding_ = np.hstack([self._embed(graph), features])
        return self
