"""The collapsed form with its gradient worked out by hand: one training step, nothing allocated.

`collapsed.py` is the readable reference; this is the same algebra with every N×D product written
into a buffer that is made once. For tied weights and shared attention. Names follow the algebra
there; `d_…` is the gradient of the loss. The backward pass, with w_i the derivative of the
feature loss by ‖x_i − x̂_i‖² and z_ij that of the structure loss by h_i·h_j:

    M = BᵀB,  T = Q M − G,  G = X B
    d_Q = 2 w ∘ T              d_B = Xᵀ d_G + 2 B K,  K = Qᵀ (w ∘ Q)
    d_U(k+1) = C(k)ᵀ d_U(k)    d_α(k)_ij = d_U(k)_i · U(k+1)_j + d_H(k)_i · H(k-1)_j
    d_H(L) = d_U(L+1) + (Z + Zᵀ) H,  d_H(k-1) = C(k)ᵀ d_H(k),  d_G = d_H(0) − 2 w ∘ Q

with U(L+1) = H(L) = H, U(k) = C(k) U(k+1), Q = U(1), H(0) = G. See docs/paper.md.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from graphgate.attention import constant_coefficients
from graphgate.losses import Loss
from graphgate.model import Architecture, GATEModel
from graphgate.sparse import FeatureMatrix, Neighborhoods, dot_on


def applies_to(architecture: Architecture) -> bool:
    return (
        architecture.activation == "identity"
        and architecture.tied_weights
        and not architecture.has_own_decoder_attention
    )


class CollapsedStep:
    """Call it to get the loss parts; the gradients are then in `parameter.grad`.

    N×D buffers: G, H(1) … H(L), U(1) … U(L) and T, each taken over by a gradient once its own
    content has served.
    """

    def __init__(
        self, model: GATEModel, x: FeatureMatrix, pattern: Neighborhoods, loss: Loss
    ) -> None:
        self.model, self.x, self.pattern, self.loss = model, x, pattern, loss
        n, f = x.shape
        sizes = model.architecture.sizes
        d, n_layers = sizes[-1], len(sizes) - 1

        def buffer(rows: int, columns: int) -> Tensor:
            return torch.empty(rows, columns, device=x.device, dtype=x.dtype)

        self.g = buffer(n, d)
        self.h = [buffer(n, d) for _ in range(n_layers)]
        self.u = [buffer(n, d) for _ in range(n_layers if loss.feature_weight else 0)]
        self.t = buffer(n, d)
        # T is free when d_H is computed, but for one layer: there d_H is computed from it.
        self.d_h = buffer(n, d) if loss.feature_weight and n_layers == 1 else self.t
        self.b, self.d_b = buffer(f, d), buffer(f, d)
        self.gram, self.k = buffer(d, d), buffer(d, d)
        self.gradients = [(p, torch.zeros_like(p)) for p in model.parameters()]

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        model, x, pattern, loss = self.model, self.x, self.pattern, self.loss
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
        weights = [weight.detach() for weight in model.encoder_weight]
        tails = self._embedding_matrix(weights)
        scores = _Scores(model, x, pattern)

        x.multiply(self.b, self.g)
        before = self.g
        for alpha, h in zip(scores.attention, self.h, strict=True):
            before = pattern.multiply(alpha, before, h)

        d_alpha: list[Tensor | None] = [None] * len(self.h)
        feature = self._features(scores.attention, d_alpha) if loss.feature_weight else 0.0
        structure = self._structure() if loss.structure_weight else 0.0
        d_g = self._encoder_backward(scores.attention, d_alpha)

        x.multiply_transposed(d_g, self.d_b)
        if loss.feature_weight:
            torch.addmm(self.d_b, self.b, self.k, alpha=2.0, out=self.d_b)
        self._weights_backward(weights, tails)
        scores.backward(d_alpha)
        total = loss.feature_weight * feature + loss.structure_weight * structure
        return {"loss": total, "feature": feature, "structure": structure}

    def _embedding_matrix(self, weights: list[Tensor]) -> list[Tensor]:
        """B into its buffer; returns the tails W(k)…W(L) for k = 2 … L."""
        tails = [weights[-1]]
        for weight in reversed(weights[1:-1]):
            tails.insert(0, weight @ tails[0])
        if len(weights) == 1:
            self.b.copy_(weights[0])
        else:
            torch.mm(weights[0], tails[0], out=self.b)
        return tails

    def _features(self, attention: list[Tensor], d_alpha: list[Tensor | None]) -> float:
        """The feature loss; leaves d_H in its buffer, −2 w ∘ Q in that of Q, and K."""
        pattern, x = self.pattern, self.x
        below = self.h[-1]
        for alpha, u in zip(reversed(attention), reversed(self.u), strict=True):
            below = pattern.multiply(alpha, below, u)
        q, t = self.u[0], self.t
        symmetric_product(self.b, self.gram)
        torch.addmm(self.g, q, self.gram, beta=-1.0, out=t)  # T = Q M − G
        squares = x.square_norms + (row_dot(t, q).double() - row_dot(self.g, q).double())
        loss, slope = self._norm(squares, 4 * torch.finfo(x.dtype).eps * x.square_norms)

        # K = Qᵀ (w ∘ Q) as one symmetric product, then −2 w ∘ Q, without another buffer.
        root = slope.sqrt().to(x.dtype)
        q.mul_(root)
        symmetric_product(q, self.k)
        q.mul_(-2 * root)
        d_u = t.mul_(2 * slope.to(x.dtype))
        for k, alpha in enumerate(attention):
            last = k + 1 == len(attention)
            above = self.h[-1] if last else self.u[k + 1]
            d_alpha[k] = dot_on(pattern, d_u, above)
            # U(k+1) has served and its buffer takes its gradient; but U(L+1), that is H, has not.
            d_u = pattern.multiply(alpha, d_u, self.d_h if last else above, transposed=True)
        return loss

    def _norm(self, squares: Tensor, resolution: Tensor) -> tuple[float, Tensor]:
        """The feature loss and feature_weight times its derivative by each square, (N, 1) or ()."""
        if self.loss.feature_form == "frobenius":
            squares, resolution = squares.sum(), resolution.sum()
        positive = squares > resolution
        norms = torch.where(positive, squares, 1.0).sqrt()
        slope = torch.where(positive, 0.5 * self.loss.feature_weight / norms, 0.0)
        total = torch.where(positive, norms, 0.0).sum().item()
        return total, slope if slope.ndim == 0 else slope[:, None]

    def _structure(self) -> float:
        """The structure loss; adds its gradient to d_H."""
        pattern, h = self.pattern, self.h[-1]
        dots = dot_on(pattern, h, h)
        z = torch.sigmoid(-dots).mul_(-self.loss.structure_weight)
        add = bool(self.loss.feature_weight)
        if pattern.symmetric:  # Z is symmetric, so (Z + Zᵀ) H = 2 Z H
            pattern.multiply(z.mul_(2.0), h, self.d_h, add=add)
        else:
            pattern.multiply(z, h, self.d_h, add=add)
            pattern.multiply(z, h, self.d_h, transposed=True, add=True)
        return functional.softplus(-dots).sum(dtype=torch.float64).item()

    def _encoder_backward(self, attention: list[Tensor], d_alpha: list[Tensor | None]) -> Tensor:
        """From d_H to d_G; adds to d_α of every layer."""
        d_h = self.d_h
        for k in reversed(range(len(attention))):
            below = self.h[k - 1] if k else self.g
            d_alpha[k] = dot_on(self.pattern, d_h, below, onto=d_alpha[k])
            # H(k) has served; at the first layer d_G is added to −2 w ∘ Q.
            into_q = k == 0 and bool(self.u)
            target = self.u[0] if into_q else self.h[k]
            d_h = self.pattern.multiply(attention[k], d_h, target, transposed=True, add=into_q)
        return d_h

    def _weights_backward(self, weights: list[Tensor], tails: list[Tensor]) -> None:
        """d_B to the gradients of W(1) … W(L), which it sets."""
        grads = [_grad(weight) for weight in self.model.encoder_weight]
        if len(weights) == 1:
            grads[0].copy_(self.d_b)
            return
        d_tail = self.d_b
        for weight, tail, grad in zip(weights, tails, grads, strict=False):
            torch.mm(d_tail, tail.T, out=grad)
            d_tail = weight.T @ d_tail
        grads[-1].copy_(d_tail)


class _Scores:
    """Attention of every layer from narrow columns, and its way back to v_s, v_r and W.

    `columns[k]` holds X W(1)…W(j) v for layers j > k, pushed through C(1) … C(k): (N, 2(L-k)).
    """

    def __init__(self, model: GATEModel, x: FeatureMatrix, pattern: Neighborhoods) -> None:
        self.model, self.x, self.pattern = model, x, pattern
        self.n_layers = model.n_layers
        if model.architecture.attention != "softmax":
            constant = constant_coefficients(pattern, model.architecture.attention, x.dtype)
            self.attention = [constant] * self.n_layers
            return
        self.weights = [weight.detach() for weight in model.encoder_weight]
        # vectors[k] are v_s, v_r of layer k; chains[k][j] is W(j)…W(k) [v_s v_r].
        pairs = zip(model.encoder_center, model.encoder_neighbor, strict=True)
        self.vectors = [torch.stack([s.detach(), r.detach()], dim=1) for s, r in pairs]
        self.chains: list[list[Tensor]] = []
        for k, vector in enumerate(self.vectors):
            chain = [vector]
            for weight in reversed(self.weights[: k + 1]):
                chain.insert(0, weight @ chain[0])
            self.chains.append(chain)
        starts = torch.cat([chain[0] for chain in self.chains], dim=1)  # (F, 2L)
        columns = x.multiply(starts, starts.new_empty(x.shape[0], starts.shape[1]))
        self.columns, self.attention, self.sigmoids = [columns], [], []
        for k in range(self.n_layers):
            sigmoid, alpha = self._attend(self.columns[k])
            self.sigmoids.append(sigmoid)
            self.attention.append(alpha)
            rest = self.columns[k][:, 2:].contiguous()
            if rest.shape[1]:
                rest = pattern.multiply(alpha, rest, torch.empty_like(rest))
            self.columns.append(rest)

    def _attend(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        pattern = self.pattern
        logit = columns[:, 0].index_select(0, pattern.centers)
        logit += columns[:, 1].index_select(0, pattern.neighbors)
        if pattern.weights is not None:
            logit *= pattern.weights
        sigmoid = logit.sigmoid_()
        raised = torch.exp(sigmoid)
        return sigmoid, raised.div_(pattern.row_sums(raised).index_select(0, pattern.centers))

    def backward(self, d_alpha: list[Tensor | None]) -> None:
        """Adds what goes through the attention to the gradients; call it after d_B has set them."""
        if self.model.architecture.attention != "softmax":
            return
        pattern = self.pattern
        d_columns = self.columns[-1]  # empty: no layer is left
        for k in reversed(range(self.n_layers)):
            d_a, alpha, sigmoid = d_alpha[k], self.attention[k], self.sigmoids[k]
            assert d_a is not None
            if d_columns.shape[1]:
                rest = self.columns[k][:, 2:].contiguous()
                d_a = dot_on(pattern, d_columns, rest, onto=d_a)
                d_columns = pattern.multiply(
                    alpha, d_columns, torch.empty_like(d_columns), transposed=True
                )
            d_a = d_a * alpha  # softmax: α ∘ (d_α − Σ_l α_il d_α_il)
            d_a -= alpha * pattern.row_sums(d_a).index_select(0, pattern.centers)
            d_logit = d_a.mul_(sigmoid).mul_(1 - sigmoid)
            if pattern.weights is not None:
                d_logit *= pattern.weights
            here = torch.stack([pattern.row_sums(d_logit), pattern.column_sums(d_logit)], dim=1)
            d_columns = torch.cat([here, d_columns], dim=1)
        f = self.x.shape[1]
        d_starts = self.x.multiply_transposed(d_columns, d_columns.new_empty(f, 2 * self.n_layers))
        for k, chain in enumerate(self.chains):
            d_chain = d_starts[:, 2 * k : 2 * k + 2]
            for weight, parameter, tail in zip(
                self.weights, self.model.encoder_weight, chain[1:], strict=False
            ):
                _grad(parameter).addmm_(d_chain, tail.T)
                d_chain = weight.T @ d_chain
            _grad(self.model.encoder_center[k]).copy_(d_chain[:, 0])
            _grad(self.model.encoder_neighbor[k]).copy_(d_chain[:, 1])


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def row_dot(a: Tensor, b: Tensor) -> Tensor:
    """a_i · b_i for every row, (N,), without an N×D product in between."""
    return torch.bmm(a.unsqueeze(1), b.unsqueeze(2))[:, 0, 0]


def symmetric_product(a: Tensor, out: Tensor, parts: int = 4) -> Tensor:
    """out = aᵀ a; only blocks on and above the diagonal are computed, the others mirrored."""
    d = a.shape[1]
    if d % parts or d < 64 * parts:
        return torch.mm(a.T, a, out=out)
    size = d // parts
    for start in range(0, d, size):
        rows = slice(start, start + size)
        torch.mm(a[:, rows].T, a[:, start:], out=out[rows, start:])
    for start in range(size, d, size):
        out[start : start + size, :start] = out[:start, start : start + size].T
    return out
