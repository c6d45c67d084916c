"""How large initial weights should be, judged by the loss.

If the folded weights B of a linear network are multiplied by √t, then all h_i·h_j and all of X̂ are
multiplied by t. Where the columns of B are orthonormal, three moments per node and one dot product
per attended pair give the loss for every t, and this loss is a convex function of t.
"""

import math

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.nn.products import row_dot

BLOCK = 64  # columns at a time, so that N×64 is the largest array
_REACH = 1e3  # how far beyond what either loss suggests the best factor is looked for
_LARGEST = 700.0  # exponent whose power is finite


@torch.no_grad()
def best_factor(
    x: FeatureMatrix,
    unit: float,
    vectors: Tensor,
    pattern: AttentionPattern,
    attention: Tensor,
    n_layers: int,
    loss: Loss,
) -> float:
    """The t that minimizes the loss of a linear network; 1 where there is no such t.

    x : the features divided by `unit`.
    vectors : (F, k) B, orthonormal columns.
    attention : (E,) coefficients, the same in all layers.
    """
    if not (loss.feature_weight and loss.structure_weight and vectors.shape[1]):
        return 1.0
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
        return 1.0

    def value(exponent: float) -> float:
        t = math.exp(min(exponent, _LARGEST))
        errors = np.maximum(squares - 2 * t * cross + t * t * found, 0)
        rows = loss.feature_form == "rows"
        feature = np.sqrt(errors).sum() if rows else math.sqrt(errors.sum())
        grown = math.exp(min(exponent + 2 * math.log(unit), _LARGEST)) * pairs
        structure = np.logaddexp(0, -grown).sum()
        return float(loss.feature_weight * unit * feature + loss.structure_weight * structure)

    reach = math.log(_REACH)
    bounds = (min(suggested) - reach, max(suggested) + reach)
    with np.errstate(over="ignore", invalid="ignore"):
        best = minimize_scalar(value, bounds=bounds, method="bounded", options={"xatol": 1e-3}).x
    return math.exp(best)


def _through(pattern: AttentionPattern, attention: Tensor, m: Tensor, n_layers: int) -> Tensor:
    for _ in range(n_layers):
        m = pattern.times(attention, m)
    return m
