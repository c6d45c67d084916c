"""The step of `nn/collapsed_step.py`, a block of columns at a time, in bounded memory.

Attention mixes rows, so every N×D matrix of the step can be computed for a few columns at a time.
Only Q M and K need all columns of a row. Hence three passes:

1. for each block: G, H(1) … H(L), U(L) … U(1) = Q; h_i·h_j and G·Q add up, Q is put aside;
2. for some rows at a time, with all columns: K += Qᵀ (w ∘ Q), and Q M replaces Q;
3. for each block: the same matrices again, then backward; d_α adds up.

Several processes split the columns, each with all edges. Then Q goes to rows and Q M back by an
exchange, and what adds up over blocks is summed over processes. Names are those of the algebra
there; `weight` is 2 w.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from graphgate.compute.processes import Processes
from graphgate.compute.tall_matrix import TallMatrix, row_chunks, temporary_file
from graphgate.errors import InputError
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.parameter_gradients import FoldedWeights, Scores
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import row_dot, symmetric_product, total_dot

_CHUNK = 1 << 19  # numbers of Q in the rows that a process takes at once
_FEWER_EXCHANGES = 4  # times as many where every chunk is exchanged


def chunk_rows(d: int, processes: int) -> int:
    """Rows of D columns that a process takes at once."""
    return max(1, _CHUNK * (1 if processes == 1 else _FEWER_EXCHANGES) // d)


def matrices_per_block(layers: int, *, feature_loss: bool) -> int:
    """Buffers of a block, (N, width): G, H(1) … H(L), U(1) … U(L), d_H.

    Where there is a T, (N, width) as well, d_H takes its place if L > 1.
    """
    return 1 + layers + layers * feature_loss + (layers == 1 or not feature_loss)


class _Block(NamedTuple):
    """The matrices of some columns: H(0) … H(L), where H(0) = G, and U(1) … U(L+1)."""

    columns: slice
    h: list[Tensor]
    u: list[Tensor]


class BlockedStep:
    """Call it to get the loss parts; the gradients are then in `parameter.grad`.

    Parameters
    ----------
    width : columns in a block.
    spilled : whether Q is kept in a temporary file.
    processes : those that split the columns; each has the same `model`, `x`, `pattern` and `loss`.
    """

    def __init__(
        self,
        model: GATEModel,
        x: FeatureMatrix,
        pattern: AttentionPattern,
        loss: Loss,
        *,
        width: int,
        spilled: bool = False,
        processes: Processes | None = None,
    ) -> None:
        self.model, self.x, self.pattern, self.loss = model, x, pattern, loss
        self.processes = processes or Processes()
        (n, f), d, layers = x.shape, model.architecture.dims[-1], model.n_layers
        if d < self.processes.size:
            raise InputError(
                f"{self.processes.size} processes cannot split the {d} columns of the embedding; "
                f"start at most {d}, or use larger dims"
            )
        own = self.processes.share_of(d)
        file = temporary_file() if spilled else None
        self.q = TallMatrix(n, row_chunks(own.stop - own.start, width), x.dtype, file)
        self.columns = [slice(own.start + c.start, own.start + c.stop) for c in self.q.columns]
        self.spilled = spilled
        if loss.feature_weight and not self.spilled:
            for number, columns in enumerate(self.columns):
                self.q.write_block(number, self._empty(n, columns.stop - columns.start))
        widest = max(columns.stop - columns.start for columns in self.columns)
        count = matrices_per_block(layers, feature_loss=bool(loss.feature_weight))
        self.buffers = [self._empty(n * widest) for _ in range(count)]
        self.b, self.d_b = self._empty(f, d), self._empty(f, d)
        self.gram, self.k, self.part = (self._empty(d, d) for _ in range(3))
        self.gradients = [(p, torch.zeros_like(p)) for p in model.parameters()]

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.x.device, dtype=self.x.dtype)

    @torch.no_grad()
    def __call__(self, step: int = 0) -> dict[str, float]:
        model, loss, processes = self.model, self.loss, self.processes
        for parameter, gradient in self.gradients:
            parameter.grad = gradient
            # One model in all processes, however their processors round.
            processes.broadcast(parameter.detach())
        weights = FoldedWeights(model, self.b)
        scores = Scores(model, self.x, self.pattern)

        block, dots, cross = self._forward_pass(scores.attention)
        feature, structure = 0.0, 0.0
        weight = z = None
        if loss.feature_weight:
            feature, weight = self._row_pass(processes.sum(cross))
        if loss.structure_weight:
            structure, z = loss.structure_and_slope(processes.sum(dots))
            if self.pattern.symmetric:  # Z is symmetric, so (Z + Zᵀ) H = 2 Z H
                z.mul_(2.0)
        del dots
        d_alpha = self._backward_pass(block, scores, weight, z)
        weights.backward(processes.sum(self.d_b))
        scores.backward(d_alpha)
        losses = torch.tensor([feature, structure], dtype=torch.float64, device=self.x.device)
        feature, structure = processes.broadcast(losses).tolist()
        return loss.parts(feature, structure)

    def _forward_pass(self, attention: list[Tensor]) -> tuple[_Block, Tensor, Tensor]:
        """Put Q aside. Returns the last block, which is still there; h_i·h_j of every edge; and
        G_i·Q_i of every row, or their sum if that is enough."""
        by_rows, norms = self.loss.feature_form == "rows", self.x.square_norms
        dots = self._empty(len(self.pattern) if self.loss.structure_weight else 0).zero_()
        cross = norms.new_zeros(len(norms) if by_rows else ())
        for number in range(len(self.columns)):
            block = self._forward(number, attention)
            if self.loss.structure_weight:
                dots = dot_on(self.pattern, block.h[-1], block.h[-1], onto=dots)
            if self.loss.feature_weight:
                g, q = block.h[0], block.u[0]
                cross += row_dot(g, q).double() if by_rows else total_dot(g, q)
                if self.spilled:
                    self.q.write_block(number, q.cpu())
                else:
                    self.q.block(number).copy_(q)
        return block, dots, cross

    def _forward(self, number: int, attention: list[Tensor]) -> _Block:
        columns, n = self.columns[number], self.x.shape[0]
        width = columns.stop - columns.start
        free = iter([buffer[: n * width].view(n, width) for buffer in self.buffers])
        h = [self.x.multiply(self.b[:, columns].contiguous(), next(free))]
        for alpha in attention:
            h.append(self.pattern.multiply(alpha, h[-1], next(free)))
        u = [h[-1]]
        for alpha in reversed(attention) if self.loss.feature_weight else ():
            u.insert(0, self.pattern.multiply(alpha, u[0], next(free)))
        return _Block(columns, h, u)

    def _row_pass(self, cross: Tensor) -> tuple[float, Tensor]:
        """The feature loss and `weight`: one number or, by rows, (N, 1).

        Leaves `weight` times K, and Q M in the place of Q.
        """
        x, loss, processes = self.x, self.loss, self.processes
        by_rows, (n, d) = loss.feature_form == "rows", (x.shape[0], self.b.shape[1])
        norms, resolution = x.square_norms, 4 * torch.finfo(x.dtype).eps * x.square_norms
        symmetric_product(self.b, self.gram)
        self.k.zero_()
        total, slopes = norms.new_zeros(()), torch.zeros_like(cross)
        shares = processes.shares(d)
        for chunk in row_chunks(n, chunk_rows(d, processes.size) * processes.size):
            parts = _within(chunk, processes)
            mine, own = parts[processes.rank], shares[processes.rank]
            count = mine.stop - mine.start
            sent = [self.q.rows(rows).to(x.device) for rows in parts]
            shapes = [(count, share.stop - share.start) for share in shares]
            q = torch.cat(processes.exchanged(sent, shapes), dim=1)
            t = q @ self.gram
            if by_rows:
                squares = norms[mine] + row_dot(t, q).double() - 2 * cross[mine]
                value, slopes[mine] = loss.feature_and_slope(squares, resolution[mine])
                total += value
                q.mul_((2 * slopes[mine]).sqrt().to(x.dtype)[:, None])
            self.k.add_(symmetric_product(q, self.part))
            sent = [t[:, share] for share in shares]
            shapes = [(rows.stop - rows.start, own.stop - own.start) for rows in parts]
            for rows, values in zip(parts, processes.exchanged(sent, shapes), strict=True):
                self.q.write_rows(rows, values.cpu() if self.spilled else values)
        processes.sum(self.k)
        if by_rows:
            return processes.sum(total).item(), 2 * processes.sum(slopes).to(x.dtype)[:, None]
        # Σ_i Q_i M Q_iᵀ is the elementwise product of M and K, summed.
        square = norms.sum() + total_dot(self.gram, self.k) - 2 * cross
        value, slope = loss.feature_and_slope(square, resolution.sum())
        self.k.mul_(2 * slope)
        return value, 2 * slope

    def _backward_pass(
        self, block: _Block, scores: Scores, weight: Tensor | None, z: Tensor | None
    ) -> list[Tensor | None]:
        """Leaves d_B; returns d_α of every layer. Begins with the block that is still there."""
        d_alpha: list[Tensor | None] = [None] * len(scores.attention)
        self.d_b.zero_()
        for number in reversed(range(len(self.columns))):
            if number + 1 < len(self.columns):
                block = self._forward(number, scores.attention)
            d_h = self.buffers[-1][: block.h[0].numel()].view_as(block.h[0])
            if weight is not None:
                # d_Q, in place of Q M, which is no longer needed.
                t = self.q.block(number).to(self.x.device).sub_(block.h[0]).mul_(weight)
                d_h = self._decoder_backward(block, t, d_h, scores, d_alpha)
                block.u[0].mul_(weight)
            if z is not None:
                self.pattern.multiply(z, block.h[-1], d_h, keep=float(weight is not None))
                if not self.pattern.symmetric:
                    self.pattern.multiply(z, block.h[-1], d_h, transposed=True, keep=1.0)
            d_g = self._encoder_backward(block, d_h, scores, d_alpha)
            d_b = self.x.multiply_transposed(d_g, self._empty(self.x.shape[1], d_g.shape[1]))
            if weight is not None:
                d_b.addmm_(self.b, self.k[:, block.columns])
            self.d_b[:, block.columns] = d_b
        return [None if each is None else self.processes.sum(each) for each in d_alpha]

    def _decoder_backward(
        self,
        block: _Block,
        d_u: Tensor,
        d_h: Tensor,
        scores: Scores,
        d_alpha: list[Tensor | None],
    ) -> Tensor:
        """From d_Q to d_H, in the buffer of d_Q or, with one layer, in `d_h`; adds to d_α."""
        targets = [*block.u[1:-1], d_u if len(scores.attention) > 1 else d_h]
        for k, (alpha, target) in enumerate(zip(scores.attention, targets, strict=True)):
            self._add(d_alpha, k, d_u, block.u[k + 1], scores)
            # U(k+1) is no longer needed and its buffer takes its gradient, but H = U(L+1) is.
            d_u = self.pattern.multiply(alpha, d_u, target, transposed=True)
        return d_u

    def _encoder_backward(
        self, block: _Block, d_h: Tensor, scores: Scores, d_alpha: list[Tensor | None]
    ) -> Tensor:
        """From d_H to d_G; adds to d_α."""
        with_features = len(block.u) > 1
        for k, (below, above) in reversed(list(enumerate(pairwise(block.h)))):
            self._add(d_alpha, k, d_h, below, scores)
            # H(k) is no longer needed and its buffer takes d_H(k-1); from d_G, 2 w ∘ Q is taken.
            target, keep = (block.u[0], -1.0) if with_features and k == 0 else (above, 0.0)
            alpha = scores.attention[k]
            d_h = self.pattern.multiply(alpha, d_h, target, transposed=True, keep=keep)
        return d_h

    def _add(
        self, d_alpha: list[Tensor | None], k: int, a: Tensor, b: Tensor, scores: Scores
    ) -> None:
        if scores.columns is not None:  # else the attention is constant
            d_alpha[k] = dot_on(self.pattern, a, b, onto=d_alpha[k])


def _within(chunk: slice, processes: Processes) -> list[slice]:
    """The rows of a chunk that each process takes."""
    shares = processes.shares(chunk.stop - chunk.start)
    return [slice(chunk.start + share.start, chunk.start + share.stop) for share in shares]
