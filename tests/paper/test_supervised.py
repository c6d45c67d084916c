"""How the supervised networks are trained, what they see, and when they stop."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from baseline_graphs import blocks, labelled, path, scores
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.convolution_classifiers import GAT, GCN, Chebyshev, MoNet
from graphgate.paper.baselines.stogcn import StoGCN
from graphgate.paper.baselines.supervised import Patience, Window

pytestmark = pytest.mark.numerical

METHODS = [GCN, Chebyshev, MoNet, StoGCN, GAT]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)


@each_method
@pytest.mark.parametrize("directed", [False, True])
def test_training_sees_everything_that_scores_depend_on(method, directed):
    graph = labelled(random_graph(4, n=40, directed=directed))
    model = method(epochs=1).fit(graph)
    part = model._labelled(graph, "train")
    assert len(part.inputs[0]) < graph.n_nodes
    with torch.no_grad():
        seen = model.network_(*part.inputs).index_select(0, part.rows).numpy()
    np.testing.assert_allclose(seen, scores(model, graph)[graph.splits["train"]], atol=1e-6)


@each_method
def test_blocks_are_learned(method):
    graph = blocks()
    found = method(epochs=150).fit(graph).predict(graph)
    right = found == np.arange(graph.n_nodes) % 3
    assert right[graph.splits["test"]].mean() > 0.85


@each_method
def test_unseen_nodes_are_classified(method):
    graph = blocks()
    found = method(epochs=150).fit(graph.without(graph.splits["test"])).predict(graph)
    right = found == np.arange(graph.n_nodes) % 3
    assert right[graph.splits["test"]].mean() > 0.7


@each_method
def test_without_validation_nodes_all_epochs_are_run(method):
    assert method(epochs=40).fit(blocks(val=False)).epochs_ == 40


@each_method
@pytest.mark.parametrize("shape", [(4, 3), (1, 1)])
def test_a_graph_without_edges_or_features(method, shape):
    known = np.arange(shape[0]) < 2
    graph = Graph(sp.csr_array(shape), labels=["a"] * shape[0], splits={"train": known})
    assert method(epochs=2).fit(graph).predict(graph).tolist() == [0] * shape[0]


def test_window_compares_with_the_mean_of_earlier_losses():
    window = Window(2)
    losses = [3.0, 5.0, 9.0, 1.0, 5.0, 3.1, 2.0]
    stopped = [window.over(loss, 0.0, torch.nn.Identity()) for loss in losses]
    assert stopped == [False, False, False, False, False, True, False]


def test_patience_keeps_the_last_weights_with_best_loss_and_accuracy():
    network = torch.nn.Linear(1, 1, bias=False)
    patience = Patience(2)
    history = [(1.0, 0.5), (0.9, 0.6), (0.8, 0.5), (0.95, 0.6), (0.9, 0.5), (0.9, 0.5)]
    stopped = []
    for epoch, (loss, accuracy) in enumerate(history):
        torch.nn.init.constant_(network.weight, float(epoch))
        stopped.append(patience.over(loss, accuracy, network))
    assert stopped == [False] * 5 + [True]
    assert patience.weights["weight"].item() == 1.0


def test_what_is_missing_is_named():
    graph = blocks()
    with pytest.raises(InputError, match="no node of a split 'train' has one"):
        GCN().fit(graph.with_splits({}))
    with pytest.raises(InputError, match="has 30 features, but GCN is expecting 6 features"):
        GCN(epochs=1).fit(labelled(random_graph(1))).predict(graph)


def test_patience_counts_a_tie_as_reached():
    network, patience = torch.nn.Linear(1, 1, bias=False), Patience(2)
    for epoch in range(4):
        torch.nn.init.constant_(network.weight, float(epoch))
        assert not patience.over(0.8, 0.5, network)
    assert patience.weights["weight"].item() == 3.0


class FirstEpoch(Patience):
    """Never stops, and keeps the weights of the first epoch."""

    def over(self, loss, accuracy, network):
        self.weights = self.weights or deepcopy(network.state_dict())
        return False


def test_the_weights_to_keep_are_those_of_the_fitted_network():
    class Kept(GAT):
        def _stopping(self):
            return FirstEpoch(1)

    kept, once = Kept(epochs=3).fit(blocks()), GAT(epochs=1).fit(blocks())
    assert (kept.epochs_, once.epochs_) == (3, 1)
    for ours, expected in zip(kept.network_.parameters(), once.network_.parameters(), strict=True):
        torch.testing.assert_close(ours, expected)


def test_dropout_acts_in_every_epoch():
    class Spy(GCN):
        def _objective(self, network, train):
            loss = super()._objective(network, train)
            return lambda: seen.append(network.training) or loss()

    seen = []
    Spy(epochs=3).fit(blocks())
    assert seen == [True, True, True]


def test_only_the_first_layer_of_a_window_classifier_decays():
    model = GCN(weight_decay=0.25, epochs=1)
    network = model._network(5, 2)
    first, second = model._parameters(network)
    assert first["weight_decay"] == 0.25
    assert list(first["params"]) == list(network.first.parameters())
    assert second.keys() == {"params"}
    assert list(second["params"]) == list(network.second.parameters())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_chebyshev_filters_see_twice_their_order(order):
    graph = labelled(path(40))
    model = Chebyshev(order=order, epochs=1).fit(graph)
    part = model._labelled(graph, "train")
    with torch.no_grad():
        seen = model.network_(*part.inputs).index_select(0, part.rows).numpy()
    np.testing.assert_allclose(seen, scores(model, graph)[graph.splits["train"]], atol=1e-6)
