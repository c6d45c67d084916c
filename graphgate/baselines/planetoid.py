"""Planetoid: Yang, Cohen and Salakhutdinov 2016, "Revisiting Semi-Supervised Learning with Graph
Embeddings", transductive (Planetoid-T) and inductive (Planetoid-I).

Settings are those of the authors' public program, which has one set for each variant: walks of
10 steps, contexts within 3 steps of a node on its walk (itself among them), contexts by shared
label, embeddings of 50, a full softmax over the nodes in place of negative samples, plain SGD,
losses summed over contexts and averaged over labelled nodes, features as they are.

Deviations. The program trains without end and keeps the parameters that were best on held-out
nodes; here training ends after `iterations` steps, or after `patience` steps without a better
accuracy on the split "val". Walks of the program's Planetoid-I pass through unseen nodes, here
these are not in the graph. Walks go along edges both ways; weights are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.baselines.tensors import check_features, feature_tensor, seeded
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.training.sampling import endless_batches, random_walks, symmetrized


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class FreeEmbedding(nn.Module):
    """Planetoid-T: every node of the graph has a vector of its own."""

    def __init__(self, x: Tensor, size: int) -> None:
        super().__init__()
        self.vectors = nn.Parameter(0.01 * torch.randn(len(x), size))

    def forward(self, x: Tensor, rows: Tensor, *, for_context: bool = False) -> Tensor:
        return self.vectors.index_select(0, rows)


class FeatureEmbedding(nn.Module):
    """Planetoid-I: a layer over the features; the two losses share its weight, not its bias."""

    def __init__(self, x: Tensor, size: int) -> None:
        super().__init__()
        self.layer = _linear(x.shape[1], size)
        self.context_bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor, rows: Tensor, *, for_context: bool = False) -> Tensor:
        bias = self.context_bias if for_context else self.layer.bias
        return torch.relu(F.linear(x.index_select(0, rows), self.layer.weight, bias))


Embedding = FreeEmbedding | FeatureEmbedding


class Classifier(nn.Module):
    """Class scores from features, from embeddings, and from these two opinions together."""

    def __init__(self, embedding: Embedding, features: int, size: int, classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.by_features = _linear(features, classes)
        self.by_embedding = _linear(size, classes)
        self.together = _linear(2 * classes, classes)

    def forward(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Three times (len(rows), C), before softmax; the joint scores first."""
        first = self.by_features(x.index_select(0, rows))
        second = self.by_embedding(self.embedding(x, rows))
        opinions = torch.cat([first.softmax(dim=1), second.softmax(dim=1)], dim=1)
        return self.together(opinions), first, second


@dataclass(frozen=True)
class Contexts:
    """Pairs of node and context, (P, 2), and pairs that are none, (Q, 2)."""

    met: np.ndarray
    unmet: np.ndarray


class ContextTrainer:
    """Steps of SGD on −Σ log p(context | node), with a softmax over all nodes."""

    def __init__(self, embedding: Embedding, x: Tensor, size: int, learning_rate: float) -> None:
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
        self.optimizer.zero_grad()
        self.loss(contexts).backward()
        self.optimizer.step()


class SampledContextTrainer(ContextTrainer):
    """The same with pairs that are none in place of the softmax: −Σ log σ(± node · context)."""

    def _output(self, size: int) -> nn.Module:
        return FreeEmbedding(self.x, size)

    def loss(self, contexts: Contexts) -> Tensor:
        nodes, place = np.unique(
            np.concatenate([contexts.met[:, 0], contexts.unmet[:, 0]]), return_inverse=True
        )
        others = np.concatenate([contexts.met[:, 1], contexts.unmet[:, 1]])
        vectors = self._vectors(nodes).index_select(0, torch.from_numpy(place))
        scores = (vectors * self.output(self.x, torch.from_numpy(others))).sum(dim=1)
        met, unmet = scores.split([len(contexts.met), len(contexts.unmet)])
        return F.softplus(-met).sum() + F.softplus(unmet).sum()


def walk_pairs(walks: np.ndarray, window: int) -> np.ndarray:
    """(P, 2) nodes that stand at most `window` steps apart on a walk, each way."""
    places = np.arange(walks.shape[1])
    first, second = np.nonzero(abs(places[:, None] - places) <= window)
    return np.stack([walks[:, first].ravel(), walks[:, second].ravel()], axis=1)


def label_contexts(
    labels: np.ndarray, count: int, negatives: int, rng: np.random.Generator
) -> Contexts:
    """Positions in `labels`: any, with one of the same label, and with some of other labels."""
    order = np.argsort(labels, kind="stable")
    drawn = rng.integers(len(labels), size=count)
    first = np.searchsorted(labels[order], labels[drawn], side="left")
    end = np.searchsorted(labels[order], labels[drawn], side="right")
    met = np.stack([drawn, order[rng.integers(first, end)]], axis=1)
    if (end - first == len(labels)).any():  # there is no other label
        return Contexts(met, met[:0])
    size = end - first
    other = rng.integers((len(labels) - size)[:, None], size=(count, negatives))
    other += np.where(other < first[:, None], 0, size[:, None])
    unmet = np.stack([np.repeat(drawn, negatives), order[other].ravel()], axis=1)
    return Contexts(met, unmet)


@dataclass(kw_only=True)
class Planetoid:
    """What the two variants share.

    walk_length, window : steps of a walk, and how far on it a context may be.
    negatives : pairs drawn at random for each context; 0 for a softmax over all nodes.
    walk_batch : walks in each step on the graph's contexts.
    label_batch : pairs of the same label in each step on label contexts.
    label_steps, graph_steps : steps on the two kinds of contexts before training.
    graph_rate : probability of a step on the graph's contexts in each step of training.
    iterations, patience : at most so many steps of training, and so many without improvement.
    """

    n_components: int = 50
    walk_length: int = 10
    window: int = 3
    negatives: int = 0
    walk_batch: int
    label_batch: int
    context_learning_rate: float
    label_steps: int
    graph_steps: int
    graph_rate: float
    batch_size: int = 200
    learning_rate: float = 0.1
    iterations: int = 2000
    patience: int = 500
    random_state: int = 0
    model_: Classifier = field(init=False, repr=False, compare=False)

    def _embedding(self, x: Tensor) -> Embedding:
        raise NotImplementedError

    def fit(self, graph: Graph) -> Self:
        train, val = _labelled(graph, "train"), _labelled(graph, "val")
        if len(train) == 0:
            raise InputError("Planetoid learns from labels, but none is in a split 'train'")
        with seeded(self.random_state) as rng:
            x = feature_tensor(graph, normalize=False)
            embedding = self._embedding(x)
            self.model_ = Classifier(
                embedding, graph.n_features, self.n_components, len(graph.classes)
            )
            trainer = SampledContextTrainer if self.negatives else ContextTrainer
            contexts = trainer(embedding, x, self.n_components, self.context_learning_rate)
            met = self._met(graph, rng)
            self._pretrain(contexts, met, graph, train, rng)
            self._train(contexts, met, graph, train, val, rng)
        return self

    def predict(self, graph: Graph) -> np.ndarray:
        """(N,) positions in `graph.classes`."""
        fitted = self.model_.by_features.in_features if hasattr(self, "model_") else None
        check_features(graph, fitted, "Planetoid")
        x = feature_tensor(graph, normalize=False)
        with torch.no_grad():
            return self.model_(x, torch.arange(len(x)))[0].argmax(dim=1).numpy()

    def _met(self, graph: Graph, rng: np.random.Generator) -> Iterator[Contexts]:
        """Batches of contexts on walks; none if there is no edge to walk on."""
        adjacency = symmetrized(graph)
        starts = np.flatnonzero(np.diff(adjacency.indptr))
        if len(starts) == 0:
            return
        for batch in endless_batches(starts, self.walk_batch, rng):
            walks = random_walks(adjacency, batch, self.walk_length, rng)
            met = walk_pairs(walks, self.window)
            unmet = np.repeat(met, self.negatives, axis=0)
            unmet[:, 1] = rng.integers(graph.n_nodes, size=len(unmet))
            yield Contexts(met, unmet)

    def _pretrain(
        self,
        contexts: ContextTrainer,
        met: Iterator[Contexts],
        graph: Graph,
        train: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        assert graph.labels is not None
        for _ in range(self.label_steps):
            drawn = label_contexts(graph.labels[train], self.label_batch, self.negatives, rng)
            contexts.step(Contexts(train[drawn.met], train[drawn.unmet]))
        for _, walked in zip(range(self.graph_steps), met, strict=False):
            contexts.step(walked)

    def _train(
        self,
        contexts: ContextTrainer,
        met: Iterator[Contexts],
        graph: Graph,
        train: np.ndarray,
        val: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Classify, and now and then go back to contexts; end with what was best on `val`."""
        assert graph.labels is not None
        labels, x = torch.from_numpy(graph.labels.copy()), contexts.x
        optimizer = torch.optim.SGD(self.model_.parameters(), lr=self.learning_rate)
        batches = endless_batches(train, self.batch_size, rng)
        best, waited, weights = -1.0, 0, None
        for _ in range(self.iterations):
            if rng.random() < self.graph_rate and (walked := next(met, None)) is not None:
                contexts.step(walked)
            batch = torch.from_numpy(next(batches))
            expected = labels.index_select(0, batch)
            losses = [F.cross_entropy(scores, expected) for scores in self.model_(x, batch)]
            optimizer.zero_grad()
            torch.stack(losses).sum().backward()
            optimizer.step()
            if len(val) == 0:
                continue
            accuracy = self._accuracy(x, torch.from_numpy(val), labels)
            waited += 1
            if accuracy > best:
                best, waited, weights = accuracy, 0, deepcopy(self.model_.state_dict())
            if waited == self.patience:
                break
        if weights is not None:
            self.model_.load_state_dict(weights)

    def _accuracy(self, x: Tensor, rows: Tensor, labels: Tensor) -> float:
        with torch.no_grad():
            predicted = self.model_(x, rows)[0].argmax(dim=1)
        return float((predicted == labels.index_select(0, rows)).float().mean())


def _labelled(graph: Graph, split: str) -> np.ndarray:
    """Rows of the labelled nodes of a split, which need not exist."""
    if graph.labels is None or split not in graph.splits:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(graph.splits[split] & (graph.labels >= 0))


@dataclass(kw_only=True)
class PlanetoidT(Planetoid):
    """Transductive: a free vector a node, so it predicts for the graph that it was fitted on."""

    walk_batch: int = 200
    label_batch: int = 100
    context_learning_rate: float = 1e-2
    label_steps: int = 2000
    graph_steps: int = 70
    graph_rate: float = 0.0
    ids_: np.ndarray = field(init=False, repr=False, compare=False)

    def _embedding(self, x: Tensor) -> Embedding:
        return FreeEmbedding(x, self.n_components)

    def fit(self, graph: Graph) -> Self:
        self.ids_ = graph.ids
        return super().fit(graph)

    def predict(self, graph: Graph) -> np.ndarray:
        if hasattr(self, "ids_") and not np.array_equal(graph.ids, self.ids_):
            raise InputError("Planetoid-T knows only the nodes it was fitted on; use Planetoid-I")
        return super().predict(graph)


@dataclass(kw_only=True)
class PlanetoidI(Planetoid):
    """Inductive: embeddings are a function of the features, so unseen nodes have them too."""

    walk_batch: int = 20
    label_batch: int = 20
    context_learning_rate: float = 1e-3
    label_steps: int = 10_000
    graph_steps: int = 400
    graph_rate: float = 0.1

    def _embedding(self, x: Tensor) -> Embedding:
        return FeatureEmbedding(x, self.n_components)
