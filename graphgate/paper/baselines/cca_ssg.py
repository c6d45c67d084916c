"""Graph convolutions trained on the correlations between two random views of a graph."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.nn.models import GCN

from graphgate.compute.sparse_operator import csr_tensor, symmetrically_normalized
from graphgate.errors import InputError
from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import ScaledEmbedder
from graphgate.paper.baselines.inputs import as_tensor, convolution_inputs, seeded, step

_LEAST_VARIANCE = 1e-12  # columns that are constant become zero


@dataclass(kw_only=True, eq=False, repr=False)
class CCASSG(ScaledEmbedder):
    """CCA-SSG (Zhang et al., 2021, "From Canonical Correlation Analysis to Self-supervised Graph
    Neural Networks"): graph convolutions whose outputs for two random views of the graph agree,
    while their columns stay uncorrelated.

    A view lacks some edges, each direction drawn independently, and some features of all nodes.
    Parameters are those of the reference implementation: 512 dimensions, learning rate 1e-3,
    features of a node that sum to 1; the others by dataset, see
    graphgate/paper/experiments/cca-ssg. Edge weights are ignored.

    Departure. As for `DGI`, the embedding is scaled by one number, since a probe with a penalty is
    sensitive to it; the length is the best of 0.5 to 64 in doublings on validation nodes of Cora
    and Citeseer, with seeds that no table uses.

    Parameters
    ----------
    n_components : size of the embedding, D, and of the layers before the last.
    layers : number of graph convolutions.
    edge_drop : fraction of the edges that a view lacks.
    feature_mask : fraction of the features that a view lacks.
    decorrelation : λ, the weight of the correlations between columns.
    length : root mean square length of the vectors in `fit`; all are scaled by one number.

    Attributes
    ----------
    scale_ : the factor that the output of the network is multiplied by.
    """

    n_components: int = 512
    layers: int = 2
    learning_rate: float = 1e-3
    epochs: int = 50
    edge_drop: float = 0.4
    feature_mask: float = 0.1
    decorrelation: float = 1e-3
    length: float = 4.0
    random_state: int = 0

    def _train_network(self, graph: Graph) -> None:
        n_layers = hyperparameters.integer("layers", self.layers)
        for name in ("edge_drop", "feature_mask"):
            if not 0 <= hyperparameters.number(name, getattr(self, name)) < 1:
                raise InputError(f"{name} must be at least 0 and below 1")
        x, _ = convolution_inputs(graph, normalize=True)
        attended = sp.csr_array(graph.attended != 0, dtype=np.float32)
        with seeded(self.random_state):
            self.network_ = GCN(
                *(graph.n_features, self.n_components, n_layers, self.n_components),
                normalize=False,
            )
            optimizer = torch.optim.Adam(self.network_.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                one, two = (
                    self.network_(
                        masked_features(x, self.feature_mask),
                        dropped_adjacency(attended, self.edge_drop),
                    )
                    for _ in range(2)
                )
                step(optimizer, correlation_loss(one, two, self.decorrelation))

    @torch.no_grad()
    def _vectors(self, graph: Graph) -> np.ndarray:
        return self.network_(*convolution_inputs(graph, normalize=True)).numpy()


def masked_features(x: Tensor, fraction: float) -> Tensor:
    """(N, F) features, dense or CSR, with some columns set to zero at random."""
    keep = (torch.rand(x.shape[1]) >= fraction).to(x.dtype)
    if x.layout == torch.strided:
        return x * keep
    columns, (n, f) = x.col_indices(), x.shape
    return csr_tensor(x.crow_indices(), columns, x.values() * keep[columns], (n, f))


def dropped_adjacency(attended: sp.csr_array, fraction: float) -> Tensor:
    """D^-½ (A + I) D^-½ of the edges that remain when some are dropped at random, (N, N) CSR.

    D counts what a node attends to on the left, and what attends to it on the right.
    """
    kept = attended.copy()
    kept.data *= torch.rand(attended.nnz).numpy() >= fraction
    kept.eliminate_zeros()
    loops = sp.eye_array(attended.shape[0], dtype=np.float32, format="csr")
    return as_tensor(symmetrically_normalized(kept + loops))


def correlation_loss(one: Tensor, two: Tensor, decorrelation: float) -> Tensor:
    """-tr(C₁₂) + λ (|I - C₁₁|² + |I - C₂₂|²), where C are correlations between columns.

    As in the reference implementation; the invariance term of the paper is twice the first one, up
    to a constant.
    """
    n = len(one)
    one, two = _standardized(one), _standardized(two)
    loss = -(one * two).sum() / n
    for z in (one, two):
        correlations = z.T @ z / n
        # |I - C|² without making I: |C|² - 2 tr(C) + D
        loss = loss + decorrelation * (
            correlations.square().sum() - 2 * correlations.trace() + z.shape[1]
        )
    return loss


def _standardized(h: Tensor) -> Tensor:
    centered = h - h.mean(dim=0)
    # The reference implementation divides by N - 1 here and by N above.
    variance = centered.square().sum(dim=0) / max(len(h) - 1, 1)
    return centered / (variance + _LEAST_VARIANCE).sqrt()
