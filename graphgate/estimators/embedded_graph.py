"""What a fitted estimator computes for a graph: embedding, values of edges, reconstruction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.graph.graph import Graph
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.linear_model import LinearModel
from graphgate.linear.node_states import NodeStates
from graphgate.nn.autoencoder import DecoderOutput, EncoderOutput, GATEModel
from graphgate.nn.pattern import AttentionPattern


@dataclass(frozen=True)
class Attention:
    """Attention coefficients as N×N CSR arrays; row i holds α_ij over what node i attends to.

    encoder, decoder : one array per layer, layer 1 first.
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

    @torch.no_grad()
    def _decode(self) -> DecoderOutput:
        return self.model.decode(self.encoded, self.pattern)


@dataclass(frozen=True)
class ScoredGraph:
    """What a solved model computes for a graph; all but the embedding only when it is asked for."""

    model: LinearModel
    decoder: EdgeDecoder | None
    states: NodeStates
    graph: Graph

    @cached_property
    def embedding(self) -> np.ndarray:
        """(N, D), one vector per node."""
        return self.model.embed(self.states).numpy()

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
        context = self.states.context.rows(slice(0, self.graph.n_nodes))
        z = self.model.reconstruction.coordinates(context)
        return self.model.coordinates.inverse_transform(z, self.graph.x)
