"""The exact fast form for the identity activation, written for autograd.

Without an activation, attention C mixes rows and the weights W mix columns, and the two commute.
With B = W(1)…W(L), (F, D):

    H  = C(L)…C(1) X B                        X̂ = Q B̂,  Q = Ĉ(1)…Ĉ(L) H,  B̂ = Ŵ(L)…Ŵ(1)
    scores of encoder layer k:  X (W(1)…W(k) v)  through C(1)…C(k-1): two columns
    ‖x_i − x̂_i‖² = ‖x_i‖² − 2 (X B̂ᵀ)_i·Q_i + Q_i (B̂ B̂ᵀ) Q_iᵀ

so neither the hidden N×d(k) matrices nor the N×F reconstruction are computed, and X stays sparse.
With tied weights B̂ = Bᵀ.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from graphgate.nn.attention import coefficients, constant_coefficients
from graphgate.nn.autoencoder import Architecture, EncoderOutput, GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern, attention_product

_LARGEST_BLOCK = 1 << 22  # bytes of a block of columns: 512 up to 2,048 nodes in float32
_NARROWEST = 16  # columns in a block, however many bytes these take


def chain(matrices: list[Tensor]) -> Tensor:
    """The product of matrices from right to left, as the leftmost one, (F, d), is the largest."""
    return reduce(lambda right, left: left @ right, reversed(matrices))


def block_width(n_nodes: int, n_columns: int, itemsize: int) -> int:
    """Columns of H that `FoldedEncoder.encode` computes at a time, by blocks."""
    return min(n_columns, max(_NARROWEST, _LARGEST_BLOCK // (n_nodes * itemsize)))


def score_vectors(model: GATEModel) -> Tensor | None:
    """W(1)…W(k) v_s and W(1)…W(k) v_r for every encoder layer, (F, 2L); None without attention."""
    if model.architecture.attention != "softmax":
        return None
    weights = list(model.encoder_weight)
    pairs = zip(model.encoder_center, model.encoder_neighbor, strict=True)
    return torch.cat(
        [chain([*weights[: k + 1], torch.stack(pair, dim=1)]) for k, pair in enumerate(pairs)],
        dim=1,
    )


def attention_layers(
    architecture: Architecture, pattern: AttentionPattern, scores: Tensor | None, dtype: torch.dtype
) -> list[Tensor]:
    """α of every encoder layer from X times the score vectors, (N, 2L)."""
    if scores is None:
        constant = constant_coefficients(pattern, architecture.attention, dtype)
        return [constant] * len(architecture.dims)
    attention: list[Tensor] = []
    for _ in architecture.dims:
        attention.append(coefficients(pattern, scores[:, 0], scores[:, 1]))
        scores = scores[:, 2:].contiguous()
        if scores.shape[1]:
            scores = attention_product(pattern, attention[-1], scores)
    return attention


Columns = Callable[[Tensor], Tensor]
ByColumns = Callable[[Tensor, Columns], Tensor]


class FoldedEncoder(NamedTuple):
    """A linear encoder in two matrices: B, (F, D), and its score vectors, (F, 2L)."""

    architecture: Architecture
    b: Tensor
    vectors: Tensor | None

    def encode(
        self,
        x: FeatureMatrix,
        pattern: AttentionPattern,
        *,
        by_blocks: bool = False,
        by_columns: ByColumns = lambda b, function: function(b),
        at_once: int = 1,
    ) -> EncoderOutput:
        """The same result as `GATEModel.encode`, up to rounding.

        `by_blocks`, a large H is computed some columns at a time, which do not depend on others.
        by_columns : applies a function to columns.
        at_once : how many blocks of columns it is given.
        """
        times = x.times_by_blocks if by_blocks else x.times
        scores = None if self.vectors is None else times(self.vectors)
        attention = attention_layers(self.architecture, pattern, scores, x.dtype)

        def through_layers(b: Tensor) -> Tensor:
            h = times(b)
            for alpha in attention:
                h = attention_product(pattern, alpha, h)
            return h

        n, d = x.shape[0], self.b.shape[1]
        width = block_width(n, d, self.b.itemsize) if by_blocks else d
        if width == d:
            return EncoderOutput(through_layers(self.b), attention)  # (N, D)

        h = self.b.new_empty(n, d)
        for start in range(0, d, at_once * width):
            columns = slice(start, start + at_once * width)
            h[:, columns] = by_columns(self.b[:, columns].contiguous(), through_layers)
        return EncoderOutput(h, attention)


def fold(model: GATEModel) -> FoldedEncoder:
    return FoldedEncoder(
        model.architecture, chain(list(model.encoder_weight)), score_vectors(model)
    )


def feature_loss(
    model: GATEModel,
    encoded: EncoderOutput,
    x: FeatureMatrix,
    pattern: AttentionPattern,
    loss: Loss,
) -> Tensor:
    """The same loss as from a reconstruction, up to rounding."""
    q = _through_decoder(model, encoded, pattern)  # (N, D)
    to_embedding = chain([weight.T for weight in model.decoder_weights()])  # B̂ᵀ, (F, D)
    gram = to_embedding.T @ to_embedding  # (D, D)
    cross = torch.linalg.vecdot(x.times(to_embedding), q)
    square = torch.linalg.vecdot(q @ gram, q)
    squares = x.square_norms - 2 * cross.double() + square.double()
    resolution = 4 * torch.finfo(x.dtype).eps * x.square_norms
    return loss.feature_from_squares(squares, resolution)


def _through_decoder(model: GATEModel, encoded: EncoderOutput, pattern: AttentionPattern) -> Tensor:
    """Q = Ĉ(1)…Ĉ(L) H, with the decoder's own attention where it has any."""
    q = encoded.h
    weights = model.decoder_weights()
    for k, alpha in reversed(list(enumerate(encoded.attention))):
        if model.architecture.has_own_decoder_attention:
            # q is Ĉ(k+1)…Ĉ(L) H, so its product with Ŵ(L)…Ŵ(k) v̂ gives the scores of layer k.
            vectors = torch.stack([model.decoder_center[k], model.decoder_neighbor[k]], dim=1)
            scores = q @ chain([*reversed(weights[k:]), vectors])
            alpha = coefficients(pattern, scores[:, 0], scores[:, 1])
        q = attention_product(pattern, alpha, q)
    return q
