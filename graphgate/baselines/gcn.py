"""Graph convolutional network (Kipf & Welling, 2017, "Semi-Supervised Classification with Graph
Convolutional Networks").

Settings: section 5.2 and the authors' program, which has no biases and decays only the first
layer's weights. Deviation: the loss watched for early stopping is without the weight penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from graphgate.baselines.convolution import as_tensor, normalized_adjacency, normalized_features
from graphgate.baselines.supervised import Field, WindowClassifier, dropped
from graphgate.graph.graph import Graph


class _Network(nn.Module):
    def __init__(self, n_features: int, hidden: int, n_classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.first = GCNConv(n_features, hidden, normalize=False, bias=False)
        self.second = GCNConv(hidden, n_classes, normalize=False, bias=False)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = self.first(dropped(x, self.dropout, self.training), adjacency).relu()
        return self.second(F.dropout(h, self.dropout, self.training), adjacency)


@dataclass(kw_only=True)
class GCN(WindowClassifier):
    """Two graph convolutions.

    Parameters
    ----------
    hidden : size of the hidden layer.
    dropout : share of a layer's inputs that are dropped in training.
    weight_decay : of the first layer.
    epochs : at most so many.
    window : stop when the validation loss is above its mean over so many epochs before.
    """

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        return _Network(n_features, self.hidden, n_classes, self.dropout)

    def _hops(self) -> int:
        return 2

    def _inputs(self, graph: Graph, field: Field) -> tuple[Tensor, ...]:
        adjacency = normalized_adjacency(graph, loops=True)[field.rows][:, field.rows]
        return as_tensor(normalized_features(graph)[field.rows]), as_tensor(adjacency)
