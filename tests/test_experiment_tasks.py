"""Clustering and link prediction as tasks of an experiment."""

import numpy as np
import pytest

from graphgate.errors import InputError
from graphgate.experiments.protocol import run_clustering, run_links
from graphgate.graph.graph import Graph
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.links import link_quality, split_links


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
    run = run_clustering(spy, labelled(), algorithm="kmeans", seed=4)
    assert spy.seen.labels is None
    expected = agreement(labelled().labels, cluster_vectors(Spy.z, 3, random_state=4))
    assert (run.seed, run.metrics) == (4, expected)
    with pytest.raises(InputError, match="the graph has no labels"):
        run_clustering(spy, labelled().reveal(), algorithm="kmeans", seed=0)


def test_link_prediction_as_a_task():
    spy, graph = Spy(), labelled()
    run = run_links(spy, graph, seed=4)
    split = split_links(graph, random_state=4)
    assert spy.seen.fingerprint() == split.graph.fingerprint()  # the held-out edges are gone
    test = link_quality(Spy.z, split.test_edges, split.test_non_edges)
    val = link_quality(Spy.z, split.val_edges, split.val_non_edges)
    assert run.metrics == test | {f"val_{name}": value for name, value in val.items()}
    none = run_links(spy, graph, val_size=0.0, seed=4)
    assert none.metrics["val_auc"] is None


def test_a_classifier_gives_no_vectors():
    class Classifier(Spy):
        def predict(self, graph):
            return None

    with pytest.raises(InputError, match="Classifier is a classifier and gives no embedding"):
        run_clustering(Classifier(), labelled(), algorithm="kmeans", seed=0)
    with pytest.raises(InputError, match="Classifier is a classifier and gives no embedding"):
        run_links(Classifier(), labelled(), seed=0)
