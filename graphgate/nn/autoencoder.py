"""The auto-encoder in its general form: stacked attention layers, and the same in reverse.

Parameters and equations only; no state is kept between calls.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from graphgate.errors import InputError, check_choice
from graphgate.nn.attention import (
    ACTIVATIONS,
    ATTENTION_KINDS,
    coefficients,
    constant_coefficients,
)
from graphgate.nn.features import FeatureMatrix, product_by_blocks
from graphgate.nn.pattern import AttentionPattern, attention_product


@dataclass(frozen=True)
class Architecture:
    """The network before training. `dims` are d(1) … d(L); d(0) is `n_features`.

    tied_weights : the decoder uses the transposed encoder weights.
    shared_attention : the decoder uses the encoder's attention.
    attention : "softmax" as in the paper, or "uniform" or "ones" for its ablation without it.
    """

    n_features: int
    dims: tuple[int, ...]
    activation: str = "identity"
    tied_weights: bool = True
    shared_attention: bool = True
    attention: str = "softmax"

    def __post_init__(self) -> None:
        if not self.dims or any(type(d) is not int or d < 1 for d in self.dims):
            raise InputError(f"dims must be integers ≥ 1, one per layer, got {self.dims!r}")
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("attention", self.attention, ATTENTION_KINDS)

    @property
    def sizes(self) -> tuple[int, ...]:
        """d(0), d(1), …, d(L)."""
        return (self.n_features, *self.dims)

    @property
    def has_own_decoder_attention(self) -> bool:
        return self.attention == "softmax" and not self.shared_attention


class EncoderOutput(NamedTuple):
    """`h` (N, D) and the attention of each encoder layer, (E,) each, first layer first."""

    h: Tensor
    attention: list[Tensor]


class DecoderOutput(NamedTuple):
    """`x` (N, F) and the attention of each decoder layer, (E,) each, layer 1 first."""

    x: Tensor
    attention: list[Tensor]


def parameter_shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter, in the order in which they are initialized.

    All encoder weights, then v_s and v_r layer by layer; then the decoder's own, if it has any.
    """
    shapes: dict[str, tuple[int, ...]] = {}

    def add(side: str, weights: list[tuple[int, int]], vectors: tuple[int, ...]) -> None:
        for k, shape in enumerate(weights):
            shapes[f"{side}_weight.{k}"] = shape
        for k, size in enumerate(vectors):
            shapes[f"{side}_center.{k}"] = shapes[f"{side}_neighbor.{k}"] = (size,)

    sizes = architecture.sizes
    down = list(pairwise(sizes))
    add("encoder", down, architecture.dims if architecture.attention == "softmax" else ())
    add(
        "decoder",
        [] if architecture.tied_weights else [(b, a) for a, b in down],
        sizes[:-1] if architecture.has_own_decoder_attention else (),
    )
    return shapes


class GATEModel(nn.Module):
    """Encoder (eq. 1-3) and decoder (eq. 4-6) of the paper, L layers each.

    Weights are Glorot-uniform, drawn from `rng` in the order of `parameter_shapes`; without an
    `rng` they are uninitialized, to be loaded.
    """

    def __init__(
        self,
        architecture: Architecture,
        rng: np.random.Generator | None = None,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.architecture = architecture
        self.encoder_weight = nn.ParameterList()
        self.encoder_center, self.encoder_neighbor = nn.ParameterList(), nn.ParameterList()
        self.decoder_weight = nn.ParameterList()
        self.decoder_center, self.decoder_neighbor = nn.ParameterList(), nn.ParameterList()
        for name, shape in parameter_shapes(architecture).items():
            values = torch.empty(shape, dtype=dtype)
            if rng is not None:
                limit = np.sqrt(6.0 / sum((*shape, 1)[:2]))
                values.copy_(torch.from_numpy(rng.uniform(-limit, limit, shape)))
            getattr(self, name.split(".")[0]).append(nn.Parameter(values))

    @property
    def n_layers(self) -> int:
        return len(self.architecture.dims)

    def decoder_weights(self) -> list[Tensor]:
        """Ŵ of decoder layers 1 … L, (d(k), d(k-1)) each."""
        if self.architecture.tied_weights:
            return [weight.T for weight in self.encoder_weight]
        return list(self.decoder_weight)

    def encode(
        self, x: FeatureMatrix, pattern: AttentionPattern, *, by_blocks: bool = False
    ) -> EncoderOutput:
        """h(k)_i = Σ_j α(k)_ij σ(W(k) h(k-1)_j); `by_blocks` as in `product_by_blocks`."""
        activation = ACTIVATIONS[self.architecture.activation]
        product = product_by_blocks if by_blocks else torch.matmul
        product_with_x = x.times_by_blocks if by_blocks else x.times
        attention: list[Tensor] = []
        h = torch.empty(0)
        for k, weight in enumerate(self.encoder_weight):
            m = activation(product(h, weight) if k else product_with_x(weight))  # (N, d(k))
            if self.architecture.attention == "softmax":
                vectors = torch.stack([self.encoder_center[k], self.encoder_neighbor[k]], dim=1)
                alpha = coefficients(pattern, *product(m, vectors).unbind(1))
            else:
                alpha = constant_coefficients(pattern, self.architecture.attention, m.dtype)
            attention.append(alpha)
            h = attention_product(pattern, alpha, m)  # (N, d(k))
        return EncoderOutput(h, attention)

    def decode(self, encoded: EncoderOutput, pattern: AttentionPattern) -> DecoderOutput:
        """ĥ(k-1)_i = Σ_j α̂(k)_ij σ(Ŵ(k) ĥ(k)_j), from ĥ(L) = h down to x̂ = ĥ(0)."""
        activation = ACTIVATIONS[self.architecture.activation]
        attention = list(encoded.attention)
        weights = self.decoder_weights()
        h = encoded.h
        for k in reversed(range(self.n_layers)):
            m = activation(h @ weights[k])  # (N, d(k-1))
            if self.architecture.has_own_decoder_attention:
                attention[k] = coefficients(
                    pattern, m @ self.decoder_center[k], m @ self.decoder_neighbor[k]
                )
            h = attention_product(pattern, attention[k], m)  # (N, d(k-1))
        return DecoderOutput(h, attention)
