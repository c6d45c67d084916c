"""What a fitted network computes for a graph: embedding, attention, reconstruction."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.nn.autoencoder import DecoderOutput, EncoderOutput, GATEModel
from graphgate.nn.pattern import AttentionPattern


@dataclass(frozen=True)
class Attention:
    """Attention coefficients as N×N CSR arrays; row i holds α_ij over what node i attends to.

    encoder, decoder : one array per layer, layer 1 first.
    """

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

    def reconstruction(self) -> np.ndarray:
        """X̂, (N, F), dense."""
        return self._decode().x.cpu().numpy()

    @torch.no_grad()
    def _decode(self) -> DecoderOutput:
        return self.model.decode(self.encoded, self.pattern)
