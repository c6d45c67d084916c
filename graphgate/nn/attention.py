"""Attention over neighborhoods as in the paper, equations 1 to 3.

Row convention throughout: node i is row i, so the paper's W h is `h @ weight` here.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from graphgate.nn.pattern import AttentionPattern, segment_softmax

ATTENTION_KINDS = ("softmax", "uniform", "ones")

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda m: m,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "selu": functional.selu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


def coefficients(pattern: AttentionPattern, center: Tensor, neighbor: Tensor) -> Tensor:
    """α, (E,), from the scores v_s·m_i of centers and v_r·m_j of neighbors, (N,) each.

    e_ij = Sigmoid(A_ji (v_s·m_i + v_r·m_j)), α_ij = exp(e_ij) / Σ_l exp(e_il).
    """
    # PAPER: eq. 1 has no A; its matrix form multiplies the logit by the transpose of A. The two
    # agree for an unweighted graph.
    logit = center.index_select(0, pattern.centers) + neighbor.index_select(0, pattern.neighbors)
    if pattern.weights is not None:
        logit = logit * pattern.weights
    return segment_softmax(pattern, torch.sigmoid(logit))


def constant_coefficients(pattern: AttentionPattern, kind: str, dtype: torch.dtype) -> Tensor:
    """The variant without attention: α_ij = 1/|N_i| ("uniform"), or 1 ("ones")."""
    # PAPER: "we assign the same importance to each neighbor" leaves open which of the two.
    if kind == "ones":
        return torch.ones(len(pattern), dtype=dtype, device=pattern.centers.device)
    return pattern.sizes.to(dtype).reciprocal().index_select(0, pattern.centers)
