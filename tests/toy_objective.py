"""A training problem small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def square_norm(
    start: tuple[float, float] = (4.0, -3.0), slope: float | None = None
) -> tuple[dict[str, Tensor], Callable[..., dict[str, float]]]:
    """‖p‖² and its two terms, minimized over p; `slope` replaces the gradient."""
    parameter = torch.tensor(start, dtype=torch.float64, requires_grad=True)

    def objective(step: int = 0) -> dict[str, float]:
        value = parameter.detach()
        parameter.grad = 2 * value if slope is None else torch.full_like(value, slope)
        squares = (value**2).tolist()
        return {"loss": sum(squares), "first": squares[0], "second": squares[1]}

    return {"p": parameter}, objective
