"""How large initial weights should be, judged by the loss.

If the folded weights B of a linear network are multiplied by √t, then all h_i·h_j and all of X̂ are
multiplied by t. Where the columns of B are orthonormal, three moments per node and one dot product
per attended pair give the loss for every t. It is a convex function of t, so its derivative has one
root.
"""

import math

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import expit
from torch import Tensor

from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import row_dot

BLOCK = 64  # columns at a time, so that N×64 is the largest array
_REACH = 1e3  # how far beyond what either loss suggests the best factor is looked for
_GRID = 64  # results are multiples of its inverse, so that rounding in products does not matter
_LARGEST, _SMALLEST = 700.0, 1e-300  # exponent whose power is finite; number whose root is


@torch.no_grad()
def best_exponent(
    x: FeatureMatrix,
    unit: float,
    vectors: Tensor,
    pattern: AttentionPattern,
    attention: Tensor,
    n_layers: int,
    loss: Loss,
) -> float:
    """The logarithm of the t that minimizes the loss of a linear network; 0 without such a t.

    x : the features divided by `unit`.
    vectors : (F, k) B, orthonormal columns.
    attention : (E,) coefficients, the same in all layers.
    """
    if not (loss.feature_weight and loss.structure_weight and vectors.shape[1]):
        return 0.0
    dots = None
    squares = x.square_norms.numpy()  # ‖x_i‖²
    cross, found = np.zeros_like(squares), np.zeros_like(squares)  # x_i·x̂_i and ‖x̂_i‖²
    for columns in vectors.split(BLOCK, dim=1):
        g = x.times(columns.contiguous())
        h = _through(pattern, attention, g, n_layers)
        q = _through(pattern, attention, h, n_layers)
        dots = dot_on(pattern, h, h, dots)
        cross += row_dot(g, q).double().numpy()
        found += row_dot(q, q).double().numpy()
    assert dots is not None
    pairs = dots.double().numpy()
    suggested = [
        math.log(float(more)) - math.log(float(less)) + shift
        for more, less, shift in (
            (cross.sum(), found.sum(), 0.0),  # the least squared error
            (len(pairs), pairs.sum(), -2 * math.log(unit)),  # h_i·h_j around 1
        )
        if 0 < more < math.inf and 0 < less < math.inf
    ]
    if not suggested:
        return 0.0

    rows = loss.feature_form == "rows"
    if not rows:
        squares, cross, found = (each.sum(keepdims=True) for each in (squares, cross, found))

    def slope(exponent: float) -> float:
        """The derivative of the loss by t, divided by `unit`."""
        t = math.exp(min(exponent, _LARGEST))
        errors = np.sqrt(np.maximum(squares - 2 * t * cross + t * t * found, _SMALLEST))
        feature = ((t * found - cross) / errors).sum()
        grown = math.exp(min(exponent + 2 * math.log(unit), _LARGEST)) * pairs
        structure = unit * (pairs * expit(-grown)).sum()
        return float(loss.feature_weight * feature - loss.structure_weight * structure)

    reach = math.log(_REACH)
    low, high = min(suggested) - reach, max(suggested) + reach
    with np.errstate(over="ignore", invalid="ignore"):
        if not slope(low) < 0 < slope(high):
            return 0.0
        return round(_GRID * brentq(slope, low, high)) / _GRID


def _through(pattern: AttentionPattern, attention: Tensor, m: Tensor, n_layers: int) -> Tensor:
    for _ in range(n_layers):
        m = pattern.times(attention, m)
    return m
