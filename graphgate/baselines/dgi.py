"""Deep graph infomax: Veličković et al. (2019), "Deep Graph Infomax".

Settings are those of the paper and the authors' program for citation graphs: one graph
convolution of 512 (256 on Pubmed), PReLU, learning rate 1e-3, stop when the loss has not fallen
for 20 epochs and keep the weights of its least value; features have rows that add up to 1.

Deviations. The discriminator starts as in PyG and has no bias. The authors' probe has no penalty,
so that it hardly matters to it how long the vectors are; to a probe with a penalty it does. So the
embedding is scaled by one number, to a length that was chosen by validation accuracy on Cora and
Citeseer (of 0.5 to 32 in doublings, with seeds that no table uses). Weights of edges are ignored.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import DeepGraphInfomax

from graphgate.baselines.convolution import convolution_adjacency, convolution_features
from graphgate.baselines.tensors import check_features, seeded
from graphgate.graph.graph import Graph


class _Network(nn.Module):
    """PReLU(Â X W + b), in two steps, X W and the rest.

    The corruption takes features from other nodes at random. That is to permute the rows of X, or
    just as well those of X W, so that this product is needed once.
    """

    def __init__(self, n_features: int, dimensions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, dimensions, bias=False)
        nn.init.xavier_uniform_(self.linear.weight)
        self.infomax = DeepGraphInfomax(
            dimensions,
            encoder=_Neighborhood(dimensions),
            summary=lambda z, *_: z.mean(dim=0).sigmoid(),
            corruption=lambda h, adjacency: (
                h.index_select(0, torch.randperm(len(h))),
                adjacency,
            ),
        )

    def loss(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self.infomax.loss(*self.infomax(self.linear(x), adjacency))

    def embed(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self.infomax.encoder(self.linear(x), adjacency)


class _Neighborhood(nn.Module):
    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(dimensions))
        self.activation = nn.PReLU()

    def forward(self, h: Tensor, adjacency: Tensor) -> Tensor:
        return self.activation(adjacency @ h + self.bias)


@dataclass(kw_only=True)
class DGI:
    """A graph convolution that tells true neighbourhoods from shuffled ones by the graph's mean.

    Parameters
    ----------
    n_components : size of the embedding, D.
    patience : stop when the loss has not fallen for so many epochs.
    epochs : at most so many.
    length : root mean square length of the vectors of training; all are scaled by one number.

    Attributes
    ----------
    scale_ : what the output of the network is multiplied by.
    epochs_ : how many epochs were run.
    """

    n_components: int = 512
    learning_rate: float = 1e-3
    patience: int = 20
    epochs: int = 10_000
    length: float = 4.0
    random_state: int = 0
    embedding_: np.ndarray = field(init=False, repr=False, compare=False)
    network_: _Network = field(init=False, repr=False, compare=False)
    scale_: float = field(init=False, repr=False, compare=False)
    epochs_: int = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        inputs = _inputs(graph)
        with seeded(self.random_state):
            self.network_ = self._train(_Network(graph.n_features, self.n_components), inputs)
        self.n_features_ = graph.n_features
        z = self._embed(inputs)
        found = float(np.sqrt(np.square(z, dtype=np.float64).sum(axis=1).mean()))
        self.scale_ = self.length / found if found > 0 else 1.0
        self.embedding_ = z * np.float32(self.scale_)
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        check_features(graph, getattr(self, "n_features_", None), "DGI")
        return self._embed(_inputs(graph)) * np.float32(self.scale_)

    def _train(self, network: _Network, inputs: tuple[Tensor, Tensor]) -> _Network:
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        least, waited, weights = float("inf"), 0, deepcopy(network.state_dict())
        for epoch in range(1, self.epochs + 1):
            self.epochs_ = epoch
            optimizer.zero_grad()
            loss = network.loss(*inputs)
            if loss.item() < least:
                least, waited, weights = loss.item(), 0, deepcopy(network.state_dict())
            else:
                waited += 1
            if waited == self.patience:
                break
            loss.backward()
            optimizer.step()
        network.load_state_dict(weights)
        return network

    def _embed(self, inputs: tuple[Tensor, Tensor]) -> np.ndarray:
        with torch.no_grad():
            return self.network_.embed(*inputs).numpy()


def _inputs(graph: Graph) -> tuple[Tensor, Tensor]:
    return convolution_features(graph, normalize=True), convolution_adjacency(graph)
