"""What predicts a source, against ridge regressions and permutations in NumPy."""

import numpy as np
import pytest
import torch

from graphgate.linear.evidence import SCALES, STRENGTHS, Layout, evidence, moments

pytestmark = pytest.mark.numerical

N = 300
PARTS = [np.arange(0, 2), np.arange(2, 5), np.arange(5, 6)]  # the first two are one source
NEIGHBORS, STRUCTURE = np.arange(6, 9), np.arange(9, 11)
LAYOUT = Layout(
    tuple(map(torch.from_numpy, PARTS)),
    (0, 0, 1),
    torch.from_numpy(NEIGHBORS),
    torch.from_numpy(STRUCTURE),
    (torch.arange(6, 8), torch.arange(8, 9)),
    ((torch.arange(0, 2), torch.arange(2, 4)), (torch.arange(5, 6),)),
)


@pytest.fixture(scope="module")
def columns() -> np.ndarray:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(N, 2))
    columns = shared @ rng.normal(size=(2, 11)) + 2 * rng.normal(size=(N, 11)) + rng.normal(size=11)
    columns[:, 5] = rng.normal(size=N)  # the second source is noise
    return columns


@pytest.fixture(scope="module")
def halves(columns) -> tuple[np.ndarray, np.ndarray]:
    """Centered by half, and scaled by source, in dense NumPy."""
    fit = np.random.default_rng(1).random(N) < 0.5
    one, other = (columns[rows] - columns[rows].mean(axis=0) for rows in (fit, ~fit))
    for block in (np.arange(5), np.arange(5, 6), np.arange(6, 8), np.arange(8, 9), STRUCTURE):
        total = np.sqrt((one[:, block] ** 2).sum() + (other[:, block] ** 2).sum())
        one[:, block] /= total
        other[:, block] /= total
    return one, other


@pytest.fixture(scope="module")
def observed(columns):
    fit = torch.from_numpy(np.random.default_rng(1).random(N) < 0.5)
    return evidence(moments(torch.from_numpy(columns), fit), LAYOUT)


def predicted(halves, predictors, target, strength, unit) -> np.ndarray:
    one, other = halves
    x = one[:, predictors]
    gram = x.T @ x + strength * unit * np.eye(x.shape[1])
    return other[:, predictors] @ np.linalg.solve(gram, x.T @ one[:, target])


def mean_square(one: np.ndarray, columns: np.ndarray) -> float:
    return float(np.square(one[:, columns]).sum() / len(columns))


def score(truth: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    r2 = 1 - ((truth - guess) ** 2).sum() / (truth**2).sum()
    rng = np.random.default_rng(2)
    chances = [(guess[rng.permutation(len(guess))] * truth).sum() for _ in range(4000)]
    return r2, float((guess * truth).sum() / np.std(chances))


def best(guesses, truth) -> tuple[float, float]:
    return score(truth, max(guesses, key=lambda guess: -((truth - guess) ** 2).sum()))


def same(prediction, expected) -> None:
    np.testing.assert_allclose(prediction.r2, expected[0], atol=1e-9)
    np.testing.assert_allclose(prediction.z, expected[1], rtol=0.06)  # 4,000 permutations


@pytest.mark.parametrize(("source", "target"), [(0, np.arange(5)), (1, np.arange(5, 6))])
def test_neighbors_and_structure_predict_as_ridge_regression_does(halves, observed, source, target):
    one, other = halves
    for name, predictors in (("neighbors", NEIGHBORS), ("structure", STRUCTURE)):
        unit = mean_square(one, predictors)
        guesses = [predicted(halves, predictors, target, s, unit) for s in STRENGTHS]
        same(getattr(observed.sources[source], name), best(guesses, other[:, target]))


@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize("both", [False, True])
def test_a_part_is_predicted_from_all_the_others(halves, observed, source, both):
    other = halves[1]
    parts = PARTS[:2] if source == 0 else PARTS[2:]
    guesses = []
    for own, near in SCALES if both else [(1.0, 0.0)]:
        scaled = tuple(np.concatenate([own * h[:, :6], near * h[:, NEIGHBORS]], 1) for h in halves)
        used = np.arange(9 if both else 6)
        unit = mean_square(scaled[0], used)
        for strength in STRENGTHS:
            guess = [
                predicted(scaled, np.setdiff1d(used, part), part, strength, unit) / own
                for part in parts
            ]
            guesses.append(np.concatenate(guess, axis=1))
    evidence = observed.sources[source]
    same(evidence.both if both else evidence.own, best(guesses, other[:, np.concatenate(parts)]))


def test_structure_is_predicted_from_all_sources(halves, observed):
    one, other = halves
    unit = mean_square(one, np.arange(6))
    guesses = [predicted(halves, np.arange(6), STRUCTURE, s, unit) for s in STRENGTHS]
    same(observed.structure, best(guesses, other[:, STRUCTURE]))


def test_alignment_is_a_correlation_with_the_mean_of_neighbors(columns, observed):
    fit = np.random.default_rng(1).random(N) < 0.5
    centered = np.empty_like(columns)
    for rows in (fit, ~fit):
        centered[rows] = columns[rows] - columns[rows].mean(axis=0)
    t = [centered[:, 0:2] + centered[:, 2:4], centered[:, 5:6]]
    n = [centered[:, 6:8], centered[:, 8:9]]
    for weights in ((1.0, 0.0), (0.0, 1.0), (0.5, 2.0)):
        scaled = [w / np.linalg.norm(one) for w, one in zip(weights, t, strict=True)]
        own = np.concatenate([s * one for s, one in zip(scaled, t, strict=True)], axis=1)
        mean = np.concatenate([s * one for s, one in zip(scaled, n, strict=True)], axis=1)
        expected = (own * mean).sum() / (np.linalg.norm(own) * np.linalg.norm(mean))
        assert observed.alignment(weights) == pytest.approx(expected)


def test_noise_is_not_significant(observed):
    first, second = observed.sources
    assert first.own.z > 6
    assert max(prediction.z for prediction in second) < 3


def test_nothing_predicts_a_constant_or_without_predictors():
    columns = torch.ones(40, 2, dtype=torch.float64)
    columns[:, 1] = torch.arange(40)
    none = torch.arange(0)
    layout = Layout(
        (torch.tensor([0]), torch.tensor([1])), (0, 1), none, none, (none, none), ((), ())
    )
    found = evidence(moments(columns, torch.arange(40) % 2 == 0), layout)
    assert all(prediction == (0.0, 0.0) for source in found.sources for prediction in source)
    assert found.structure == (0.0, 0.0)
    assert found.alignment((1.0, 1.0)) == 0.0
