"""Answers from embeddings: against scikit-learn, SciPy, and brute force."""

from itertools import permutations

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier

from graphgate.errors import InputError, InputWarning
from graphgate.experiments.tasks import ClusteringTask, LinksTask
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import Embedded
from graphgate.tasks import neighbors as similar
from graphgate.tasks.classes import cross_validate, predict_unlabelled
from graphgate.tasks.clustering import cluster_nodes
from graphgate.tasks.clusters import agreement, matched_accuracy
from graphgate.tasks.labels import labels_of
from graphgate.tasks.links import link_quality, link_scores, split_links

# --- similar -------------------------------------------------------------------------------------


def all_nearest(z: np.ndarray, rows: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(similar.nearest(z, rows, top))
    assert np.array_equal(np.concatenate([block[0] for block in blocks]), rows)
    return np.concatenate([b[1] for b in blocks]), np.concatenate([b[2] for b in blocks])


@pytest.mark.parametrize("entries", [50, 10**6])
@pytest.mark.parametrize("top", [1, 5, 100])
def test_nearest_are_those_of_all_cosines(monkeypatch, entries, top):
    monkeypatch.setattr(similar, "BLOCK_ENTRIES", entries)
    z = np.random.default_rng(0).normal(size=(40, 3))
    rows = np.array([7, 3, 39, 0, 12])
    found, cosine = all_nearest(z, rows, top)
    k = min(top, 39)
    assert found.shape == cosine.shape == (5, k)
    expected = cosine_similarity(z)
    for row, near, values in zip(rows, found, cosine, strict=True):
        others = [i for i in range(40) if i != row]
        assert near.tolist() == sorted(others, key=lambda i: -expected[row, i])[:k]
        np.testing.assert_allclose(values, expected[row, near], rtol=1e-12)


def test_equal_cosines_stand_in_the_order_of_rows():
    z = np.ones((30, 2))
    z[4] = 0  # no direction: cosine 0 with all
    found, cosine = all_nearest(z, np.array([0, 4]), 3)
    assert found.tolist() == [[1, 2, 3], [0, 1, 2]]
    np.testing.assert_allclose(cosine, [[1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_lengths_do_not_matter(scale):
    z = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    rows = np.arange(20)
    assert np.array_equal(
        all_nearest(z * np.float32(scale), rows, 4)[0], all_nearest(z, rows, 4)[0]
    )


def test_nothing_is_near_to_a_single_node():
    with pytest.raises(InputError, match="a single node"):
        list(similar.nearest(np.ones((1, 2)), np.array([0]), 3))


# --- clusters ------------------------------------------------------------------------------------


def blobs(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    return rng.normal(size=(n, 4)) + 12 * np.eye(4)[labels], labels


@pytest.mark.parametrize("method", ["kmeans", "gaussian-mixture"])
def test_clear_clusters_are_found_and_numbered_by_size(method):
    z, labels = blobs()
    shuffled = np.random.default_rng(1).permutation(60)
    found = cluster_nodes(z[shuffled], 3, method=method, seed=5)
    assert np.array_equal(found, labels[shuffled])
    assert np.array_equal(found, cluster_nodes(z[shuffled], 3, method=method, seed=5))
    assert agreement(labels[shuffled], found) == {"nmi": 100.0, "ari": 100.0, "accuracy": 100.0}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25))
def test_matched_accuracy_is_the_best_of_all_matchings(pairs):
    labels, clusters = np.array(pairs).T
    best = max(
        np.mean([labels[i] == names[clusters[i]] for i in range(len(labels))])
        for names in permutations(range(4))
    )
    assert matched_accuracy(labels, clusters) == pytest.approx(best)


def test_more_clusters_than_classes_leave_some_without_a_name():
    assert matched_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])) == 0.75


def entropy(shares: np.ndarray) -> float:
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())


def test_agreement_from_its_definitions():
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(-1, 3, 50), rng.integers(0, 4, 50)
    known = labels >= 0
    truth, found = labels[known], clusters[known]
    joint = np.array([[np.mean((truth == a) & (found == b)) for b in range(4)] for a in range(3)])
    mutual = entropy(joint.sum(1)) + entropy(joint.sum(0)) - entropy(joint.ravel())
    nmi = mutual / ((entropy(joint.sum(1)) + entropy(joint.sum(0))) / 2)
    same, together = (np.equal.outer(x, x)[np.triu_indices(len(x), 1)] for x in (truth, found))
    chance = same.sum() * together.sum() / len(same)
    ari = ((same & together).sum() - chance) / ((same.sum() + together.sum()) / 2 - chance)
    scores = agreement(labels, clusters)
    assert scores["nmi"] == pytest.approx(100 * nmi, abs=1e-4)
    assert scores["ari"] == pytest.approx(100 * ari, abs=1e-4)


@pytest.mark.parametrize(
    ("clusters", "method", "words"),
    [
        (3, "spectral", "unknown method 'spectral'; use one of kmeans, gaussian-mixture"),
        (0, "kmeans", "ask for at least one"),
        (3, "kmeans", r"3 clusters of 4 nodes.*no more than there are different vectors \(2\)"),
    ],
)
def test_clusters_that_cannot_be(clusters, method, words):
    with pytest.raises(InputError, match=words):
        cluster_nodes(np.array([[0.0], [0.0], [1.0], [1.0]]), clusters, method=method)


def test_clusters_are_compared_with_something():
    with pytest.raises(InputError, match="no node has a label"):
        agreement(np.array([-1, -1]), np.array([0, 1]))


# --- labels --------------------------------------------------------------------------------------


def test_labels_come_from_the_file_or_from_a_table(tmp_path):
    z = np.ones((3, 1))
    own = Embedded(np.array([1, 2, 3]), z, ["b", None, "a"])
    assert labels_of(own).codes.tolist() == [1, -1, 0]
    assert labels_of(own).classes == ("a", "b")
    bare = own._replace(labels=None)
    assert labels_of(bare) is None
    assert labels_of(own._replace(labels=[None] * 3)) is None
    (tmp_path / "n.csv").write_text("label,x,id\n10,0,3\n9,0,1\n,0,2\n8,0,77\n")
    found = labels_of(bare, tmp_path / "n.csv")
    assert found.classes == (9, 10)
    assert found.codes.tolist() == [0, -1, 1]
    (tmp_path / "n.csv").write_text("id,label\n7,x\n")
    with pytest.raises(InputError, match="has no id of the embedding"):
        labels_of(own, tmp_path / "n.csv")
    (tmp_path / "n.csv").write_text("id,label\n1,\n")
    with pytest.warns(InputWarning, match=r"n\.csv lacks 2 of 3 nodes of the embedding"):
        assert labels_of(own, tmp_path / "n.csv") is None


# --- classes -------------------------------------------------------------------------------------


def some_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    z = rng.normal(size=(90, 4)) + 1.2 * np.eye(4)[labels]
    labels[rng.choice(90, 20, replace=False)] = -1
    return z, labels


def reference_probe() -> OneVsRestClassifier:
    return OneVsRestClassifier(LogisticRegression(solver="liblinear", C=1.0, random_state=3))


def test_cross_validation_is_scikit_learn_s():
    z, labels = some_classes()
    known = labels >= 0
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    found = cross_validate(z, labels, folds=4, seed=3)
    for name, scoring in (("accuracy", "accuracy"), ("macro_f1", "f1_macro")):
        expected = cross_val_score(
            reference_probe(), z[known], labels[known], cv=folds, scoring=scoring
        )
        np.testing.assert_allclose(getattr(found, name), 100 * expected)
        assert 40 < expected.mean() * 100 < 95  # the numbers say something


@pytest.mark.parametrize("form", ["one-vs-rest", "multinomial"])
def test_predictions_for_nodes_without_a_label(form):
    z, labels = some_classes()
    found = predict_unlabelled(z, labels, form=form, seed=3)
    known = labels >= 0
    assert np.array_equal(found.rows, np.flatnonzero(~known))
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    probe = LogisticRegression(max_iter=1000) if form == "multinomial" else reference_probe()
    probe.fit(z[known], labels[known])
    assert np.array_equal(found.codes, probe.predict(z[~known]))
    np.testing.assert_allclose(found.probabilities, probe.predict_proba(z[~known]))


def test_two_classes_and_no_node_without_a_label():
    z, labels = some_classes()
    two = np.where(labels == 2, 1, labels)
    assert predict_unlabelled(z, two).probabilities.shape == (20, 2)
    full = predict_unlabelled(z, np.abs(labels))
    assert full.probabilities.shape == (0, 3)
    assert len(full.codes) == 0


def test_labels_that_nothing_can_be_learned_from():
    z = np.eye(6)
    with pytest.raises(InputError, match="fewer than two classes"):
        cross_validate(z, np.array([0, 0, 0, -1, -1, -1]))
    with pytest.raises(InputError, match="fewer than two classes"):
        predict_unlabelled(z, np.full(6, -1))
    with pytest.raises(InputError, match="a single labelled node"):
        cross_validate(z, np.array([0, 0, 0, 0, 0, 1]), folds=2)
    with pytest.raises(InputError, match="ask for 2 to 3 folds"):
        cross_validate(z, np.array([0, 0, 0, 1, 1, 1]), folds=5)


# --- links ---------------------------------------------------------------------------------------


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.tolist()}


@settings(max_examples=80)
@given(graphs(), st.integers(0, 2**20), st.floats(0, 0.4), st.floats(0.05, 0.5))
def test_a_split_of_links(graph, seed, val, test):
    adjacency = graph.adjacency.toarray()
    connected = keys(np.argwhere(adjacency))
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - len(connected)
    n_val, n_test = int(val * len(connected)), int(test * len(connected))
    try:
        split = split_links(graph, val=val, test=test, seed=seed)
    except InputError:
        assert n_test == 0 or free < n_val + n_test
        return
    parts = [split.val_edges, split.val_non_edges, split.test_edges, split.test_non_edges]
    assert [len(part) for part in parts] == [n_val, n_val, n_test, n_test]
    left = keys(np.argwhere(split.graph.adjacency.toarray()))
    groups = [left, *map(keys, parts)]
    assert sum(map(len, groups)) == len(set().union(*groups))  # a pair is in one of them only
    assert left | groups[1] | groups[3] == connected
    assert not (groups[2] | groups[4]) & connected
    for u, v in np.concatenate([split.val_edges, split.test_edges]):
        assert adjacency[u, v] > 0
    for u, v in np.concatenate([split.val_non_edges, split.test_non_edges]):
        assert u != v
    kept = split.graph.adjacency.toarray()
    assert np.array_equal(kept[kept > 0], adjacency[kept > 0])  # the others keep their weights
    assert (kept == kept.T).all() or graph.directed
    assert split.graph.ids.tolist() == graph.ids.tolist()
    again = split_links(graph, val=val, test=test, seed=seed)
    assert np.array_equal(again.val_edges, split.val_edges)
    assert np.array_equal(again.test_non_edges, split.test_non_edges)


def test_non_edges_of_a_large_graph_are_drawn_evenly():
    n = 400
    ring = Graph.from_edges(np.ones((n, 1)), [(i, (i + 1) % n) for i in range(n)])
    ends = np.concatenate([split_links(ring, seed=s).test_non_edges for s in range(30)])
    assert len(ends) == 30 * 40
    apart = np.abs(ends[:, 0] - ends[:, 1])
    assert not np.isin(apart, [0, 1, n - 1]).any()
    assert abs(ends.mean() - n / 2) < 10
    assert 0.4 < (ends[:, 0] < ends[:, 1]).mean() < 0.6  # neither way is written more often


def test_links_are_scored_by_inner_products():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20, 3)).astype(np.float32)
    edges, others = rng.integers(0, 20, (30, 2)), rng.integers(0, 20, (25, 2))
    scores = [sum(float(z[u, k]) * float(z[v, k]) for k in range(3)) for u, v in edges]
    np.testing.assert_allclose(link_scores(z, edges), scores, rtol=1e-6)
    truth = [1] * 30 + [0] * 25
    both = [*scores, *link_scores(z, others)]
    found = link_quality(z, edges, others)
    assert found["auc"] == pytest.approx(100 * roc_auc_score(truth, both), abs=1e-4)
    assert found["ap"] == pytest.approx(100 * average_precision_score(truth, both), abs=1e-4)
    wins = [(a > b) + (a == b) / 2 for a in both[:30] for b in both[30:]]
    assert found["auc"] == pytest.approx(100 * np.mean(wins), abs=1e-4)


@pytest.mark.parametrize(
    ("val", "test", "words"),
    [
        (0.5, 0.5, "their sum must be below 1"),
        (0.1, 0.0, "that of the test above 0"),
        (-0.1, 0.5, "held out are -0.1 and 0.5"),
        (0.0, 0.001, "hold out a larger share"),
    ],
)
def test_shares_that_cannot_be_held_out(val, test, words):
    with pytest.raises(InputError, match=words):
        split_links(random_graph(0), val=val, test=test)


def test_a_graph_in_which_all_are_connected():
    with pytest.raises(InputError, match="only 0 pairs of nodes have no edge"):
        split_links(Graph(np.ones((6, 1)), np.ones((6, 6))), test=0.2)


def test_edges_are_taken_out_both_ways():
    graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 0), (1, 2), (2, 3)], directed=True)
    left = graph.without_edges([(1, 0), (3, 2), (0, 3)])
    assert np.argwhere(left.adjacency.toarray()).tolist() == [[1, 2]]
    assert graph.n_edges == 4
    assert left.directed
    assert graph.without_edges(np.empty((0, 2))).n_edges == 4


# --- as tasks ------------------------------------------------------------------------------------


class Spy:
    """Embeds a node as its row of a fixed matrix, and notes what it is shown."""

    z = np.random.default_rng(0).normal(size=(30, 5))

    def fit(self, graph: Graph) -> "Spy":
        self.seen, self.embedding_ = graph, self.z
        return self


def labelled() -> Graph:
    rng = np.random.default_rng(0)
    edges = np.triu(rng.random((30, 30)) < 0.3, 1)
    return Graph(np.eye(30), edges, labels=[0, 1, 2] * 9 + [None] * 3)


def test_clustering_as_a_task():
    spy = Spy()
    run = ClusteringTask(lambda seed: spy, labelled()).run(4)
    assert spy.seen.labels is None
    expected = agreement(labelled().labels, cluster_nodes(Spy.z, 3, seed=4))
    assert (run.seed, run.metrics) == (4, expected)
    with pytest.raises(InputError, match="the graph has no labels"):
        ClusteringTask(lambda seed: spy, labelled().reveal()).run(0)


def test_link_prediction_as_a_task():
    spy, graph = Spy(), labelled()
    run = LinksTask(lambda seed: spy, graph).run(4)
    split = split_links(graph, seed=4)
    assert spy.seen.fingerprint() == split.graph.fingerprint()  # the held-out edges are gone
    test = link_quality(Spy.z, split.test_edges, split.test_non_edges)
    val = link_quality(Spy.z, split.val_edges, split.val_non_edges)
    assert run.metrics == test | {f"val_{name}": value for name, value in val.items()}
    none = LinksTask(lambda seed: spy, graph, val=0.0).run(4)
    assert none.metrics["val_auc"] is None


def test_a_classifier_gives_no_vectors():
    class Classifier(Spy):
        def predict(self, graph):
            return None

    for task in (ClusteringTask, LinksTask):
        with pytest.raises(InputError, match="Classifier classifies and gives no vectors"):
            task(lambda seed: Classifier(), labelled()).run(0)
