"""The collapsed form with a hand-derived gradient: one training step in preallocated buffers.

`collapsed.py` is the readable reference; this is the same algebra, for tied weights and shared
attention, with every N×D product written into a buffer. What has only a few columns is left to
autograd. Names follow the algebra there, and `d_…` is a gradient of the loss. The backward pass,
with w_i the derivative of the feature loss with respect to ‖x_i − x̂_i‖² and z_ij that of the
structure loss with respect to h_i·h_j:

    M = BᵀB,  T = Q M − G,  G = X B
    d_Q = 2 w ∘ T              d_B = Xᵀ d_G + 2 B K,  K = Qᵀ (w ∘ Q)
    d_U(k+1) = C(k)ᵀ d_U(k)    d_α(k)_ij = d_U(k)_i · U(k+1)_j + d_H(k)_i · H(k-1)_j
    d_H(L) = d_U(L+1) + (Z + Zᵀ) H,  d_H(k-1) = C(k)ᵀ d_H(k),  d_G = d_H(0) − 2 w ∘ Q

with U(L+1) = H(L) = H, U(k) = C(k) U(k+1), Q = U(1), H(0) = G. See docs/paper.md.
"""

import torch
from torch import Tensor

from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.parameter_gradients import FoldedWeights, Scores
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import row_dot, symmetric_product, total_dot


def applies_to(architecture: Architecture) -> bool:
    return (
        architecture.activation == "identity"
        and architecture.tied_weights
        and not architecture.has_own_decoder_attention
    )


def buffer_shapes(
    architecture: Architecture, n: int, *, feature_loss: bool
) -> dict[str, tuple[int, int]]:
    """The buffers of a `CollapsedStep` on N nodes, by name.

    Those of shape (N, D) are G, H(1) … H(L), U(1) … U(L) and T; each is reused for a gradient once
    its content is no longer needed.
    """
    f, d, layers = architecture.n_features, architecture.dims[-1], len(architecture.dims)
    wide = ["g", "t", *(f"h.{k}" for k in range(layers))]
    if feature_loss:
        wide += [f"u.{k}" for k in range(layers)]
        # T is free when d_H is computed, except with one layer, where d_H is computed from T.
        wide += ["d_h"] if layers == 1 else []
    shapes = dict.fromkeys(wide, (n, d))
    return shapes | {"b": (f, d), "d_b": (f, d), "gram": (d, d), "k": (d, d)}


class CollapsedStep:
    """Call it to get the loss parts; the gradients are then in `parameter.grad`.

    The number of the step makes no difference.
    """

    def __init__(
        self, model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
    ) -> None:
        self.model, self.x, self.pattern, self.loss = model, x, pattern, loss
        shapes = buffer_shapes(
            model.architecture, x.shape[0], feature_loss=bool(loss.feature_weight)
        )
        buffers = {
            name: torch.empty(shape, device=x.device, dtype=x.dtype)
            for name, shape in shapes.items()
        }
        self.h, self.u = (
            [buffers[name] for name in shapes if name.startswith(prefix)] for prefix in ("h.", "u.")
        )
        self.g, self.t, self.b, self.d_b = (buffers[name] for name in ("g", "t", "b", "d_b"))
        self.gram, self.k = buffers["gram"], buffers["k"]
        self.d_h = buffers.get("d_h", self.t)
        self.gradients = [(p, torch.zeros_like(p)) for p in model.parameters()]

    @torch.no_grad()
    def __call__(self, step: int = 0) -> dict[str, float]:
        model, x, pattern, loss = self.model, self.x, self.pattern, self.loss
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
        weights = FoldedWeights(model, self.b)
        scores = Scores(model, x, pattern)

        x.multiply(self.b, self.g)
        before = self.g
        for alpha, h in zip(scores.attention, self.h, strict=True):
            before = pattern.multiply(alpha, before, h)

        d_alpha: list[Tensor | None] = [None] * len(self.h)
        feature, scale, structure = 0.0, 0.0, 0.0
        if loss.feature_weight:
            feature, scale = self._features(scores.attention, d_alpha)
        if loss.structure_weight:
            structure = self._structure(scale)
        else:
            self.d_h.mul_(scale)
        d_g = self._encoder_backward(scores.attention, d_alpha, scale)

        x.multiply_transposed(d_g, self.d_b)
        if loss.feature_weight:
            torch.addmm(self.d_b, self.b, self.k, alpha=scale, out=self.d_b)
        weights.backward(self.d_b)
        scores.backward(d_alpha)
        return loss.parts(feature, structure)

    def _features(
        self, attention: list[Tensor], d_alpha: list[Tensor | None]
    ) -> tuple[float, float]:
        """The feature loss and a scale; leaves K, w ∘ Q and d_H in their buffers, divided by it.

        Where w is the same for all rows it is part of the scale, so that no buffer is multiplied.
        """
        pattern, x = self.pattern, self.x
        below = self.h[-1]
        for alpha, u in zip(reversed(attention), reversed(self.u), strict=True):
            below = pattern.multiply(alpha, below, u)
        q, t = self.u[0], self.t
        symmetric_product(self.b, self.gram)
        torch.addmm(self.g, q, self.gram, beta=-1.0, out=t)  # T = Q M − G
        norms, resolution = x.square_norms, 4 * torch.finfo(x.dtype).eps * x.square_norms
        if self.loss.feature_form == "frobenius":
            symmetric_product(q, self.k)
            # Σ_i Q_i M Q_iᵀ is the elementwise product of M and K, summed.
            square = norms.sum() + total_dot(self.gram, self.k) - 2 * total_dot(self.g, q)
            loss, slope = self.loss.feature_and_slope(square, resolution.sum())
            scale = 2 * slope.item()
        else:
            squares = norms + row_dot(t, q).double() - row_dot(self.g, q).double()
            loss, slope = self.loss.feature_and_slope(squares, resolution)
            scale, root = 2.0, slope.sqrt().to(x.dtype)[:, None]
            symmetric_product(q.mul_(root), self.k)  # K = Qᵀ (w ∘ Q)
            q.mul_(root)
            t.mul_(slope.to(x.dtype)[:, None])
        d_u = t
        for k, alpha in enumerate(attention):
            last = k + 1 == len(attention)
            above = self.h[-1] if last else self.u[k + 1]
            d_alpha[k] = dot_on(pattern, d_u, above).mul_(scale)
            # U(k+1) is no longer needed and its buffer takes its gradient, but H = U(L+1) is.
            d_u = pattern.multiply(alpha, d_u, self.d_h if last else above, transposed=True)
        return loss, scale

    def _structure(self, keep: float) -> float:
        """The structure loss; d_H becomes its gradient plus `keep` times its previous content."""
        pattern, h = self.pattern, self.h[-1]
        loss, z = self.loss.structure_and_slope(dot_on(pattern, h, h))
        if pattern.symmetric:  # Z is symmetric, so (Z + Zᵀ) H = 2 Z H
            pattern.multiply(z.mul_(2.0), h, self.d_h, keep=keep)
        else:
            pattern.multiply(z, h, self.d_h, keep=keep)
            pattern.multiply(z, h, self.d_h, transposed=True, keep=1.0)
        return loss

    def _encoder_backward(
        self, attention: list[Tensor], d_alpha: list[Tensor | None], scale: float
    ) -> Tensor:
        """From d_H to d_G; adds to d_α of every layer."""
        d_h = self.d_h
        for k in reversed(range(len(attention))):
            below = self.h[k - 1] if k else self.g
            d_alpha[k] = dot_on(self.pattern, d_h, below, onto=d_alpha[k])
            # H(k) is no longer needed and its buffer takes d_H(k-1); d_G is added to − 2 w ∘ Q.
            into_q = k == 0 and bool(self.u)
            target, keep = (self.u[0], -scale) if into_q else (self.h[k], 0.0)
            d_h = self.pattern.multiply(attention[k], d_h, target, transposed=True, keep=keep)
        return d_h
