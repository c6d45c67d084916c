"""Products of sparse matrices with dense columns."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphgate.compute.sparse_operator import SparseOperator, symmetrically_normalized

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 5, 40])
def test_sparse_products_some_rows_at_a_time(monkeypatch, dtype, columns):
    """Rows without entries, and a whole chunk of them, are zero."""
    monkeypatch.setattr("graphgate.compute.row_bags._ROWS", 7)
    rng = np.random.default_rng(columns)
    dense = np.where(rng.random((30, 12)) < 0.3, rng.normal(size=(30, 12)), 0)
    dense[5:21] = 0
    found = SparseOperator(sp.csr_array(dense), dtype)
    h = torch.from_numpy(rng.normal(size=(columns, 12))).to(dtype).T  # not contiguous
    wanted = dense @ h.numpy()
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    out = torch.full((30, columns), np.nan, dtype=dtype)
    assert found.multiply(h, out) is out
    np.testing.assert_allclose(out, wanted, atol=tolerance)
    np.testing.assert_array_equal(found.multiply(h), out)


def test_normalization_leaves_empty_rows_and_columns_empty():
    matrix = sp.csr_array(np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 4.0, 1.0]]))
    found = symmetrically_normalized(matrix)
    expected = [
        [0, 4 / np.sqrt(4 * 8), 0],
        [0, 0, 0],
        [0, 4 / np.sqrt(5 * 8), 1 / np.sqrt(5 * 1)],
    ]
    np.testing.assert_allclose(found.toarray(), expected)
    assert found.has_sorted_indices


def test_a_part_is_normalized_by_the_sums_of_the_whole():
    whole = sp.csr_array(np.random.default_rng(0).random((6, 6)))
    sums = (whole.sum(axis=1)[:4], whole.sum(axis=0)[:4])
    part = symmetrically_normalized(whole[:4][:, :4].tocsr(), sums)
    expected = symmetrically_normalized(whole).toarray()[:4, :4]
    np.testing.assert_allclose(part.toarray(), expected)
