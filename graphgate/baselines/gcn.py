"""Graph convolutional network (Kipf & Welling, 2017, "Semi-Supervised Classification with Graph
Convolutional Networks").

Parameters: section 5.2 and the authors' implementation, which has no biases and decays only the
weights of the first layer. Departure: the loss watched for early stopping excludes the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from graphgate.baselines.inputs import as_tensor, normalized_adjacency, normalized_features
from graphgate.baselines.supervised import ReceptiveField, TwoLayers, WindowClassifier
from graphgate.graph.graph import Graph


@dataclass(kw_only=True, eq=False, repr=False)
class GCN(WindowClassifier):
    """Two graph convolutions.

    Parameters
    ----------
    hidden : size of the hidden layer.
    dropout : fraction of a layer's inputs that is dropped in training.
    weight_decay : of the first layer.
    epochs : maximum number of epochs.
    window : stop when the validation loss exceeds its mean over this many epochs before.
    """

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        first = GCNConv(n_features, self.hidden, normalize=False, bias=False)
        second = GCNConv(self.hidden, n_classes, normalize=False, bias=False)
        return TwoLayers(first, second, self.dropout)

    def _hops(self) -> int:
        return 2

    def _inputs(self, graph: Graph, field: ReceptiveField) -> tuple[Tensor, ...]:
        adjacency = normalized_adjacency(graph, loops=True)[field.rows][:, field.rows]
        return as_tensor(normalized_features(graph)[field.rows]), as_tensor(adjacency)
