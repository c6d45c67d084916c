"""Sampled neighbors with control variates."""

import numpy as np
import pytest
import torch
from baseline_graphs import labelled
from graphs import random_graph

from graphgate.paper.baselines import stogcn
from graphgate.paper.baselines.inputs import normalized_adjacency
from graphgate.paper.baselines.stogcn import StoGCN, sample_neighbors

pytestmark = pytest.mark.numerical


def test_sampled_neighbors_are_unbiased():
    rng = np.random.default_rng(0)
    adjacency = normalized_adjacency(random_graph(5, n=12), loops=True)
    draws = [sample_neighbors(adjacency, 2, rng) for _ in range(4000)]
    sizes = np.diff(adjacency.indptr)
    for sampled, scale in draws[:20]:
        np.testing.assert_array_equal(np.diff(sampled.indptr), np.minimum(sizes, 2))
        np.testing.assert_allclose(scale, np.maximum(sizes / 2, 1))
    mean = sum(sampled.toarray() for sampled, _ in draws) / len(draws)
    np.testing.assert_allclose(mean, adjacency.toarray(), atol=0.05)


def test_a_sample_of_all_neighbors_is_the_exact_loss():
    graph = labelled(random_graph(6))
    model = StoGCN(neighbors=100, dropout=0.0, epochs=2).fit(graph)
    train = model._labelled(graph, "train")
    with torch.no_grad():
        loss = model._objective(model.network_, train)
        exact = train.loss(model.network_(*train.inputs))
        for _ in range(2):  # without stored activations, and with them
            torch.testing.assert_close(loss(), exact)


def test_stored_activations_make_samples_exact_for_constant_weights():
    graph = labelled(random_graph(7, hub=True))
    model = StoGCN(neighbors=1, dropout=0.0, epochs=2).fit(graph)
    train = model._labelled(graph, "train")
    with torch.no_grad():
        loss = model._objective(model.network_, train)
        for _ in range(200):  # until every neighbor has been sampled
            loss()
        torch.testing.assert_close(loss(), train.loss(model.network_(*train.inputs)))


def test_noise_is_scaled_by_the_square_root_of_the_sampling_rate(monkeypatch):
    """If dropout doubles the inputs, the noise of a node is its activation itself."""
    graph = labelled(random_graph(7, hub=True))
    model = StoGCN(neighbors=1, dropout=0.0, epochs=1).fit(graph)
    train = model._labelled(graph, "train")
    monkeypatch.setattr(stogcn, "dropped", lambda x, rate, training: 2 * x)
    entered = []
    model.network_.second.register_forward_pre_hook(lambda _, inputs: entered.extend(inputs))
    with torch.no_grad():
        model._objective(model.network_, train)()
        activations = model.network_.first(train.inputs[0]).relu().numpy()
    rows = stogcn._matrix(train.inputs[1])[train.rows.numpy()]
    sampled, scale = sample_neighbors(rows, 1, np.random.default_rng(model.random_state))
    assert scale.max() > 1
    expected = (1 + 1 / np.sqrt(scale))[:, None] * (sampled @ activations)
    np.testing.assert_allclose(entered[0], expected, rtol=1e-5)
