"""Logistic regression whose columns are penalized unequally, with a strength that is chosen."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

_ITERATIONS = 200
_CURVATURE = 0.1  # of the loss at a typical pair, by which variables are scaled


def logistic_weights(
    x: np.ndarray, truth: np.ndarray, penalties: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """(C + 1,), the weights θ that minimize Σ w log(1 + exp(-y x θ)) + ½ Σ λ θ², the bias last.

    Both values of `truth`, (M,) of 1 and 0, count as much as there are ones.
    """
    ones, signs, counts = int((truth == 1).sum()), 2.0 * truth - 1, _counts(truth)
    curvature = np.einsum("i,ij,ij->j", counts.astype(x.dtype), x, x, optimize=True)
    scale = 1 / np.sqrt(penalties + _CURVATURE * curvature + 1e-12)
    scale = np.append(scale, 1 / np.sqrt(_CURVATURE * 2 * ones))
    penalties = np.append(penalties, 0)

    def loss(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        theta = scaled * scale
        margins = signs * (x @ theta[:-1].astype(x.dtype) + theta[-1])
        slopes = -counts * signs * expit(-margins)
        gradient = np.append(slopes.astype(x.dtype) @ x, slopes.sum()) + penalties * theta
        value = counts @ np.logaddexp(0, -margins) + 0.5 * penalties @ theta**2
        return float(value / ones), gradient * scale / ones

    begin = np.zeros(len(scale)) if start is None else start / scale
    options = {"maxiter": _ITERATIONS, "gtol": 1e-5, "ftol": 1e-9}
    result = minimize(loss, begin, jac=True, method="L-BFGS-B", options=options)
    weights: np.ndarray = result.x * scale
    return weights


def scores_apart(
    x: np.ndarray, truth: np.ndarray, others: np.ndarray, penalties: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """For each of several penalties, strongest first, the logits of other pairs."""
    scores, theta = [], None
    for penalty in penalties:
        theta = logistic_weights(x, truth, penalty, theta)
        scores.append(others @ theta[:-1].astype(x.dtype) + theta[-1])
    return scores


def log_loss(scores: np.ndarray, truth: np.ndarray) -> float:
    """The mean loss of logits."""
    losses = np.logaddexp(0, -(2 * truth - 1) * scores)
    return float(np.average(losses, weights=_counts(truth)))


def _counts(truth: np.ndarray) -> np.ndarray:
    ones = (truth == 1).sum()
    return np.where(truth == 1, 1.0, ones / max(len(truth) - ones, 1))
