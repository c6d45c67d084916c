"""Leading singular vectors, against LAPACK."""

import numpy as np
import pytest
import torch
from linear_graphs import same_up_to_sign

from graphgate.compute.decomposition import (
    Decomposed,
    iterated_columns,
    orthonormalized,
    right_singular_vectors,
    with_fixed_signs,
)
from graphgate.compute.draws import Draws


class Dense(Decomposed):
    """A matrix, and how often its Gram matrix was asked for."""

    def __init__(self, matrix: np.ndarray, dtype=torch.float64) -> None:
        self.shape, self.dtype = matrix.shape, dtype
        self.a, self.n_grams = torch.tensor(matrix, dtype=dtype), 0

    def squares(self, m: torch.Tensor) -> torch.Tensor:
        return self.a.T @ (self.a @ m)

    def gram(self) -> torch.Tensor:
        self.n_grams += 1
        return (self.a.T @ self.a).double()


pytestmark = pytest.mark.numerical


def found_for(matrix: np.ndarray, rank: int, seed: int = 0, dtype=torch.float64) -> np.ndarray:
    dense = Dense(matrix, dtype)
    vectors, lengths = right_singular_vectors(dense, rank, Draws(seed).normal)
    expected = torch.linalg.vector_norm(dense.a @ vectors, dim=0)
    np.testing.assert_allclose(lengths, expected, atol=1e-6)
    assert vectors.is_contiguous()  # as after saving and loading
    return vectors.numpy()


def decaying(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Singular values 1, 1/2, 1/4 …"""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.normal(size=(size, min(n, m)))).Q for size in (n, m))
    return u * 0.5 ** np.arange(min(n, m)) @ v.T


@pytest.mark.parametrize("shape", [(70, 50), (50, 70), (60, 60)])
def test_leading_vectors_are_those_of_lapack(shape):
    matrix = decaying(*shape)
    found = found_for(matrix, 6)
    assert found.shape == (shape[1], 6)
    same_up_to_sign(found, np.linalg.svd(matrix).Vh[:6].T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (1, 4), (4, 1)])
def test_small_matrices_are_decomposed_completely(shape):
    matrix = np.random.default_rng(1).normal(size=shape)
    found = found_for(matrix, 128)
    assert found.shape == (shape[1], min(shape))
    np.testing.assert_allclose(matrix @ found @ found.T, matrix, atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(matrix @ found, axis=0), np.linalg.svd(matrix).S, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("shape", "columns"), [((2708, 1433), 272), ((183, 1703), 199), ((2708, 50), 50)]
)
def test_columns_are_few_more_than_singular_vectors(shape, columns):
    assert iterated_columns(256, shape) == columns


def test_a_slowly_decaying_spectrum_loses_little():
    matrix = np.random.default_rng(2).normal(size=(300, 200))
    best = np.square(np.linalg.svd(matrix).S[:30]).sum()
    found = found_for(matrix, 30)
    assert 0.93 * best < np.square(matrix @ found).sum() <= best * (1 + 1e-12)


@pytest.mark.parametrize("n", [7000, 300])
def test_a_tall_matrix_needs_its_gram_matrix_once(n):
    """With 70 columns, 7,000 rows are many; 300 are not."""
    dense = Dense(decaying(n, 70))
    vectors, _ = right_singular_vectors(dense, 1, Draws(0).normal)
    assert dense.n_grams == (n == 7000)
    expected = np.linalg.svd(dense.a.numpy(), full_matrices=False).Vh[:1].T
    same_up_to_sign(vectors.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_columns_are_orthonormal_whatever_the_rank():
    low = decaying(40, 30)[:, :1] @ np.ones((1, 30))
    for matrix in (low, np.zeros((40, 30)), decaying(40, 30)):
        found = found_for(matrix, 8)
        np.testing.assert_allclose(found.T @ found, np.eye(8), atol=1e-10)


def test_the_seed_decides_every_bit():
    matrix = np.random.default_rng(3).normal(size=(60, 50))
    one, again, other = (found_for(matrix, 5, seed, torch.float32) for seed in (4, 4, 5))
    assert one.dtype == np.float32
    assert one.tobytes() == again.tobytes() != other.tobytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spread", [1.0, 0.3, 1e-4, 0.0])
def test_columns_of_many_rows_are_orthonormalized(spread, dtype):
    rng = np.random.default_rng(6)
    scales = np.array([1.0, 1.0, 1.0, spread])
    columns = torch.tensor(rng.normal(size=(900, 4)) * scales + 0.1, dtype=dtype)
    found = orthonormalized(columns.clone()).double().numpy()
    accuracy = 1e-6 if dtype == torch.float32 else 1e-13
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=10 * accuracy)
    rest = columns.double().numpy() - found @ (found.T @ columns.double().numpy())
    np.testing.assert_allclose(rest, 0, atol=100 * accuracy)


def test_a_tall_matrix_is_decomposed_from_all_its_columns():
    matrix = np.random.default_rng(7).normal(size=(6000, 40)) * 0.8 ** np.arange(40)
    found = found_for(matrix, 10)
    assert found.shape == (40, 10)
    same_up_to_sign(found, np.linalg.svd(matrix, full_matrices=False).Vh[:10].T, atol=1e-10)


def test_signs_are_fixed_by_the_largest_entry():
    columns = torch.tensor([[1.0, -3.0, 0.0], [-2.0, 1.0, 0.0]])
    assert with_fixed_signs(columns.clone()).tolist() == [[-1.0, 3.0, 0.0], [2.0, -1.0, 0.0]]
    found = found_for(np.random.default_rng(5).normal(size=(20, 15)), 7)
    assert (np.take_along_axis(found, np.abs(found).argmax(axis=0)[None], axis=0) > 0).all()


def test_sums_over_rows_may_be_shared():
    """Where another process has added its rows, the factor is that of all rows."""
    columns = torch.from_numpy(np.random.default_rng(0).normal(size=(1001, 3)))
    q = torch.linalg.qr(columns).Q
    others = q[501:]
    found = orthonormalized(q.clone(), lambda a, b: a[:501].T @ b[:501] + others.T @ others)
    np.testing.assert_allclose(found, orthonormalized(q.clone()), atol=1e-12)
    unshared = orthonormalized(q.clone(), lambda a, b: a[:501].T @ b[:501])
    assert (unshared - q).abs().max() > 0.01
