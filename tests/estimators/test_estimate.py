"""What a run will take, through the public function, and what is refused."""

import pytest
from graphs import random_graph

from graphgate import GATE, InputError, MemoryLimitError, estimate
from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.compute.machine import format_bytes
from graphgate.compute.speed import format_seconds
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators import estimate as estimates
from graphgate.estimators.estimate import (
    TrainingTime,
    check_fits,
    fitting_dims,
    measured_time,
    plan_for,
)
from graphgate.training.memory import training_bytes


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(estimates, "_PATIENCE", 0.0)


def limit(monkeypatch, available: int | None) -> None:
    monkeypatch.setattr(estimates, "available_bytes", lambda: available)


def test_an_estimate_of_a_graph_is_that_of_its_counts(monkeypatch):
    limit(monkeypatch, 2**40)
    graph = random_graph(3, n=20)
    counts = GraphCounts.of(graph)
    found = estimate(graph, method="gate", dims=(8, 4), epochs=7)
    assert found.graph_bytes == graph_bytes(counts)
    assert found.training_bytes == training_bytes(plan_for(counts, GATE((8, 4))))
    assert (found.available_bytes, found.fits, found.fitting_dims) == (2**40, True, (8, 4))
    assert found.seconds == pytest.approx(found.time.setup + 7 * found.time.epoch)


def test_an_estimate_of_a_graph_that_does_not_exist_yet(monkeypatch):
    sizes = {"n_nodes": 300, "n_edges": 900, "n_features": 20}
    counts, settings = GraphCounts.planned(300, 900, 20), {"dims": (4096, 4096)}
    training = training_bytes(plan_for(counts, GATE(**settings)))
    # The graph is not in memory yet, so it has to fit as well.
    limit(monkeypatch, training + graph_bytes(counts))
    assert estimate(method="gate", **sizes, **settings).fits
    limit(monkeypatch, training + graph_bytes(counts) - 1)
    found = estimate(method="gate", **sizes, **settings)
    assert (found.fits, found.fitting_dims) == (False, (2048, 2048))
    assert (found.time, found.seconds) == (None, None)  # nothing of that size is tried


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "give a graph, or n_nodes, n_edges and n_features"),
        ({"n_nodes": 3, "n_edges": 2}, "give a graph, or"),
        ({"graph": random_graph(0), "n_nodes": 3}, "either a graph or its size"),
        ({"n_nodes": 3, "n_edges": 2, "n_features": 1, "density": 2}, "density"),
        ({"graph": random_graph(0), "dims": (0,)}, "dims"),
    ],
)
def test_wrong_arguments_of_estimate(arguments, words):
    with pytest.raises(InputError, match=words):
        estimate(method="gate", **arguments)


def test_a_run_that_does_not_fit_is_refused_with_dims_that_do(monkeypatch):
    graph, gate = community_graph(3000, 9000, 50, n_entries=9000), GATE((512, 512))
    counts = GraphCounts.of(graph)
    needed = training_bytes(plan_for(counts, gate))
    limit(monkeypatch, needed)
    check_fits(graph, gate)
    limit(monkeypatch, needed - 1)
    with pytest.raises(MemoryLimitError, match=r"about .*; dims=\(256, 256\) would fit$") as e:
        check_fits(graph, gate)
    assert (e.value.needed, e.value.available) == (needed, needed - 1)
    assert e.value.fitting_dims == (256, 256)
    room = training_bytes(plan_for(counts, GATE((64, 64)), room=0))
    assert fitting_dims(plan_for(counts, gate), room) == (64, 64)
    assert fitting_dims(plan_for(counts, gate), room - 1) == (32, 32)
    limit(monkeypatch, 10)
    with pytest.raises(MemoryLimitError, match="no dims would fit") as e:
        check_fits(graph, gate)
    assert e.value.fitting_dims == ()
    limit(monkeypatch, None)
    check_fits(graph, gate)


def test_the_memory_of_other_devices_is_unknown(monkeypatch):
    limit(monkeypatch, 0)
    check_fits(random_graph(0), GATE(device="cuda"))


def test_dims_that_fit_are_as_requested_where_possible():
    plan = plan_for(GraphCounts.planned(1000, 2000, 30), GATE((64, 16)))
    assert fitting_dims(plan, 2**40) == (64, 16)
    assert fitting_dims(plan, None) == (64, 16)
    assert fitting_dims(plan, 0) is None


def test_bytes_and_seconds_with_units():
    assert [format_bytes(x) for x in (12, 2048, 1.5 * 2**20, 300 * 2**20, 3 * 2**30)] == [
        *("12 bytes", "2 KiB", "1.5 MiB", "300 MiB", "3.0 GiB"),
    ]
    assert [format_seconds(x) for x in (0.0123, 5.04, 600, 3 * 3600)] == [
        *("12 ms", "5.0 s", "10 min", "3.0 h"),
    ]


@pytest.mark.parametrize(("width", "measured_nodes"), [(4, 250_000), (512, 32_768), (9999, 20_000)])
def test_time_of_a_large_graph_is_scaled_from_one_beyond_the_caches(
    monkeypatch, width, measured_nodes
):
    measured = []

    def measure(gate, graph):
        measured.append(graph.n_nodes)
        return TrainingTime(1e-5 * graph.n_nodes, 1e-4 * graph.n_nodes)

    monkeypatch.setattr(estimates, "_measured", measure)
    gate = GATE((width,), batch_size="full")
    found = measured_time(GraphCounts.planned(1_000_000, 300_000, 2), gate)
    assert measured == [measured_nodes]
    assert found.epoch == pytest.approx(100)
    assert found.setup == pytest.approx(10)
    assert found.total(7) == pytest.approx(found.setup + 7 * found.epoch)


def test_the_time_of_a_step_grows_with_its_part(monkeypatch):
    """Parts are measured as parts, also on a smaller graph that would be trained on as a whole."""
    sizes = []

    def measure(gate, graph):
        sizes.append(gate.training_plan(GraphCounts.of(graph)).part_size)
        return TrainingTime(1.0, 2.0)

    monkeypatch.setattr(estimates, "_measured", measure)
    for nodes in (100_000, 1_000_000):
        counts = GraphCounts.planned(nodes, 30_000, 2)
        found = measured_time(counts, GATE((512,)))
        # Two steps were measured, five are taken, in parts of 16,384 or a sixteenth of all nodes.
        assert found.epoch == pytest.approx(2.0 * 5 / 2 * max(1, nodes / 16 / 16_384))
        assert found.setup == pytest.approx(nodes / 32_768)
    assert sizes == [16_384, 16_384]


def test_a_small_graph_is_measured_itself():
    graph = random_graph(0, n=30)
    before = graph.fingerprint()
    found = measured_time(GraphCounts.of(graph), GATE((4, 2), epochs=3), graph)
    assert found.epoch > 0
    assert found.setup >= 0
    assert graph.fingerprint() == before
