"""The features themselves, without the graph: what every embedding has to beat.

The paper takes its numbers from Veličković et al. (2019, "Deep Graph Infomax"), who scale the
features of a node to sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphgate.baselines.embedder import InductiveEmbedder
from graphgate.baselines.inputs import dense_features
from graphgate.graph.graph import Graph


@dataclass(kw_only=True, eq=False, repr=False)
class RawFeatures(InductiveEmbedder):
    """The features of a node as its vector, (N, F).

    Parameters
    ----------
    normalize : divide the features of a node by their sum.
    random_state : not used; nothing here is random.
    """

    normalize: bool = True
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        return dense_features(graph, normalize=self.normalize).numpy()
