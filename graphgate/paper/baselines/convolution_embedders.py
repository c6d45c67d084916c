"""Graph convolutions trained without labels, each in a step over the whole graph.

Edge weights are ignored, and every node is a neighbor of itself.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import DeepGraphInfomax, GCNConv, models

from graphgate.graph.graph import Graph
from graphgate.nn.pattern import AttentionPattern, edge_dot
from graphgate.paper.baselines.contract import InductiveEmbedder, ScaledEmbedder
from graphgate.paper.baselines.inputs import convolution_inputs, seeded, step


class _Encoder(nn.Module):
    """One output per name, all from the same first layer; a single one is not in a tuple."""

    def __init__(self, n_features: int, hidden: int, n_components: int, *outputs: str) -> None:
        super().__init__()
        self.first = GCNConv(n_features, hidden, normalize=False, bias=False)
        self.outputs = nn.ModuleDict(
            {name: GCNConv(hidden, n_components, normalize=False, bias=False) for name in outputs}
        )

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor | tuple[Tensor, ...]:
        h = self.first(x, adjacency).relu()
        outputs = tuple(layer(h, adjacency) for layer in self.outputs.values())
        return outputs[0] if len(outputs) == 1 else outputs


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(InductiveEmbedder):
    """Graph auto-encoder (Kipf & Welling, 2016, "Variational Graph Auto-Encoders"): two graph
    convolutions whose output predicts edges by inner products.

    Parameters are those of the GATE paper, which used 512 dimensions in both layers and chose
    learning rate and epochs by sweep; the rest is as in the authors' implementation: no dropout,
    unscaled features, every node a neighbor of itself, pairs with and without an edge of equal
    weight.

    Departures. The authors compare all N² pairs in each step. Here the pairs with an edge are
    complete, and the others are sampled in each step: every node with `negatives` nodes drawn from
    all, which has the same mean except for the few that happen to be neighbors.

    Parameters
    ----------
    hidden : size of the first layer.
    n_components : size of the embedding, D.
    negatives : random nodes that each node is compared with in a step.
    normalize : divide the features of a node by their sum.
    """

    hidden: int = 512
    n_components: int = 512
    learning_rate: float = 1e-4
    epochs: int = 100
    negatives: int = 1
    normalize: bool = False
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        pattern = AttentionPattern(graph, device=torch.device("cpu"), dtype=torch.float32)
        inputs = convolution_inputs(graph, normalize=self.normalize)
        with seeded(self.random_state):
            model = self._model(graph.n_features)
            optimizer = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                step(optimizer, self._loss(model, inputs, pattern))
        self.model_ = model.eval()
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        with torch.no_grad():
            inputs = convolution_inputs(graph, normalize=self.normalize)
            return self.model_.encode(*inputs).numpy()

    def _model(self, n_features: int) -> models.GAE:
        return models.GAE(_Encoder(n_features, self.hidden, self.n_components, "z"))

    def _loss(
        self, model: models.GAE, inputs: tuple[Tensor, Tensor], pattern: AttentionPattern
    ) -> Tensor:
        return reconstruction_loss(model.encode(*inputs), pattern, self.negatives)


@dataclass(kw_only=True, eq=False, repr=False)
class VGAE(GAE):
    """`GAE` that learns a normal distribution per node, kept close to the standard one.

    The embedding is the mean of a node's distribution.
    """

    def _model(self, n_features: int) -> models.VGAE:
        return models.VGAE(_Encoder(n_features, self.hidden, self.n_components, "mean", "log_std"))

    def _loss(
        self, model: models.VGAE, inputs: tuple[Tensor, Tensor], pattern: AttentionPattern
    ) -> Tensor:
        return super()._loss(model, inputs, pattern) + model.kl_loss() / len(inputs[0])


def reconstruction_loss(z: Tensor, pattern: AttentionPattern, negatives: int) -> Tensor:
    """Half the mean cross entropy of neighbors plus half that of random pairs.

    Equal, on average, to the authors' cross entropy over all pairs with `pos_weight` and `norm`.
    """
    n = len(z)
    apart = [
        F.softplus(torch.linalg.vecdot(z, z.index_select(0, torch.randint(n, (n,))))).mean()
        for _ in range(negatives)
    ]
    together = F.softplus(-edge_dot(pattern, z)).mean()
    return (together + torch.stack(apart).mean()) / 2


class _InfomaxNetwork(nn.Module):
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
class DGI(ScaledEmbedder):
    """Deep graph infomax (Veličković et al., 2019, "Deep Graph Infomax"): a graph convolution that
    distinguishes true neighborhoods from shuffled ones.

    Parameters are those of the paper and the authors' implementation for citation graphs: one graph
    convolution of size 512 (256 on Pubmed), PReLU, learning rate 1e-3, stopping after 20 epochs
    without a lower loss and keeping the weights of the lowest one; features of a node sum to 1.

    Departures. The discriminator is initialized as in PyG and has no bias. The authors' probe has
    no penalty, so the scale of the vectors hardly matters to it; it does to a probe with a penalty.
    So the embedding is scaled by one number, to a length chosen by validation accuracy on Cora and
    Citeseer (from 0.5 to 32 in doublings, with seeds that no table uses).

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

    def _train_network(self, graph: Graph) -> None:
        """Ends with the weights of the lowest loss."""
        inputs = convolution_inputs(graph, normalize=True)
        with seeded(self.random_state):
            self.network_ = network = _InfomaxNetwork(graph.n_features, self.n_components)
            optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
            least, best, weights = float("inf"), 0, deepcopy(network.state_dict())
            self.epochs_ = 0
            while self.epochs_ < self.epochs and self.epochs_ - best < self.patience:
                self.epochs_ += 1
                loss = network.loss(*inputs)
                if loss.item() < least:
                    least, best = loss.item(), self.epochs_
                    weights = deepcopy(network.state_dict())
                step(optimizer, loss)
            network.load_state_dict(weights)

    @torch.no_grad()
    def _vectors(self, graph: Graph) -> np.ndarray:
        return self.network_.embed(*convolution_inputs(graph, normalize=True)).numpy()
