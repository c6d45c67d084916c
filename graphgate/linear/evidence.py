"""What predicts each source of information, without labels and from moments alone.

A source is what counts as one: a column of an attribute table, however many features it becomes,
or a matrix of features. It is described by columns t. Three things may predict it: the columns of
other sources and the other part of a divisible source (own), means over neighbors (n), and
structure factors (u). One pass over the nodes gives the moments of P = [1 | t | n | u] on a random
half of the nodes, on which ridge regressions are fitted, and on the other half, on which they are
scored. Everything else is algebra with these two small matrices.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of the ridge penalty, relative to the mean square
# Of own columns and neighbors, relative to each other. With one penalty for all columns, more of
# them would look harmful where most are useless.
SCALES = ((1.0, 0.1), (1.0, 0.3), (1.0, 1.0), (0.3, 1.0))
_TINY = 1e-30
_ROUNDING = 1e-9  # of the total variance of predictors, which is about one half


class Prediction(NamedTuple):
    """How well something is predicted.

    r2 : on hidden nodes; zero or less where nothing is predicted.
    z : its significance: Σ_i ⟨ŷ_i, y_i⟩ in units of its standard deviation over permutations of
        the nodes, around 0 where nothing is predicted.
    """

    r2: float
    z: float


class SourceEvidence(NamedTuple):
    """What predicts one source; `both` is own columns and neighbors together."""

    own: Prediction
    neighbors: Prediction
    structure: Prediction
    both: Prediction

    @property
    def joint_r2(self) -> float:
        """The R² of own columns and neighbors, which is at least that of one of them."""
        return max(self.both.r2, self.own.r2, self.neighbors.r2, 0.0)


@dataclass(frozen=True)
class Evidence:
    """What predicts the sources of a graph, and structure.

    sources : one per source.
    alignments : per source, the moments ⟨t, n⟩, ⟨t, t⟩ and ⟨n, n⟩ over all coordinates, whose
        ratio says whether nodes are like the mean of their neighbors.
    structure : how well all sources predict structure factors.
    """

    sources: tuple[SourceEvidence, ...]
    alignments: tuple[tuple[float, float, float], ...]
    structure: Prediction

    def alignment(self, weights: Sequence[float]) -> float:
        """The correlation of nodes with the mean of their neighbors, of weighted sources."""
        between, own, mean = (
            sum(w * w * moments[at] for w, moments in zip(weights, self.alignments, strict=True))
            for at in range(3)
        )
        return float(between / max((own * mean) ** 0.5, _TINY))


@dataclass(frozen=True)
class Half:
    """Moments of half of the nodes.

    gram : PᵀP of centered columns, without the column of ones.
    n : number of nodes.
    """

    gram: Tensor
    n: float

    @classmethod
    def of(cls, moments: Tensor) -> Self:
        """From PᵀP, whose first row and column belong to the ones."""
        n, sums = float(moments[0, 0]), moments[0, 1:]
        return cls(moments[1:, 1:] - torch.outer(sums, sums) / max(n, 1.0), n)

    def scaled(self, scales: Tensor) -> Self:
        return type(self)(self.gram * torch.outer(scales, scales), self.n)


@dataclass(frozen=True)
class Layout:
    """Which columns of P are what, as indices without the column of ones.

    parts : the columns of t of each part; a divisible source has two.
    source_of : the number of the source of each part.
    neighbors, structure : the columns n and u.
    neighbors_of : the columns of n of each source.
    added : for each source, columns of t of which n is the mean over neighbors once they are added
        up: all of them in one block, or the blocks of its parts.
    """

    parts: tuple[Tensor, ...]
    source_of: tuple[int, ...]
    neighbors: Tensor
    structure: Tensor
    neighbors_of: tuple[Tensor, ...]
    added: tuple[tuple[Tensor, ...], ...]


def moments(columns: Tensor, fit: Tensor) -> Tensor:
    """(2, q + 1, q + 1), the moments of some rows: of those to fit on, and of the others.

    fit : (m,) which rows are to be fitted on.
    """
    # In double precision: weights follow from small differences of R².
    columns = columns.double()
    p = torch.cat([columns.new_ones(len(columns), 1), columns], dim=1)
    return torch.stack([p[rows].T @ p[rows] for rows in (fit, ~fit)])


def evidence(packed: Tensor, layout: Layout) -> Evidence:
    """The evidence in two matrices of moments, the sums of `moments`."""
    fit, score = _balanced(Half.of(packed[0]), Half.of(packed[1]), layout)
    t, n, u = torch.cat(layout.parts), layout.neighbors, layout.structure
    sizes = [len(part) for part in layout.parts]
    parts = _ranges(sizes)
    n_sources = max(layout.source_of) + 1
    targets = [
        torch.cat([part for part, s in zip(parts, layout.source_of, strict=True) if s == number])
        for number in range(n_sources)
    ]
    own = _best(_scores(fit, score, t, t, targets, left_out=parts))
    neighbors = _best(_scores(fit, score, n, t, targets))
    structure = _best(_scores(fit, score, u, t, targets))
    together = torch.cat([t, n])
    both = _best(
        scores
        for a, b in SCALES
        for scores in _scores(
            fit,
            score,
            together,
            t,
            targets,
            left_out=parts,
            scales=torch.cat([torch.full((len(t),), a), torch.full((len(n),), b)]).double(),
        )
    )
    (of_structure,) = _best(_scores(fit, score, t, u, [torch.arange(len(u))]))
    sources = tuple(
        SourceEvidence(*each) for each in zip(own, neighbors, structure, both, strict=True)
    )
    whole = Half.of(packed[0]).gram + Half.of(packed[1]).gram
    alignments = tuple(
        _alignment(whole, *each) for each in zip(layout.added, layout.neighbors_of, strict=True)
    )
    return Evidence(sources, alignments, of_structure)


def _balanced(fit: Half, score: Half, layout: Layout) -> tuple[Half, Half]:
    """Every part, the neighbors of every source, and the factors, of total variance 1 each."""
    squares = (fit.gram + score.gram).diagonal()
    scales = torch.zeros_like(squares)
    # A source keeps one scale, for its parts are added up.
    for number in range(max(layout.source_of) + 1):
        of_source = [
            part for part, s in zip(layout.parts, layout.source_of, strict=True) if s == number
        ]
        for columns in (torch.cat(of_source), layout.neighbors_of[number]):
            scales[columns] = _inverse_length(squares[columns])
    if len(layout.structure):
        scales[layout.structure] = _inverse_length(squares[layout.structure])
    return fit.scaled(scales), score.scaled(scales)


def _inverse_length(squares: Tensor) -> float:
    total = float(squares.sum())
    return total**-0.5 if total > _TINY else 0.0


def _alignment(gram: Tensor, added: Sequence[Tensor], n: Tensor) -> tuple[float, float, float]:
    """⟨t, n⟩, ⟨t, t⟩ and ⟨n, n⟩ of a source, in units of ⟨t, t⟩."""
    between = sum(float(gram[columns, n].sum()) for columns in added)
    own = sum(float(gram[one, two].sum()) for one in added for two in added)
    mean = float(gram[n, n].sum())
    return (between / own, 1.0, mean / own) if own > _TINY else (0.0, 0.0, 0.0)


def _ranges(sizes: Sequence[int]) -> list[Tensor]:
    return list(torch.arange(sum(sizes)).split(list(sizes)))


def _scores(
    fit: Half,
    score: Half,
    predictors: Tensor,
    targets: Tensor,
    sources: Sequence[Tensor],
    *,
    left_out: Sequence[Tensor] = (),
    scales: Tensor | None = None,
) -> Iterator[list[Prediction]]:
    """For every strength, how well each source is predicted.

    sources : the columns of each among `targets`.
    scales : of the predictors.
    left_out : the parts of the targets, which must not predict themselves. They are the first of
        the predictors, in the same order. The solution without a block of predictors follows from
        the inverse of the whole: (K₋ₛ)⁻¹ M₋ₛ = -P₋ₛₛ (Pₛₛ)⁻¹ for P = K⁻¹.
    """
    if not len(predictors) or not len(targets):
        yield [Prediction(0.0, 0.0)] * len(sources)
        return
    gram, hidden = (half.gram[predictors[:, None], predictors] for half in (fit, score))
    cross, unseen = (half.gram[predictors[:, None], targets] for half in (fit, score))
    if scales is not None:
        gram, hidden = (m * torch.outer(scales, scales) for m in (gram, hidden))
        cross, unseen = (m * scales[:, None] for m in (cross, unseen))
    total = score.gram[targets[:, None], targets]
    unit = float(gram.diagonal().mean())
    if unit * len(predictors) < _ROUNDING:  # as on one node
        yield [Prediction(0.0, 0.0)] * len(sources)
        return
    eye = torch.eye(len(predictors), dtype=torch.float64)
    for strength in STRENGTHS:
        factor = torch.linalg.cholesky(gram + strength * unit * eye)
        if left_out:
            b = _without_themselves(torch.cholesky_inverse(factor), left_out, len(targets))
            if scales is not None:
                b = b / scales[: len(targets)]  # targets are not scaled
        else:
            b = torch.cholesky_solve(cross, factor)
        yield _predictions(b, hidden, unseen, total, score.n, sources)


def _without_themselves(inverse: Tensor, parts: Sequence[Tensor], n_targets: int) -> Tensor:
    """(p, n_targets), the solution for the columns of each part without these among predictors."""
    b = -inverse[:, :n_targets]
    for part in parts:
        first, last = int(part[0]), int(part[-1]) + 1
        block = inverse[first:last, first:last]
        b[:, first:last] = torch.linalg.solve(block, b[:, first:last], left=False)
        b[first:last, first:last] = 0.0
    return b


def _predictions(
    b: Tensor, hidden: Tensor, unseen: Tensor, total: Tensor, n: float, sources: Sequence[Tensor]
) -> list[Prediction]:
    """R² and significance from moments of hidden nodes.

    ‖y - ŷ‖² = ‖y‖² - 2 ⟨B, M⟩ + ⟨B, K B⟩. Under a permutation of the nodes, ⟨ŷ, y⟩ = ⟨B, M⟩ has
    mean 0 and variance Σ_ab (ŷᵀŷ)_ab (yᵀy)_ab / (n - 1), where both are centered.
    """
    mapped = hidden @ b
    predictions = []
    for columns in sources:
        part = b[:, columns]
        inner = float((part * unseen[:, columns]).sum())
        fitted = part.T @ mapped[:, columns]
        truth = total[columns[:, None], columns]
        square = float(truth.trace())
        if square <= _TINY:
            predictions.append(Prediction(0.0, 0.0))
            continue
        variance = float((fitted * truth).sum()) / max(n - 1, 1.0)
        r2 = (2 * inner - float(fitted.trace())) / square
        predictions.append(Prediction(r2, inner / variance**0.5 if variance > _TINY**2 else 0.0))
    return predictions


def _best(scores: Iterable[list[Prediction]]) -> list[Prediction]:
    """The prediction of the largest R² for each source."""
    return [max(candidates) for candidates in zip(*scores, strict=True)]
