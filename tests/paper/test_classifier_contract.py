"""What every classifier promises, that is, every supervised baseline."""

from __future__ import annotations

import contract
import numpy as np
import pytest
from contract import CLASSIFIERS, TRANSDUCTIVE, blocks, evaluated, learned, quick, same
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.protocol import hide

each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
each_inductive = pytest.mark.parametrize("name", contract.inductive(CLASSIFIERS))
each_setting = pytest.mark.parametrize(("name", "setting"), contract.in_each_setting(CLASSIFIERS))
sparse_and_dense = pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])


def shown(graph: Graph) -> Graph:
    """The graph with the labels that a classifier may see."""
    return graph.reveal("train", "val")


@each_classifier
@sparse_and_dense
def test_one_class_per_node(name, dense):
    graph = blocks(dense=dense)
    method = quick(name)
    assert hasattr(method, "predict")
    assert not hasattr(method, "transform")
    assert method.fit(shown(graph)) is method
    found = method.predict(graph.reveal())
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype.kind) == ((75,), "i")
    assert set(np.unique(found)) <= {0, 1, 2}
    assert method.classes_ == graph.classes


@each_classifier
def test_not_fitted(name):
    method = quick(name)
    with pytest.raises(NotFittedError):
        method.predict(blocks().reveal())
    for unlabelled in (blocks().reveal(), shown(blocks()).with_splits({}), blocks().reveal("val")):
        with pytest.raises(InputError, match="learns from labels"):
            method.fit(unlabelled)
    with pytest.raises(NotFittedError):
        check_is_fitted(method)
    check_is_fitted(method.fit(shown(blocks())))


@each_classifier
def test_parameters(name):
    contract.check_parameters(name)


@each_classifier
@pytest.mark.parametrize("described", [contract.with_attributes, contract.with_edges_only])
def test_graphs_with_attributes_and_with_edges_only(name, described):
    graph = described(blocks())
    method = quick(name).fit(shown(graph))
    assert set(method.predict(graph.reveal())) <= {0, 1, 2}
    with pytest.raises(InputError):
        method.predict(blocks().reveal())


@each_inductive
def test_nodes_of_another_graph(name):
    """Also a single node, and a graph without edges."""
    method = quick(name).fit(shown(blocks()))
    before, weights = method.predict(blocks().reveal()), learned(method)
    other = blocks(3, n=80, prefix="other").reveal()
    for graph in (other, other.subgraph(["other40"]), other.subgraph(["other0", "other7"])):
        found = method.predict(graph)
        assert found.shape == (graph.n_nodes,)
        assert set(found) <= {0, 1, 2}
    assert same(method.predict(blocks().reveal()), before)
    assert learned(method) == weights


@each_inductive
def test_another_number_of_features_is_refused(name):
    method = quick(name).fit(shown(blocks()))
    with pytest.raises(InputError, match="4 features"):
        method.predict(Graph(np.eye(4), np.ones((4, 4))))


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name in TRANSDUCTIVE])
def test_a_transductive_classifier_refuses_other_nodes(name):
    with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
        evaluated(quick(name), blocks(), "inductive")
    method = quick(name).fit(shown(blocks()))
    for other in (blocks(prefix="other"), blocks().without(["n3"])):
        with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
            method.predict(other.reveal())


@each_classifier
def test_seeds(name):
    contract.check_seeds(name)
    contract.check_other_seeds(name)


@each_classifier
def test_a_second_fit_starts_afresh(name):
    contract.check_refit(name)


@each_classifier
@sparse_and_dense
def test_no_side_effects(name, dense):
    contract.check_no_side_effects(name, blocks(dense=dense))


@each_inductive
def test_nothing_about_unseen_nodes_is_learned(name):
    contract.check_nothing_unseen_is_learned(name)


@each_inductive
def test_changes_to_seen_nodes_are_learned(name):
    """So the test above can fail."""
    graph = blocks()
    kept = [
        learned(quick(name).fit(shown(hide(other, ("test",)))))
        for other in (graph, *contract.changes_of(graph, graph.splits["train"]))
    ]
    assert (kept[0] != kept[1]) == ("X" in find_row(name).sees)
    assert kept[0] != kept[2]


@each_setting
def test_no_label_of_a_test_node_reaches_a_classifier(name, setting):
    graph = blocks()
    reached = contract.recorded(name, graph, setting)
    fit = reached["fit"]
    kept = graph.rows(fit.ids)
    assert fit.n_nodes == (75 if setting == "transductive" else int((~graph.splits["test"]).sum()))
    visible = (graph.splits["train"] | graph.splits["val"])[kept]
    assert (fit.labels[~visible] == -1).all()
    assert (fit.labels[visible] == graph.labels[kept][visible]).all()
    assert set(fit.splits) == {"train", "val"}
    assert reached["later"].labels is None

    test = graph.splits["test"]
    labels = graph.labels.copy()
    labels[test] = np.random.default_rng(1).permutation(labels[test])
    labels[~test & ~graph.splits["train"] & ~graph.splits["val"]] = 0
    methods = [quick(name), quick(name)]
    one, two = (
        evaluated(method, other, setting)
        for method, other in zip(
            methods, (graph, contract.changed(graph, labels=labels)), strict=True
        )
    )
    assert same(one, two)
    assert learned(methods[0]) == learned(methods[1])


@each_classifier
def test_labels_of_training_nodes_do_reach_a_classifier(name):
    """So the test above can fail."""
    graph = blocks()
    labels = np.where(graph.splits["train"], (graph.labels + 1) % 3, graph.labels)
    kept = []
    for other in (graph, contract.changed(graph, labels=labels)):
        method = quick(name)
        evaluated(method, other, "transductive")
        kept.append(learned(method))
    assert kept[0] != kept[1]
