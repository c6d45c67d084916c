"""A run of the comparison: what it measures, and what is stopped."""

import multiprocessing
import time

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from graphgate import InputError
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.registry import Method
from graphgate.graph.graph import Graph
from graphgate.paper.experiments import limited_run, quality
from graphgate.paper.experiments.experiment import SETTINGS
from graphgate.paper.experiments.limited_run import is_memory_error
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.quality import random_probe, run_quality


@pytest.fixture(scope="module")
def towns() -> Graph:
    """A graph of communities with labels."""
    graph = community_graph(150, 500, 20, n_entries=600)
    return Graph(graph.x, graph.adjacency, labels=(np.arange(150) % 3).tolist())


def test_a_run_measures_three_tasks_without_leaks(towns, monkeypatch):
    seen = []
    fit = find_row("linear").maker().fit
    monkeypatch.setattr(
        "graphgate.estimators.linear_gate.LinearGATE.fit",
        lambda self, graph: (seen.append(graph), fit(self, graph))[1],
    )
    result = run_quality(find_row("linear"), {}, towns, seed=3)
    whole, thinned = seen
    assert whole.labels is None
    assert thinned.labels is None
    assert thinned.n_edges == whole.n_edges - 24 - 48  # 5 % and 10 % of 485
    assert set(result.metrics) == set(SETTINGS["quality"].all)
    for name in ("accuracy", "val_accuracy", "nmi", "ari", "auc", "ap", "val_auc"):
        assert -100 <= result.metrics[name] <= 100
    assert result.metrics["public"] is None  # the graph has no split of its own
    assert (result.seed, result.stopped) == (3, "")
    assert result.seconds > 0


def test_the_probe_is_chosen_on_validation_nodes_only():
    rng = np.random.default_rng(0)
    z, labels = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    labels[:20] = -1
    order = np.random.default_rng(4).permutation(np.flatnonzero(labels >= 0))
    train, val, test = order[:18], order[18:36], order[36:]
    scores = {}
    for name, x in (("rows", normalize(z)), ("columns", (z - z.mean(0)) / z.std(0))):
        for c in quality.STRENGTHS:
            probe = LogisticRegression(C=c, max_iter=300, tol=1e-3).fit(x[train], labels[train])
            scores[name, c] = [
                (probe.predict(x[rows]) == labels[rows]).mean() for rows in (val, test)
            ]
    best = max(scores.values(), key=lambda pair: pair[0])
    expected = {"val_accuracy": round(100 * best[0], 4), "accuracy": round(100 * best[1], 4)}
    assert random_probe(z, labels, 4) == expected


# --- limits --------------------------------------------------------------------------------------


class Vectors:
    """Two columns of features."""

    def __init__(self, random_state: int = 0) -> None:
        pass

    def fit(self, graph: Graph) -> "Vectors":
        self.embedding_ = graph.x.toarray()[:, :2]
        return self


class Endless(Vectors):
    def fit(self, graph: Graph) -> Vectors:
        while True:
            pass


class Waiting(Vectors):
    def fit(self, graph: Graph) -> Vectors:
        time.sleep(1)
        return super().fit(graph)


class Large(Vectors):
    def fit(self, graph: Graph) -> Vectors:
        return np.ones(1 << 40)


class Failing(Vectors):
    def fit(self, graph: Graph) -> Vectors:
        raise ZeroDivisionError("no good")


@pytest.fixture
def forks(monkeypatch):
    """Processes that need not import everything again."""
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(limited_run.multiprocessing, "get_context", lambda _: fork)


def own(kind: type) -> Method:
    return Method(kind.__name__, f"{__name__}:{kind.__name__}", kind.__name__)


def stopped(kind: type, graph: Graph, minutes: float = 1.0) -> str:
    result = run_quality(own(kind), {}, graph, seed=2, minutes=minutes)
    assert set(result.to_dict()) == {"seed", "stopped"}
    assert result.seed == 2
    return result.stopped


def test_a_run_that_takes_too_long_is_stopped(forks, towns):
    assert stopped(Endless, towns, minutes=0.1 / 60) == "> 0 min"


def test_waiting_for_the_processor_does_not_count(forks, towns):
    """Two fits wait for two seconds; a second of two cores is allowed."""
    result = run_quality(own(Waiting), {}, towns, seed=2, minutes=1 / 60)
    assert (result.stopped, result.seconds >= 1) == ("", True)


def test_a_run_that_takes_too_much_memory_is_stopped(forks, towns):
    assert stopped(Large, towns) == "> 16 GiB"
    with pytest.raises(RuntimeError) as refused:
        torch.ones(1 << 50)
    assert is_memory_error(refused.value)


def test_a_run_that_fails_says_why(towns):
    with pytest.raises(InputError, match="ZeroDivisionError: no good"):
        run_quality(own(Failing), {}, towns, seed=1)
