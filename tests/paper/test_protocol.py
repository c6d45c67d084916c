"""One run: what is reported is what was computed, without leaks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from experiment_runs import N, labelled_graph, small_gate
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from graphgate import GATE
from graphgate.errors import InputError, TrainingWarning
from graphgate.estimators.base import inner_products
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.paper.experiments.parallel import run_unordered
from graphgate.paper.experiments.protocol import (
    RunResult,
    embed_nodes,
    hide,
    predict_classes,
    run_classification,
    run_clustering,
    run_links,
)
from graphgate.tasks.classification import make_probe, probe_predictions
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.link_metrics import link_quality
from graphgate.training.history import History

pytestmark = pytest.mark.numerical


def probe_data():
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2, 3], 15)
    embedding = rng.normal(size=(60, 4)) + np.eye(4)[labels]
    train = rng.random(60) < 0.5
    return embedding, labels, train, ~train


class AsIs:
    """Embeds a node as its features."""

    def fit(self, graph: Graph) -> AsIs:
        self.embedding_ = graph.x
        return self


def probe_scores(embedding, labels, train, test, *, form="one-vs-rest", seed=0):
    """Accuracy and macro F1 that a run reports for these vectors."""
    known = [None if label < 0 else int(label) for label in labels]
    graph = Graph(embedding, labels=known, splits={"train": train, "test": test})
    run = run_classification(AsIs(), graph, "transductive", unseen=(), probe=form, seed=seed)
    return run.metrics["accuracy"], run.metrics["macro_f1"]


def by_hand(labels: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Accuracy and macro F1 in percent from their definitions."""
    scores = []
    for c in np.unique(np.concatenate([labels, predicted])):
        hits = np.sum((labels == c) & (predicted == c))
        scores.append(2 * hits / (np.sum(labels == c) + np.sum(predicted == c)))
    return 100 * np.mean(labels == predicted), 100 * np.mean(scores)


def test_one_vs_rest_is_one_liblinear_regression_per_class():
    embedding, labels, train, test = probe_data()
    columns = []
    for c in range(4):
        one = LogisticRegression(solver="liblinear", C=1.0, random_state=0)
        one.fit(embedding[train], labels[train] == c)
        columns.append(one.decision_function(embedding[test]))
    predicted = np.argmax(columns, axis=0)
    assert np.array_equal(probe_predictions(embedding, labels, train)[test], predicted)
    accuracy, macro_f1 = by_hand(labels[test], predicted)
    assert 30 < accuracy < 100  # neither chance nor perfect: the numbers below say something
    found = probe_scores(embedding, labels, train, test, form="one-vs-rest")
    assert found == pytest.approx((accuracy, macro_f1), abs=1e-4)


def test_multinomial_is_the_default_logistic_regression():
    embedding, labels, train, test = probe_data()
    model = LogisticRegression(C=1.0, max_iter=1000).fit(embedding[train], labels[train])
    predicted = model.predict(embedding[test])
    accuracy, macro_f1 = by_hand(labels[test], predicted)
    assert 30 < accuracy < 100
    found = probe_scores(embedding, labels, train, test, form="multinomial")
    assert found == pytest.approx((accuracy, macro_f1), abs=1e-4)
    assert f1_score(labels[test], predicted, average="macro") * 100 == pytest.approx(macro_f1)


def test_the_two_probes_differ():
    embedding, labels, train, _ = probe_data()
    forms = [make_probe(form).fit(embedding[train], labels[train]) for form in protocol_forms()]
    one, two = (form.predict_proba(embedding) for form in forms)
    assert not np.allclose(one, two)


def protocol_forms() -> tuple[str, ...]:
    return ("one-vs-rest", "multinomial")


@pytest.mark.parametrize("form", protocol_forms())
def test_a_separable_problem_is_solved(form):
    labels = np.array([0, 1, 0, 1, 0, 1])
    train = np.array([True, True, True, True, False, False])
    vectors = np.where(labels == 0, -9.0, 9.0)[:, None]
    assert probe_scores(vectors, labels, train, ~train, form=form) == (100.0, 100.0)
    assert probe_scores(-vectors, 1 - labels, train, ~train, form=form) == (100.0, 100.0)


def test_a_class_without_training_nodes_counts_as_wrong():
    labels = np.array([0, 1, 0, 1, 2, 2, 0, 1])
    train = np.arange(8) < 4
    vectors = np.array([-9.0, 9, -9, 9, 9, 9, -9, 9])[:, None]
    # Right: one 0 and one 1 of four. F1: 1 for class 0, 2·1/(1+3) for 1, 0 for 2.
    assert probe_scores(vectors, labels, train, ~train) == (50.0, 50.0)


def test_nodes_outside_train_and_test_do_not_matter():
    embedding, labels, train, test = probe_data()
    third = np.zeros(60, dtype=bool)
    third[np.flatnonzero(train)[:5]] = True
    train = train & ~third
    before = probe_scores(embedding, labels, train, test)
    embedding, labels = embedding.copy(), labels.copy()
    embedding[third] = 1e3
    labels[third] = -1
    assert probe_scores(embedding, labels, train, test) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": np.zeros(60, dtype=bool)}, "split 'train' has no nodes"),
        ({"test": np.zeros(60, dtype=bool)}, "split 'test' has no nodes"),
        ({"labels": np.zeros(60, dtype=int)}, "a single class"),
        ({"labels": np.full(60, -1)}, "node of the split 'train' has no label"),
        ({"form": "svm"}, "unknown probe 'svm'; use one of one-vs-rest, multinomial"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_cannot_be_probed(change, words):
    names = ("embedding", "labels", "train", "test")
    with pytest.raises(InputError, match=words):
        probe_scores(**dict(zip(names, probe_data(), strict=True)) | change)


def test_a_test_node_without_a_label():
    embedding, labels, train, test = probe_data()
    labels[np.flatnonzero(test)[-1]] = -1
    with pytest.raises(InputError, match="node of the split 'test' has no label"):
        probe_scores(embedding, labels, train, test)


@pytest.mark.parametrize("wrong", [np.ones((59, 4)), np.full((60, 4), np.nan)], ids=["few", "nan"])
def test_embeddings_that_cannot_be_probed(wrong):
    _, labels, train, _ = probe_data()
    with pytest.raises(InputError, match="the method returned"):
        probe_predictions(wrong, labels, train)


def test_hidden_splits_are_removed():
    graph = labelled_graph()
    seen = hide(graph, ("test",))
    assert seen.ids.tolist() == [i for i in range(N) if i % 3 != 2]
    assert hide(graph, ("test", "val")).ids.tolist() == list(range(0, N, 3))
    rows = seen.ids
    assert (seen.adjacency != graph.adjacency[rows][:, rows]).nnz == 0


def test_an_unknown_split_cannot_be_hidden():
    with pytest.raises(InputError, match="no split 'dev'"):
        hide(labelled_graph(), ("dev",))


class SpyEmbedder:
    """Gives a constant embedding, and keeps every graph that it is handed."""

    def __init__(self) -> None:
        self.handed: dict[str, Graph] = {}

    def fit(self, graph: Graph) -> SpyEmbedder:
        self.handed["fit"] = graph
        self.embedding_ = np.arange(2.0 * graph.n_nodes).reshape(-1, 2)
        return self

    def transform(self, graph: Graph) -> np.ndarray:
        self.handed["transform"] = graph
        return np.ones((graph.n_nodes, 2))


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_an_embedder_is_handed_neither_labels_nor_splits(setting):
    graph, spy = labelled_graph(), SpyEmbedder()
    embed_nodes(spy, graph, setting, ("test",))
    assert list(spy.handed) == ["fit"] + ["transform"] * (setting == "inductive")
    for handed in spy.handed.values():
        assert handed.labels is None
        assert not handed.splits
    seen = np.arange(N) % 3 != 2 if setting == "inductive" else np.ones(N, dtype=bool)
    assert spy.handed["fit"].ids.tolist() == graph.ids[seen].tolist()
    if setting == "inductive":
        assert spy.handed["transform"].fingerprint() == graph.fingerprint()


@pytest.mark.parametrize("run", [run_clustering, run_links])
def test_other_settings_hand_over_no_labels_either(run):
    spy, more = SpyEmbedder(), {"algorithm": "kmeans"} if run is run_clustering else {}
    run(spy, labelled_graph(), seed=0, **more)
    assert spy.handed["fit"].labels is None
    assert not spy.handed["fit"].splits


def test_transductive_is_a_fit_of_the_whole_graph():
    graph = labelled_graph()
    found = embed_nodes(small_gate(), graph, "transductive", ("test",))
    assert np.array_equal(found, small_gate().fit(graph).embedding_)


def test_inductive_trains_without_unseen_nodes_and_embeds_all():
    graph = labelled_graph()
    found = embed_nodes(small_gate(), graph, "inductive", ("test",))
    trained = small_gate().fit(graph.without(graph.splits["test"]))
    assert np.array_equal(found, trained.transform(graph))
    assert found.shape == (N, 3)


def weights_of(graph: Graph, unseen: tuple[str, ...]) -> list[bytes]:
    gate = small_gate()
    embed_nodes(gate, graph, "inductive", unseen)
    return [tensor.detach().numpy().tobytes() for tensor in gate.model_.parameters()]


def altered(graph: Graph, *, x=None, adjacency=None, labels=None) -> Graph:
    return Graph(
        graph.x if x is None else x,
        graph.adjacency if adjacency is None else adjacency,
        labels=graph.labels if labels is None else labels,
        splits=graph.splits,
    )


def changes_of(graph: Graph, chosen: np.ndarray) -> dict[str, Graph]:
    """The graph with one thing about these nodes changed."""
    rng = np.random.default_rng(5)
    nodes = np.flatnonzero(chosen)
    x = graph.x.toarray()
    x[nodes] = rng.normal(size=(len(nodes), x.shape[1]))
    cut = graph.adjacency.toarray()
    cut[nodes] = cut[:, nodes] = 0
    joined = graph.adjacency.toarray()
    joined[np.ix_(nodes, nodes)] = 1
    spread = graph.adjacency.toarray()
    spread[nodes] = spread[:, nodes] = 1
    codes = graph.labels.copy()
    codes[nodes] = (codes[nodes] + 1) % 3
    return {
        "features": altered(graph, x=sp.csr_array(x)),
        "no edges": altered(graph, adjacency=cut),
        "edges among them": altered(graph, adjacency=joined),
        "edges to all": altered(graph, adjacency=spread),
        "labels": altered(graph, labels=codes),
    }


@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
@pytest.mark.parametrize("unseen", [("test",), ("test", "val")], ids=" ".join)
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_about_unseen_nodes_reaches_the_weights(unseen, seed):
    graph = labelled_graph(seed)
    hidden = np.any([graph.splits[name] for name in unseen], axis=0)
    before = weights_of(graph, unseen)
    for what, other in changes_of(graph, hidden).items():
        if what != "labels":
            assert other.fingerprint() != graph.fingerprint(), what
        assert weights_of(other, unseen) == before, what


def test_changes_to_seen_nodes_reach_the_weights():
    """So the test above can fail: the same changes to nodes that are seen."""
    graph = labelled_graph()
    before = weights_of(graph, ("test",))
    for what, other in changes_of(graph, graph.splits["val"]).items():
        differs = weights_of(other, ("test",)) != before
        assert differs == (what != "labels"), what


def test_validation_nodes_are_hidden_only_on_request():
    graph = labelled_graph()
    other = changes_of(graph, graph.splits["val"])["features"]
    assert weights_of(graph, ("test", "val")) == weights_of(other, ("test", "val"))
    assert weights_of(graph, ("test",)) != weights_of(other, ("test",))


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_labels_do_not_change_the_embedding(setting):
    graph = labelled_graph()
    shuffled = altered(graph, labels=np.random.default_rng(1).permutation(graph.labels))
    bare = Graph(graph.x, graph.adjacency, splits=graph.splits)
    assert not np.array_equal(shuffled.labels, graph.labels)
    one, two, three = (
        embed_nodes(small_gate(), g, setting, ("test",)).tobytes() for g in (graph, shuffled, bare)
    )
    assert one == two == three


@dataclass(frozen=True)
class SmallRun:
    """A run on a small graph, all but its seed; can be pickled."""

    make_method: Callable[[int], Any] = small_gate
    graph: Graph = field(default_factory=labelled_graph)
    setting: str = "transductive"
    unseen: tuple[str, ...] = ("test",)
    probe: str = "one-vs-rest"

    def __call__(self, seed: int) -> RunResult:
        return run_classification(
            self.make_method(seed),
            self.graph,
            self.setting,
            unseen=self.unseen,
            probe=self.probe,
            seed=seed,
        )


def small_runs(n_jobs: int = 1, **changes) -> tuple[RunResult, ...]:
    found = dict(run_unordered(SmallRun(**changes), [4, 7], n_jobs=n_jobs))
    return (found[4], found[7])


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_each_run_is_a_training_and_a_probe(setting):
    graph = labelled_graph()
    runs = small_runs(setting=setting)
    assert [run.seed for run in runs] == [4, 7]
    for run in runs:
        vectors = embed_nodes(small_gate(run.seed), graph, setting, ("test",))
        predicted = probe_predictions(
            vectors, graph.labels, graph.splits["train"], random_state=run.seed
        )
        test, val = graph.splits["test"], graph.splits["val"]
        scores = by_hand(graph.labels[test], predicted[test])
        assert (run.metrics["accuracy"], run.metrics["macro_f1"]) == pytest.approx(scores, abs=1e-4)
        on_val, _ = by_hand(graph.labels[val], predicted[val])
        assert run.metrics["val_accuracy"] == pytest.approx(on_val, abs=1e-4)
        assert run.seconds > 0
        assert run.threads == 1
        assert run.peak_memory_mb > 1


class Guessing:
    """Classifies by the order of the nodes; keeps the graphs that it is given."""

    def fit(self, graph: Graph) -> Guessing:
        self.learned_from = graph
        return self

    def predict(self, graph: Graph) -> np.ndarray:
        self.asked_about = graph
        return np.arange(graph.n_nodes) // 2 % 3


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_a_classifier_is_not_probed(setting):
    graph = labelled_graph()
    (run, _) = small_runs(make_method=lambda seed: Guessing(), setting=setting)
    test, val = graph.splits["test"], graph.splits["val"]
    guessed = np.arange(N) // 2 % 3
    accuracy, macro_f1 = by_hand(graph.labels[test], guessed[test])
    assert (run.metrics["accuracy"], run.metrics["macro_f1"]) == pytest.approx(
        (accuracy, macro_f1), abs=1e-4
    )
    assert run.metrics["val_accuracy"] == pytest.approx(
        100 * np.mean((graph.labels == guessed)[val])
    )


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_a_classifier_sees_only_the_labels_of_train_and_val(setting):
    graph, guessing = labelled_graph(), Guessing()
    predict_classes(guessing, graph, setting, ("test",))
    seen = guessing.learned_from
    assert seen.ids.tolist() == [i for i in range(N) if setting == "transductive" or i % 3 != 2]
    shown = seen.ids % 3 != 2
    assert np.array_equal(seen.labels, np.where(shown, graph.labels[seen.ids], -1))
    assert set(seen.splits) == {"train", "val"}
    assert guessing.asked_about.labels is None
    assert guessing.asked_about.n_nodes == N


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_fit_need_not_return_anything_but_vectors_must_be_dense(setting):
    class Own:
        def fit(self, graph):
            self.embedding_ = self.transform(graph)

        def transform(self, graph):
            return sp.csr_array(graph.adjacency) if self.sparse else graph.adjacency.toarray()

    graph, own = labelled_graph(), Own()
    own.sparse = False
    found = embed_nodes(own, graph, setting, ("test",))
    np.testing.assert_array_equal(found, graph.adjacency.toarray())
    own.sparse = True
    with pytest.raises(InputError, match="Own returned a sparse matrix; return an array"):
        embed_nodes(own, graph, setting, ("test",))


def test_a_method_without_transform_has_no_inductive_setting():
    with pytest.raises(InputError, match="AsIs cannot embed nodes that it was not trained on"):
        small_runs(make_method=lambda seed: AsIs(), setting="inductive")


def test_without_validation_nodes_validation_accuracy_is_none():
    graph = labelled_graph()
    bare = graph.with_splits({name: graph.splits[name] for name in ("train", "test")})
    assert [run.metrics["val_accuracy"] for run in small_runs(graph=bare)] == [None, None]


def numbers(runs: tuple[RunResult, ...]) -> list[tuple[int, float, float]]:
    return [(run.seed, run.metrics["accuracy"], run.metrics["macro_f1"]) for run in runs]


def test_runs_are_reproducible():
    assert numbers(small_runs()) == numbers(small_runs())


@pytest.mark.parametrize(
    "graph",
    [
        Graph(np.eye(3), splits={"train": [True, False, False], "test": [False, True, True]}),
        Graph(np.eye(3), labels=[0, 1, 0], splits={"train": [True, True, False]}),
        Graph(np.eye(3), labels=[0, 1, 0], splits={"test": [True, True, False]}),
    ],
    ids=["no labels", "no test", "no train"],
)
def test_what_cannot_be_evaluated(graph):
    with pytest.raises(InputError, match="needs labels and the splits 'train' and 'test'"):
        small_runs(make_method=lambda seed: Never(), graph=graph)


@pytest.mark.parametrize("change", [{"probe": "svm"}, {"setting": "inductive", "unseen": ("dev",)}])
def test_invalid_arguments_are_refused(change):
    with pytest.raises(InputError):
        small_runs(**change)


class Never:
    def fit(self, graph):
        pytest.fail("trained")


def test_an_unknown_probe_is_refused_before_training():
    with pytest.raises(InputError):
        small_runs(make_method=lambda seed: Never(), probe="svm")


def test_an_interrupted_training_is_not_a_run():
    class Interrupted:
        history_ = History(stopped="interrupted")

        def fit(self, graph):
            self.embedding_ = np.ones((graph.n_nodes, 1))
            return self

    with pytest.raises(KeyboardInterrupt):
        small_runs(make_method=lambda seed: Interrupted())


def test_a_run_hides_advice_to_train_longer():
    def brief_gate(seed: int) -> GATE:
        settings = {"preset": "authors", "epochs": 2, "learning_rate": 0.1, "progress": False}
        return GATE((4, 3), random_state=seed, **settings)

    graph = labelled_graph()
    with pytest.warns(TrainingWarning, match="still falling"):
        brief_gate(0).fit(graph)
    for setting in ("transductive", "inductive"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SmallRun(brief_gate, graph, setting)(0)


def test_a_run_shows_other_warnings():
    class Loud:
        def fit(self, graph):
            warnings.warn("no minimum was found", ConvergenceWarning, stacklevel=2)
            self.embedding_ = np.eye(graph.n_nodes)
            return self

    with pytest.warns(ConvergenceWarning, match="no minimum"):
        SmallRun(lambda seed: Loud())(0)


class Spy:
    """Embeds a node as its row of a fixed matrix, and notes what it is shown."""

    z = np.random.default_rng(0).normal(size=(30, 5))

    def fit(self, graph: Graph) -> Spy:
        self.seen, self.embedding_ = graph, self.z
        return self


def labelled() -> Graph:
    rng = np.random.default_rng(0)
    edges = np.triu(rng.random((30, 30)) < 0.3, 1)
    return Graph(np.eye(30), edges, labels=[0, 1, 2] * 9 + [None] * 3)


def test_a_clustering_run():
    spy = Spy()
    run = run_clustering(spy, labelled(), algorithm="kmeans", seed=4)
    assert spy.seen.labels is None
    expected = agreement(labelled().labels, cluster_vectors(Spy.z, 3, random_state=4))
    assert (run.seed, run.metrics) == (4, expected)
    with pytest.raises(InputError, match="the graph has no labels"):
        run_clustering(spy, labelled().reveal(), algorithm="kmeans", seed=0)


def test_a_links_run():
    spy, graph = Spy(), labelled()
    run = run_links(spy, graph, seed=4)
    split = split_links(graph, random_state=4)
    assert spy.seen.fingerprint() == split.graph.fingerprint()  # the held-out edges are gone
    test = link_quality(
        *(inner_products(Spy.z, p) for p in (split.test_edges, split.test_non_edges))
    )
    val = link_quality(*(inner_products(Spy.z, p) for p in (split.val_edges, split.val_non_edges)))
    assert run.metrics == {
        "auc": test["auc"],
        "ap": test["ap"],
        "val_auc": val["auc"],
        "val_ap": val["ap"],
    }
    none = run_links(spy, graph, val_size=0.0, seed=4)
    assert none.metrics["val_auc"] is None


def test_a_classifier_gives_no_embedding():
    class Classifier(Spy):
        def predict(self, graph):
            return None

    with pytest.raises(InputError, match="Classifier is a classifier and has no embedding"):
        run_clustering(Classifier(), labelled(), algorithm="kmeans", seed=0)
    with pytest.raises(InputError, match="Classifier is a classifier and has no embedding"):
        run_links(Classifier(), labelled(), seed=0)
