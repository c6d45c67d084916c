"""Stochastic training of graph convolutions (Chen, Zhu & Song, 2018, "Stochastic Training of Graph
Convolutional Networks with Variance Reduction"), in the form CVD+PP.

The first aggregation is precomputed (PP). In the second, each labelled node samples a few of its
neighbors; the others are replaced by their most recent activations (control variates, CV), except
for the contribution of dropout, which is scaled by the square root of the sampling rate (CVD). As
in the authors' implementation, gradients flow through the latter only.

Parameters: the authors' implementation, which has no biases, decays only the weights of the first
layer and samples one neighbor (a node is also its own neighbor). Its batches of 1,000 contain all
labelled nodes of the datasets, so here there is always a single batch. Departures: scores are
exact rather than approximated from stored activations; the loss watched for early stopping
excludes the penalty.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import Linear

from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.inputs import as_tensor, normalized_adjacency, normalized_features
from graphgate.paper.baselines.supervised import (
    LabelledPart,
    ReceptiveField,
    WindowClassifier,
    dropped,
)


class _Network(nn.Module):
    """A p W1 through ReLU, times W2, where p = A x."""

    def __init__(self, n_features: int, hidden: int, n_classes: int) -> None:
        super().__init__()
        self.first = Linear(n_features, hidden, bias=False, weight_initializer="glorot")
        self.second = Linear(hidden, n_classes, bias=False, weight_initializer="glorot")

    def forward(self, p: Tensor, adjacency: Tensor) -> Tensor:
        return self.second(adjacency @ self.first(p).relu())


def _matrix(tensor: Tensor) -> sp.csr_array:
    parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
    return sp.csr_array(tuple(part.numpy() for part in parts), tuple(tensor.shape))


def sample_neighbors(
    adjacency: sp.csr_array, count: int, rng: np.random.Generator
) -> tuple[sp.csr_array, np.ndarray]:
    """At most `count` entries of each row, scaled so that their expectation is the whole row.

    Returns them and the scale of each row.
    """
    sizes = np.diff(adjacency.indptr)
    row = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rng.random(adjacency.nnz), row))
    rank = np.arange(adjacency.nnz) - np.repeat(adjacency.indptr[:-1], sizes)
    kept = order[rank < count]
    scale = np.maximum(sizes / count, 1)
    values = adjacency.data[kept] * scale[row[kept]]
    return sp.csr_array((values, (row[kept], adjacency.indices[kept])), adjacency.shape), scale


@dataclass(kw_only=True, eq=False, repr=False)
class StoGCN(WindowClassifier):
    """Two graph convolutions, the second on sampled neighbors with control variates.

    Parameters
    ----------
    neighbors : neighbors that are sampled per node.
    hidden : size of the hidden layer.
    dropout : fraction of a layer's inputs that is dropped in training.
    weight_decay : of the first layer.
    epochs : maximum number of epochs.
    window : stop when the validation loss exceeds its mean over this many epochs before.
    """

    neighbors: int = 1
    hidden: int = 32

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        return _Network(n_features, self.hidden, n_classes)

    def _hops(self) -> int:
        return 1

    def _inputs(self, graph: Graph, field: ReceptiveField) -> tuple[Tensor, ...]:
        adjacency = normalized_adjacency(graph, loops=True)
        p = adjacency[field.rows] @ normalized_features(graph)
        return as_tensor(p), as_tensor(adjacency[field.rows][:, field.rows])

    def _objective(self, network: nn.Module, train: LabelledPart) -> Callable[[], Tensor]:
        assert isinstance(network, _Network)
        p, adjacency = (_matrix(tensor) for tensor in train.inputs)
        batch = train.rows.numpy()
        rows = adjacency[batch]
        whole = as_tensor(rows)
        rng = np.random.default_rng(hyperparameters.seed(self.random_state))
        history = torch.zeros(p.shape[0], self.hidden)

        def loss() -> Tensor:
            sampled, scale = sample_neighbors(rows, self.neighbors, rng)
            met = np.unique(np.concatenate([batch, sampled.indices]))
            nodes = torch.from_numpy(met)
            inputs = as_tensor(p[met])
            with torch.no_grad():
                mean = network.first(inputs).relu()  # without dropout
            h = network.first(dropped(inputs, self.dropout, True)).relu()
            part = sampled[:, met]
            change = as_tensor(part) @ (mean - history.index_select(0, nodes))
            noise = as_tensor(sp.diags_array(1 / np.sqrt(scale)) @ part) @ (h - mean)
            z = whole @ history + change + noise
            history.index_copy_(0, nodes, mean)
            return F.cross_entropy(network.second(F.dropout(z, self.dropout)), train.labels)

        return loss
