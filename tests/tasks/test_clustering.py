"""Clusters and their agreement with classes, from definitions and by brute force."""

import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from terminals import Terminal

from graphgate import Embedding, InputError, cluster
from graphgate.tasks.clustering import CLUSTER_METHODS, agreement, cluster_vectors, matched_accuracy

pytestmark = pytest.mark.numerical


def blobs(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    return rng.normal(size=(n, 4)) + 12 * np.eye(4)[labels], labels


@pytest.mark.parametrize("method", ["kmeans", "gaussian-mixture"])
def test_separated_clusters_are_found_and_numbered_by_size(method):
    z, labels = blobs()
    shuffled = np.random.default_rng(1).permutation(60)
    found = cluster(z[shuffled], 3, method=method, random_state=5).clusters
    assert np.array_equal(found, labels[shuffled])
    assert np.array_equal(found, cluster(z[shuffled], 3, method=method, random_state=5).clusters)
    assert agreement(labels[shuffled], found) == {"nmi": 100.0, "ari": 100.0, "accuracy": 100.0}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25))
def test_matched_accuracy_is_the_best_of_all_matchings(pairs):
    labels, clusters = np.array(pairs).T
    best = max(
        np.mean([labels[i] == names[clusters[i]] for i in range(len(labels))])
        for names in permutations(range(4))
    )
    assert matched_accuracy(labels, clusters) == pytest.approx(best)


def test_more_clusters_than_classes_leave_some_unmatched():
    assert matched_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])) == 0.75


def entropy(p: np.ndarray) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


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


def test_cluster_compares_with_the_labels_of_the_embedding_or_with_others():
    z, labels = blobs()
    own = Embedding(np.arange(60), z, ["abc"[code] for code in labels])
    found = cluster(own)  # as many clusters as classes
    assert found.sizes.tolist() == [30, 20, 10]
    assert found.agreement == agreement(labels, found.clusters)
    coarse = cluster(own, 2, labels={0: "x", 59: "y"})
    assert len(coarse.sizes) == 2
    assert coarse.agreement == {"nmi": 100.0, "ari": 100.0, "accuracy": 100.0}
    assert cluster(z, 3).agreement is None


@pytest.mark.parametrize(
    ("method", "n"), [("kmeans", 3), ("gaussian-mixture", 3), ("kmeans", "auto")]
)
def test_progress_is_shown_on_terminals_and_an_interruption_ends_it(monkeypatch, method, n):
    z, _ = blobs()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    quiet = cluster(z, n, method=method, progress=False).clusters
    assert sys.stderr.getvalue() == ""
    assert np.array_equal(cluster(z, n, method=method).clusters, quiet)
    assert "clusters" in sys.stderr.getvalue()

    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KMeans, "fit", interrupt)
    monkeypatch.setattr(GaussianMixture, "fit_predict", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster(z, n, method=method)


def test_the_best_of_several_initializations_is_kept():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(300, 2)) + 4 * rng.normal(size=(12, 2))[np.arange(300) % 12]
    for method, model in (
        ("kmeans", KMeans(9, n_init=10, random_state=3)),
        (
            "gaussian-mixture",
            GaussianMixture(9, covariance_type="diag", n_init=3, random_state=3, reg_covar=1e-4),
        ),
    ):
        found = cluster_vectors(z, 9, method=method, random_state=3)
        scaled = z if method == "kmeans" else (z - z.mean(axis=0)) / z.std(axis=0)
        assert adjusted_rand_score(model.fit_predict(scaled), found) == 1


def test_a_mixture_does_not_depend_on_the_scale_of_columns():
    z, _ = blobs()
    z[:, 3] = np.random.default_rng(1).permutation(np.repeat([0.0, 40.0], 30))  # other groups
    found = cluster_vectors(z, 4, method="gaussian-mixture")
    for scale in (1e-6, 1e6):
        scaled = z * [scale, 1.0, 1.0, 1.0]
        assert np.array_equal(cluster_vectors(scaled, 4, method="gaussian-mixture"), found)


def test_a_mixture_with_full_covariances_is_not_led_astray_by_columns_of_little_noise():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [120, 80])
    z = np.concatenate([rng.normal(6 * truth)[:, None], 0.1 * rng.normal(size=(200, 30))], axis=1)
    for shift, scale in ((0.0, 1.0), (50.0, 1.0), (0.0, 1e-6)):
        found = cluster_vectors(
            scale * (z + shift), 2, method="gaussian-mixture", covariance_type="full"
        )
        assert adjusted_rand_score(truth, found) > 0.9


@pytest.mark.parametrize(
    ("n_clusters", "method", "words"),
    [
        (3, "spectral", "unknown method 'spectral'; use one of kmeans, gaussian-mixture"),
        (0, "kmeans", "n_clusters must be an integer ≥ 1 or 'auto', got 0"),
        (3, "kmeans", "n_clusters=3, but the 4 nodes have only 2 distinct vectors"),
    ],
)
def test_impossible_clusterings(n_clusters, method, words):
    with pytest.raises(InputError, match=words):
        cluster(np.array([[0.0], [0.0], [1.0], [1.0]]), n_clusters, method=method)


def test_agreement_needs_a_label():
    with pytest.raises(InputError, match="no node has a label"):
        agreement(np.array([-1, -1]), np.array([0, 1]))


def test_vectors_that_are_not_finite():
    with pytest.raises(InputError, match="not finite"):
        cluster(np.array([[0.0], [np.nan]]), 1)


@pytest.mark.parametrize("method", CLUSTER_METHODS)
def test_one_cluster_of_one_node(method):
    found = cluster(np.ones((1, 3)), 1, method=method)
    assert (found.clusters.tolist(), found.sizes.tolist()) == ([0], [1])
