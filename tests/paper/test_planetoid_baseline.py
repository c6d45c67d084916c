"""Planetoid, transductive and inductive: contexts, losses, and training."""

import numpy as np
import pytest
import torch
from baseline_graphs import accuracy, noisy_blocks
from torch import nn

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines import planetoid
from graphgate.paper.baselines.inputs import step
from graphgate.paper.baselines.planetoid import (
    Contexts,
    ContextTrainer,
    FeatureEmbedding,
    PlanetoidI,
    PlanetoidT,
    SampledContextTrainer,
    label_contexts,
    walk_pairs,
)

pytestmark = pytest.mark.numerical

SMALL_PLANETOID = {"label_steps": 200, "graph_steps": 40, "iterations": 200}


@pytest.fixture(scope="module")
def blocks() -> Graph:
    return noisy_blocks()


def test_contexts_on_a_walk():
    pairs = walk_pairs(np.array([[5, 6, 7, 8]]), window=1)
    around = [(5, 5), (5, 6), (6, 5), (6, 6), (6, 7), (7, 6), (7, 7), (7, 8), (8, 7), (8, 8)]
    assert [tuple(pair) for pair in pairs.tolist()] == around


def test_contexts_share_a_label_and_negatives_do_not():
    labels = np.array([2, 0, 2, 1, 0, 2])
    contexts = label_contexts(labels, 500, 2, np.random.default_rng(0))
    met, unmet = labels[contexts.met], labels[contexts.unmet]
    assert (met[:, 0] == met[:, 1]).all()
    assert len(np.unique(contexts.met, axis=0)) == 1 + 4 + 9  # all pairs within 1, 0 and 2
    assert (unmet[:, 0] != unmet[:, 1]).all()
    assert len(np.unique(contexts.unmet, axis=0)) == 36 - 14


def test_losses_over_contexts_are_sums_over_pairs():
    torch.manual_seed(0)
    x = torch.rand(6, 4)
    met, unmet = np.array([[0, 1], [0, 1], [4, 2], [0, 5], [2, 2]]), np.array([[0, 3], [5, 5]])
    softmax = ContextTrainer(FeatureEmbedding(x, 3), x, 3, learning_rate=0.1)
    scores = softmax.output(softmax.embedding(x, torch.from_numpy(met[:, 0])))
    expected = nn.functional.cross_entropy(scores, torch.from_numpy(met[:, 1]), reduction="sum")
    torch.testing.assert_close(softmax.loss(Contexts(met, unmet)), expected)

    sampled = SampledContextTrainer(FeatureEmbedding(x, 3), x, 3, learning_rate=0.1)
    z, out = sampled.embedding(x, torch.arange(6)), sampled.output.vectors
    expected = -sum(torch.log(torch.sigmoid(z[i] @ out[j])) for i, j in met)
    expected -= sum(torch.log(torch.sigmoid(-z[i] @ out[j])) for i, j in unmet)
    torch.testing.assert_close(sampled.loss(Contexts(met, unmet)), expected)


def test_planetoid_finds_blocks(blocks):
    transductive = PlanetoidT(**SMALL_PLANETOID).fit(blocks)
    sampled = PlanetoidT(**SMALL_PLANETOID | {"negatives": 5}).fit(blocks)
    assert accuracy(sampled.predict(blocks), blocks) > 0.7
    assert accuracy(transductive.predict(blocks), blocks) > 0.8
    inductive = PlanetoidI(**SMALL_PLANETOID).fit(blocks.without(blocks.splits["test"]))
    assert accuracy(inductive.predict(blocks), blocks) > 0.6
    with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
        transductive.predict(blocks.without(blocks.splits["test"]))


@pytest.mark.parametrize("planetoid", [PlanetoidT, PlanetoidI])
def test_planetoid_works_without_edges_and_validation(planetoid, blocks):
    lonely = Graph(blocks.x, labels=blocks.labels, splits={"train": blocks.splits["train"]})
    predicted = planetoid(**SMALL_PLANETOID).fit(lonely).predict(lonely)
    assert np.mean(predicted == blocks.labels) > 0.5
    with pytest.raises(InputError, match="learns from labels"):
        planetoid().fit(Graph(blocks.x))


@pytest.fixture
def steps(monkeypatch) -> list:
    """One entry per step of any optimizer."""
    taken = []

    def note(optimizer, loss):
        taken.append(loss.item())
        step(optimizer, loss)

    monkeypatch.setattr(planetoid, "step", note)
    return taken


def test_training_stops_without_a_better_accuracy(blocks, steps):
    """With a single class the accuracy is 1 from the first step on."""
    graph = Graph(blocks.x, labels=["a"] * 120, splits=dict(blocks.splits))
    PlanetoidT(label_steps=0, graph_steps=0, iterations=50, patience=3).fit(graph)
    assert len(steps) == 1 + 3


@pytest.mark.parametrize(("rate", "expected"), [(0.0, 5), (1.0, 10)])
def test_steps_on_contexts_of_the_graph_in_training(blocks, steps, rate, expected):
    PlanetoidI(label_steps=0, graph_steps=0, graph_rate=rate, iterations=5).fit(blocks)
    assert len(steps) == expected


def test_steps_before_training(blocks, steps):
    PlanetoidI(label_steps=4, graph_steps=3, iterations=0).fit(blocks)
    assert len(steps) == 4 + 3


def test_contexts_have_a_bias_of_their_own():
    torch.manual_seed(0)
    x, rows = torch.rand(4, 3), torch.tensor([2, 0])
    embedding = FeatureEmbedding(x, 5)
    embedding.context_bias.data.fill_(10.0)
    plain = x[rows] @ embedding.layer.weight.T
    torch.testing.assert_close(embedding(x, rows), plain.relu())
    torch.testing.assert_close(embedding(x, rows, for_context=True), (plain + 10).relu())
