"""Products with sparse and dense features against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import CPU, DOUBLE, graphs, parts_of
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn import features
from graphgate.nn.features import FeatureMatrix, product_by_blocks

pytestmark = pytest.mark.numerical


def dense(graph: Graph) -> np.ndarray:
    return graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()


@settings(max_examples=30, deadline=None)
@given(graphs(), st.integers(1, 5))
def test_products_with_features(graph, block):
    x, _ = parts_of(graph)
    array = dense(graph)
    rng = np.random.default_rng(0)
    m, g = (torch.from_numpy(rng.normal(size=(side, 3))) for side in reversed(x.shape))
    np.testing.assert_allclose(x.times(m), array @ m.numpy(), atol=1e-12)
    np.testing.assert_allclose(x.times_by_blocks(m), array @ m.numpy(), atol=1e-12)
    out = torch.full((x.shape[0], 3), np.nan, dtype=torch.float64)
    np.testing.assert_allclose(x.multiply(m, out), array @ m.numpy(), atol=1e-12)
    before = features._BLOCK
    features._BLOCK = block  # small blocks, so that a small X has several
    try:
        out = torch.full((x.shape[1], 3), np.nan, dtype=torch.float64)
        np.testing.assert_allclose(x.multiply_transposed(g, out), array.T @ g.numpy(), atol=1e-12)
    finally:
        features._BLOCK = before
    np.testing.assert_allclose(x.square_norms, (array**2).sum(1), atol=1e-12)
    np.testing.assert_array_equal(x.to_dense(), array)


def test_x_is_made_dense_on_request():
    x = sp.random_array((50, 40), density=0.3, format="csr", random_state=0)
    assert FeatureMatrix(x, **DOUBLE).is_sparse
    dense = FeatureMatrix(x, dense=True, **DOUBLE)
    assert not dense.is_sparse
    np.testing.assert_array_equal(dense.to_dense(), x.toarray())


def test_blocks_do_not_change_a_product():
    rng = np.random.default_rng(0)
    a, m = (torch.from_numpy(rng.normal(size=shape)) for shape in ((23, 5), (5, 4)))
    for rows in (1, 4, 23, 64):
        torch.testing.assert_close(product_by_blocks(a, m, rows), a @ m)


def test_what_overflows_in_single_precision_is_refused():
    with pytest.raises(InputError, match="and overflow; scale them, or use dtype='float64'"):
        FeatureMatrix(np.array([[1e39]]), device=CPU, dtype=torch.float32)
