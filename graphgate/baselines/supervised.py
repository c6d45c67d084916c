"""What the supervised networks share: sparse inputs, the training loop, and when it stops.

Features enter as a sparse matrix whose rows add up to 1, as in the programs of the papers, and
input dropout acts on its stored entries. Edge weights are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Protocol, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.baselines.tensors import check_features, edge_index, seeded
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.pattern import csr_tensor


def dropped(x: Tensor, rate: float, training: bool) -> Tensor:
    """Dropout on the stored entries of a CSR tensor."""
    values = F.dropout(x.values(), rate, training)
    return csr_tensor(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))


def decayed_first(network: nn.Module, weight_decay: float) -> Iterable[Any]:
    """Parameters as Adam takes them, with decay on the layer named `first` alone."""
    parts = dict(network.named_children())
    first = parts.pop("first")
    rest = [parameter for part in parts.values() for parameter in part.parameters()]
    return [{"params": first.parameters(), "weight_decay": weight_decay}, {"params": rest}]


class Stopping(Protocol):
    """Decides after each epoch, from loss and accuracy on the validation nodes."""

    def over(self, loss: float, accuracy: float, network: nn.Module) -> bool: ...

    def finish(self, network: nn.Module) -> None:
        """Give the network the weights to keep."""


@dataclass
class Window:
    """Stop when the loss is above the mean of the `size` epochs before, and keep the last weights.

    As in the program of Kipf & Welling (2017).
    """

    size: int
    losses: list[float] = field(default_factory=list)

    def over(self, loss: float, accuracy: float, network: nn.Module) -> bool:
        self.losses.append(loss)
        before = self.losses[-self.size - 1 : -1]
        return len(self.losses) > self.size + 1 and loss > fmean(before)

    def finish(self, network: nn.Module) -> None:
        pass


@dataclass
class Patience:
    """Stop after `epochs` epochs that reach neither the least loss nor the best accuracy so far.

    Keeps the weights of the last epoch that reached both, as in the program of Veličković et al.
    (2018).
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

    def finish(self, network: nn.Module) -> None:
        if self.weights is not None:
            network.load_state_dict(self.weights)


@dataclass(frozen=True)
class Field:
    """The part of a graph that the scores of some nodes depend on.

    rows : (N',) all of it, in order.
    inner : (N,) mask of the nodes that take from their neighbours on the way to those scores;
        whatever else the network makes of the others is not looked at.
    """

    rows: np.ndarray
    inner: np.ndarray

    @classmethod
    def around(cls, graph: Graph, nodes: np.ndarray, hops: int) -> Field:
        inner = np.zeros(graph.n_nodes, dtype=bool)
        inner[graph.rows(graph.neighborhood(nodes, hops - 1).ids)] = True
        return cls(np.array(graph.rows(graph.neighborhood(nodes, hops).ids)), inner)

    @classmethod
    def whole(cls, graph: Graph) -> Field:
        return cls(np.arange(graph.n_nodes), np.ones(graph.n_nodes, dtype=bool))

    def edges(self, graph: Graph) -> Tensor:
        """Columns of `edge_index` into inner nodes, still by their rows in the graph."""
        edges = edge_index(graph)
        return edges[:, torch.from_numpy(self.inner)[edges[1]]]

    def renumbered(self, edges: Tensor) -> Tensor:
        """The same edges by positions in `rows`."""
        return torch.from_numpy(np.searchsorted(self.rows, edges.numpy()))


@dataclass(frozen=True)
class Labelled:
    """The labelled nodes of a split, and of the graph no more than their scores depend on.

    inputs : what the network takes.
    rows : (B,) where the labelled nodes stand in it.
    labels : (B,) their labels.
    """

    inputs: tuple[Tensor, ...]
    rows: Tensor
    labels: Tensor

    def loss(self, scores: Tensor) -> Tensor:
        return F.cross_entropy(scores.index_select(0, self.rows), self.labels)

    def accuracy(self, scores: Tensor) -> float:
        return float((scores.index_select(0, self.rows).argmax(1) == self.labels).float().mean())


@dataclass(kw_only=True)
class NetworkClassifier:
    """A network trained by Adam on all labelled nodes at once.

    A method says what its network is, how far it sees, what it takes of a graph, and when
    training stops. Without validation nodes all epochs are run.

    Attributes
    ----------
    network_ : the trained network.
    epochs_ : how many epochs were run.
    """

    learning_rate: float
    weight_decay: float
    epochs: int
    random_state: int = 0

    def _network(self, n_features: int, n_classes: int) -> nn.Module:
        raise NotImplementedError

    def _hops(self) -> int:
        """How far from a node the inputs stand that its scores depend on."""
        raise NotImplementedError

    def _inputs(self, graph: Graph, field: Field) -> tuple[Tensor, ...]:
        """What the network takes of this part, whose nodes have the degrees of the whole graph."""
        raise NotImplementedError

    def _stopping(self) -> Stopping:
        raise NotImplementedError

    def _parameters(self, network: nn.Module) -> Iterable[Any]:
        """Parameters as Adam takes them."""
        return [{"params": network.parameters(), "weight_decay": self.weight_decay}]

    def _objective(self, network: nn.Module, train: Labelled) -> Callable[[], Tensor]:
        """A function that gives the loss of one step."""
        return lambda: train.loss(network(*train.inputs))

    def fit(self, graph: Graph) -> Self:
        train, val = self._labelled(graph, "train"), self._labelled(graph, "val")
        if train is None:
            raise InputError(
                "a classifier learns from labels, but the graph has none in a split 'train'"
            )
        with seeded(self.random_state):
            network = self._network(graph.n_features, len(graph.classes))
            self.epochs_ = self._train(network, train, val)
        self.network_ = network.eval()
        self.n_features_ = graph.n_features
        return self

    def predict(self, graph: Graph) -> np.ndarray:
        """(N,) positions in `graph.classes`, also of nodes not seen in training."""
        check_features(graph, getattr(self, "n_features_", None), type(self).__name__)
        with torch.no_grad():
            scores = self.network_(*self._inputs(graph, Field.whole(graph)))
        return scores.argmax(1).numpy()

    def _labelled(self, graph: Graph, split: str) -> Labelled | None:
        if graph.labels is None or split not in graph.splits:
            return None
        nodes = graph.splits[split] & (graph.labels >= 0)
        if not nodes.any():
            return None
        seen = Field.around(graph, nodes, self._hops())
        rows = torch.from_numpy(np.flatnonzero(nodes[seen.rows]))
        return Labelled(self._inputs(graph, seen), rows, torch.from_numpy(graph.labels[nodes]))

    def _train(self, network: nn.Module, train: Labelled, val: Labelled | None) -> int:
        optimizer = torch.optim.Adam(self._parameters(network), lr=self.learning_rate)
        objective, stopping = self._objective(network, train), self._stopping()
        epochs = 0
        while epochs < self.epochs:
            epochs += 1
            network.train()
            optimizer.zero_grad()
            objective().backward()
            optimizer.step()
            if val is None:
                continue
            network.eval()
            with torch.no_grad():
                scores = network(*val.inputs)
            if stopping.over(float(val.loss(scores)), val.accuracy(scores), network):
                break
        stopping.finish(network)
        return epochs


@dataclass(kw_only=True)
class WindowClassifier(NetworkClassifier):
    """Trained as Kipf & Welling (2017) do: decay on the first layer alone, stopping by a window."""

    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 200
    window: int = 10

    def _stopping(self) -> Stopping:
        return Window(self.window)

    def _parameters(self, network: nn.Module) -> Iterable[Any]:
        return decayed_first(network, self.weight_decay)


@dataclass(kw_only=True)
class PatientClassifier(NetworkClassifier):
    """Trained as Veličković et al. (2018) do: many epochs, stopping by patience."""

    hidden: int
    dropout: float
    epochs: int = 1000
    patience: int = 100

    def _hops(self) -> int:
        return 2

    def _stopping(self) -> Stopping:
        return Patience(self.patience)
