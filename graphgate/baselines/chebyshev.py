"""Chebyshev filters (Defferrard, Bresson & Vandergheynst, 2016, "Convolutional Neural Networks on
Graphs with Fast Localized Spectral Filtering") in the network of Kipf & Welling (2017).

Parameters: Kipf & Welling, section 5.2 and their implementation, the source of the published
numbers; the order K is that of the better row of their table 3. Departures: the largest eigenvalue
of the Laplacian is taken as 2, its upper bound, so that no eigenvalues are needed and all graphs
are scaled alike; the loss watched for early stopping excludes the penalty. Features are projected
before they are filtered, which gives the same result and never makes N×F dense.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from graphgate.baselines.inputs import as_tensor, normalized_adjacency, normalized_features
from graphgate.baselines.supervised import ReceptiveField, TwoLayers, WindowClassifier
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


@dataclass(kw_only=True, eq=False, repr=False)
class Chebyshev(WindowClassifier):
    """Two layers of Chebyshev filters.

    Parameters
    ----------
    order : K, the highest Chebyshev polynomial; a layer sees K hops.
    hidden : size of the hidden layer.
    dropout : fraction of a layer's inputs that is dropped in training.
    weight_decay : of the first layer.
    epochs : maximum number of epochs.
    window : stop when the validation loss exceeds its mean over this many epochs before.
    """

    order: int = 3

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        first = ChebyshevLayer(n_features, self.hidden, self.order)
        return TwoLayers(first, ChebyshevLayer(self.hidden, n_classes, self.order), self.dropout)

    def _hops(self) -> int:
        return max(2 * self.order, 1)

    def _inputs(self, graph: Graph, field: ReceptiveField) -> tuple[Tensor, ...]:
        scaled = -normalized_adjacency(graph, loops=False)  # 2 / 2 (1 - A) - 1
        laplacian = scaled[field.rows][:, field.rows]
        return as_tensor(normalized_features(graph)[field.rows]), as_tensor(laplacian)
