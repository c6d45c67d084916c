"""Deep graph infomax: Veličković et al. (2019), "Deep Graph Infomax".

Parameters are those of the paper and the authors' implementation for citation graphs: one graph
convolution of size 512 (256 on Pubmed), PReLU, learning rate 1e-3, stopping after 20 epochs
without a lower loss and keeping the weights of the lowest one; features of a node sum to 1.

Departures. The discriminator is initialized as in PyG and has no bias. The authors' probe has no
penalty, so the scale of the vectors hardly matters to it; it does to a probe with a penalty. So
the embedding is scaled by one number, to a length chosen by validation accuracy on Cora and
Citeseer (from 0.5 to 32 in doublings, with seeds that no table uses). Edge weights are ignored.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import DeepGraphInfomax

from graphgate.baselines.embedder import InductiveEmbedder
from graphgate.baselines.inputs import convolution_inputs, seeded
from graphgate.graph.graph import Graph


class _Network(nn.Module):
    """PReLU(Â X W + b), in two steps, X W and the rest.

    The corruption assigns features to other nodes at random. That permutes the rows of X or,
    equivalently, those of X W, so this product is computed once.
    """

    def __init__(self, n_features: int, n_components: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, n_components, bias=False)
        nn.init.xavier_uniform_(self.linear.weight)
        self.infomax = DeepGraphInfomax(
            n_components,
            encoder=_Aggregation(n_components),
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


class _Aggregation(nn.Module):
    def __init__(self, n_components: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(n_components))
        self.activation = nn.PReLU()

    def forward(self, h: Tensor, adjacency: Tensor) -> Tensor:
        return self.activation(adjacency @ h + self.bias)


@dataclass(kw_only=True, eq=False, repr=False)
class DGI(InductiveEmbedder):
    """A graph convolution that distinguishes true neighborhoods from shuffled ones.

    Parameters
    ----------
    n_components : size of the embedding, D.
    patience : stop after this many epochs without a lower loss.
    epochs : maximum number of epochs.
    length : root mean square length of the vectors in `fit`; all are scaled by one number.

    Attributes
    ----------
    scale_ : the factor that the output of the network is multiplied by.
    epochs_ : the number of epochs.
    """

    n_components: int = 512
    learning_rate: float = 1e-3
    patience: int = 20
    epochs: int = 10_000
    length: float = 4.0
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        inputs = convolution_inputs(graph, normalize=True)
        with seeded(self.random_state):
            network = _Network(graph.n_features, self.n_components)
            self.epochs_ = self._train(network, inputs)
        self.network_, self.scale_ = network, 1.0
        z = self._embed(graph)
        found = float(np.sqrt(np.square(z, dtype=np.float64).sum(axis=1).mean()))
        self.scale_ = self.length / found if found > 0 else 1.0
        return z * np.float32(self.scale_)

    def _embed(self, graph: Graph) -> np.ndarray:
        with torch.no_grad():
            z = self.network_.embed(*convolution_inputs(graph, normalize=True)).numpy()
        return z * np.float32(self.scale_)

    def _train(self, network: _Network, inputs: tuple[Tensor, Tensor]) -> int:
        """Ends with the weights of the lowest loss; returns the number of epochs."""
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        least, waited, weights = float("inf"), 0, deepcopy(network.state_dict())
        epoch = 0
        while epoch < self.epochs:
            epoch += 1
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
        return epoch
