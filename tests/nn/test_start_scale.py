"""The scale of initial weights, against the loss of networks with many scales."""

import math

import numpy as np
import pytest
import torch
from graphs import model_for, parts_of, random_graph

from graphgate.graph.graph import Graph
from graphgate.nn.attention import constant_coefficients
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.start_scale import best_exponent
from graphgate.training.objective import loss_parts

pytestmark = pytest.mark.numerical


def orthonormal(f: int, k: int) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(f, k, generator=torch.Generator().manual_seed(0)).double())[
        0
    ]


def found_factor(
    graph: Graph, vectors: torch.Tensor, n_layers: int, loss: Loss, *, unit=1.0, kind="uniform"
) -> float:
    _, pattern = parts_of(graph)
    scaled = FeatureMatrix(graph.x / unit, device=torch.device("cpu"), dtype=torch.float64)
    attention = constant_coefficients(pattern, kind, torch.float64)
    exponent = best_exponent(scaled, unit, vectors, pattern, attention, n_layers, loss)
    return math.exp(exponent)


@torch.no_grad()
def loss_of(graph: Graph, vectors: torch.Tensor, dims: tuple[int, ...], loss: Loss, t: float, kind):
    """Of the network itself, in its plain form, whose weights are multiplied."""
    model = model_for(graph, dims, attention=kind)
    for number, weight in enumerate(model.encoder_weight):
        weight.copy_(torch.eye(weight.shape[0]) if number else vectors)
        weight.mul_(t ** (0.5 / len(dims)))
    return loss_parts("plain", model, *parts_of(graph), loss)["loss"].item()


@pytest.mark.parametrize("form", ["rows", "frobenius"])
@pytest.mark.parametrize("kind", ["uniform", "ones"])
@pytest.mark.parametrize(("dims", "directed"), [((4,), False), ((4, 4), False), ((4, 4), True)])
@pytest.mark.parametrize("size", [0.05, 1.0])
def test_no_other_factor_has_a_lower_loss(form, kind, dims, directed, size):
    graph = random_graph(5, n=20, directed=directed)
    graph = graph.with_x(size * graph.x)
    vectors, loss = orthonormal(6, 4), Loss(form, 1.0, 0.7)
    t = found_factor(graph, vectors, len(dims), loss, kind=kind)
    best = loss_of(graph, vectors, dims, loss, t, kind)
    for other in (0.01, 0.5, 0.97, 1.03, 2, 100):
        assert loss_of(graph, vectors, dims, loss, other * t, kind) > best


def test_short_features_need_large_weights_where_structure_counts():
    graph, vectors, loss = random_graph(5, n=20), orthonormal(6, 4), Loss(structure_weight=1e6)
    factors = [
        found_factor(graph.with_x(size * graph.x), vectors, 2, loss) for size in (0.01, 0.1, 1)
    ]
    assert factors[0] > 50 * factors[1] > 50 * 50 * factors[2]


@pytest.mark.parametrize("size", [1e-100, 1e-6, 1e6, 1e100])
def test_a_unit_of_features_changes_nothing_but_rounding(size):
    graph, vectors = random_graph(5, n=20), orthonormal(6, 4)
    graph = graph.with_x(size * graph.x)
    found = found_factor(graph, vectors, 2, Loss(), unit=size)
    assert 0 < found < math.inf
    if 1e-9 < size < 1e9:
        assert found == pytest.approx(found_factor(graph, vectors, 2, Loss()), rel=2e-3)


def test_blocks_of_columns_change_nothing(monkeypatch):
    graph, vectors = random_graph(5, n=20), orthonormal(6, 5)
    whole = found_factor(graph, vectors, 2, Loss())
    monkeypatch.setattr("graphgate.nn.start_scale.BLOCK", 2)
    assert found_factor(graph, vectors, 2, Loss()) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    ("graph", "loss", "k"),
    [
        (random_graph(5), Loss(feature_weight=0), 4),  # ever larger weights are better
        (random_graph(5), Loss(structure_weight=0), 4),
        (random_graph(5), Loss(), 0),
        (Graph(np.zeros((3, 6)), np.zeros((3, 3))), Loss(), 4),
    ],
    ids=["no features", "no structure", "no vectors", "features of zero"],
)
def test_without_a_best_factor_it_is_1(graph, loss, k):
    assert found_factor(graph, orthonormal(6, 6)[:, :k], 1, loss) == 1
