"""The probe, the settings, and the runs: what is reported is what was computed, without leaks."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import random_graph
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from graphgate import GATE, Graph, InputError
from graphgate.datasets.citation import Dataset
from graphgate.errors import TrainingWarning
from graphgate.experiments.evaluation import Evaluation, evaluate
from graphgate.experiments.experiment import find_experiment
from graphgate.experiments.measure import measured, resident
from graphgate.experiments.methods import METHODS, find_method
from graphgate.experiments.parallel import faster_n_jobs, run_unordered
from graphgate.experiments.protocol import (
    RunResult,
    embed_nodes,
    hide,
    predict_classes,
    run_classification,
)
from graphgate.experiments.run_store import RunSpec
from graphgate.experiments.settings import with_std
from graphgate.io.files import write_json
from graphgate.tasks.classification import PROBES, make_probe, probe_predictions
from graphgate.training.history import History

N = 24


def labelled_graph(seed: int = 0) -> Graph:
    """Every third node is to train, to validate or to test; three classes, of all in each."""
    plain = random_graph(seed, n=N, f=5)
    turn = np.arange(N) % 3
    return Graph(
        plain.x,
        plain.adjacency,
        labels=np.array(["x", "y", "z"])[np.arange(N) // 3 % 3],
        splits={"train": turn == 0, "val": turn == 1, "test": turn == 2},
    )


def small_gate(seed: int = 0) -> GATE:
    return GATE((4, 3), epochs=5, learning_rate=0.05, random_state=seed, progress=False)


# --- the probe -----------------------------------------------------------------------------------


def probe_data():
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2, 3], 15)
    embedding = rng.normal(size=(60, 4)) + np.eye(4)[labels]
    train = rng.random(60) < 0.5
    return embedding, labels, train, ~train


class AsIs:
    """Embeds a node as its features."""

    def fit(self, graph: Graph) -> "AsIs":
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


def test_one_vs_rest_is_a_liblinear_regression_a_class():
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


def test_multinomial_is_today_s_logistic_regression():
    embedding, labels, train, test = probe_data()
    model = LogisticRegression(C=1.0, max_iter=1000).fit(embedding[train], labels[train])
    predicted = model.predict(embedding[test])
    accuracy, macro_f1 = by_hand(labels[test], predicted)
    assert 30 < accuracy < 100
    found = probe_scores(embedding, labels, train, test, form="multinomial")
    assert found == pytest.approx((accuracy, macro_f1), abs=1e-4)
    assert f1_score(labels[test], predicted, average="macro") * 100 == pytest.approx(macro_f1)


def test_the_two_forms_are_not_the_same():
    embedding, labels, train, _ = probe_data()
    forms = [make_probe(form).fit(embedding[train], labels[train]) for form in protocol_forms()]
    one, two = (form.predict_proba(embedding) for form in forms)
    assert not np.allclose(one, two)


def protocol_forms() -> tuple[str, ...]:
    return ("one-vs-rest", "multinomial")


@pytest.mark.parametrize("form", protocol_forms())
def test_a_separable_problem_gets_everything_right(form):
    labels = np.array([0, 1, 0, 1, 0, 1])
    train = np.array([True, True, True, True, False, False])
    vectors = np.where(labels == 0, -9.0, 9.0)[:, None]
    assert probe_scores(vectors, labels, train, ~train, form=form) == (100.0, 100.0)
    assert probe_scores(-vectors, 1 - labels, train, ~train, form=form) == (100.0, 100.0)


def test_a_class_that_was_never_trained_counts_as_wrong():
    labels = np.array([0, 1, 0, 1, 2, 2, 0, 1])
    train = np.arange(8) < 4
    vectors = np.array([-9.0, 9, -9, 9, 9, 9, -9, 9])[:, None]
    # Right: one 0 and one 1 of four. F1: 1 for class 0, 2·1/(1+3) for 1, 0 for 2.
    assert probe_scores(vectors, labels, train, ~train) == (50.0, 50.0)


def test_only_training_nodes_teach_and_only_test_nodes_count():
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
def test_vectors_that_cannot_be_probed(wrong):
    _, labels, train, _ = probe_data()
    with pytest.raises(InputError, match="the method returned"):
        probe_predictions(wrong, labels, train)


# --- what training sees --------------------------------------------------------------------------


def test_hidden_splits_are_gone():
    graph = labelled_graph()
    seen = hide(graph, ("test",))
    assert seen.ids.tolist() == [i for i in range(N) if i % 3 != 2]
    assert hide(graph, ("test", "val")).ids.tolist() == list(range(0, N, 3))
    rows = seen.ids
    assert (seen.adjacency != graph.adjacency[rows][:, rows]).nnz == 0


def test_a_split_that_is_not_there():
    with pytest.raises(InputError, match="no split 'dev'"):
        hide(labelled_graph(), ("dev",))


def test_transductive_is_a_fit_of_the_whole_graph():
    graph = labelled_graph()
    found = embed_nodes(small_gate(), graph, "transductive", ("test",))
    assert np.array_equal(found, small_gate().fit(graph).embedding_)


def test_inductive_trains_without_the_unseen_and_embeds_all():
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


def test_what_is_seen_does_reach_the_weights():
    """So the test above can fail: the same changes to nodes that are seen."""
    graph = labelled_graph()
    before = weights_of(graph, ("test",))
    for what, other in changes_of(graph, graph.splits["val"]).items():
        differs = weights_of(other, ("test",)) != before
        assert differs == (what != "labels"), what


def test_validation_nodes_are_hidden_only_where_asked():
    graph = labelled_graph()
    other = changes_of(graph, graph.splits["val"])["features"]
    assert weights_of(graph, ("test", "val")) == weights_of(other, ("test", "val"))
    assert weights_of(graph, ("test",)) != weights_of(other, ("test",))


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_labels_never_reach_the_embedder(setting):
    graph = labelled_graph()
    shuffled = altered(graph, labels=np.random.default_rng(1).permutation(graph.labels))
    bare = Graph(graph.x, graph.adjacency, splits=graph.splits)
    assert not np.array_equal(shuffled.labels, graph.labels)
    one, two, three = (
        embed_nodes(small_gate(), g, setting, ("test",)).tobytes() for g in (graph, shuffled, bare)
    )
    assert one == two == three


# --- runs and seeds ------------------------------------------------------------------------------


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

    def fit(self, graph: Graph) -> "Guessing":
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
def test_a_classifier_is_shown_labels_of_train_and_val_alone(setting):
    graph, guessing = labelled_graph(), Guessing()
    predict_classes(guessing, graph, setting, ("test",))
    seen = guessing.learned_from
    assert seen.ids.tolist() == [i for i in range(N) if setting == "transductive" or i % 3 != 2]
    shown = seen.ids % 3 != 2
    assert np.array_equal(seen.labels, np.where(shown, graph.labels[seen.ids], -1))
    assert set(seen.splits) == {"train", "val"}
    assert guessing.asked_about.labels is None
    assert guessing.asked_about.n_nodes == N


def test_a_method_for_known_nodes_has_no_inductive_setting():
    with pytest.raises(InputError, match="AsIs cannot embed nodes that it was not trained on"):
        small_runs(make_method=lambda seed: AsIs(), setting="inductive")


def test_without_validation_nodes_there_is_no_accuracy_on_them():
    graph = labelled_graph()
    bare = graph.with_splits({name: graph.splits[name] for name in ("train", "test")})
    assert [run.metrics["val_accuracy"] for run in small_runs(graph=bare)] == [None, None]


def numbers(runs: tuple[RunResult, ...]) -> list[tuple[int, float, float]]:
    return [(run.seed, run.metrics["accuracy"], run.metrics["macro_f1"]) for run in runs]


def test_runs_are_repeatable():
    assert numbers(small_runs()) == numbers(small_runs())


def test_the_number_of_processes_changes_no_number():
    assert numbers(small_runs(n_jobs=2)) == numbers(small_runs())


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_the_number_of_threads_is_restored(n_jobs):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = dict(run_unordered(lambda item: torch.get_num_threads(), "ab", n_jobs=n_jobs))
        assert seen == dict.fromkeys("ab", n_jobs or 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("n_runs", "cores", "n_jobs"),
    [
        (1, 4, None),
        (5, 1, None),
        (2, 2, 2),  # one round of two, instead of two of 1/1.7 each
        (3, 2, None),  # two rounds, instead of three of 1/1.7 each
        (100, 2, 2),
        (3, 8, None),  # three of eight cores would work
        (8, 8, 8),
    ],
)
def test_the_layout_that_ends_sooner(n_runs, cores, n_jobs):
    assert faster_n_jobs(n_runs, cores) == n_jobs


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
def test_a_bad_argument_is_refused(change):
    with pytest.raises(InputError):
        small_runs(**change)


class Never:
    def fit(self, graph):
        pytest.fail("trained")


def test_an_unknown_probe_is_refused_before_training():
    with pytest.raises(InputError):
        small_runs(make_method=lambda seed: Never(), probe="svm")


def test_an_interrupted_training_is_no_run():
    class Interrupted:
        history_ = History(stopped="interrupted")

        def fit(self, graph):
            self.embedding_ = np.ones((graph.n_nodes, 1))
            return self

    with pytest.raises(KeyboardInterrupt):
        small_runs(make_method=lambda seed: Interrupted())


def scores(accuracy: float, macro_f1: float, val: float | None) -> dict[str, float | None]:
    return {"accuracy": accuracy, "macro_f1": macro_f1, "val_accuracy": val}


def an_evaluation(*accuracies: float, paper=None, **changes) -> Evaluation:
    fields = {
        "method": "gate",
        "dataset": "cora",
        "setting": "inductive",
        "split": "seeded",
        "params": {"preset": "authors", "epochs": 9},
        "probe": "one-vs-rest",
        "unseen": ("test", "val"),
        "seed": 0,
    }
    runs = tuple(
        RunResult(i, scores(a, a - 1, a + 1), 0.5, 300.0, 2) for i, a in enumerate(accuracies)
    )
    published = {"accuracy": (82.5, 0.5)} if paper is None else paper
    return Evaluation(RunSpec(**fields | changes), runs, published)


def test_mean_and_deviation():
    values = [81.2, 83.4, 82.9, 80.0]
    found = an_evaluation(*values)
    assert found.mean() == pytest.approx(np.mean(values))
    assert found.std() == pytest.approx(np.std(values, ddof=1))
    assert an_evaluation(81.2).std() is None
    assert an_evaluation(81.2, 81.2).std() == 0


def test_the_json_of_an_evaluation(tmp_path):
    path = tmp_path / "out.json"
    write_json(path, an_evaluation(81.0, 84.0).to_dict())
    found = json.loads(path.read_text("utf-8"))
    assert set(found.pop("versions")) == {
        *("python", "graphgate", "torch", "numpy", "scipy", "scikit-learn"),
    }
    assert found == {
        "method": "gate",
        "dataset": "cora",
        "setting": "inductive",
        "split": "seeded",
        "preset": "authors",
        "params": {"preset": "authors", "epochs": 9},
        "probe": "one-vs-rest",
        "unseen": ["test", "val"],
        "runs": [
            {
                **{"seed": s, "accuracy": a, "macro_f1": a - 1, "val_accuracy": a + 1},
                **{"seconds": 0.5, "peak_memory_mb": 300.0, "threads": 2},
            }
            for s, a in enumerate([81.0, 84.0])
        ],
        "mean": 82.5,
        "std": 2.1213,  # sqrt(1.5² + 1.5²)
        "paper": {"mean": 82.5, "std": 0.5},
        "metrics": {"accuracy": {"mean": 82.5, "std": 2.1213, "paper": {"mean": 82.5, "std": 0.5}}},
    }


def test_the_json_of_one_transductive_run_without_a_published_value():
    found = an_evaluation(81.0, setting="transductive", unseen=(), paper={}).to_dict()
    assert (found["std"], found["paper"], found["unseen"]) == (None, None, [])


def test_the_row_of_the_report():
    def row(evaluation: Evaluation) -> dict[str, str]:
        return dict(zip(evaluation.heads(), evaluation.row(), strict=True))

    found = row(an_evaluation(81.0, 84.0, split="public"))
    assert found["accuracy"] == "82.5 ± 2.1"
    assert found["paper"] == "82.5 ± 0.5"
    assert found["difference"] == "+0.0"
    assert (found["method"], found["runs"]) == ("gate (authors)", "2")
    found = row(an_evaluation(81.0, split="public"))
    assert (found["accuracy"], found["difference"]) == ("81.0", "-1.5")
    found = row(an_evaluation(81.0, split="seeded"))
    assert (found["split"], found["difference"]) == ("seeded", "other split")
    found = row(an_evaluation(81.0, paper={}))
    assert (found["paper"], found["difference"]) == ("—", "—")
    assert row(an_evaluation(81.0, params={}))["method"] == "gate"


def test_a_standard_deviation_of_zero_is_shown():
    assert with_std(80.0, 0.0) == "80.0 ± 0.0"


# --- methods -------------------------------------------------------------------------------------


@pytest.fixture
def dataset() -> Dataset:
    """A little graph under the name of Cora."""
    graph = labelled_graph()
    return Dataset("cora", graph, "seeded", "made here", graph.n_edges, 0)


def test_the_paper_s_settings_of_a_dataset():
    for name, (weight, epochs) in {
        "cora": (0.5, 100),
        "citeseer": (20.0, 100),
        "pubmed": (0.5, 500),
    }.items():
        for method, preset in (("gate", "authors"), ("gate-paper", "paper")):
            experiment = find_experiment(method, name, "transductive")
            gate = find_method(method).make(experiment.params, 9)
            assert (gate.structure_weight, gate.epochs) == (weight, epochs)
            assert (gate.preset, gate.random_state, gate.dims) == (preset, 9, (512, 512))


def test_seeds_follow_the_first(dataset):
    found = evaluate(
        "gate", dataset, n_runs=3, random_state=11, params={"epochs": 3}, n_jobs=1, progress=False
    )
    assert found.spec.params == {"preset": "authors", "structure_weight": 0.5, "epochs": 3}
    assert [run.seed for run in found.runs] == [11, 12, 13]
    assert found.paper == {"accuracy": (83.2, 0.6)}
    assert (found.spec.split, found.spec.dataset, found.spec.method) == ("seeded", "cora", "gate")


@pytest.mark.parametrize(
    ("preset", "probe", "unseen"),
    [("authors", "one-vs-rest", ("test", "val")), ("paper", "multinomial", ("test",))],
)
def test_probe_and_unseen_follow_the_preset(dataset, preset, probe, unseen, monkeypatch):
    asked = []
    other = next(form for form in PROBES if form != probe)

    def note(self, dataset):
        asked.append((self.probe, self.unseen))
        return RunResult(self.seed, scores(80.0, 80.0, None), 1.0, 1.0, 1)

    monkeypatch.setattr(RunSpec, "run", note)
    given = {"setting": "inductive", "n_runs": 1, "preset": preset}
    found = evaluate("gate", dataset, **given)
    assert (found.spec.probe, found.spec.unseen) == (probe, unseen)
    evaluate("gate", dataset, probe=other, unseen=("val",), **given)
    assert asked == [(probe, unseen), (other, ("val",))]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "gatt"}, "unknown method 'gatt'; use one of raw, "),
        ({"method": "gcn", "setting": "inductive"}, "'gcn' has no inductive setting on cora"),
        ({"method": "gcn", "preset": "paper"}, "'gcn' has no presets, got preset='paper'"),
        ({"params": {"speed": 3}}, "'gate' cannot be made: .*'speed'"),
        ({"preset": "ours"}, "unknown preset 'ours'; use one of authors, paper"),
        ({"setting": "semi"}, "unknown setting 'semi'; use one of transductive, inductive, clus"),
    ],
)
def test_unknown_names(dataset, change, words):
    given = {"method": "gate", "n_runs": 1, "dataset": dataset} | change
    with pytest.raises(InputError, match=words):
        evaluate(**given)


def test_methods_are_listed_by_their_names():
    assert all(find_method(name) is method for name, method in METHODS.items())
    assert all(name == method.name for name, method in METHODS.items())


# --- measurements --------------------------------------------------------------------------------

MANY = 96 * 2**20  # bytes


def test_a_known_allocation_is_seen():
    before = resident()
    with measured() as cost:
        block = np.ones(MANY // 8)
        assert block[-1] == 1
        del block
    assert cost.peak_memory_mb >= before + 90


def test_an_earlier_peak_is_forgotten():
    with measured() as large:
        np.ones(MANY // 8)
    with measured() as small:
        np.ones(8)
    if small.peak_memory_mb == large.peak_memory_mb:
        pytest.skip("this system keeps the peak of the whole process")
    assert small.peak_memory_mb < large.peak_memory_mb - 80


def test_seconds_are_those_of_the_block():
    start = time.perf_counter()
    with measured() as cost:
        time.sleep(0.05)
    assert 0.05 <= cost.seconds <= time.perf_counter() - start


def test_the_cost_is_known_even_if_the_block_fails():
    with pytest.raises(InputError), measured() as cost:
        raise InputError("no")
    assert cost.seconds > 0


def test_a_system_without_proc(monkeypatch, tmp_path):
    from graphgate.experiments import measure

    monkeypatch.setattr(measure, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(measure, "_CLEAR", tmp_path / "no" / "clear_refs")
    with measured() as cost:
        pass
    assert cost.peak_memory_mb > 10  # of the whole process
    assert resident() == 0


# --- warnings of a run ---------------------------------------------------------------------------


def test_a_run_does_not_advise_more_epochs_than_it_was_set():
    def brief_gate(seed: int) -> GATE:
        return GATE((4, 3), epochs=2, learning_rate=0.1, random_state=seed, progress=False)

    graph = labelled_graph()
    with pytest.warns(TrainingWarning, match="still falling"):
        brief_gate(0).fit(graph)
    for setting in ("transductive", "inductive"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SmallRun(brief_gate, graph, setting)(0)


def test_other_warnings_of_a_run_are_shown():
    class Loud:
        def fit(self, graph):
            warnings.warn("no minimum was found", ConvergenceWarning, stacklevel=2)
            self.embedding_ = np.eye(graph.n_nodes)
            return self

    with pytest.warns(ConvergenceWarning, match="no minimum"):
        SmallRun(lambda seed: Loud())(0)
