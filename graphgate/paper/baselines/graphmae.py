"""Attention layers trained to reconstruct the features of masked nodes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from graphgate.errors import InputError
from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import ScaledEmbedder
from graphgate.paper.baselines.inputs import dense_features, seeded, step

_GAIN = 2**0.5  # of the initial weights, as in the reference implementation


def _attention(inputs: int, outputs: int, heads: int, dropout: float) -> GATConv:
    layer = GATConv(inputs, outputs, heads, dropout=dropout, add_self_loops=False)
    for weight in (layer.lin.weight, layer.att_src, layer.att_dst):
        nn.init.xavier_normal_(weight, gain=_GAIN)
    return layer


class MaskedAutoencoder(nn.Module):
    """Two attention layers, and a third one that reconstructs features from their output.

    token : (1, F), the learned features of masked nodes.
    """

    def __init__(
        self, n_features: int, n_components: int, heads: int, dropout: float, attention: float
    ) -> None:
        super().__init__()
        size = n_components // heads
        self.dropout = nn.Dropout(dropout)
        self.first = _attention(n_features, size, heads, attention)
        self.second = _attention(n_components, size, heads, attention)
        self.activations = nn.ModuleList([nn.PReLU(), nn.PReLU()])
        self.between = nn.Linear(n_components, n_components, bias=False)
        self.decoder = _attention(n_components, n_features, 1, attention)
        self.token = nn.Parameter(torch.zeros(1, n_features))

    def encode(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = x
        for layer, activation in zip((self.first, self.second), self.activations, strict=True):
            h = activation(layer(self.dropout(h), edge_index))
        return h

    def reconstruct(self, h: Tensor, edge_index: Tensor, masked: Tensor) -> Tensor:
        """(M, F) features of the M masked nodes, whose own rows of `h` are ignored.

        Only these nodes are decoded. With rows of zeros, they share one row as sources, and as
        targets they add nothing to a score.
        """
        n, m = len(h), len(masked)
        kept = torch.ones(n, dtype=torch.bool).index_fill(0, masked, False).nonzero().squeeze(1)
        source = torch.full((n,), n - m).index_copy(0, kept, torch.arange(n - m))
        target = torch.full((n,), -1).index_copy(0, masked, torch.arange(m))
        edges = torch.stack([source[edge_index[0]], target[edge_index[1]]])
        rows = F.pad(self.between(h.index_select(0, kept)), (0, 0, 0, 1))
        edges = edges[:, edges[1] >= 0]
        return self.decoder((self.dropout(rows), None), edges, size=(n - m + 1, m))


@dataclass(kw_only=True, eq=False, repr=False)
class GraphMAE(ScaledEmbedder):
    """GraphMAE (Hou et al., 2022, "GraphMAE: Self-Supervised Masked Graph Autoencoders"): attention
    layers that reconstruct the features of masked nodes from those of the others.

    In every step, other nodes are masked: their features are replaced by a learned token, or by
    those of a random node, and their vectors are set to zero before they are decoded. Parameters
    are those of the reference implementation by dataset, see
    graphgate/paper/experiments/graphmae; the learning rate falls to zero along a cosine, and the
    features of a node sum to 1. Edge weights are ignored, and every node is a neighbor of itself.

    Departure. As for `DGI`, the embedding is scaled by one number, since a probe with a penalty is
    sensitive to it; the length is the one found for `DGI` and `CCASSG`.

    Parameters
    ----------
    n_components : size of the embedding, D, a multiple of `heads`.
    heads : number of attention heads of each encoding layer.
    mask : fraction of the nodes that are masked.
    replace : fraction of the masked nodes that get the features of a random node.
    exponent : γ of the scaled cosine error.
    dropout : fraction of a layer's inputs that is dropped in training.
    attention_dropout : fraction of the attention coefficients that is dropped in training.
    length : root mean square length of the vectors in `fit`; all are scaled by one number.

    Attributes
    ----------
    scale_ : the factor that the output of the network is multiplied by.
    losses_ : (epochs,) the loss of every step.
    """

    n_components: int = 512
    heads: int = 4
    learning_rate: float = 1e-3
    weight_decay: float = 2e-4
    epochs: int = 1500
    mask: float = 0.5
    replace: float = 0.05
    exponent: float = 3.0
    dropout: float = 0.2
    attention_dropout: float = 0.1
    length: float = 4.0
    random_state: int = 0

    def _train_network(self, graph: Graph) -> None:
        sizes = graph.n_features, self.n_components, self._checked_heads()
        x, edge_index = _inputs(graph)
        losses = []
        with seeded(self.random_state):
            network = MaskedAutoencoder(*sizes, self.dropout, self.attention_dropout)
            optimizer = torch.optim.Adam(
                network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
            )
            rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.epochs)
            for _ in range(self.epochs):
                shown, masked = masked_nodes(x, network.token, self.mask, self.replace)
                h = network.encode(shown, edge_index)
                rebuilt = network.reconstruct(h, edge_index, masked)
                loss = scaled_cosine_error(rebuilt, x[masked], self.exponent)
                step(optimizer, loss)
                rates.step()
                losses.append(loss.item())
        self.network_, self.losses_ = network.eval(), np.array(losses)

    @torch.no_grad()
    def _vectors(self, graph: Graph) -> np.ndarray:
        return self.network_.encode(*_inputs(graph)).numpy()

    def _checked_heads(self) -> int:
        heads = hyperparameters.integer("heads", self.heads)
        if self.n_components % heads:
            raise InputError(
                f"n_components must be a multiple of heads, got {self.n_components} and {heads}"
            )
        for name, least in (("mask", 1e-9), ("replace", 0.0)):
            if not least <= hyperparameters.number(name, getattr(self, name)) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        return heads


def masked_nodes(x: Tensor, token: Tensor, mask: float, replace: float) -> tuple[Tensor, Tensor]:
    """Features (N, F) in which those of some nodes are masked, and the numbers of these (M,)."""
    n = len(x)
    masked = torch.randperm(n)[: max(int(mask * n), 1)]
    n_noise = int(replace * len(masked))
    tokens, noise = masked[n_noise:], masked[:n_noise]
    shown = x.index_copy(0, noise, x[torch.randperm(n)[:n_noise]])
    return shown.index_copy(0, tokens, token.expand(len(tokens), -1)), masked


def scaled_cosine_error(rebuilt: Tensor, x: Tensor, exponent: float) -> Tensor:
    """The mean of (1 - cos)^γ over rows; the cosine with a row of zeros is 0."""
    cosines = (F.normalize(rebuilt) * F.normalize(x)).sum(dim=1)
    return (1 - cosines).clamp(min=0).pow(exponent).mean()


def _inputs(graph: Graph) -> tuple[Tensor, Tensor]:
    """Features (N, F), and the edges (2, E + N) from what a node attends to, itself included."""
    a = sp.coo_array((graph.attended != 0) + sp.eye_array(graph.n_nodes, dtype=bool))
    edge_index = torch.from_numpy(np.stack([a.col, a.row]).astype(np.int64))
    return dense_features(graph, normalize=True), edge_index
