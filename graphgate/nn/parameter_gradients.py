"""From the parameters to B and to the attention, and from their gradients back.

The hand-derived step begins and ends here; what lies between has N×D matrices. The gradients are
written to `parameter.grad`, which must exist.
"""

import torch
from torch import Tensor

from graphgate.compute.processes import Processes
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.collapsed import attention_layers
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import thin_product


class FoldedWeights:
    """B = W(1)…W(L), (F, D), written to `b`."""

    def __init__(self, model: GATEModel, b: Tensor) -> None:
        self.model = model
        self.weights = [weight.detach() for weight in model.encoder_weight]
        # W(k)…W(L) for k = 2 … L.
        self.tails: list[Tensor] = []
        for weight in reversed(self.weights[1:]):
            self.tails.insert(0, weight @ self.tails[0] if self.tails else weight)
        torch.mm(self.weights[0], self.tails[0], out=b) if self.tails else b.copy_(self.weights[0])

    def backward(self, d_b: Tensor) -> None:
        """Set the gradients of W(1) … W(L)."""
        grads = [_grad(weight) for weight in self.model.encoder_weight]
        d_tail = d_b
        for k, tail in enumerate(self.tails):
            torch.mm(d_tail, tail.T, out=grads[k])
            d_tail = self.weights[k].T @ d_tail
        grads[-1].copy_(d_tail)


class Scores:
    """Attention of every layer from narrow columns, and its gradients for v_s, v_r and W.

    Autograd goes through what has a few columns: from X W(1)…W(k) v of every layer k, (N, 2L), to
    the attention. The products with X and W are written out.
    """

    def __init__(self, model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern) -> None:
        self.model, self.x, self.pattern = model, x, pattern
        self.weights = [weight.detach() for weight in model.encoder_weight]
        # tails[k] is [v_s v_r] of layer k beside W(k+1)…W(j) [v_s v_r] of every later layer j.
        self.tails: list[Tensor] = []
        self.columns: Tensor | None = None
        if model.architecture.attention == "softmax":
            pairs = zip(model.encoder_center, model.encoder_neighbor, strict=True)
            vectors = [torch.stack([s.detach(), r.detach()], dim=1) for s, r in pairs]
            chain = vectors[-1][:, :0]
            for weight, vector in zip(reversed(self.weights), reversed(vectors), strict=True):
                self.tails.insert(0, torch.cat([vector, chain], dim=1))
                chain = thin_product(weight, self.tails[0])
            self.columns = x.multiply(chain, chain.new_empty(x.shape[0], chain.shape[1]))
            self.columns.requires_grad_()
        with torch.enable_grad():
            self.layers = attention_layers(model.architecture, pattern, self.columns, x.dtype)
        self.attention = [alpha.detach() for alpha in self.layers]
        self.d_attention: list[Tensor | None] = [None] * len(self.layers)

    def add_gradient(self, k: int, a: Tensor, b: Tensor, scale: float = 1.0) -> None:
        """Add `scale` · a_i·b_j to d_α_ij of layer k, unless its attention is constant."""
        if self.columns is not None:
            self.d_attention[k] = dot_on(self.pattern, a, b, onto=self.d_attention[k], scale=scale)

    def backward(self, processes: Processes) -> None:
        """Add what flows through the attention to the gradients that d_B has set.

        processes : those whose gradients of the attention add up.
        """
        if self.columns is None:
            return
        d_attention = [
            processes.sum(d_alpha) for d_alpha in self.d_attention if d_alpha is not None
        ]
        (d_columns,) = torch.autograd.grad(self.layers, [self.columns], d_attention)
        d_chain = d_columns.new_empty(self.x.shape[1], d_columns.shape[1])
        self.x.multiply_transposed(d_columns, d_chain)
        for k, (weight, tail) in enumerate(zip(self.weights, self.tails, strict=True)):
            _grad(self.model.encoder_weight[k]).addmm_(d_chain, tail.T)
            # Of [v_s v_r] of this layer, and of the chains of later layers.
            d_tail = thin_product(weight.T, d_chain)
            _grad(self.model.encoder_center[k]).copy_(d_tail[:, 0])
            _grad(self.model.encoder_neighbor[k]).copy_(d_tail[:, 1])
            d_chain = d_tail[:, 2:].contiguous()


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
