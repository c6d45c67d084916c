"""Link splits and their scores, from their definitions."""

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate import Graph, InputError, LinearGATE, evaluate_links
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.base import inner_products
from graphgate.graph.link_split import split_links
from graphgate.tasks.links import link_quality

pytestmark = pytest.mark.numerical


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.tolist()}


@settings(max_examples=80)
@given(graphs(), st.integers(0, 2**20), st.floats(0, 0.4), st.floats(0.05, 0.5))
def test_a_split_is_disjoint_and_complete(graph, seed, val, test):
    adjacency = graph.adjacency.toarray()
    connected = keys(np.argwhere(adjacency))
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - len(connected)
    n_val, n_test = int(val * len(connected)), int(test * len(connected))
    try:
        split = split_links(graph, val_size=val, test_size=test, random_state=seed)
    except InputError:
        assert n_test == 0 or free < n_val + n_test
        return
    parts = [split.val_edges, split.val_non_edges, split.test_edges, split.test_non_edges]
    assert [len(part) for part in parts] == [n_val, n_val, n_test, n_test]
    left = keys(np.argwhere(split.graph.adjacency.toarray()))
    groups = [left, *map(keys, parts)]
    assert sum(map(len, groups)) == len(set().union(*groups))  # pairwise disjoint
    assert left | groups[1] | groups[3] == connected
    assert not (groups[2] | groups[4]) & connected
    for u, v in np.concatenate([split.val_edges, split.test_edges]):
        assert adjacency[u, v] > 0
    for u, v in np.concatenate([split.val_non_edges, split.test_non_edges]):
        assert u != v
    kept = split.graph.adjacency.toarray()
    assert np.array_equal(kept[kept > 0], adjacency[kept > 0])  # other weights are unchanged
    assert (kept == kept.T).all() or graph.directed
    assert split.graph.ids.tolist() == graph.ids.tolist()
    again = split_links(graph, val_size=val, test_size=test, random_state=seed)
    assert np.array_equal(again.val_edges, split.val_edges)
    assert np.array_equal(again.test_non_edges, split.test_non_edges)


def test_non_edges_of_a_large_graph_are_drawn_uniformly():
    n = 400
    ring = Graph.from_edges(np.ones((n, 1)), [(i, (i + 1) % n) for i in range(n)])
    ends = np.concatenate([split_links(ring, random_state=s).test_non_edges for s in range(30)])
    assert len(ends) == 30 * 40
    apart = np.abs(ends[:, 0] - ends[:, 1])
    assert not np.isin(apart, [0, 1, n - 1]).any()
    assert abs(ends.mean() - n / 2) < 10
    assert 0.4 < (ends[:, 0] < ends[:, 1]).mean() < 0.6  # either order is as frequent


def test_links_are_scored_by_inner_products():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20, 3)).astype(np.float32)
    edges, others = rng.integers(0, 20, (30, 2)), rng.integers(0, 20, (25, 2))
    truth = [1] * 30 + [0] * 25
    both = [sum(float(z[u, k]) * float(z[v, k]) for k in range(3)) for u, v in [*edges, *others]]
    found = link_quality(inner_products(z, edges), inner_products(z, others))
    assert found["auc"] == pytest.approx(100 * roc_auc_score(truth, both), abs=1e-4)
    assert found["ap"] == pytest.approx(100 * average_precision_score(truth, both), abs=1e-4)
    wins = [(a > b) + (a == b) / 2 for a in both[:30] for b in both[30:]]
    assert found["auc"] == pytest.approx(100 * np.mean(wins), abs=1e-4)


@pytest.mark.parametrize(
    ("val", "test", "words"),
    [
        (0.5, 0.5, "must be fractions whose sum is below 1"),
        (0.1, 0.0, "test_size must be above 0"),
        (-0.1, 0.5, "val_size=-0.1 and test_size=0.5"),
        (0.0, 0.001, "hold out a larger fraction"),
    ],
)
def test_impossible_fractions(val, test, words):
    with pytest.raises(InputError, match=words):
        split_links(random_graph(0), val_size=val, test_size=test)


def test_a_complete_graph_has_no_non_edges():
    with pytest.raises(InputError, match="only 0 pairs of nodes have no edge"):
        split_links(Graph(np.ones((6, 1)), np.ones((6, 6))), test_size=0.2)


def test_edges_are_removed_in_both_directions():
    graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 0), (1, 2), (2, 3)], directed=True)
    left = graph.without_edges([(1, 0), (3, 2), (0, 3)])
    assert np.argwhere(left.adjacency.toarray()).tolist() == [[1, 2]]
    assert graph.n_edges == 4
    assert left.directed
    assert graph.without_edges(np.empty((0, 2))).n_edges == 4


class Spy:
    """Embeds a node as its row of a fixed matrix, and keeps the graph it was fitted on."""

    z = np.random.default_rng(0).normal(size=(30, 5))

    def fit(self, graph: Graph) -> "Spy":
        self.seen, self.embedding_ = graph, self.z
        return self


def dots(z, pairs):
    return np.einsum("md,md->m", z[pairs[:, 0]], z[pairs[:, 1]], dtype=np.float64)


def labelled() -> Graph:
    edges = np.triu(np.random.default_rng(0).random((30, 30)) < 0.3, 1)
    return Graph(np.eye(30), edges, labels=[0, 1, 2] * 10)


def test_evaluate_links_trains_without_the_held_out_edges_and_labels():
    graph, spy = labelled(), Spy()
    scores = evaluate_links(graph, spy, val_size=0.2, test_size=0.3, random_state=4)
    split = split_links(graph, val_size=0.2, test_size=0.3, random_state=4)
    assert spy.seen.fingerprint() == split.graph.fingerprint()
    assert spy.seen.labels is None
    test = link_quality(dots(Spy.z, split.test_edges), dots(Spy.z, split.test_non_edges))
    val = link_quality(dots(Spy.z, split.val_edges), dots(Spy.z, split.val_non_edges))
    assert scores == test | {f"val_{name}": value for name, value in val.items()}
    assert evaluate_links(graph, spy, val_size=0)["val_auc"] is None


def test_the_default_estimator_scores_pairs_by_its_structure_decoder():
    graph = community_graph(200, 800, 20)
    split = split_links(graph, random_state=3)
    gate = LinearGATE(random_state=3).fit(split.graph.reveal())
    found = evaluate_links(graph, random_state=3)
    test = link_quality(gate.score_edges(split.test_edges), gate.score_edges(split.test_non_edges))
    assert (found["auc"], found["ap"]) == (test["auc"], test["ap"])


def test_a_classifier_has_no_vectors():
    class Classes(Spy):
        def predict(self, graph):
            return None

    with pytest.raises(InputError, match="Classes is a classifier and gives no vectors"):
        evaluate_links(labelled(), Classes())
