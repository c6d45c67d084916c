"""Ridge regression from its moments, with a strength that is chosen on hidden rows.

For z ≈ s B, all that is needed is the (r, r) moments sᵀs and sᵀz, of hidden rows and of others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

STRENGTHS = 10.0 ** np.arange(-2, 3.01, 0.25)  # to choose from
_GOOD_ENOUGH = 0.9  # of the best R²


@dataclass(frozen=True)
class Moments:
    """gram : sᵀs. cross : sᵀz. total : ‖z‖²."""

    gram: Tensor
    cross: Tensor
    total: float

    @staticmethod
    def packed(s: Tensor, z: Tensor) -> Tensor:
        """The moments of some rows as one matrix, (r, 2r + 1), to be added up."""
        return torch.cat([s.T @ s, s.T @ z, z.square().sum(dim=0)[:, None]], dim=1)

    @classmethod
    def unpacked(cls, packed: Tensor) -> Self:
        r = len(packed)
        gram, cross, squares = packed.split([r, r, 1], dim=1)
        return cls(gram, cross, float(squares.sum()))

    def __add__(self, other: Self) -> Self:
        gram, cross = self.gram + other.gram, self.cross + other.cross
        return type(self)(gram, cross, self.total + other.total)


def ridge_weights(moments: Moments, strength: float) -> Tensor:
    """argmin_B ‖z - s B‖² + λ tr(sᵀs)/r · ‖B‖², where λ is the strength; (r, r)."""
    r = len(moments.gram)
    penalty = strength * max(float(moments.gram.trace()) / r, 1e-30)
    return torch.linalg.solve(
        moments.gram + penalty * torch.eye(r, dtype=torch.float64), moments.cross
    )


def chosen_strength(rest: Moments, hidden: Moments) -> tuple[float, float]:
    """The largest strength whose R² is good enough, and the best R².

    That is safer than the best strength, in the spirit of the one-standard-error rule.
    """
    scores = hidden_r2(rest, hidden)
    best = float(scores.max())
    enough = scores >= (_GOOD_ENOUGH * best if best > 0 else best)
    return float(STRENGTHS[enough].max()), best


def hidden_r2(rest: Moments, hidden: Moments) -> np.ndarray:
    """R² on hidden rows, for each of `STRENGTHS`, of weights that the others determine.

    All strengths share one eigendecomposition; on hidden rows, the squared error needs only the
    moments: ‖z - s B‖² = ‖z‖² - 2 ⟨sᵀz, B⟩ + ⟨B, sᵀs B⟩.
    """
    values, vectors = torch.linalg.eigh(rest.gram)
    values = values.clamp_min(0)
    rotated = vectors.T @ rest.cross
    cross = (rotated * (vectors.T @ hidden.cross)).sum(dim=1)
    inner = (vectors.T @ hidden.gram @ vectors) * (rotated @ rotated.T)
    scale = float(values.sum()) / len(values)
    if hidden.total <= 0 or scale <= 0:
        return np.zeros(len(STRENGTHS))
    shrunk = 1 / (values + scale * torch.from_numpy(STRENGTHS)[:, None])
    explained = 2 * (shrunk @ cross) - ((shrunk @ inner) * shrunk).sum(dim=1)
    return (explained / hidden.total).numpy()
