"""Which graph is measured, and how its time is scaled. Nothing here depends on the clock."""

import pytest
from graphs import random_graph

from graphgate.estimators import training_time
from graphgate.estimators.gate import GATE
from graphgate.estimators.training_time import TrainingTime, measured_time
from graphgate.training.plan import GraphCounts


@pytest.mark.parametrize(("width", "measured_nodes"), [(4, 250_000), (512, 32_768), (9999, 20_000)])
def test_time_of_a_large_graph_is_scaled_from_one_beyond_the_caches(
    monkeypatch, width, measured_nodes
):
    measured = []

    def measure(gate, graph):
        measured.append(graph.n_nodes)
        return TrainingTime(1e-5 * graph.n_nodes, 1e-4 * graph.n_nodes)

    monkeypatch.setattr(training_time, "_measured", measure)
    found = measured_time(GraphCounts.planned(1_000_000, 300_000, 2), GATE((width,)))
    assert measured == [measured_nodes]
    assert found.epoch == pytest.approx(100)
    assert found.setup == pytest.approx(10)
    assert found.total(7) == pytest.approx(found.setup + 7 * found.epoch)


def test_a_small_graph_is_measured_itself(monkeypatch):
    monkeypatch.setattr(training_time, "_PATIENCE", 0.0)
    graph = random_graph(0, n=30)
    before = graph.fingerprint()
    found = measured_time(GraphCounts.of(graph), GATE((4, 2), epochs=3), graph)
    assert found.epoch > 0
    assert found.setup >= 0
    assert graph.fingerprint() == before
