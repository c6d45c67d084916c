"""Base classes of the supervised networks: sparse inputs, training loop and early stopping.

Features enter as a sparse matrix whose rows sum to 1, as in the implementations of the papers, and
input dropout acts on its stored entries. Edge weights are not used.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.compute.sparse_operator import csr_tensor
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import GraphClassifier, labelled_rows
from graphgate.paper.baselines.inputs import seeded, step


def dropped(x: Tensor, rate: float, training: bool) -> Tensor:
    """Dropout on the stored entries of a CSR tensor."""
    values = F.dropout(x.values(), rate, training)
    return csr_tensor(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))


class TwoLayers(nn.Module):
    """Two layers, each after dropout, with an activation between them."""

    def __init__(
        self,
        first: nn.Module,
        second: nn.Module,
        dropout: float,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.dropout, self.activation = dropout, activation

    def forward(self, x: Tensor, *structure: Tensor) -> Tensor:
        h = self.activation(self.first(dropped(x, self.dropout, self.training), *structure))
        return self.second(F.dropout(h, self.dropout, self.training), *structure)


@dataclass
class Window:
    """Stop when the loss exceeds its mean over the `size` epochs before; keep the last weights.

    As in the implementation of Kipf & Welling (2017).
    """

    size: int
    losses: list[float] = field(default_factory=list)
    weights: None = None

    def over(self, loss: float, accuracy: float, network: nn.Module) -> bool:
        self.losses.append(loss)
        before = self.losses[-self.size - 1 : -1]
        return len(self.losses) > self.size + 1 and loss > fmean(before)


@dataclass
class Patience:
    """Stop after `epochs` epochs that reach neither the lowest loss nor the best accuracy so far.

    Keeps the weights of the last epoch that reached both, as in the implementation of Veličković
    et al. (2018).
    """

    epochs: int
    least: float = float("inf")
    best: float = -1.0
    waited: int = 0
    weights: dict[str, Any] | None = None

    def over(self, loss: float, accuracy: float, network: nn.Module) -> bool:
        if loss <= self.least and accuracy >= self.best:
            self.weights = deepcopy(network.state_dict())
        reached = loss <= self.least or accuracy >= self.best
        self.least, self.best = min(loss, self.least), max(accuracy, self.best)
        self.waited = 0 if reached else self.waited + 1
        return self.waited == self.epochs


@dataclass(frozen=True)
class ReceptiveField:
    """The part of a graph that the scores of some nodes depend on.

    rows : (N',) all of it, in order.
    inner : (N,) mask of the nodes whose neighbors matter to those scores; what the network
        computes for the others is not used.
    """

    rows: np.ndarray
    inner: np.ndarray

    @classmethod
    def around(cls, graph: Graph, nodes: np.ndarray, hops: int) -> Self:
        inner = np.zeros(graph.n_nodes, dtype=bool)
        inner[graph.rows(graph.neighborhood(nodes, hops - 1).ids)] = True
        return cls(np.array(graph.rows(graph.neighborhood(nodes, hops).ids)), inner)

    @classmethod
    def whole(cls, graph: Graph) -> Self:
        return cls(np.arange(graph.n_nodes), np.ones(graph.n_nodes, dtype=bool))

    def edges(self, graph: Graph) -> Tensor:
        """(2, E') int64 as in PyG: column (j, i) where an inner node i attends over j.

        Both are rows of the graph; there are no self-loops.
        """
        attended = graph.attended.tocoo()
        edges = np.stack([attended.col, attended.row]).astype(np.int64)
        return torch.from_numpy(edges[:, self.inner[attended.row]])

    def renumbered(self, edges: Tensor) -> Tensor:
        """The same edges as positions in `rows`."""
        return torch.from_numpy(np.searchsorted(self.rows, edges.numpy()))


@dataclass(frozen=True)
class LabelledPart:
    """The labelled nodes of a split, and the part of the graph that their scores depend on.

    inputs : the arguments of the network.
    rows : (B,) positions of the labelled nodes in it.
    labels : (B,) their labels.
    """

    inputs: tuple[Tensor, ...]
    rows: Tensor
    labels: Tensor

    def loss(self, scores: Tensor) -> Tensor:
        return F.cross_entropy(scores.index_select(0, self.rows), self.labels)

    def scored(self, network: nn.Module) -> tuple[float, float]:
        """Loss and accuracy of a network without dropout."""
        network.eval()
        with torch.no_grad():
            scores = network(*self.inputs)
        network.train()
        right = scores.index_select(0, self.rows).argmax(1) == self.labels
        return float(self.loss(scores)), float(right.float().mean())


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(GraphClassifier):
    """A network trained by Adam on all labelled nodes at once.

    A method defines its network, how far the network sees, its inputs, and when training stops.
    Without validation nodes, all epochs are run.

    Attributes
    ----------
    network_ : the trained network.
    epochs_ : the number of epochs.
    """

    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int
    random_state: int = 0

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        raise NotImplementedError

    def _hops(self) -> int:
        """The distance within which nodes influence the scores of a node."""
        return 2

    def _inputs(self, graph: Graph, field: ReceptiveField) -> tuple[Tensor, ...]:
        """The arguments of the network for this part; degrees are those of the whole graph."""
        raise NotImplementedError

    def _stopping(self) -> Window | Patience:
        """The early stopping rule, applied to validation loss and accuracy after every epoch."""
        raise NotImplementedError

    def _parameters(self, network: nn.Module) -> Iterable[Any]:
        """Parameters as Adam takes them."""
        return [{"params": network.parameters(), "weight_decay": self.weight_decay}]

    def _objective(self, network: nn.Module, train: LabelledPart) -> Callable[[], Tensor]:
        """A function that computes the loss of one step."""
        return lambda: train.loss(network(*train.inputs))

    def _learn(self, graph: Graph) -> None:
        train, val = self._labelled(graph, "train"), self._labelled(graph, "val")
        assert train is not None
        with seeded(self.random_state):
            network = self._network(graph.n_features, len(graph.classes))
            self._train(network, train, val)
        self.network_ = network.eval()

    def _predict(self, graph: Graph) -> np.ndarray:
        with torch.no_grad():
            scores = self.network_(*self._inputs(graph, ReceptiveField.whole(graph)))
        return scores.argmax(1).numpy()

    def _labelled(self, graph: Graph, split: str) -> LabelledPart | None:
        nodes = labelled_rows(graph, split)
        if graph.labels is None or len(nodes) == 0:
            return None
        mask = np.isin(np.arange(graph.n_nodes), nodes)
        seen = ReceptiveField.around(graph, mask, self._hops())
        rows = torch.from_numpy(np.flatnonzero(mask[seen.rows]))
        return LabelledPart(self._inputs(graph, seen), rows, torch.from_numpy(graph.labels[nodes]))

    def _train(self, network: nn.Module, train: LabelledPart, val: LabelledPart | None) -> None:
        optimizer = torch.optim.Adam(self._parameters(network), lr=self.learning_rate)
        objective, stopping = self._objective(network, train), self._stopping()
        self.epochs_ = 0
        for epoch in range(self.epochs):
            step(optimizer, objective())
            self.epochs_ = epoch + 1
            if val is not None and stopping.over(*val.scored(network), network):
                break
        if stopping.weights is not None:
            network.load_state_dict(stopping.weights)


@dataclass(kw_only=True, eq=False, repr=False)
class WindowClassifier(NetworkClassifier):
    """Trained as by Kipf & Welling (2017): decay on the first layer only, stopping by a window."""

    epochs: int = 200
    window: int = 10

    def _stopping(self) -> Window:
        return Window(self.window)

    def _parameters(self, network: nn.Module) -> Iterable[Any]:
        first, second = (network.get_submodule(name).parameters() for name in ("first", "second"))
        return [{"params": first, "weight_decay": self.weight_decay}, {"params": second}]


@dataclass(kw_only=True, eq=False, repr=False)
class PatientClassifier(NetworkClassifier):
    """Trained as by Veličković et al. (2018): many epochs, stopping by patience."""

    epochs: int = 1000
    patience: int = 100

    def _stopping(self) -> Patience:
        return Patience(self.patience)
