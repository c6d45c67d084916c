"""Raw features and label propagation."""

import numpy as np
import pytest
from baseline_graphs import accuracy, block_graph
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.untrained import LabelPropagation, RawFeatures

pytestmark = pytest.mark.numerical


def partly_labelled(seed: int, **kind) -> Graph:
    """Node 0 has no edges, so no label can reach it."""
    graph = random_graph(seed, n=14, **kind)
    train = np.zeros(14, dtype=bool)
    train[[1, 4, 5, 9]] = True
    labels = np.where(train, np.arange(14) % 3, -1)
    return Graph(
        graph.x,
        graph.adjacency,
        labels=[None if c < 0 else c for c in labels],
        splits={"train": train},
        directed=graph.directed,
    )


@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"directed": True}], ids=str)
def test_label_propagation_converges_to_the_solution_of_the_paper(kind):
    graph = partly_labelled(3, hub=True, **kind)
    found = LabelPropagation(tolerance=1e-12).fit(graph)

    w = graph.adjacency.toarray().astype(float)
    w = (w + w.T if graph.directed else w)[1:, 1:]
    t = w / w.sum(axis=0)
    t /= t.sum(axis=1, keepdims=True)
    known = graph.splits["train"][1:]
    given = np.eye(3)[graph.labels[1:][known]]
    spread = np.linalg.solve(np.eye((~known).sum()) - t[~known][:, ~known], t[~known][:, known])
    np.testing.assert_allclose(found.fractions_[1:][~known], spread @ given, atol=1e-8)
    np.testing.assert_array_equal(found.fractions_[1:][known], given)


def test_an_unreached_node_gets_the_most_frequent_class():
    graph = partly_labelled(3, hub=True)
    frequent = np.bincount(graph.labels[graph.splits["train"]]).argmax()
    found = LabelPropagation().fit(graph)
    assert not found.fractions_[0].any()
    assert found.predict(graph)[0] == frequent


def test_label_propagation_refuses_other_nodes_and_needs_labels():
    graph = partly_labelled(3, hub=True)
    with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
        LabelPropagation().fit(graph.without([2])).predict(graph)
    with pytest.raises(InputError, match="LabelPropagation learns from labels"):
        LabelPropagation().fit(random_graph(1))


def test_label_propagation_finds_the_blocks():
    graph = block_graph()
    assert accuracy(LabelPropagation().fit(graph).predict(graph), graph) > 0.85


def test_raw_features_are_scaled_to_sum_to_one():
    graph = Graph(np.array([[1.0, 3.0], [0.0, 0.0], [-2.0, 2.0]]))
    scaled = RawFeatures().fit_transform(graph)
    np.testing.assert_allclose(scaled, [[0.25, 0.75], [0, 0], [-0.5, 0.5]], rtol=1e-6)
    np.testing.assert_array_equal(RawFeatures(normalize=False).fit_transform(graph), graph.x)
