"""Features in few columns, and their averages over neighborhoods: embeddings without training."""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.preprocessing import normalize
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.draws import Draws
from graphgate.errors import InputError
from graphgate.estimators import hyperparameters
from graphgate.estimators.base import inner_products
from graphgate.graph.graph import Graph
from graphgate.linear.coordinates import Coordinates
from graphgate.linear.linear_plan import Sizes
from graphgate.linear.propagation import Propagation, averaging, mean_weight
from graphgate.paper.baselines.contract import InductiveEmbedder

# steps -> the weight of a node's own coordinates
_OWN = {2: 0.33, 16: 0.05}


@dataclass(kw_only=True, eq=False, repr=False)
class RawSVD(InductiveEmbedder):
    """The features of a node in at most 512 columns: a baseline for every method that uses edges.

    Counts and binary features are weighted by tf-idf, with rows of length 1; other features are
    divided by the largest magnitude. More than 512 features are projected onto their leading
    singular vectors, without centering. Edges are ignored.

    Parameters
    ----------
    random_state : seed of the randomized SVD, which is used with more than 512 features.

    Attributes
    ----------
    coordinates_ : the fitted map from features to columns.
    """

    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        draws = Draws(hyperparameters.seed(self.random_state))
        engine = Columns(graph.n_nodes, torch.float32)
        self.coordinates_, _ = Coordinates.fit(graph.x, engine, Sizes().coordinates, draws)
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        z = self.coordinates_.transform(graph.x) + self.coordinates_.center
        return self._spread(z, graph).numpy()

    def pair_scores(self, pairs: np.ndarray) -> np.ndarray:
        """Cosine similarities: the lengths of untrained vectors carry no information."""
        return inner_products(normalize(self.embedding_), pairs)

    def _spread(self, z: Tensor, graph: Graph) -> Tensor:
        """(N, D) vectors for the (N, D) coordinates of the nodes of a graph."""
        return z


@dataclass(kw_only=True, eq=False, repr=False)
class Smoothing(RawSVD):
    """Simple spectral graph convolution (Zhu & Koniusz, 2021): the vectors of `RawSVD`, averaged
    over walks of up to K steps, αz + (1 - α) · mean(Az … Aᴷz) with A = D^-½ (A + I) D^-½.

    Weights of edges count in proportion to their mean in `fit`. Departure: the paper smooths the
    features and trains a linear classifier on them, here the embedding is compared like any other.

    Parameters
    ----------
    steps : K, the length of the longest walk.
    own : α, the weight of a node's own coordinates; None is 0.33 for 2 steps and 0.05 for 16, and
        has no value for other numbers of steps.

    Attributes
    ----------
    unit_ : the mean weight of the edges in `fit`.
    """

    steps: int = 2
    own: float | None = None

    def _learn(self, graph: Graph) -> np.ndarray:
        self._parameters()  # refused before anything is computed
        self.unit_ = mean_weight(graph)
        return super()._learn(graph)

    def _spread(self, z: Tensor, graph: Graph) -> Tensor:
        steps, own = self._parameters()
        operator = Propagation(graph, self.unit_, z.dtype)
        return operator.apply(z, averaging(steps, own))

    def _parameters(self) -> tuple[int, float]:
        steps = hyperparameters.integer("steps", self.steps)
        if self.own is None and steps not in _OWN:
            raise InputError(
                f"own has a default for {' and '.join(map(str, _OWN))} steps only; pass own=, the "
                f"weight of a node's own coordinates, for {steps}"
            )
        own = _OWN[steps] if self.own is None else hyperparameters.number("own", self.own)
        if not 0 <= own <= 1:
            raise InputError(f"own must be between 0 and 1, got {own}")
        return steps, own
