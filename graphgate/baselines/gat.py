"""Graph attention network (Veličković et al., 2018, "Graph Attention Networks").

Settings: section 3.3 and the authors' program. Deviations: at most 1,000 epochs rather than
100,000; all heads of a layer share the mask of its input dropout, and projected features are not
dropped a second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from graphgate.baselines.convolution import as_tensor, normalized_features
from graphgate.baselines.supervised import Field, PatientClassifier, dropped
from graphgate.graph.graph import Graph


class _Network(nn.Module):
    def __init__(
        self, sizes: tuple[int, int, int], heads: int, output_heads: int, dropout: float
    ) -> None:
        super().__init__()
        n_features, hidden, n_classes = sizes
        self.dropout = dropout
        self.first = GATConv(n_features, hidden, heads, add_self_loops=False, dropout=dropout)
        self.second = GATConv(
            heads * hidden,
            n_classes,
            output_heads,
            concat=False,
            add_self_loops=False,
            dropout=dropout,
        )

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = F.elu(self.first(dropped(x, self.dropout, self.training), edges))
        return self.second(F.dropout(h, self.dropout, self.training), edges)


@dataclass(kw_only=True)
class GAT(PatientClassifier):
    """Two attention layers.

    Parameters
    ----------
    hidden : size of a head of the first layer.
    heads : heads of the first layer, put side by side.
    output_heads : heads of the second layer, averaged.
    dropout : share of a layer's inputs and attention coefficients that are dropped in training.
    weight_decay : of all parameters.
    epochs : at most so many.
    patience : stop after so many epochs without better loss or accuracy on the validation nodes.
    """

    hidden: int = 8
    heads: int = 8
    output_heads: int = 1
    dropout: float = 0.6
    learning_rate: float = 0.005
    weight_decay: float = 5e-4

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        sizes = (n_features, self.hidden, n_classes)
        return _Network(sizes, self.heads, self.output_heads, self.dropout)

    def _inputs(self, graph: Graph, field: Field) -> tuple[Tensor, ...]:
        loops = torch.from_numpy(np.flatnonzero(field.inner)).expand(2, -1)
        edges = field.renumbered(torch.cat([field.edges(graph), loops], dim=1))
        return as_tensor(normalized_features(graph)[field.rows]), edges
