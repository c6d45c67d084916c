"""The sparse operators against dense NumPy, and their gradients against finite differences."""

import numpy as np
import pytest
import torch
from graphs import graphs, parts_of, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate.nn.pattern import (
    AttentionPattern,
    attention_product,
    dot_on,
    edge_dot,
    segment_softmax,
)

pytestmark = pytest.mark.numerical


@settings(max_examples=40, deadline=None)
@given(graphs(), st.integers(0, 99))
def test_the_pattern_is_the_graph_with_one_self_loop_per_node(graph, seed):
    _, pattern = parts_of(graph)
    rng = np.random.default_rng(seed)
    values = torch.from_numpy(rng.normal(size=len(pattern)))
    m = torch.from_numpy(rng.normal(size=(graph.n_nodes, 3)))
    expected = np.zeros((graph.n_nodes,) * 2)
    expected[pattern.centers, pattern.neighbors] = values
    attended = graph.adjacency.toarray().T != 0
    np.testing.assert_array_equal(expected != 0, attended | np.eye(graph.n_nodes, dtype=bool))
    np.testing.assert_array_equal(pattern.to_scipy(values).toarray(), expected)
    np.testing.assert_array_equal(pattern.transposed(values).to_dense(), expected.T)
    np.testing.assert_allclose(pattern.row_sums(values), expected.sum(1), atol=1e-12)
    out = torch.full_like(m, np.nan)  # what was there must not matter
    np.testing.assert_allclose(pattern.multiply(values, m, out), expected @ m.numpy(), atol=1e-12)
    before = out.clone()
    pattern.multiply(values, m, out, transposed=True, keep=1.0)
    np.testing.assert_allclose(out, before.numpy() + expected.T @ m.numpy(), atol=1e-12)
    if pattern.weights is not None:
        weights = graph.adjacency.toarray().T + np.eye(graph.n_nodes)
        np.testing.assert_allclose(
            pattern.weights, weights[pattern.centers, pattern.neighbors], rtol=1e-15
        )


@pytest.mark.parametrize("directed", [False, True])
def test_gradients_of_the_three_products(directed):
    x, pattern = parts_of(random_graph(1, n=6, f=4, directed=directed))
    rng = np.random.default_rng(0)

    def leaf(*shape):
        return torch.from_numpy(rng.normal(size=shape)).requires_grad_()

    assert torch.autograd.gradcheck(x.times, leaf(4, 3))
    assert torch.autograd.gradcheck(
        lambda values, m: attention_product(pattern, values, m), (leaf(len(pattern)), leaf(6, 3))
    )
    assert torch.autograd.gradcheck(lambda h: edge_dot(pattern, h), leaf(6, 3))
    assert torch.autograd.gradcheck(lambda e: segment_softmax(pattern, e), leaf(len(pattern)))


def test_dots_along_edges_add_to_what_is_there():
    _, pattern = parts_of(random_graph(2))
    a, b = (torch.from_numpy(np.random.default_rng(s).normal(size=(9, 4))) for s in (0, 1))
    expected = (a @ b.T)[pattern.centers, pattern.neighbors]
    torch.testing.assert_close(dot_on(pattern, a, b), expected)
    torch.testing.assert_close(dot_on(pattern, a, b, onto=expected), 2 * expected)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rows", [3, 1000])
def test_products_in_single_precision_are_those_in_double(monkeypatch, directed, rows):
    """Some rows at a time, with what was there before, and without a gradient."""
    monkeypatch.setattr("graphgate.compute.row_bags._ROWS", rows)
    graph = random_graph(1, 20, 3, directed=directed)
    single, double = (
        AttentionPattern(graph, device=torch.device("cpu"), dtype=dtype)
        for dtype in (torch.float32, torch.float64)
    )
    rng = np.random.default_rng(0)
    values, m, out = (
        torch.from_numpy(rng.normal(size=shape)) for shape in (len(single), (20, 5), (20, 5))
    )
    for transposed in (False, True):
        for keep in (0.0, -1.0, 0.5):
            found = single.multiply(
                values.float(), m.float(), out.float(), transposed=transposed, keep=keep
            )
            wanted = double.multiply(values, m, out.clone(), transposed=transposed, keep=keep)
            torch.testing.assert_close(found.double(), wanted, rtol=0, atol=1e-5)
