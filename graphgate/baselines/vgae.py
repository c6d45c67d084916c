"""Variational graph auto-encoder: Kipf & Welling (2016), "Variational Graph Auto-Encoders".

Settings and deviations are those of `gae`. The embedding is the mean of a node's distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch_geometric.nn import GCNConv, models

from graphgate.baselines.gae import GAE, reconstruction_loss
from graphgate.nn.pattern import AttentionPattern


class _Encoder(nn.Module):
    """Means and logarithms of the deviations; both see the same first layer."""

    def __init__(self, n_features: int, hidden: int, dimensions: int) -> None:
        super().__init__()
        self.first = GCNConv(n_features, hidden, normalize=False, bias=False)
        self.mean = GCNConv(hidden, dimensions, normalize=False, bias=False)
        self.log_deviation = GCNConv(hidden, dimensions, normalize=False, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> tuple[Tensor, Tensor]:
        h = self.first(x, adjacency).relu()
        return self.mean(h, adjacency), self.log_deviation(h, adjacency)


@dataclass(kw_only=True)
class VGAE(GAE):
    """`GAE` that learns a normal distribution for each node, held near the standard one."""

    def _model(self, n_features: int) -> models.VGAE:
        return models.VGAE(_Encoder(n_features, self.hidden, self.n_components))

    def _loss(
        self, model: models.VGAE, inputs: tuple[Tensor, Tensor], neighbors: AttentionPattern
    ) -> Tensor:
        z = model.encode(*inputs)
        return reconstruction_loss(z, neighbors, self.negatives) + model.kl_loss() / len(z)
