"""Graph auto-encoders, plain and variational: Kipf & Welling (2016), "Variational Graph
Auto-Encoders".

Parameters are those of the GATE paper, which used 512 dimensions in both layers and chose learning
rate and epochs by sweep; the rest is as in the authors' implementation: no dropout, unscaled
features, every node a neighbor of itself, pairs with and without an edge of equal weight.

Departures. The authors compare all N² pairs in each step. Here the pairs with an edge are complete,
and the others are sampled in each step: every node with `negatives` nodes drawn from all, which
has the same mean except for the few that happen to be neighbors. Edge weights are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, models

from graphgate.baselines.embedder import InductiveEmbedder
from graphgate.baselines.inputs import convolution_inputs, seeded
from graphgate.graph.graph import Graph
from graphgate.nn.pattern import AttentionPattern, edge_dot


class _Encoder(nn.Module):
    """One output per name, all from the same first layer; a single one is not in a tuple."""

    def __init__(self, n_features: int, hidden: int, n_components: int, *outputs: str) -> None:
        super().__init__()
        self.first = GCNConv(n_features, hidden, normalize=False, bias=False)
        self.outputs = nn.ModuleDict(
            {name: GCNConv(hidden, n_components, normalize=False, bias=False) for name in outputs}
        )

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor | tuple[Tensor, ...]:
        h = self.first(x, adjacency).relu()
        found = tuple(layer(h, adjacency) for layer in self.outputs.values())
        return found[0] if len(found) == 1 else found


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(InductiveEmbedder):
    """Two graph convolutions whose output predicts edges by inner products.

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

    def _learn(self, graph: Graph) -> np.ndarray:
        pattern = AttentionPattern(graph, device=torch.device("cpu"), dtype=torch.float32)
        inputs = convolution_inputs(graph, normalize=self.normalize)
        with seeded(self.random_state):
            model = self._model(graph.n_features)
            optimizer = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                optimizer.zero_grad()
                self._loss(model, inputs, pattern).backward()
                optimizer.step()
        self.model_ = model.eval()
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        with torch.no_grad():
            inputs = convolution_inputs(graph, normalize=self.normalize)
            return self.model_.encode(*inputs).numpy()

    def _model(self, n_features: int) -> models.GAE:
        return models.GAE(_Encoder(n_features, self.hidden, self.n_components, "z"))

    def _loss(
        self, model: models.GAE, inputs: tuple[Tensor, Tensor], pattern: AttentionPattern
    ) -> Tensor:
        return reconstruction_loss(model.encode(*inputs), pattern, self.negatives)


@dataclass(kw_only=True, eq=False, repr=False)
class VGAE(GAE):
    """`GAE` that learns a normal distribution per node, kept close to the standard one.

    The embedding is the mean of a node's distribution.
    """

    def _model(self, n_features: int) -> models.VGAE:
        sizes = (n_features, self.hidden, self.n_components)
        return models.VGAE(_Encoder(*sizes, "mean", "log_std"))

    def _loss(
        self, model: models.VGAE, inputs: tuple[Tensor, Tensor], pattern: AttentionPattern
    ) -> Tensor:
        z = model.encode(*inputs)
        return reconstruction_loss(z, pattern, self.negatives) + model.kl_loss() / len(z)


def reconstruction_loss(z: Tensor, pattern: AttentionPattern, negatives: int) -> Tensor:
    """Half the mean cross entropy of neighbors plus half that of random pairs.

    Equal, on average, to the authors' cross entropy over all pairs with `pos_weight` and `norm`.
    """
    n = len(z)
    apart = [
        F.softplus(torch.linalg.vecdot(z, z.index_select(0, torch.randint(n, (n,))))).mean()
        for _ in range(negatives)
    ]
    together = F.softplus(-edge_dot(pattern, z)).mean()
    return (together + torch.stack(apart).mean()) / 2
