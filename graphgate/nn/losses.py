"""The two losses of the paper, equations 7 and 8, and their weighted sum."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphgate.errors import InputError, check_choice
from graphgate.nn.pattern import AttentionPattern, edge_dot

FEATURE_LOSS_FORMS = ("rows", "frobenius")


@dataclass(frozen=True)
class Loss:
    """feature_weight · ‖X − X̂‖ + structure_weight · Σ −log σ(h_i·h_j); a weight of 0 drops a term.

    feature_form : "rows", Σ_i ‖x_i − x̂_i‖₂ as in the paper, or "frobenius", one norm of the
        whole matrix as in the reference implementation.
    """

    feature_form: str = "frobenius"
    feature_weight: float = 1.0
    structure_weight: float = 1.0

    def __post_init__(self) -> None:
        check_choice("feature loss", self.feature_form, FEATURE_LOSS_FORMS)
        for name in ("feature_weight", "structure_weight"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise InputError(f"{name} must be finite and ≥ 0, got {value!r}")
        if self.feature_weight == self.structure_weight == 0:
            raise InputError(
                "feature_weight and structure_weight are both 0; set one of them to learn"
            )

    def parts(self, feature: Any, structure: Any) -> dict[str, Any]:
        """The two losses and "loss", the weighted total that training minimizes."""
        return {
            "loss": self.feature_weight * feature + self.structure_weight * structure,
            "feature": feature,
            "structure": structure,
        }

    def feature_from_reconstruction(self, x: Tensor, reconstruction: Tensor) -> Tensor:
        """Eq. 7 from X and X̂, (N, F) each. The gradient of a zero norm is zero."""
        norms = torch.linalg.vector_norm(x - reconstruction, dim=1)
        # The norm of the row norms: a single norm of N·F numbers loses digits in float32.
        return norms.sum() if self.feature_form == "rows" else torch.linalg.vector_norm(norms)

    def feature_from_squares(self, squares: Tensor, resolution: Tensor) -> Tensor:
        """Eq. 7 from ‖x_i − x̂_i‖², (N,), where these are differences of larger numbers.

        `resolution` (N,) bounds what rounding leaves of a true zero; a square below it counts as
        zero, and so does its gradient.
        """
        if self.feature_form == "frobenius":
            squares, resolution = squares.sum(), resolution.sum()
        zero = rounded_to_zero(squares, resolution)
        return torch.where(zero, 0.0, torch.where(zero, 1.0, squares).sqrt()).sum()

    def feature_and_slope(self, squares: Tensor, resolution: Tensor) -> tuple[float, Tensor]:
        """Eq. 7 as in `feature_from_squares`, over all `squares`; and feature_weight times its
        derivative with respect to each."""
        zero = rounded_to_zero(squares, resolution)
        norms = torch.where(zero, 1.0, squares).sqrt()
        slope = torch.where(zero, 0.0, 0.5 * self.feature_weight / norms)
        return torch.where(zero, 0.0, norms).sum().item(), slope

    def structure(self, h: Tensor, pattern: AttentionPattern) -> Tensor:
        """Eq. 8: −Σ_i Σ_{j ∈ N_i} log σ(h_i·h_j), over both directions and the self-loops."""
        # PAPER: the combined loss, eq. 9, omits the sum over i in its second term.
        return functional.softplus(-edge_dot(pattern, h)).sum()

    def structure_and_slope(self, dots: Tensor) -> tuple[float, Tensor]:
        """Eq. 8 from h_i·h_j, (E,); and structure_weight times its derivative for each."""
        slope = torch.sigmoid(-dots).mul_(-self.structure_weight)
        return functional.softplus(-dots).sum(dtype=torch.float64).item(), slope


def rounded_to_zero(squares: Tensor, resolution: Tensor) -> Tensor:
    """Which squares are zero up to rounding. One that has overflowed is not, of either sign."""
    return (squares <= resolution) & squares.isfinite()
