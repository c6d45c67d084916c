"""What a fitted estimator computes for a graph: embedding, values of edges, reconstruction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.compute.draws import Draws
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.model import CONTEXT, MASKED, LinearModel, States
from graphgate.nn.autoencoder import DecoderOutput, EncoderOutput, GATEModel
from graphgate.nn.pattern import AttentionPattern

_HALVES = 4  # random halves of the nodes, over which what a node sees of others is averaged


@dataclass(frozen=True)
class Attention:
    """Attention coefficients as N×N CSR arrays; row i holds α_ij over what node i attends to.

    encoder, decoder : one array per layer, layer 1 first.

    >>> from graphgate import GATE
    >>> graph = Graph.from_edges(np.eye(3), [(0, 1), (1, 2)])
    >>> gate = GATE(dims=(2,), epochs=3, random_state=0, progress=False).fit(graph)
    >>> gate.attention_.average.sum(axis=1).round(3).tolist()
    [1.0, 1.0, 1.0]
    """

    title: ClassVar[str] = "attention"
    encoder: tuple[sp.csr_array, ...]
    decoder: tuple[sp.csr_array, ...]

    @property
    def average(self) -> sp.csr_array:
        """Σ_k (α(k) + α̂(k)) / 2L, as in the paper's figures."""
        layers = (*self.encoder, *self.decoder)
        mean = layers[0].copy()
        mean.data = np.mean([layer.data for layer in layers], axis=0)
        return mean


@dataclass(frozen=True)
class EdgeScores:
    """How likely each edge of a graph is, by the structure decoder of `LinearGATE`.

    average : N×N CSR array; row i holds the probability of the edge to each node that i attends
        to. It is the same in both directions.
    """

    title: ClassVar[str] = "edge score"
    average: sp.csr_array


def titled_values(edge_values: Attention | EdgeScores | sp.sparray) -> tuple[str, Any]:
    """What values of edges are, and the values, (N, N); an array is attention."""
    if isinstance(edge_values, (Attention, EdgeScores)):
        return edge_values.title, edge_values.average
    return Attention.title, edge_values


@dataclass(frozen=True)
class EmbeddedGraph:
    """What the network computes for a graph; the decoder runs only when it is asked for."""

    model: GATEModel
    encoded: EncoderOutput
    pattern: AttentionPattern
    features: Features

    @property
    def embedding(self) -> np.ndarray:
        """(N, D), one vector per node."""
        return self.encoded.h.cpu().numpy()

    @cached_property
    def attention(self) -> Attention:
        encoder = tuple(self.pattern.to_scipy(alpha) for alpha in self.encoded.attention)
        if not self.model.architecture.has_own_decoder_attention:
            return Attention(encoder, encoder)
        decoder = self._decode().attention
        return Attention(encoder, tuple(self.pattern.to_scipy(alpha) for alpha in decoder))

    @property
    def edge_values(self) -> Attention:
        """What to show of edges."""
        return self.attention

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""
        return self._decode().x.cpu().numpy()

    def feature_errors(self) -> np.ndarray:
        """(N,) 1 - cosine of the features of a node and of their reconstruction."""
        return _angles(self.features, self.reconstruction())

    def edge_errors(self) -> np.ndarray:
        """(N,) mean of 1 - cosine of centered vectors over the edges of a node; NaN without.

        The inner products of the structure loss are mostly a matter of the lengths of vectors.
        """
        pattern = self.attention.average
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        h = self.embedding - self.embedding.mean(axis=0)
        return _mean_per_node(_angles(h[rows], h[pattern.indices]), pattern)

    @torch.no_grad()
    def _decode(self) -> DecoderOutput:
        return self.model.decode(self.encoded, self.pattern)


@dataclass(frozen=True)
class ScoredGraph:
    """What a solved model computes for a graph; all but the embedding only when it is asked for."""

    model: LinearModel
    decoder: EdgeDecoder | None
    states: States
    graph: Graph

    @cached_property
    def embedding(self) -> np.ndarray:
        """(N, D), one vector per node."""
        return self.model.embed(self.states).numpy()

    def propagated(self) -> dict[str, np.ndarray]:
        """What the embedding is computed from, (N, ·) each: the inputs of `export_onnx`."""
        return {name: self.states[name].whole().numpy() for name in self.model.weights}

    @cached_property
    def edge_values(self) -> EdgeScores | None:
        """What to show of edges; None where there were too few to learn from."""
        if self.decoder is None:
            return None
        attended = self.graph.attended
        rows = np.repeat(np.arange(self.graph.n_nodes), np.diff(attended.indptr))
        pairs = np.stack([rows, attended.indices.astype(np.int64)], axis=1)
        values = self.decoder.probabilities(self.states, pairs)
        parts = (values, attended.indices, attended.indptr)
        return EdgeScores(sp.csr_array(parts, attended.shape))

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""
        z = self.model.reconstruction.coordinates(self.states["context"].whole())
        return self.model.coordinates.inverse_transform(z, self.graph.x)

    @torch.no_grad()
    def feature_errors(self) -> np.ndarray:
        """(N,) 1 - cosine of the coordinates of a node and of what other nodes suggest."""
        own, context = self.states["own"].whole(), self.states["context"].whole()
        seen, draws = torch.zeros_like(own), Draws(0, self.graph.id_ranks)
        for _ in range(_HALVES):
            half = draws.uniform_by_node(len(own))[:, None] < MASKED
            q = self.states.operator.apply(own * half, CONTEXT)
            seen += torch.where(half, context - q, q) / _HALVES
        return _angles(own.numpy(), (seen @ self.model.reconstruction.weights).numpy())

    def edge_errors(self) -> np.ndarray:
        """(N,) mean of -log p over the edges of a node; NaN where it has none, or no decoder."""
        if self.edge_values is None:
            return np.full(self.graph.n_nodes, np.nan)
        scores = self.edge_values.average
        return _mean_per_node(-np.log(np.maximum(scores.data, 1e-12)), scores)


def _angles(one: Any, other: np.ndarray) -> np.ndarray:
    """(N,) 1 - cosine of the rows of two matrices, the first of which may be sparse."""
    squares = one.multiply(one).sum(axis=1) if sp.issparse(one) else (one**2).sum(axis=1)
    products = (one.multiply(other) if sp.issparse(one) else one * other).sum(axis=1)
    lengths = np.sqrt(squares * (other**2).sum(axis=1))
    return 1 - products / np.maximum(lengths, 1e-30)


def _mean_per_node(values: np.ndarray, pattern: sp.csr_array) -> np.ndarray:
    """(N,) mean over edges from or to a node other than itself; NaN where there is none."""
    n = pattern.shape[0]
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    between = rows != pattern.indices
    ends = np.concatenate([rows[between], pattern.indices[between]])
    sums = np.bincount(ends, np.tile(values[between], 2), n)
    counts = np.bincount(ends, minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
