"""Graph attention network (Veličković et al., 2018, "Graph Attention Networks").

Parameters: section 3.3 and the authors' implementation. Departures: at most 1,000 epochs rather
than 100,000; all heads of a layer share the mask of its input dropout, and projected features are
not dropped a second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from graphgate.baselines.inputs import as_tensor, normalized_features
from graphgate.baselines.supervised import PatientClassifier, ReceptiveField, TwoLayers
from graphgate.graph.graph import Graph


@dataclass(kw_only=True, eq=False, repr=False)
class GAT(PatientClassifier):
    """Two attention layers.

    Parameters
    ----------
    hidden : size of a head of the first layer.
    heads : heads of the first layer, concatenated.
    output_heads : heads of the second layer, averaged.
    dropout : fraction of a layer's inputs and attention coefficients that is dropped in training.
    weight_decay : of all parameters.
    epochs : maximum number of epochs.
    patience : stop after this many epochs without a better loss or accuracy on validation nodes.
    """

    hidden: int = 8
    heads: int = 8
    output_heads: int = 1
    dropout: float = 0.6
    learning_rate: float = 0.005
    weight_decay: float = 5e-4

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        options = {"add_self_loops": False, "dropout": self.dropout}
        first = GATConv(n_features, self.hidden, self.heads, **options)
        width = self.heads * self.hidden
        second = GATConv(width, n_classes, self.output_heads, concat=False, **options)
        return TwoLayers(first, second, self.dropout, F.elu)

    def _inputs(self, graph: Graph, field: ReceptiveField) -> tuple[Tensor, ...]:
        loops = torch.from_numpy(np.flatnonzero(field.inner)).expand(2, -1)
        edges = field.renumbered(torch.cat([field.edges(graph), loops], dim=1))
        return as_tensor(normalized_features(graph)[field.rows]), edges
