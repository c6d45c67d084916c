"""Planetoid: Yang, Cohen and Salakhutdinov (2016), "Revisiting Semi-Supervised Learning with Graph
Embeddings", transductive (Planetoid-T) and inductive (Planetoid-I).

Parameters are those of the authors' public implementation, which has one set per variant: walks of
10 steps, contexts within 3 steps of a node on its walk (the node included), contexts by shared
label, embeddings of size 50, a full softmax over the nodes instead of negative samples, plain SGD,
losses summed over contexts and averaged over labelled nodes, unscaled features.

Departures. The implementation trains forever and keeps the parameters that were best on held-out
nodes; here training ends after `iterations` steps, or after `patience` steps without a better
accuracy on the split "val". Walks of its Planetoid-I pass through unseen nodes; here these are not
in the graph. Walks follow edges in both directions; weights are ignored.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import GraphClassifier, labelled_rows
from graphgate.paper.baselines.inputs import dense_features, seeded, step
from graphgate.training.sampling import endless_batches, random_walks, symmetrized


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class FreeEmbedding(nn.Module):
    """Planetoid-T: a free vector per node of the graph."""

    def __init__(self, x: Tensor, size: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(0.01 * torch.randn(len(x), size))

    def forward(self, x: Tensor, rows: Tensor, *, for_context: bool = False) -> Tensor:
        return self.vectors.index_select(0, rows)


class FeatureEmbedding(nn.Module):
    """Planetoid-I: a layer over the features; the two losses share its weight but not its bias."""

    def __init__(self, x: Tensor, size: int) -> None:
        super().__init__()
        self.layer = _linear(x.shape[1], size)
        self.context_bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor, rows: Tensor, *, for_context: bool = False) -> Tensor:
        bias = self.context_bias if for_context else self.layer.bias
        return torch.relu(F.linear(x.index_select(0, rows), self.layer.weight, bias))


NodeEmbedding = FreeEmbedding | FeatureEmbedding


class PlanetoidNetwork(nn.Module):
    """Class scores from features, from embeddings, and from both of these predictions."""

    def __init__(self, embedding: NodeEmbedding, features: int, size: int, classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.by_features = _linear(features, classes)
        self.by_embedding = _linear(size, classes)
        self.together = _linear(2 * classes, classes)

    def forward(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Three arrays (len(rows), C) of scores before softmax, the joint ones first."""
        first = self.by_features(x.index_select(0, rows))
        second = self.by_embedding(self.embedding(x, rows))
        predictions = torch.cat([first.softmax(dim=1), second.softmax(dim=1)], dim=1)
        return self.together(predictions), first, second


@dataclass(frozen=True)
class Contexts:
    """Pairs of node and context, (P, 2), and negative pairs, (Q, 2)."""

    met: np.ndarray
    unmet: np.ndarray


class ContextTrainer:
    """SGD on −Σ log p(context | node), with a softmax over all nodes."""

    def __init__(
        self, embedding: NodeEmbedding, x: Tensor, size: int, learning_rate: float
    ) -> None:
        self.embedding, self.x = embedding, x
        self.output = self._output(size)
        parameters = [*embedding.parameters(), *self.output.parameters()]
        self.optimizer = torch.optim.SGD(parameters, lr=learning_rate)

    def _output(self, size: int) -> nn.Module:
        return _linear(size, len(self.x))

    def _vectors(self, nodes: np.ndarray) -> Tensor:
        return self.embedding(self.x, torch.from_numpy(nodes), for_context=True)

    def loss(self, contexts: Contexts) -> Tensor:
        """Every distinct node is embedded once."""
        node, context = contexts.met.T
        nodes, place, count = np.unique(node, return_inverse=True, return_counts=True)
        scores = self.output(self._vectors(nodes))
        met = torch.from_numpy(place * len(self.x) + context)
        normalizers = torch.from_numpy(count) * scores.logsumexp(dim=1)
        return normalizers.sum() - scores.flatten().index_select(0, met).sum()

    def step(self, contexts: Contexts) -> None:
        step(self.optimizer, self.loss(contexts))


class SampledContextTrainer(ContextTrainer):
    """The same with negative pairs instead of the softmax: −Σ log σ(± node · context)."""

    def _output(self, size: int) -> nn.Module:
        return FreeEmbedding(self.x, size)

    def loss(self, contexts: Contexts) -> Tensor:
        node, context = np.concatenate([contexts.met, contexts.unmet]).T
        nodes, place = np.unique(node, return_inverse=True)
        vectors = self._vectors(nodes).index_select(0, torch.from_numpy(place))
        scores = (vectors * self.output(self.x, torch.from_numpy(context))).sum(dim=1)
        met, unmet = scores.split([len(contexts.met), len(contexts.unmet)])
        return F.softplus(-met).sum() + F.softplus(unmet).sum()


def walk_pairs(walks: np.ndarray, window: int) -> np.ndarray:
    """(P, 2) nodes at most `window` steps apart on a walk, in both orders."""
    places = np.arange(walks.shape[1])
    first, second = np.nonzero(abs(places[:, None] - places) <= window)
    return np.stack([walks[:, first].ravel(), walks[:, second].ravel()], axis=1)


def label_contexts(
    labels: np.ndarray, count: int, negatives: int, rng: np.random.Generator
) -> Contexts:
    """Positions in `labels`: random ones, each with one of the same label and some of others."""
    order = np.argsort(labels, kind="stable")
    drawn = rng.integers(len(labels), size=count)
    first = np.searchsorted(labels[order], labels[drawn], side="left")
    end = np.searchsorted(labels[order], labels[drawn], side="right")
    met = np.stack([drawn, order[rng.integers(first, end)]], axis=1)
    size = end - first
    if (size == len(labels)).any():  # there is no other label
        return Contexts(met, met[:0])
    other = rng.integers((len(labels) - size)[:, None], size=(count, negatives))
    other += np.where(other < first[:, None], 0, size[:, None])
    unmet = np.stack([np.repeat(drawn, negatives), order[other].ravel()], axis=1)
    return Contexts(met, unmet)


@dataclass(kw_only=True, eq=False, repr=False)
class Planetoid(GraphClassifier):
    """Base class of the two variants; the defaults are those of the transductive one.

    Parameters
    ----------
    n_components : size of the embedding.
    walk_length, window : steps of a walk, and the maximum distance of a context on it.
    negatives : random pairs per context; 0 for a softmax over all nodes.
    walk_batch : walks per step on the contexts of the graph.
    label_batch : pairs of the same label per step on label contexts.
    label_steps, graph_steps : steps on the two kinds of contexts before training.
    graph_rate : probability of a step on the contexts of the graph in each step of training.
    iterations, patience : maximum number of steps of training, in all and without improvement.
    """

    n_components: int = 50
    walk_length: int = 10
    window: int = 3
    negatives: int = 0
    walk_batch: int = 200
    label_batch: int = 100
    context_learning_rate: float = 1e-2
    label_steps: int = 2000
    graph_steps: int = 70
    graph_rate: float = 0.0
    batch_size: int = 200
    learning_rate: float = 0.1
    iterations: int = 2000
    patience: int = 500
    random_state: int = 0
    _embedding: ClassVar[type[NodeEmbedding]]

    def _learn(self, graph: Graph) -> None:
        assert graph.labels is not None
        train, size = labelled_rows(graph, "train"), self.n_components
        with seeded(self.random_state) as rng:
            x = dense_features(graph, normalize=False)
            embedding = self._embedding(x, size)
            network = PlanetoidNetwork(embedding, graph.n_features, size, len(graph.classes))
            trainer = SampledContextTrainer if self.negatives else ContextTrainer
            contexts = trainer(embedding, x, size, self.context_learning_rate)
            for _ in range(self.label_steps):
                drawn = label_contexts(graph.labels[train], self.label_batch, self.negatives, rng)
                contexts.step(Contexts(train[drawn.met], train[drawn.unmet]))
            met = self._met(graph, rng)
            for walked in islice(met, self.graph_steps):
                contexts.step(walked)
            self._train(network, contexts, met, graph, rng)
        self.network_ = network

    def _predict(self, graph: Graph) -> np.ndarray:
        x = dense_features(graph, normalize=False)
        with torch.no_grad():
            return self.network_(x, torch.arange(len(x)))[0].argmax(dim=1).numpy()

    def _met(self, graph: Graph, rng: np.random.Generator) -> Iterator[Contexts]:
        """Batches of contexts on walks; none if there are no edges."""
        adjacency = symmetrized(graph)
        starts = np.flatnonzero(np.diff(adjacency.indptr))
        if len(starts) == 0:
            return
        for batch in endless_batches(starts, self.walk_batch, rng):
            met = walk_pairs(random_walks(adjacency, batch, self.walk_length, rng), self.window)
            unmet = np.repeat(met, self.negatives, axis=0)
            unmet[:, 1] = rng.integers(graph.n_nodes, size=len(unmet))
            yield Contexts(met, unmet)

    def _train(
        self,
        network: PlanetoidNetwork,
        contexts: ContextTrainer,
        met: Iterator[Contexts],
        graph: Graph,
        rng: np.random.Generator,
    ) -> None:
        """Classify, with occasional steps on contexts; end with what was best on "val"."""
        assert graph.labels is not None
        labels, x = torch.from_numpy(graph.labels.copy()), contexts.x
        val = torch.from_numpy(labelled_rows(graph, "val"))
        optimizer = torch.optim.SGD(network.parameters(), lr=self.learning_rate)
        batches = endless_batches(labelled_rows(graph, "train"), self.batch_size, rng)
        best, waited, weights = -1.0, 0, None
        for _ in range(self.iterations):
            if rng.random() < self.graph_rate and (walked := next(met, None)) is not None:
                contexts.step(walked)
            batch = torch.from_numpy(next(batches))
            expected = labels.index_select(0, batch)
            losses = [F.cross_entropy(scores, expected) for scores in network(x, batch)]
            step(optimizer, torch.stack(losses).sum())
            if len(val) == 0:
                continue
            with torch.no_grad():
                right = network(x, val)[0].argmax(dim=1) == labels.index_select(0, val)
            accuracy, waited = float(right.float().mean()), waited + 1
            if accuracy > best:
                best, waited, weights = accuracy, 0, deepcopy(network.state_dict())
            if waited == self.patience:
                break
        if weights is not None:
            network.load_state_dict(weights)


@dataclass(kw_only=True, eq=False, repr=False)
class PlanetoidT(Planetoid):
    """Transductive: a free vector per node, so it predicts only for the nodes of `fit`."""

    _inductive: ClassVar[bool] = False
    _embedding: ClassVar[type[NodeEmbedding]] = FreeEmbedding


@dataclass(kw_only=True, eq=False, repr=False)
class PlanetoidI(Planetoid):
    """Inductive: embeddings are a function of the features, so unseen nodes have them too."""

    walk_batch: int = 20
    label_batch: int = 20
    context_learning_rate: float = 1e-3
    label_steps: int = 10_000
    graph_steps: int = 400
    graph_rate: float = 0.1
    _embedding: ClassVar[type[NodeEmbedding]] = FeatureEmbedding
