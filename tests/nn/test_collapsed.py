"""The fast forms against the plain path: the same loss and the same gradients."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import CPU, graphs, model_for, parts_of, random_graph, value_and_gradients
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.nn.products import row_dot, symmetric_product, total_dot
from graphgate.training.objective import loss_parts, training_objective

pytestmark = pytest.mark.numerical

LAYERS = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
LOSSES = st.builds(
    lambda form, weights: Loss(form, *weights),
    st.sampled_from(["rows", "frobenius"]),
    st.sampled_from([(1.0, 0.5), (1.7, 0.0), (0.0, 2.0)]),
)


def assert_same(found, expected, rtol=1e-9):
    values, gradients = found
    expected_values, expected_gradients = expected
    for name, value in expected_values.items():
        assert values[name] == pytest.approx(value, rel=1e-10, abs=1e-9), name
    for name, gradient in expected_gradients.items():
        scale = max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(gradients[name], gradient, rtol=0, atol=rtol * scale)


@settings(max_examples=80, deadline=None)
@given(graphs(), LAYERS, LOSSES, st.booleans(), st.booleans(), st.sampled_from(["softmax", "ones"]))
def test_collapsed_equals_plain(graph, dims, loss, tied, shared, attention):
    model = model_for(graph, dims, tied_weights=tied, shared_attention=shared, attention=attention)
    parts = parts_of(graph)
    plain = value_and_gradients(loss_parts("plain", model, *parts, loss), model)
    fast = value_and_gradients(loss_parts("collapsed", model, *parts, loss), model)
    assert_same(fast, plain)
    expected = model.encode(*parts).h.detach()
    torch.testing.assert_close(
        collapsed.fold(model).encode(*parts).h.detach(), expected, rtol=1e-10, atol=1e-10
    )


def test_a_perfect_reconstruction_has_finite_gradients():
    """Isolated nodes that are reproduced exactly: the residual is zero, and so is its gradient."""
    graph = Graph(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    model = model_for(graph, (2,))
    with torch.no_grad():
        model.encoder_weight[0].copy_(torch.eye(2))
    for form in ("rows", "frobenius"):
        loss = Loss(form, 1.0, 0.0)
        for path in ("plain", "collapsed"):
            parts = loss_parts(path, model, *parts_of(graph), loss)
            values, gradients = value_and_gradients(parts, model)
            assert values["loss"] == 0
            assert all((gradient == 0).all() for gradient in gradients.values())
        assert CollapsedStep(model, *parts_of(graph), loss)()["loss"] == 0
        assert all((parameter.grad == 0).all() for parameter in model.parameters())


def test_a_reconstruction_up_to_rounding_counts_as_perfect():
    """In float32 a rotation and its transpose leave squares of about 1e-7, of either sign.

    Their roots would be losses of 3e-4 per node whose gradients point anywhere.
    """
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    graph = Graph(rng.normal(size=(200, 6)))
    model = model_for(graph, (6,)).float()
    with torch.no_grad():
        model.encoder_weight[0].copy_(torch.from_numpy(rotation))
    single = {"device": CPU, "dtype": torch.float32}
    parts = FeatureMatrix(graph.x, **single), AttentionPattern(graph, **single)
    for form in ("rows", "frobenius"):
        loss = Loss(form, 1.0, 0.0)
        values, gradients = value_and_gradients(loss_parts("collapsed", model, *parts, loss), model)
        assert values["loss"] == 0
        assert all((gradient == 0).all() for gradient in gradients.values())
        assert CollapsedStep(model, *parts, loss)()["loss"] == 0
        assert all((parameter.grad == 0).all() for parameter in model.parameters())


@pytest.mark.parametrize("dims", [(4, 4), (64, 64)])
@pytest.mark.parametrize("settings", [{}, {"tied_weights": False}, {"activation": "tanh"}])
def test_every_objective_gives_the_gradients_of_the_plain_loss(dims, settings):
    graph = random_graph(5, n=12, f=7, weighted=True)
    model, parts = model_for(graph, dims, **settings), parts_of(graph)
    expected = value_and_gradients(loss_parts("plain", model, *parts, Loss()), model)
    found = training_objective(model, graph, Loss())()
    gradients = {name: parameter.grad.numpy() for name, parameter in model.named_parameters()}
    assert_same((found, gradients), expected)


def test_no_large_matrix_is_made(monkeypatch):
    """Neither the reconstruction (N×F), nor a hidden matrix (N×d1), nor a gather (E×D)."""
    n, f, hidden, d = 50, 31, 23, 11
    graph = random_graph(2, n=n, f=f)
    model, (x, pattern) = model_for(graph, (hidden, d)), parts_of(graph)
    monkeypatch.setattr(FeatureMatrix, "to_dense", lambda self: pytest.fail("X was made dense"))
    forbidden = {(n, f), (n, hidden), (len(pattern), d)}
    seen = set()

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for item in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(item, torch.Tensor) and item.layout == torch.strided:
                    seen.add(tuple(item.shape))
            return result

    step = CollapsedStep(model, x, pattern, Loss())
    with Watch():
        step()
        loss_parts("collapsed", model, x, pattern, Loss())["loss"].backward()
    assert (n, d) in seen  # the watch does see what is made
    assert not seen & forbidden


def test_symmetric_product_and_row_dot():
    rng = np.random.default_rng(0)
    for d in (5, 256, 512):
        a = torch.from_numpy(rng.normal(size=(40, d)))
        out = torch.empty(d, d, dtype=a.dtype)
        torch.testing.assert_close(symmetric_product(a, out), a.T @ a)
        torch.testing.assert_close(symmetric_product(a, out, keep=2.0), 3 * a.T @ a)
        torch.testing.assert_close(row_dot(a, a), (a * a).sum(1))
        assert total_dot(a, a, rows=7) == pytest.approx((a * a).sum().item())


@pytest.mark.parametrize("settings", [{}, {"tied_weights": False}, {"activation": "tanh"}])
def test_the_order_of_a_large_graph_changes_no_loss(settings):
    """Above 8,192 nodes training renumbers them; losses and gradients are the same."""
    rng = np.random.default_rng(0)
    n = 8200
    x = sp.random(n, 6, density=0.3, format="csr", random_state=0, dtype=np.float64)
    graph = Graph.from_edges(x, rng.integers(0, n, (2 * n, 2)))
    model = model_for(graph, (3, 2), **settings)
    expected = value_and_gradients(
        loss_parts("plain", model, *parts_of(graph), Loss("rows")), model
    )
    found = training_objective(model, graph, Loss("rows"))()
    gradients = {name: parameter.grad.numpy() for name, parameter in model.named_parameters()}
    assert_same((found, gradients), expected)
