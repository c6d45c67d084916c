"""MoNet (Monti et al., 2017, "Geometric Deep Learning on Graphs and Manifolds Using Mixture Model
CNNs") on its pseudo-coordinates for citation graphs, the inverse square roots of degrees.

Settings: the paper's section on graphs for the network; training is that of GCN and GAT, because
its own could not be looked up; of the weight decays 5e-4 and 5e-3 the latter has the better
validation accuracy.
Deviations, those of PyG's `GMMConv`: kernels average over neighbours rather than add up (adding
gave lower validation accuracy), and a node enters by weights of its own rather than a self-loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GMMConv

from graphgate.baselines.convolution import as_tensor, normalized_features
from graphgate.baselines.supervised import Field, PatientClassifier, dropped
from graphgate.graph.graph import Graph


class _Layer(nn.Module):
    """Gaussian kernels over learned coordinates tanh(A u + b) of each edge."""

    def __init__(self, n_inputs: int, n_outputs: int, kernels: int, coordinates: int) -> None:
        super().__init__()
        self.coordinates = nn.Linear(2, coordinates)
        self.convolution = GMMConv(n_inputs, n_outputs, coordinates, kernels)

    def forward(self, x: Tensor, edges: Tensor, u: Tensor) -> Tensor:
        return self.convolution(x, edges, self.coordinates(u).tanh())


class _Network(nn.Module):
    def __init__(
        self, sizes: tuple[int, int, int], kernels: int, coordinates: int, dropout: float
    ) -> None:
        super().__init__()
        n_features, hidden, n_classes = sizes
        self.dropout = dropout
        self.first = _Layer(n_features, hidden, kernels, coordinates)
        self.second = _Layer(hidden, n_classes, kernels, coordinates)

    def forward(self, x: Tensor, edges: Tensor, u: Tensor) -> Tensor:
        h = self.first(dropped(x, self.dropout, self.training), edges, u).relu()
        return self.second(F.dropout(h, self.dropout, self.training), edges, u)


@dataclass(kw_only=True)
class MoNet(PatientClassifier):
    """Two layers of Gaussian mixtures over degrees.

    Parameters
    ----------
    kernels : Gaussians a layer.
    coordinates : how many coordinates an edge has.
    hidden : size of the hidden layer.
    dropout : share of a layer's inputs that are dropped in training.
    weight_decay : of all parameters.
    epochs : at most so many.
    patience : stop after so many epochs without better loss or accuracy on the validation nodes.
    """

    kernels: int = 3
    coordinates: int = 2
    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-3

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        sizes = (n_features, self.hidden, n_classes)
        return _Network(sizes, self.kernels, self.coordinates, self.dropout)

    def _inputs(self, graph: Graph, field: Field) -> tuple[Tensor, ...]:
        # In a directed graph a node may be attended over without attending over any.
        degrees = torch.from_numpy(np.diff(graph.attended.indptr)).clamp(min=1)
        edges = field.edges(graph)
        u = degrees.float().rsqrt()[edges.flip(0)].T  # (E, 2), the attending node's first
        return as_tensor(normalized_features(graph)[field.rows]), field.renumbered(edges), u
