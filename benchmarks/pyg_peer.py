"""The same model composed of PyTorch Geometric's building blocks.

A `MessagePassing` layer and `torch_geometric.utils.softmax`, as its own attention layers are
made; no compiled extras, which have no wheels for this torch.
"""

# PyG reads the annotations of `Attend`, as text.
from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from benchmarks.peers import Autograd
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.losses import Loss

# By name, so that the types check with and without the library; it warns of its own use of torch.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    geometric_nn: Any = import_module("torch_geometric.nn")
    geometric_utils: Any = import_module("torch_geometric.utils")


class Attend(geometric_nn.MessagePassing):
    """Attention and mixing of one layer, like `GATConv` with GATE's formula."""

    def __init__(self) -> None:
        super().__init__(aggr="add", node_dim=0)  # the scores have no second dimension

    def attention(self, edge_index: Tensor, center: Tensor, neighbor: Tensor) -> Tensor:
        alpha: Tensor = self.edge_updater(edge_index, center=center, neighbor=neighbor)
        return alpha

    def forward(self, edge_index: Tensor, alpha: Tensor, m: Tensor) -> Tensor:
        mixed: Tensor = self.propagate(edge_index, alpha=alpha, m=m)
        return mixed

    def edge_update(
        self, center_i: Tensor, neighbor_j: Tensor, index: Tensor, size_i: int | None
    ) -> Tensor:
        scores = torch.sigmoid(center_i + neighbor_j)
        alpha: Tensor = geometric_utils.softmax(scores, index, num_nodes=size_i)
        return alpha

    def message(self, m_j: Tensor, alpha: Tensor) -> Tensor:
        return alpha.unsqueeze(-1) * m_j


class Geometric(Autograd):
    def __init__(self, graph: Graph, start: GATEModel, loss: Loss) -> None:
        super().__init__(graph, start, loss)
        self.edge_index = torch.stack([self.source, self.target])
        self.layer = Attend()

    def attention(self, m: Tensor, k: int) -> Tensor:
        return self.layer.attention(self.edge_index, m @ self.center[k], m @ self.neighbor[k])

    def mix(self, alpha: Tensor, m: Tensor) -> Tensor:
        return self.layer(self.edge_index, alpha, m)
