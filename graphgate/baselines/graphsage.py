"""GraphSAGE without supervision: Hamilton, Ying and Leskovec 2017, "Inductive Representation
Learning on Large Graphs".

Settings are those of the paper and its public program: two layers that draw 25 and 10 neighbours
with replacement, walks of length 5 from every node, 20 negatives by degree^0.75, one epoch of
batches of 512 pairs, features standardised over the nodes of training. The program's `dim` of
256 makes 512 dimensions, since it joins what comes from a node and what comes from its
neighbours (GCN joins nothing and has 512 from the start).

Deviations. A batch draws the neighbours of a node once for all the places where the node occurs.
A node without neighbours draws itself, not a vector of zeros. Degrees are not cut at 100.
Neighbours are those that a node attends over; walks go along edges both ways; weights are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.baselines.tensors import check_features, feature_tensor, seeded
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.features import FeatureMatrix
from graphgate.training.sampling import draw_neighbors, random_walks, symmetrized

Aggregator = Literal["mean", "gcn", "pool", "lstm"]
POOL_WIDTH, LSTM_WIDTH = 512, 128  # the program's "small" models


@dataclass(frozen=True)
class Scaling:
    """What makes features of mean 0 and deviation 1 on the graph that it was taken from."""

    mean: Tensor  # (F,)
    deviation: Tensor  # (F,), 1 where a feature never varies

    @classmethod
    def of(cls, graph: Graph) -> Self:
        mean = np.asarray(graph.x.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray((graph.x * graph.x).mean(axis=0), dtype=np.float64).ravel()
        variance = square - mean**2
        # What is left of a constant after subtraction is no variance.
        deviation = np.sqrt(np.where(variance > 1e-6 * square, variance, 1.0))
        return cls(torch.from_numpy(mean).float(), torch.from_numpy(deviation).float())


class SparseFeatures:
    """Standardised features, (N, F), that are never written out: X stays sparse."""

    def __init__(self, graph: Graph, scaling: Scaling) -> None:
        self.x = FeatureMatrix(graph.x, device=torch.device("cpu"), dtype=torch.float32)
        self.scaling = scaling

    def times(self, weight: Tensor) -> Tensor:
        """(N, D) for a weight of shape (F, D)."""
        scaled = weight / self.scaling.deviation[:, None]
        return self.x.times(scaled) - self.scaling.mean @ scaled


Vectors = SparseFeatures | Tensor


def standardized(graph: Graph, scaling: Scaling) -> Vectors:
    """Sparse where few features are not 0: a dense product is then the slower one."""
    if (
        not isinstance(graph.x, np.ndarray)
        and graph.x.nnz < 0.05 * graph.n_nodes * graph.n_features
    ):
        return SparseFeatures(graph, scaling)
    return (feature_tensor(graph, normalize=False) - scaling.mean) / scaling.deviation


def _linear(vectors: Vectors, weight: Tensor, pick: Callable[[Tensor], Tensor]) -> Tensor:
    """`pick(vectors) @ weight`, where `pick` takes rows or sums of them.

    The two commute: sparse features are multiplied first, while they are sparse.
    """
    if isinstance(vectors, SparseFeatures):
        return pick(vectors.times(weight))
    return pick(vectors) @ weight


def _times(vectors: Vectors, weight: Tensor) -> Tensor:
    return _linear(vectors, weight, lambda rows: rows)


def _weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))


class MeanLayer(nn.Module):
    """A node's own vector beside the mean of its neighbours'."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = _weight(inputs, outputs // 2)
        self.neighbor = _weight(inputs, outputs // 2)

    def forward(self, vectors: Vectors, nodes: Tensor, neighbors: Tensor) -> Tensor:
        """(n, outputs) of the rows `nodes` (n,) with the rows `neighbors` (n, draws)."""
        own = _linear(vectors, self.own, lambda rows: rows.index_select(0, nodes))
        return torch.cat([own, self.gathered(vectors, neighbors)], dim=1)

    def gathered(self, vectors: Vectors, neighbors: Tensor) -> Tensor:
        return _linear(vectors, self.neighbor, lambda rows: F.embedding_bag(neighbors, rows))


class PoolLayer(MeanLayer):
    """The neighbours pass through a layer of their own; then the largest value of each entry."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.pool = _weight(inputs, POOL_WIDTH)
        self.bias = nn.Parameter(torch.zeros(POOL_WIDTH))
        self.neighbor = _weight(POOL_WIDTH, outputs // 2)

    def gathered(self, vectors: Vectors, neighbors: Tensor) -> Tensor:
        passed = torch.relu(_times(vectors, self.pool) + self.bias)
        # A neighbour drawn twice is looked at once.
        ordered = neighbors.sort(dim=1).values
        new = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
        starts = new.sum(dim=1).cumsum(0).roll(1)
        starts[0] = 0
        return F.embedding_bag(ordered[new], passed, starts, mode="max") @ self.neighbor


class LSTMLayer(MeanLayer):
    """The neighbours pass through an LSTM, in the random order in which they were drawn."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.input_gates = _weight(inputs, 4 * LSTM_WIDTH)
        self.state_gates = _weight(LSTM_WIDTH, 4 * LSTM_WIDTH)
        self.bias = nn.Parameter(torch.zeros(4 * LSTM_WIDTH))
        self.neighbor = _weight(LSTM_WIDTH, outputs // 2)

    def gathered(self, vectors: Vectors, neighbors: Tensor) -> Tensor:
        # Written out, so that the product with the input is taken once a node, not once a draw.
        inputs = _times(vectors, self.input_gates) + self.bias
        state = cell = inputs.new_zeros(len(neighbors), LSTM_WIDTH)
        for draw in neighbors.T:
            gates = inputs.index_select(0, draw) + state @ self.state_gates
            enter, update, forget, leave = gates.chunk(4, dim=1)
            kept = torch.sigmoid(forget + 1) * cell
            cell = kept + torch.sigmoid(enter) * torch.tanh(update)
            state = torch.sigmoid(leave) * torch.tanh(cell)
        return state @ self.neighbor


class GCNLayer(nn.Module):
    """The mean of a node's vector and its neighbours'."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = _weight(inputs, outputs)

    def forward(self, vectors: Vectors, nodes: Tensor, neighbors: Tensor) -> Tensor:
        everyone = torch.cat([nodes[:, None], neighbors], dim=1)
        return _linear(vectors, self.weight, lambda rows: F.embedding_bag(everyone, rows))


LAYERS: dict[str, type[MeanLayer | GCNLayer]] = {
    "mean": MeanLayer,
    "gcn": GCNLayer,
    "pool": PoolLayer,
    "lstm": LSTMLayer,
}


@dataclass(kw_only=True)
class GraphSAGE:
    """Vectors that agree where short walks meet, from a node's features and sampled neighbours'.

    n_components : length of the vectors, own and neighbours' part together.
    draws : neighbours drawn in the first layer and in the second.
    walks, walk_length : from every node; it is paired with those that a walk visits before its
        last step, as the program does.
    """

    aggregator: Aggregator = "mean"
    n_components: int = 512
    draws: tuple[int, int] = (25, 10)
    walks: int = 50
    walk_length: int = 5
    negatives: int = 20
    batch_size: int = 512
    epochs: int = 1
    learning_rate: float = 1e-5
    random_state: int = 0

    def fit(self, graph: Graph) -> Self:
        if self.aggregator not in LAYERS:
            known = ", ".join(get_args(Aggregator))
            raise InputError(f"unknown aggregator {self.aggregator!r}; use one of {known}")
        if graph.n_edges == 0:
            raise InputError("GraphSAGE learns from walks, and the graph has no edges to walk on")
        with seeded(self.random_state) as rng:
            layer = LAYERS[self.aggregator]
            self.scaling_ = Scaling.of(graph)
            self.layers_ = nn.ModuleList(
                [
                    layer(graph.n_features, self.n_components),
                    layer(self.n_components, self.n_components),
                ]
            )
            self._train(graph, rng)
        self.embedding_ = self.transform(graph)
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        """(N, D) vectors of length 1; the draws of neighbours depend on `random_state` alone."""
        fitted = len(self.scaling_.mean) if hasattr(self, "scaling_") else None
        check_features(graph, fitted, "GraphSAGE")
        with torch.no_grad():
            everyone = np.arange(graph.n_nodes)
            rng = np.random.default_rng(self.random_state)
            features = standardized(graph, self.scaling_)
            return self._embed(features, graph, everyone, rng).numpy()

    def _train(self, graph: Graph, rng: np.random.Generator) -> None:
        features = standardized(graph, self.scaling_)
        optimizer = torch.optim.Adam(self.layers_.parameters(), lr=self.learning_rate)
        for pairs, negatives in self._batches(graph, rng):
            named = np.concatenate([pairs.ravel(), negatives])
            nodes, places = np.unique(named, return_inverse=True)
            z = self._embed(features, graph, nodes, rng).index_select(0, torch.from_numpy(places))
            near, far = z[: pairs.size].view(len(pairs), 2, -1), z[pairs.size :]
            node, met = near.unbind(1)
            # Equation 1 of the paper, with negatives that the nodes of a batch share.
            loss = F.softplus(-(node * met).sum(1)).sum() + F.softplus(node @ far.T).sum()
            optimizer.zero_grad()
            (loss / len(pairs)).backward()
            nn.utils.clip_grad_value_(self.layers_.parameters(), 5.0)
            optimizer.step()

    def _batches(
        self, graph: Graph, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of nodes that met on a walk, (batch, 2), and negatives, (negatives,)."""
        adjacency = symmetrized(graph)
        degree = np.diff(adjacency.indptr)
        starts = np.repeat(np.flatnonzero(degree), self.walks)
        visited = random_walks(adjacency, starts, self.walk_length - 1, rng)[:, 1:]
        pairs = np.stack([np.repeat(starts, self.walk_length - 1), visited.ravel()], axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        frequency = np.cumsum(degree**0.75)
        frequency /= frequency[-1]
        for _ in range(self.epochs):
            rng.shuffle(pairs)
            for start in range(0, len(pairs), self.batch_size):
                negatives = np.searchsorted(frequency, rng.random(self.negatives), side="right")
                yield pairs[start : start + self.batch_size], negatives

    def _embed(
        self, features: Vectors, graph: Graph, nodes: np.ndarray, rng: np.random.Generator
    ) -> Tensor:
        """(len(nodes), D) vectors of length 1; the nodes are distinct and in order."""
        first_draws, second_draws = self.draws
        neighbors = draw_neighbors(graph.attended, nodes, second_draws, rng)
        inner = np.union1d(nodes, neighbors)
        inner_neighbors = draw_neighbors(graph.attended, inner, first_draws, rng)
        first, second = self.layers_
        if isinstance(features, Tensor):
            used = np.union1d(inner, inner_neighbors)
            features = features.index_select(0, torch.from_numpy(used))
        else:
            used = np.arange(graph.n_nodes)
        h = torch.relu(first(features, _places(used, inner), _places(used, inner_neighbors)))
        z = second(h, _places(inner, nodes), _places(inner, neighbors))
        return F.normalize(z, dim=1)


def _places(nodes: np.ndarray, wanted: np.ndarray) -> Tensor:
    """Positions of the wanted nodes in an ordered array of nodes."""
    return torch.from_numpy(np.searchsorted(nodes, wanted))
