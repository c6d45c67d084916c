"""Chebyshev filters (Defferrard, Bresson & Vandergheynst, 2016, "Convolutional Neural Networks on
Graphs with Fast Localized Spectral Filtering") in the network of Kipf & Welling (2017).

Settings: Kipf & Welling, section 5.2 and their program, whence the published numbers come; the
order K is that of the better row of their table 3. Deviations: the largest eigenvalue of the
Laplacian is taken as 2, its upper bound, so that graphs need no eigenvalues and scale alike; the
loss watched for early stopping is without the weight penalty. Features are projected before they
are filtered, which gives the same and never makes N×F dense.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from graphgate.baselines.convolution import as_tensor, normalized_adjacency, normalized_features
from graphgate.baselines.supervised import Field, WindowClassifier, dropped
from graphgate.graph.graph import Graph


class ChebyshevLayer(nn.Module):
    """Σ_k T_k(L) x W_k for k = 0 … K, where L is the Laplacian scaled to [-1, 1]."""

    def __init__(self, n_inputs: int, n_outputs: int, order: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(order + 1, n_outputs, n_inputs))
        glorot(self.weights)

    def forward(self, x: Tensor, laplacian: Tensor) -> Tensor:
        """Clenshaw's recurrence: b_k = x W_k + 2 L b_k+1 - b_k+2, from the last k down."""
        projected = F.linear(x, self.weights.flatten(0, 1))
        first, *rest = projected.chunk(len(self.weights), dim=1)
        b = after = torch.zeros_like(first)
        for y in reversed(rest):
            b, after = y + 2 * (laplacian @ b) - after, b
        return first + laplacian @ b - after


class _Network(nn.Module):
    def __init__(self, sizes: tuple[int, int, int], order: int, dropout: float) -> None:
        super().__init__()
        n_features, hidden, n_classes = sizes
        self.dropout = dropout
        self.first = ChebyshevLayer(n_features, hidden, order)
        self.second = ChebyshevLayer(hidden, n_classes, order)

    def forward(self, x: Tensor, laplacian: Tensor) -> Tensor:
        h = self.first(dropped(x, self.dropout, self.training), laplacian).relu()
        return self.second(F.dropout(h, self.dropout, self.training), laplacian)


@dataclass(kw_only=True)
class Chebyshev(WindowClassifier):
    """Two layers of Chebyshev filters.

    Parameters
    ----------
    order : K, the highest Chebyshev polynomial; a layer sees K hops.
    hidden : size of the hidden layer.
    dropout : share of a layer's inputs that are dropped in training.
    weight_decay : of the first layer.
    epochs : at most so many.
    window : stop when the validation loss is above its mean over so many epochs before.
    """

    order: int = 3

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        return _Network((n_features, self.hidden, n_classes), self.order, self.dropout)

    def _hops(self) -> int:
        return max(2 * self.order, 1)

    def _inputs(self, graph: Graph, field: Field) -> tuple[Tensor, ...]:
        scaled = -normalized_adjacency(graph, loops=False)  # 2 / 2 (1 - A) - 1
        laplacian = scaled[field.rows][:, field.rows]
        return as_tensor(normalized_features(graph)[field.rows]), as_tensor(laplacian)
