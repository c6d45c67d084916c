"""The plan of a run: counts, and what the objective makes of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import model_for, random_graph

from graphgate.compute.columns import Blocks
from graphgate.compute.counts import GraphCounts
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import Architecture
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.training import objective as objectives
from graphgate.training.plan import TrainingPlan


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_the_counts_of_a_graph(directed, dense):
    graph = random_graph(3, directed=directed, dense=dense)
    counts = GraphCounts.of(graph)
    assert (counts.nodes, counts.features, counts.pairs) == (9, 6, graph.adjacency.nnz)
    assert counts.entries == (54 if dense else graph.x.nnz)
    assert (counts.sparse, counts.directed) == (not dense, directed)
    planned = GraphCounts.planned(9, graph.n_edges, 6, directed=directed)
    assert planned.pairs == counts.pairs


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 5), "must be at least 1 and"),
        ((3, 0, 0), "got 3 nodes, 0 features"),
        ((3, -1, 1), "at least 0, got 3 nodes, 1 features and -1 edges"),
        ((3, 4, 1), "3 nodes cannot have 4 distinct edges"),
        ((3, 1, 1, 1.5), "between 0 and 1, got 1.5"),
    ],
)
def test_impossible_counts_are_refused(counts, words):
    with pytest.raises(InputError, match=words):
        GraphCounts.planned(*counts)


def plan(counts: GraphCounts, dims=(4, 4), **settings) -> TrainingPlan:
    return TrainingPlan(counts, Architecture(counts.features, dims, **settings))


def test_the_form_is_chosen_by_counting_work():
    wide = GraphCounts.planned(60, 500, 40, 0.6)
    assert plan(wide).form == "step"
    assert plan(wide, tied_weights=False).form == "collapsed"
    assert plan(wide, shared_attention=False).form == "collapsed"
    # Only without an activation do rows and columns commute.
    assert plan(wide, activation="relu").form == "plain"
    # With three nodes and wide layers, the product of the weights costs more than it saves.
    assert plan(GraphCounts.planned(3, 2, 40, 0.6), (64, 64)).form == "plain"


def test_blocks_of_columns_are_a_form_of_the_hand_derived_step_only():
    wide, blocks = GraphCounts.planned(60, 500, 40, 0.6), Blocks(2)
    assert replace(plan(wide), blocks=blocks).form == "step"
    assert replace(plan(wide, tied_weights=False), blocks=blocks).form == "collapsed"
    assert replace(plan(wide, activation="relu"), blocks=blocks).form == "plain"


def test_work_is_counted_by_the_entries_that_a_product_visits():
    """By hand, for N = 3, E = 7, F = 5, d = (2, 2), 4 entries of X or all 15."""
    sparse, dense = GraphCounts(3, 4, 5, 4, sparse=True), GraphCounts(3, 4, 5, 15)
    for counts, visited in ((sparse, 15), (dense, 15), (GraphCounts(3, 4, 5, 2, sparse=True), 2)):
        found = plan(counts, (2, 2))
        encoder = visited * 2 + 3 * 4 + 7 * 4
        decoder = 3 * (10 + 4) + 7 * (5 + 2)
        assert found._plain() == encoder + decoder + 3 * 5 + 7 * 2
        chain = 5 * 2 * 2 + visited * 2
        assert found._collapsed() == chain + 5 * 4 + 3 * 4 + 7 * 2 * 5 + 2 * 3 * 2


def test_features_above_a_density_of_a_fifth_are_trained_dense():
    assert not plan(GraphCounts.planned(100, 0, 10, 0.2)).dense_features
    assert plan(GraphCounts.planned(100, 0, 10, 0.21)).dense_features
    assert plan(GraphCounts.planned(100, 0, 10)).dense_features
    assert not plan(GraphCounts.planned(2**20, 0, 2**10, 0.5)).dense_features  # 4 GiB


@pytest.mark.parametrize("settings", [{}, {"tied_weights": False}, {"activation": "relu"}])
@pytest.mark.parametrize("density", [0.05, 0.5])
@pytest.mark.parametrize("n", [200, 8200])
def test_the_objective_does_what_the_plan_says(monkeypatch, settings, density, n):
    x = sp.random_array((n, 8), density=density, format="csr", random_state=0, dtype=np.float64)
    edges = np.random.default_rng(0).integers(0, n, (2 * n, 2))
    graph = Graph.from_edges(x, edges)
    model = model_for(graph, (4, 2), **settings)
    expected = TrainingPlan(GraphCounts.of(graph), model.architecture, torch.float64)
    made, reordered = [], []

    class Watched(FeatureMatrix):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    by_locality = Graph.by_locality
    monkeypatch.setattr(objectives, "FeatureMatrix", Watched)
    monkeypatch.setattr(
        Graph, "by_locality", lambda graph: reordered.append(1) or by_locality(graph)
    )
    objective = objectives.training_objective(model, graph, Loss())
    assert [x.is_sparse for x in made] == [not expected.dense_features]
    assert bool(reordered) == expected.reorders_nodes == (n > 8192)
    assert isinstance(objective, CollapsedStep) == (expected.form == "step")


def test_a_complete_graph_can_be_planned():
    assert GraphCounts.planned(3, 3, 1).pairs == 6
    assert GraphCounts.planned(3, 6, 1, directed=True).pairs == 6
