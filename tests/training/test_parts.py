"""Parts of a graph, and what their losses say about the whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import model_for, random_graph
from rounding import assert_equal_to_rounding

from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.graph.graph import Graph
from graphgate.graph.joining import join_graphs
from graphgate.nn.losses import Loss
from graphgate.training.objective import training_objective
from graphgate.training.part_objective import PartObjective, planned_objective, start_graph
from graphgate.training.parts import Scaling, WalkParts, WholeGraphParts, parts_of
from graphgate.training.plan import TrainingPlan, part_size

pytestmark = pytest.mark.numerical


def ring(n: int, f: int = 5) -> Graph:
    """Every node has two neighbors, so that walks visit all of them equally often."""
    rng = np.random.default_rng(0)
    return Graph.from_edges(rng.normal(size=(n, f)), [(i, (i + 1) % n) for i in range(n)])


def plan_of(graph: Graph, model, size: int, parts_per_step: int = 1) -> TrainingPlan:
    counts = GraphCounts.of(graph)
    return TrainingPlan(
        counts,
        model.architecture,
        torch.float64,
        part_size=size,
        parts_per_step=parts_per_step,
    )


def test_a_part_has_the_given_size_and_its_nodes_are_near_each_other():
    graph = ring(1000)
    for number in range(5):
        rows = WalkParts(graph, 60, seed=3).rows(number)
        assert len(rows) == 60
        assert (np.diff(rows) > 0).all()
        part = graph.take(rows)
        assert part.n_edges > 25  # of random nodes, about four


def test_a_part_depends_on_seed_and_number_alone():
    graph = random_graph(0, n=200)
    parts = WalkParts(graph, 20, seed=5)
    first = [parts.rows(number).tolist() for number in range(3)]
    again = WalkParts(graph, 20, seed=5)
    assert [again.rows(number).tolist() for number in (2, 1, 0)] == first[::-1]
    assert first[0] != first[1]
    assert WalkParts(graph, 20, seed=6).rows(0).tolist() != first[0]


def test_a_part_as_large_as_the_graph_is_the_graph():
    assert WalkParts(random_graph(0, n=9), 9, seed=0).rows(4).tolist() == list(range(9))


def test_walks_follow_directed_edges_both_ways_and_stay_at_isolated_nodes():
    graph = Graph.from_edges(np.eye(300), [(i, i + 1) for i in range(99)], directed=True)
    seen = np.concatenate([WalkParts(graph, 100, seed=0).rows(number) for number in range(60)])
    assert np.unique(seen).size > 290


def test_whole_graphs_are_drawn_without_replacement_in_every_pass():
    sizes = [3, 1, 4, 1, 5, 9, 2, 6]
    index = np.repeat(np.arange(8), sizes)
    parts = WholeGraphParts(index, 8, seed=0)  # 31 nodes: four parts
    passes = []
    for start in (0, 4):
        drawn = [parts.rows(start + number) for number in range(4)]
        assert sorted(np.concatenate(drawn).tolist()) == list(range(31))
        for rows in drawn:
            for graph in np.unique(index[rows]):
                assert set(np.flatnonzero(index == graph)) <= set(rows.tolist())
        passes.append([rows.tolist() for rows in drawn])
    assert passes[0] != passes[1]


def test_joined_graphs_are_drawn_whole():
    both = join_graphs([random_graph(0, n=9), random_graph(1, n=9)])
    assert isinstance(parts_of(both, 9, 0), WholeGraphParts)
    assert isinstance(parts_of(random_graph(0, n=9), 9, 0), WalkParts)


@pytest.mark.parametrize("feature_form", ["rows", "frobenius"])
def test_the_mean_of_the_estimates_is_the_loss_of_the_whole(feature_form):
    """Equal graphs in pairs: parts see whole neighborhoods, and every one of six has equal counts.

    Structure loss and sum of row norms are means of the estimates over one pass; so is the square
    of the Frobenius norm.
    """
    graphs = [ring(10).with_x(np.random.default_rng(k).normal(size=(10, 5))) for k in range(12)]
    whole, loss = join_graphs(graphs), Loss(feature_form, 1.0, 0.5)
    model = model_for(whole, (4, 3))
    expected = training_objective(model, whole, loss)(0)
    plan = plan_of(whole, model, 20)
    objective = planned_objective(plan, model, whole, loss, seed=0)
    found = [objective(step) for step in range(6)]
    assert np.mean([each["structure"] for each in found]) == pytest.approx(expected["structure"])
    features = np.array([each["feature"] for each in found])
    power = 1 if feature_form == "rows" else 2
    assert np.mean(features**power) == pytest.approx(expected["feature"] ** power)
    assert np.ptp(features) > 1e-3
    assert found[0]["loss"] == pytest.approx(features[0] + 0.5 * found[0]["structure"])


def test_walks_estimate_sums_over_nodes_without_bias_where_degrees_are_equal():
    """The mean over parts of N/n Σ f_i, for any f; the exact expectation is Σ f_i."""
    graph = ring(120)
    values = np.random.default_rng(1).normal(2.0, 1.0, size=120)
    parts = WalkParts(graph, 30, seed=2)
    estimates = [120 / 30 * values[parts.rows(number)].sum() for number in range(800)]
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - values.sum()) < 4 * error
    assert error < 0.01 * values.sum()


def test_the_gradient_of_a_part_is_that_of_its_estimate():
    graph, loss = random_graph(0, n=40, f=6), Loss("frobenius", 1.0, 0.7)
    model = model_for(graph, (4, 3))
    objective = planned_objective(plan_of(graph, model, 15), model, graph, loss, seed=1)
    weight = model.encoder_weight[0]
    objective(3)
    gradient = weight.grad.clone()
    with torch.no_grad():
        weight[1, 2] += 1e-6
        above = objective(3)["loss"]
        weight[1, 2] -= 2e-6
        below = objective(3)["loss"]
    assert gradient[1, 2].item() == pytest.approx((above - below) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("settings", [{}, {"tied_weights": False}, {"activation": "relu"}])
def test_a_part_that_holds_all_nodes_is_the_full_batch(settings):
    graph, loss = random_graph(0, n=30, f=6), Loss("rows", 1.0, 0.5)
    model = model_for(graph, (4, 3), **settings)
    expected = training_objective(model, graph, loss)(0)
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    parts = WalkParts(graph, 30, seed=0)
    found = PartObjective(model, graph, loss, plan_of(graph, model, 30), parts, Processes())(7)
    assert found == pytest.approx(expected, rel=1e-12)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert_equal_to_rounding(parameter.grad, gradient)


def test_a_step_averages_its_parts():
    graph, loss = random_graph(0, n=50, f=6), Loss()
    model = model_for(graph, (4, 3))
    one = planned_objective(plan_of(graph, model, 12), model, graph, loss, seed=1)
    singles, gradients = [], []
    for number in (6, 7, 8):
        singles.append(one(number)["loss"])
        gradients.append(model.encoder_weight[0].grad.clone())
    found = planned_objective(plan_of(graph, model, 12, 3), model, graph, loss, seed=1)(2)
    assert found["loss"] == pytest.approx(np.mean(singles))
    torch.testing.assert_close(model.encoder_weight[0].grad, torch.stack(gradients).mean(dim=0))


def test_scaling_of_the_two_losses():
    part, whole = GraphCounts(10, 20, 3, 30), GraphCounts(40, 230, 3, 120)
    assert Scaling.of(part, whole, "rows") == Scaling(4.0, 9.0)
    assert Scaling.of(part, whole, "frobenius") == Scaling(2.0, 9.0)


def test_what_a_batch_size_means():
    small, large = GraphCounts.planned(50_000, 9, 3), GraphCounts.planned(50_001, 9, 3)
    assert part_size(small, "auto", published=False) is None
    assert part_size(large, "auto", published=False) == 16_384
    assert part_size(GraphCounts.planned(1_000_000, 9, 3), "auto", published=False) == 62_500
    assert part_size(large, "auto", published=True) is None
    assert part_size(large, 300, published=True) == 300
    assert part_size(large, "full", published=False) is None
    assert part_size(small, 50_000, published=False) is None


def test_an_epoch_visits_the_nodes_once_or_has_five_steps():
    model = model_for(random_graph(0, n=9), (4, 3))

    def steps(n: int, size: int | None, parts_per_step: int = 1) -> int:
        counts = GraphCounts.planned(n, 0, 6)
        plan = TrainingPlan(counts, model.architecture, part_size=size)
        return TrainingPlan(
            plan.counts, plan.architecture, part_size=size, parts_per_step=parts_per_step
        ).steps_per_epoch

    assert [steps(100, 40), steps(100, 40, 2), steps(10_000, 40), steps(100, None)] == [3, 2, 5, 1]


def test_large_graphs_start_from_a_part():
    n = 50_100
    graph = Graph(sp.eye_array(n, 4, format="csr"), sp.csr_array((n, n)))
    model = model_for(random_graph(0, n=9, f=4), (4, 3))
    plan = TrainingPlan(GraphCounts.of(graph), model.architecture, part_size=4096)
    assert start_graph(plan, graph, 0).n_nodes < plan.start_nodes + 1 == 50_001
    whole = TrainingPlan(GraphCounts.of(graph), model.architecture)
    assert start_graph(whole, graph, 0) is graph
