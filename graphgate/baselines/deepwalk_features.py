"""DeepWalk beside the features, the "DeepWalk + features" of Veličković et al. (2019, "Deep Graph
Infomax"), where the paper takes its numbers from.

Deviations. Their setting of DeepWalk is not told, so it is that of `deepwalk`. Their probe has no
penalty, so that it does not matter to it how long the vectors are; to a probe with a penalty it
does, and features whose rows add up to 1 would be nothing beside the vectors of walks. So both
parts have rows of length 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.preprocessing import normalize

from graphgate.baselines.deepwalk import DeepWalk
from graphgate.baselines.tensors import feature_tensor
from graphgate.graph.graph import Graph


@dataclass(kw_only=True)
class DeepWalkFeatures(DeepWalk):
    """The embedding of `DeepWalk` and after it the features, (N, D + F), each of length 1."""

    def fit(self, graph: Graph) -> Self:
        features = feature_tensor(graph, normalize=False).numpy()
        self.embedding_ = np.hstack([normalize(self._embed(graph)), normalize(features)])
        return self
