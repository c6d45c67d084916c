"""The general model against a dense reference that follows the paper's sums literally."""

import numpy as np
import pytest
import torch
from dense_reference import dense_loss
from graphs import graphs, model_for, parts_of, random_graph, value_and_gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.attention import ACTIVATIONS
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.losses import Loss
from graphgate.training.objective import loss_parts

pytestmark = pytest.mark.numerical

REFERENCE_ACTIVATIONS = {
    "identity": lambda m: m,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "elu": functional.elu,
}


@settings(max_examples=40, deadline=None)
@given(
    graphs(),
    st.sampled_from(sorted(REFERENCE_ACTIVATIONS)),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["softmax", "uniform", "ones"]),
    st.sampled_from(["rows", "frobenius"]),
    st.sampled_from([(1.0, 0.5), (1.0, 0.0), (0.0, 2.0)]),
)
def test_value_and_gradient_follow_the_paper(
    graph, activation, dims, tied, shared, attention, form, weights
):
    model = model_for(
        graph,
        tuple(dims),
        activation=activation,
        tied_weights=tied,
        shared_attention=shared,
        attention=attention,
    )
    loss = Loss(form, *weights)
    parts = loss_parts("plain", model, *parts_of(graph), loss)
    feature, structure, total, _ = dense_loss(
        torch.tensor(graph.x.toarray() if hasattr(graph.x, "toarray") else graph.x),
        torch.tensor(graph.adjacency.toarray(), dtype=torch.float64),
        model,
        REFERENCE_ACTIVATIONS[activation],
        form,
        *weights,
    )
    reference = {"loss": total, "feature": feature, "structure": structure}
    values, gradients = value_and_gradients(parts, model)
    expected, expected_gradients = value_and_gradients(reference, model)
    used = [name for name, weight in zip(("feature", "structure"), weights, strict=True) if weight]
    for name in ("loss", *used):
        assert values[name] == pytest.approx(expected[name], rel=1e-10, abs=1e-10)
    for name, gradient in gradients.items():
        scale = max(1.0, np.abs(expected_gradients[name]).max(initial=0))
        np.testing.assert_allclose(
            gradient, expected_gradients[name], rtol=0, atol=1e-10 * scale, err_msg=name
        )


def test_attention_rows_sum_to_one_and_stay_within_a_factor_e():
    graph = random_graph(3, n=20, hub=True)
    x, pattern = parts_of(graph)
    model = model_for(graph, (7, 5))
    for alpha in model.encode(x, pattern).attention:
        matrix = pattern.to_scipy(alpha.detach())
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
        for i in range(graph.n_nodes):
            row = matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]]
            assert row.max() / row.min() < np.e


def test_two_nodes_by_hand():
    """One layer of size one, weight 1, v_s = 0, v_r = ln 3 on features 0 and 1."""
    graph = Graph([[0.0], [1.0]], [[0, 1], [1, 0]])
    model = GATEModel(Architecture(1, (1,)), dtype=torch.float64)
    with torch.no_grad():
        model.encoder_weight[0].fill_(1.0)
        model.encoder_center[0].fill_(0.0)
        model.encoder_neighbor[0].fill_(np.log(3.0))
    x, pattern = parts_of(graph)
    encoding = model.encode(x, pattern)
    # Sigmoid(0) = 1/2 and Sigmoid(ln 3) = 3/4, so α to node 1 is e^¾ / (e^½ + e^¾).
    to_second = np.exp(0.75) / (np.exp(0.5) + np.exp(0.75))
    np.testing.assert_allclose(encoding.h.detach().numpy()[:, 0], [to_second, to_second])


def test_an_edge_makes_its_target_attend_over_its_source():
    graph = Graph.from_edges(np.eye(3), [(0, 1)], directed=True)
    _, pattern = parts_of(graph)
    matrix = pattern.to_scipy(torch.ones(len(pattern))).toarray()
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    _, backwards = parts_of(graph.reverse())
    np.testing.assert_array_equal(
        backwards.to_scipy(torch.ones(len(backwards))).toarray(), [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    )


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_trains(activation):
    graph = random_graph(1)
    model = model_for(graph, (4, 3), activation=activation)
    parts = loss_parts("plain", model, *parts_of(graph), Loss())
    _, gradients = value_and_gradients(parts, model)
    assert np.isfinite(parts["loss"].item())
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"dims": ()}, "dims"),
        ({"dims": (0,)}, "dims"),
        ({"activation": "sine"}, "activation"),
        ({"attention": "hard"}, "attention"),
    ],
)
def test_impossible_architectures_are_refused(settings, word):
    with pytest.raises(InputError, match=word):
        Architecture(**{"n_features": 3, "dims": (2,)} | settings)
