"""GraphSAGE without supervision: Hamilton, Ying and Leskovec (2017), "Inductive Representation
Learning on Large Graphs".

Parameters are those of the paper and its public implementation: two layers that draw 25 and 10
neighbors with replacement, walks of length 5 from every node, 20 negatives by degree^0.75, one
epoch in batches of 512 pairs, features standardized over the training nodes. The implementation's
`dim` of 256 gives 512 dimensions, because it concatenates what comes from a node and what comes
from its neighbors (GCN concatenates nothing and has 512 from the start).

Departures. A batch draws the neighbors of a node once for all places where the node occurs. A node
without neighbors draws itself, not a vector of zeros. Degrees are not cut at 100. Neighbors are
those that a node attends over; walks follow edges in both directions; weights are ignored.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphgate.errors import InputError
from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph
from graphgate.nn.features import FeatureMatrix
from graphgate.paper.baselines.contract import InductiveEmbedder
from graphgate.paper.baselines.inputs import dense_features, is_sparse, seeded
from graphgate.training.sampling import draw_neighbors, random_walks, symmetrized

POOL_WIDTH, LSTM_WIDTH = 512, 128  # the implementation's "small" models


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of the features of a graph, by which others are standardized."""

    mean: Tensor  # (F,)
    std: Tensor  # (F,), 1 where a feature is constant

    @classmethod
    def of(cls, graph: Graph) -> Self:
        mean = np.asarray(graph.x.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray((graph.x * graph.x).mean(axis=0), dtype=np.float64).ravel()
        variance = square - mean**2
        # Rounding leaves a small variance where a feature is constant.
        std = np.sqrt(np.where(variance > 1e-6 * square, variance, 1.0))
        return cls(torch.from_numpy(mean).float(), torch.from_numpy(std).float())


@dataclass(frozen=True)
class SparseFeatures:
    """Standardized features, (N, F); X itself stays sparse."""

    x: FeatureMatrix
    scaling: Scaling

    def times(self, weight: Tensor) -> Tensor:
        """(N, D) for a weight of shape (F, D)."""
        scaled = weight / self.scaling.std[:, None]
        return self.x.times(scaled) - self.scaling.mean @ scaled


Vectors = SparseFeatures | Tensor


def standardized(graph: Graph, scaling: Scaling) -> Vectors:
    if is_sparse(graph):
        x = FeatureMatrix(graph.x, device=torch.device("cpu"), dtype=torch.float32)
        return SparseFeatures(x, scaling)
    return (dense_features(graph, normalize=False) - scaling.mean) / scaling.std


def _linear(
    vectors: Vectors, weight: Tensor, pick: Callable[[Tensor], Tensor] = lambda rows: rows
) -> Tensor:
    """`pick(vectors) @ weight`, where `pick` selects rows or sums of rows.

    The two commute: sparse features are multiplied first, while they are sparse.
    """
    if isinstance(vectors, SparseFeatures):
        return pick(vectors.times(weight))
    return pick(vectors) @ weight


def _weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))


class MeanLayer(nn.Module):
    """The vector of a node, concatenated with the mean of its neighbors'."""

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
    """The neighbors pass through a layer of their own; then the maximum of each entry."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.pool = _weight(inputs, POOL_WIDTH)
        self.bias = nn.Parameter(torch.zeros(POOL_WIDTH))
        self.neighbor = _weight(POOL_WIDTH, outputs // 2)

    def gathered(self, vectors: Vectors, neighbors: Tensor) -> Tensor:
        passed = torch.relu(_linear(vectors, self.pool) + self.bias)
        # A neighbor drawn twice counts once.
        ordered = neighbors.sort(dim=1).values
        new = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
        starts = new.sum(dim=1).cumsum(0).roll(1)
        starts[0] = 0
        return F.embedding_bag(ordered[new], passed, starts, mode="max") @ self.neighbor


class LSTMLayer(MeanLayer):
    """The neighbors pass through an LSTM, in the random order in which they were drawn."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.input_gates = _weight(inputs, 4 * LSTM_WIDTH)
        self.state_gates = _weight(LSTM_WIDTH, 4 * LSTM_WIDTH)
        self.bias = nn.Parameter(torch.zeros(4 * LSTM_WIDTH))
        self.neighbor = _weight(LSTM_WIDTH, outputs // 2)

    def gathered(self, vectors: Vectors, neighbors: Tensor) -> Tensor:
        # Written out, so that the product with the input is taken once per node, not once per draw.
        inputs = _linear(vectors, self.input_gates) + self.bias
        state = cell = inputs.new_zeros(len(neighbors), LSTM_WIDTH)
        for draw in neighbors.T:
            gates = inputs.index_select(0, draw) + state @ self.state_gates
            enter, update, forget, leave = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget + 1) * cell + torch.sigmoid(enter) * torch.tanh(update)
            state = torch.sigmoid(leave) * torch.tanh(cell)
        return state @ self.neighbor


class GCNLayer(nn.Module):
    """The mean of the vectors of a node and its neighbors."""

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


@dataclass(kw_only=True, eq=False, repr=False)
class GraphSAGE(InductiveEmbedder):
    """Vectors of length 1, from the features of a node and of sampled neighbors, that agree for
    nodes which meet on short walks.

    Parameters
    ----------
    aggregator : "mean", "gcn", "pool" or "lstm".
    n_components : size of the embedding, D, own and neighbors' part together.
    draws : neighbors drawn in the first layer and in the second.
    walks, walk_length : from every node; it is paired with the nodes that a walk visits before its
        last step, as in the implementation.
    negatives : random nodes that a batch is compared with.
    """

    aggregator: str = "mean"
    n_components: int = 512
    draws: tuple[int, int] = (25, 10)
    walks: int = 50
    walk_length: int = 5
    negatives: int = 20
    batch_size: int = 512
    epochs: int = 1
    learning_rate: float = 1e-5
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        if self.aggregator not in LAYERS:
            raise InputError(
                f"unknown aggregator {self.aggregator!r}; use one of {', '.join(LAYERS)}"
            )
        if graph.n_edges == 0:
            raise InputError("GraphSAGE learns from walks, but the graph has no edges")
        self.seed_ = hyperparameters.seed(self.random_state)
        with seeded(self.seed_) as rng:
            layer, size = LAYERS[self.aggregator], self.n_components
            self.scaling_ = Scaling.of(graph)
            self.layers_ = nn.ModuleList([layer(graph.n_features, size), layer(size, size)])
            self._train(graph, rng)
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        """Sampled neighbors depend only on the seed of `fit`."""
        with torch.no_grad():
            everyone = np.arange(graph.n_nodes)
            rng = np.random.default_rng(self.seed_)
            return self._forward(standardized(graph, self.scaling_), graph, everyone, rng).numpy()

    def _train(self, graph: Graph, rng: np.random.Generator) -> None:
        features = standardized(graph, self.scaling_)
        optimizer = torch.optim.Adam(self.layers_.parameters(), lr=self.learning_rate)
        for pairs, negatives in self._batches(graph, rng):
            named = np.concatenate([pairs.ravel(), negatives])
            nodes, places = np.unique(named, return_inverse=True)
            z = self._forward(features, graph, nodes, rng).index_select(0, torch.from_numpy(places))
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

    def _forward(
        self, features: Vectors, graph: Graph, nodes: np.ndarray, rng: np.random.Generator
    ) -> Tensor:
        """(len(nodes), D) vectors of length 1; the nodes are distinct and sorted."""
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
    """Positions of the wanted nodes in a sorted array of nodes."""
    return torch.from_numpy(np.searchsorted(nodes, wanted))
