"""One training epoch of the same model by several programs, from the same starting weights.

`ours` is this library. `plain` is plain PyTorch as one writes it from the paper: dense features,
a gathered row for every edge, sums by `index_add`, the whole reconstruction, autograd. `pyg` (in
`pyg_peer.py`) composes it of PyTorch Geometric's building blocks. `dense` computes only the
dense products that the exact fast form cannot do without: a lower bound for `ours`.

Where an ordinary user has a choice the peers take the faster one: `index_select`, whose gradient
is cheaper than that of `x[index]`, and a softmax that does not subtract the maximum. `index_add`
keeps its messages for the backward pass, so `plain` takes more memory than `pyg`, which scatters.
"""

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from graphgate.estimators.hyperparameters import find_preset
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.losses import Loss
from graphgate.training.adam import Adam
from graphgate.training.loop import Schedule, clip_gradients
from graphgate.training.objective import training_objective

SCHEDULE = Schedule(clip_norm=find_preset("authors").clip_norm)


class Peer(Protocol):
    def epoch(self) -> float:
        """Loss, gradients, clipping and one step of the optimiser; returns the loss before it."""


def start_weights(graph: Graph, dims: tuple[int, ...], dtype: torch.dtype) -> GATEModel:
    """The same weights at every call."""
    architecture = Architecture(graph.n_features, dims)
    return GATEModel(architecture, np.random.default_rng(0), dtype=dtype)


def make_peer(
    name: str, graph: Graph, dims: tuple[int, ...], loss: Loss, dtype: torch.dtype = torch.float32
) -> Peer:
    if name == "dense":
        return DenseProducts(graph, dims, dtype)
    kinds: dict[str, Any] = {"ours": Ours, "plain": Plain}
    if name == "pyg":
        from benchmarks.pyg_peer import Geometric  # a heavy import that only this peer pays for

        kinds["pyg"] = Geometric
    return kinds[name](graph, start_weights(graph, dims, dtype), loss)


class Ours:
    """The library's objective with the optimiser and the clipping of its training loop."""

    def __init__(self, graph: Graph, start: GATEModel, loss: Loss) -> None:
        self.objective = training_objective(start, graph, loss)
        self.parameters = list(start.parameters())
        named = dict(start.named_parameters())
        self.optimizer = Adam(named, SCHEDULE.learning_rate)

    def epoch(self) -> float:
        parts = self.objective(0)
        clip_gradients(self.parameters, SCHEDULE.clip_norm)
        self.optimizer.step()
        return parts["loss"]


class Autograd(nn.Module):
    """What `plain` and `pyg` share: parameters, dense features, the loss and the usual step."""

    def __init__(self, graph: Graph, start: GATEModel, loss: Loss) -> None:
        super().__init__()
        copies = [
            nn.ParameterList([nn.Parameter(p.detach().clone()) for p in group])
            for group in (start.encoder_weight, start.encoder_center, start.encoder_neighbor)
        ]
        self.weight, self.center, self.neighbor = copies
        self.loss = loss
        self.source, self.target = edge_index(graph)
        x = graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()
        # A copy: the arrays of a graph are read-only.
        self.x = torch.tensor(x, dtype=start.encoder_weight[0].dtype)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=SCHEDULE.learning_rate)

    def attention(self, m: Tensor, k: int) -> Tensor:
        """α of layer k, (E,), from W(k) h(k-1) of every node, (N, d(k))."""
        raise NotImplementedError

    def mix(self, alpha: Tensor, m: Tensor) -> Tensor:
        """Σ_j α_ij m_j for every node, (N, d)."""
        raise NotImplementedError

    def forward(self) -> tuple[Tensor, Tensor]:
        """The embedding (N, D) and the reconstruction (N, F)."""
        h = self.x
        attention: list[Tensor] = []
        for k, weight in enumerate(self.weight):
            m = h @ weight
            attention.append(self.attention(m, k))
            h = self.mix(attention[k], m)
        back = h
        for alpha, weight in zip(reversed(attention), reversed(list(self.weight)), strict=True):
            back = self.mix(alpha, back @ weight.T)
        return h, back

    def total_loss(self) -> Tensor:
        h, reconstruction = self()
        # The norm of the row norms: over a whole large matrix torch's float32 norm loses digits.
        rows = torch.linalg.vector_norm(self.x - reconstruction, dim=1)
        feature = torch.linalg.vector_norm(rows)
        dots = (h.index_select(0, self.target) * h.index_select(0, self.source)).sum(dim=1)
        structure = -functional.logsigmoid(dots).sum()
        return self.loss.feature_weight * feature + self.loss.structure_weight * structure

    def epoch(self) -> float:
        self.optimizer.zero_grad()
        loss = self.total_loss()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters(), SCHEDULE.clip_norm)
        self.optimizer.step()
        return loss.item()


class Plain(Autograd):
    def attention(self, m: Tensor, k: int) -> Tensor:
        center = (m @ self.center[k]).index_select(0, self.target)
        neighbor = (m @ self.neighbor[k]).index_select(0, self.source)
        raised = torch.exp(torch.sigmoid(center + neighbor))
        sums = raised.new_zeros(len(m)).index_add(0, self.target, raised)
        return raised / sums.index_select(0, self.target)

    def mix(self, alpha: Tensor, m: Tensor) -> Tensor:
        messages = alpha[:, None] * m.index_select(0, self.source)  # (E, d)
        return torch.zeros_like(m).index_add(0, self.target, messages)


class DenseProducts:
    """The dense products of an epoch in place, one after the other, none halved by symmetry."""

    def __init__(self, graph: Graph, dims: tuple[int, ...], dtype: torch.dtype) -> None:
        if len(dims) != 2:
            raise ValueError(f"the dense products are those of two layers, got {dims}")
        n, f, (d1, d2) = graph.n_nodes, graph.n_features, dims
        random = torch.Generator().manual_seed(0)

        def matrix(rows: int, columns: int) -> Tensor:
            return torch.rand(rows, columns, dtype=dtype, generator=random)

        w1, w2, b, q = matrix(f, d1), matrix(d1, d2), matrix(f, d2), matrix(n, d2)
        gram = matrix(d2, d2)
        self.products = [
            (w1, w2, torch.empty_like(b)),  # B = W1 W2
            (b.T, b, torch.empty_like(gram)),  # M = Bᵀ B
            (q, gram, torch.empty_like(q)),  # Q M
            (q.T, q, torch.empty_like(gram)),  # K = Qᵀ w Q
            (b, gram, torch.empty_like(b)),  # B K, towards d_B
            (b, w2.T, torch.empty_like(w1)),  # d_W1 = d_B W2ᵀ
            (w1.T, b, torch.empty_like(w2)),  # d_W2 = W1ᵀ d_B
        ]

    def epoch(self) -> float:
        for left, right, out in self.products:
            torch.mm(left, right, out=out)
        return 0.0


def edge_index(graph: Graph) -> tuple[Tensor, Tensor]:
    """Source j and target i of every pair that i attends over, self-loops included, (E,) each."""
    pairs = graph.adjacency.tocoo()
    loops = np.arange(graph.n_nodes)
    source = np.concatenate([pairs.row, loops]).astype(np.int64)
    target = np.concatenate([pairs.col, loops]).astype(np.int64)
    return torch.from_numpy(source), torch.from_numpy(target)
