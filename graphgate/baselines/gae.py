"""Graph auto-encoder: Kipf & Welling (2016), "Variational Graph Auto-Encoders".

Settings are those of the GATE paper, which ran it with 512 dimensions in both layers and chose
learning rate and epochs by sweep; all else as in the authors' program: no dropout, features as
they are, every node a neighbour of itself, pairs with and without an edge of equal weight.

Deviations. The authors compare all N² pairs in each step. Here pairs with an edge are all there,
the others are sampled anew in each step: every node with `negatives` nodes drawn from all, which
has the same mean but for the few that happen to be neighbours. Weights of edges are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, models

from graphgate.baselines.convolution import convolution_adjacency, convolution_features
from graphgate.baselines.tensors import check_features, seeded
from graphgate.graph.graph import Graph
from graphgate.nn.pattern import AttentionPattern, edge_dot


class _Encoder(nn.Module):
    def __init__(self, n_features: int, hidden: int, dimensions: int) -> None:
        super().__init__()
        self.first = GCNConv(n_features, hidden, normalize=False, bias=False)
        self.second = GCNConv(hidden, dimensions, normalize=False, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self.second(self.first(x, adjacency).relu(), adjacency)


@dataclass(kw_only=True)
class GAE:
    """Two graph convolutions whose output tells by inner products which nodes are neighbours.

    Parameters
    ----------
    hidden : size of the first layer.
    n_components : size of the embedding, D.
    negatives : random nodes that each node is compared with in a step.
    normalize : divide the features of a node by their sum.
    """

    hidden: int = 512
    n_components: int = 512
    learning_rate: float = 1e-4
    epochs: int = 100
    negatives: int = 1
    normalize: bool = False
    random_state: int = 0
    embedding_: np.ndarray = field(init=False, repr=False, compare=False)
    model_: models.GAE = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        neighbors = AttentionPattern(graph, device=torch.device("cpu"), dtype=torch.float32)
        inputs = self._inputs(graph)
        with seeded(self.random_state):
            model = self._model(graph.n_features)
            optimizer = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                optimizer.zero_grad()
                self._loss(model, inputs, neighbors).backward()
                optimizer.step()
        self.model_, self.n_features_ = model.eval(), graph.n_features
        self.embedding_ = self._embed(inputs)
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        check_features(graph, getattr(self, "n_features_", None), type(self).__name__)
        return self._embed(self._inputs(graph))

    def _model(self, n_features: int) -> models.GAE:
        return models.GAE(_Encoder(n_features, self.hidden, self.n_components))

    def _loss(
        self, model: models.GAE, inputs: tuple[Tensor, Tensor], neighbors: AttentionPattern
    ) -> Tensor:
        return reconstruction_loss(model.encode(*inputs), neighbors, self.negatives)

    def _inputs(self, graph: Graph) -> tuple[Tensor, Tensor]:
        features = convolution_features(graph, normalize=self.normalize)
        return features, convolution_adjacency(graph)

    def _embed(self, inputs: tuple[Tensor, Tensor]) -> np.ndarray:
        with torch.no_grad():
            return self.model_.encode(*inputs).numpy()


def reconstruction_loss(z: Tensor, neighbors: AttentionPattern, negatives: int) -> Tensor:
    """Half the mean cross entropy of neighbours and half that of random pairs.

    Equal, in the mean, to the authors' cross entropy over all pairs with `pos_weight` and `norm`.
    """
    n = len(z)
    apart = [
        F.softplus(torch.linalg.vecdot(z, z.index_select(0, torch.randint(n, (n,))))).mean()
        for _ in range(negatives)
    ]
    together = F.softplus(-edge_dot(neighbors, z)).mean()
    return (together + torch.stack(apart).mean()) / 2
