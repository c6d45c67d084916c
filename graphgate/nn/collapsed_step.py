"""The collapsed form with a hand-derived gradient: one training step in bounded memory.

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

Attention mixes rows, so all of these but Q M and K can be computed for a few columns at a time.
Hence three passes over blocks of columns, of which one may be the whole:

1. forward, block by block: h_i·h_j and G_i·Q_i add up, and Q is put aside;
2. by rows, with all columns of some rows at a time: K adds up, and Q M replaces Q;
3. backward, block by block, from the same matrices again: d_α adds up.

Several processes split the columns, each with all edges. What adds up over blocks is then summed
over processes, which exchange columns for rows in the second pass.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from graphgate.compute.columns import Blocks
from graphgate.compute.processes import Processes
from graphgate.compute.tall_matrix import TallMatrix, row_chunks, temporary_file
from graphgate.errors import InputError
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.parameter_gradients import FoldedWeights, Scores
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import row_dot, symmetric_product, total_dot

_CHUNK = 1 << 19  # numbers of Q in the rows that a process takes at a time


def applies_to(architecture: Architecture) -> bool:
    return (
        architecture.activation == "identity"
        and architecture.tied_weights
        and not architecture.has_own_decoder_attention
    )


def chunk_rows(d: int) -> int:
    """Rows of D columns that a process takes at a time."""
    return max(1, _CHUNK // d)


def matrices_per_block(layers: int, *, feature_loss: bool) -> int:
    """Buffers of a block, (N, width): G, H(1) … H(L), U(1) … U(L), d_H.

    T takes the place of Q M. With several layers, d_H takes that of T.
    """
    return 1 + layers + layers * feature_loss + (layers == 1 or not feature_loss)


@dataclass(frozen=True)
class _Block:
    """The matrices of some columns: H(0) … H(L), where H(0) = G, and U(1) … U(L+1).

    d_h : a buffer for d_H, if T is not.
    """

    number: int
    columns: slice
    h: list[Tensor]
    u: list[Tensor]
    d_h: Tensor | None


@dataclass(frozen=True)
class _FeatureSlope:
    """2 w, as the product of a number and, unless w is the same for all rows, a column, (N, 1).

    The number is multiplied with what is computed from the N×D buffers, not with these.
    """

    scale: float = 0.0
    rows: Tensor | None = None


class CollapsedStep:
    """Call it to get the loss parts; the gradients are then in `parameter.grad`.

    The number of the step makes no difference.

    Parameters
    ----------
    blocks : the columns that are computed together, and whether Q is put aside in a temporary
        file; all columns by default.
    processes : those that split the columns; each has the same `model`, `x`, `pattern` and `loss`.
    """

    def __init__(
        self,
        model: GATEModel,
        x: FeatureMatrix,
        pattern: AttentionPattern,
        loss: Loss,
        blocks: Blocks | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.model, self.x, self.pattern, self.loss = model, x, pattern, loss
        self.processes = processes or Processes()
        (n, f), d = x.shape, model.architecture.dims[-1]
        if d < self.processes.size:
            raise InputError(
                f"{self.processes.size} processes cannot split the {d} columns of the embedding; "
                f"start at most {d}, or use larger dims"
            )
        self.blocks, own = blocks or Blocks(d), self.processes.share_of(d)
        columns = row_chunks(own.stop - own.start, self.blocks.width)
        self.columns = [slice(own.start + c.start, own.start + c.stop) for c in columns]
        widths = [c.stop - c.start for c in columns]
        count = matrices_per_block(model.n_layers, feature_loss=bool(loss.feature_weight))
        self.buffers = [self._empty(n * max(widths)) for _ in range(count)]
        file = temporary_file() if self.blocks.spilled else None
        self.q = TallMatrix(n, columns, x.dtype, file)  # then Q M
        if loss.feature_weight and file is None:
            for number, width in enumerate(widths):
                self.q.write_block(number, self._empty(n, width))
        self.b, self.d_b = self._empty(f, d), self._empty(f, d)
        self.gram, self.k = self._empty(d, d), self._empty(d, d)
        self.gradients = [(p, torch.zeros_like(p)) for p in model.parameters()]

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.x.device, dtype=self.x.dtype)

    @torch.no_grad()
    def __call__(self, step: int = 0) -> dict[str, float]:
        loss, processes = self.loss, self.processes
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
            # One model in all processes, however their processors round.
            processes.broadcast(parameter.detach())
        weights = FoldedWeights(self.model, self.b)
        scores = Scores(self.model, self.x, self.pattern)

        block, dots, cross = self._forward_pass(scores.attention)
        feature, w = self._row_pass(block, cross) if loss.feature_weight else (0.0, _FeatureSlope())
        structure, z = 0.0, None
        if loss.structure_weight:
            structure, z = loss.structure_and_slope(processes.sum(dots))
            if self.pattern.symmetric:  # Z is symmetric, so (Z + Zᵀ) H = 2 Z H
                z.mul_(2.0)
        del dots
        self._backward_pass(block, scores, w, z)

        weights.backward(processes.sum(self.d_b))
        scores.backward(processes)
        losses = torch.tensor([feature, structure], dtype=torch.float64, device=self.x.device)
        return loss.parts(*processes.broadcast(losses).tolist())

    # --- forward ---------------------------------------------------------------------------------

    def _forward_pass(self, attention: list[Tensor]) -> tuple[_Block, Tensor, Tensor]:
        """Puts Q aside; returns the last block, h_i·h_j of every pair, and G_i·Q_i of every row.

        Of the latter, only the sum if that is enough.
        """
        by_rows, norms = self.loss.feature_form == "rows", self.x.square_norms
        dots = self._empty(len(self.pattern) if self.loss.structure_weight else 0).zero_()
        cross = torch.zeros_like(norms) if by_rows else norms.new_zeros(())
        for number in range(len(self.columns)):
            block = self._forward(number, attention)
            if self.loss.structure_weight:
                dots = dot_on(self.pattern, block.h[-1], block.h[-1], onto=dots)
            if self.loss.feature_weight:
                g, q = block.h[0], block.u[0]
                cross += row_dot(g, q).double() if by_rows else total_dot(g, q)
                if len(self.columns) == 1:  # it stays in its buffer
                    continue
                if self.blocks.spilled:
                    self.q.write_block(number, q.cpu())
                else:
                    self.q.block(number).copy_(q)
        return block, dots, cross

    def _forward(self, number: int, attention: list[Tensor]) -> _Block:
        columns, n = self.columns[number], self.x.shape[0]
        width = columns.stop - columns.start
        free = iter([buffer[: n * width].view(n, width) for buffer in self.buffers])
        h = [self.x.multiply(self.b[:, columns], next(free))]
        for alpha in attention:
            h.append(self.pattern.multiply(alpha, h[-1], next(free)))
        u = [h[-1]]
        for alpha in reversed(attention) if self.loss.feature_weight else ():
            u.insert(0, self.pattern.multiply(alpha, u[0], next(free)))
        return _Block(number, columns, h, u, next(free, None))

    # --- by rows ---------------------------------------------------------------------------------

    def _row_pass(self, block: _Block, cross: Tensor) -> tuple[float, _FeatureSlope]:
        """The feature loss and its slope; leaves K, without `scale`, and Q M in the place of Q."""
        processes, loss, x = self.processes, self.loss, self.x
        by_rows, (n, d) = loss.feature_form == "rows", (x.shape[0], self.b.shape[1])
        norms, resolution = x.square_norms, 4 * torch.finfo(x.dtype).eps * x.square_norms
        cross = processes.sum(cross)
        symmetric_product(self.b, self.gram)
        self.k.zero_()
        all_of_q = TallMatrix.of(block.u[0]) if len(self.columns) == 1 else self.q
        total, slopes = norms.new_zeros(()), torch.zeros_like(cross)
        for chunk in row_chunks(n, chunk_rows(d) * processes.size):
            q = processes.to_rows(all_of_q.rows(chunk).to(x.device), d)
            t = q @ self.gram
            if by_rows:
                own = processes.share_of(chunk.stop - chunk.start)
                rows = slice(chunk.start + own.start, chunk.start + own.stop)
                squares = norms[rows] + row_dot(t, q).double() - 2 * cross[rows]
                value, slopes[rows] = loss.feature_and_slope(squares, resolution[rows])
                total += value
                q = q * slopes[rows].sqrt().to(x.dtype)[:, None]
            symmetric_product(q, self.k, keep=1.0)
            t = processes.to_columns(t, chunk.stop - chunk.start)
            self.q.write_rows(chunk, t.cpu() if self.blocks.spilled else t)
        processes.sum(self.k)
        if by_rows:
            slopes = processes.sum(slopes).to(x.dtype)[:, None]
            return processes.sum(total).item(), _FeatureSlope(2.0, slopes)
        # Σ_i Q_i M Q_iᵀ is the elementwise product of M and K, summed.
        square = norms.sum() + total_dot(self.gram, self.k) - 2 * cross
        value, slope = loss.feature_and_slope(square, resolution.sum())
        return value, _FeatureSlope(2 * slope.item())

    # --- backward --------------------------------------------------------------------------------

    def _backward_pass(
        self, block: _Block, scores: Scores, w: _FeatureSlope, z: Tensor | None
    ) -> None:
        """Leaves d_B, and d_α in `scores`. Begins with the block that is still there."""
        if self.processes.size > 1:  # their columns add up
            self.d_b.zero_()
        for number in reversed(range(len(self.columns))):
            if number != block.number:
                block = self._forward(number, scores.attention)
            d_h = self._decoder_backward(block, scores, w)
            if z is None:
                d_h.mul_(w.scale)
            else:
                self.pattern.multiply(z, block.h[-1], d_h, keep=w.scale)
                if not self.pattern.symmetric:
                    self.pattern.multiply(z, block.h[-1], d_h, transposed=True, keep=1.0)
            d_g = self._encoder_backward(block, d_h, scores, w)
            d_b = self.x.multiply_transposed(d_g, self.d_b[:, block.columns])
            if w.scale:
                d_b.addmm_(self.b, self.k[:, block.columns], alpha=w.scale)

    def _decoder_backward(self, block: _Block, scores: Scores, w: _FeatureSlope) -> Tensor:
        """From Q M to d_U(L+1) without `scale`, in the buffer of d_H; adds to d_α.

        Leaves w ∘ Q in the place of Q, also without it.
        """
        if not self.loss.feature_weight:
            assert block.d_h is not None
            return block.d_h
        t = self.q.block(block.number).to(self.x.device).sub_(block.h[0])
        if w.rows is not None:
            t.mul_(w.rows)
            block.u[0].mul_(w.rows)
        # U(k+1) is no longer needed and its buffer takes its gradient, but H = U(L+1) is.
        targets = [*block.u[1:-1], t if block.d_h is None else block.d_h]
        d_u = t
        for k, (alpha, target) in enumerate(zip(scores.attention, targets, strict=True)):
            scores.add_gradient(k, d_u, block.u[k + 1], w.scale)
            d_u = self.pattern.multiply(alpha, d_u, target, transposed=True)
        return d_u

    def _encoder_backward(
        self, block: _Block, d_h: Tensor, scores: Scores, w: _FeatureSlope
    ) -> Tensor:
        """From d_H to d_G; adds to d_α."""
        for k, (below, above) in reversed(list(enumerate(pairwise(block.h)))):
            scores.add_gradient(k, d_h, below)
            # H(k) is no longer needed and its buffer takes d_H(k-1); from d_G, 2 w ∘ Q is taken.
            from_q = k == 0 and bool(w.scale)
            target, keep = (block.u[0], -w.scale) if from_q else (above, 0.0)
            alpha = scores.attention[k]
            d_h = self.pattern.multiply(alpha, d_h, target, transposed=True, keep=keep)
        return d_h
