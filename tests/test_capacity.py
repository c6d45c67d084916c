"""What a run will take: counted, read from the system, and refused where it cannot fit."""

from pathlib import Path

import numpy as np
import pytest
from graphs import random_graph

from graphgate.errors import InputError
from graphgate.estimators import estimate as verdict
from graphgate.estimators import seconds
from graphgate.estimators.estimate import check_fits, fitting_dims, in_time, in_units
from graphgate.estimators.gate import GATE
from graphgate.estimators.seconds import Seconds, estimated_seconds, graph_like
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.losses import Loss
from graphgate.training import machine
from graphgate.training.machine import available_bytes
from graphgate.training.memory import graph_bytes, training_bytes
from graphgate.training.objective import training_objective
from graphgate.training.plan import Plan, Size


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_the_size_of_a_graph(directed, dense):
    graph = random_graph(3, directed=directed, dense=dense)
    size = Size.of(graph)
    assert (size.nodes, size.features, size.pairs) == (9, 6, graph.adjacency.nnz)
    assert size.entries == (54 if dense else graph.x.nnz)
    assert (size.sparse, size.directed) == (not dense, directed)
    planned = Size.from_counts(9, graph.n_edges, 6, directed=directed)
    assert planned.pairs == size.pairs


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 5), "at least one node"),
        ((3, 0, 0), "one feature"),
        ((3, -1, 1), "no fewer edges than 0"),
        ((3, 4, 1), "3 nodes cannot have 4 different edges"),
        ((3, 1, 1, 1.5), "between 0 and 1, got 1.5"),
    ],
)
def test_counts_of_no_graph(counts, words):
    with pytest.raises(InputError, match=words):
        Size.from_counts(*counts)


def test_bytes_of_a_graph_are_those_of_its_arrays():
    graph = graph_like(Size.from_counts(500, 2000, 40, 0.1))
    arrays = [graph.x.data, graph.x.indices, graph.x.indptr, graph.ids]
    arrays += [graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr]
    held = sum(array.nbytes for array in arrays)
    assert graph_bytes(Size.of(graph)) == pytest.approx(held, rel=0.01)


def tensors_of(objective) -> int:
    """Bytes of every tensor that a step keeps, each storage once."""
    kept = [objective.g, *objective.h, *objective.u, objective.t, objective.d_h]
    kept += [objective.b, objective.d_b, objective.gram, objective.k]
    kept += [gradient for _, gradient in objective.gradients]
    return sum({t.data_ptr(): t.nbytes for t in kept}.values())


@pytest.mark.parametrize("dims", [(64, 48), (64,), (64, 64, 48)])
def test_the_buffers_of_a_step_are_all_counted(dims):
    graph = graph_like(Size.from_counts(2000, 10, 300, 0.01))
    gate = GATE(dims, random_state=0)
    plan = Plan.of(Size.of(graph), gate)
    assert plan.form == "step"
    model = GATEModel(plan.architecture, np.random.default_rng(0))
    objective = training_objective(model, graph, Loss())
    assert isinstance(objective, CollapsedStep)
    weights = sum(p.nbytes for p in model.parameters())
    assert plan.n_parameters * 4 == weights
    held = tensors_of(objective) + 3 * weights  # the weights, and two moments of Adam
    rest = training_bytes(plan) - 24 * 2**20 - held
    assert 0 < rest < 0.3 * held  # attention, the pattern, and Xᵀ


@pytest.mark.parametrize(
    ("settings", "form"),
    [
        ({}, "step"),
        ({"tied_weights": False}, "collapsed"),
        ({"shared_attention": False}, "collapsed"),
        ({"activation": "relu"}, "plain"),
        ({"dims": (4, 64)}, "plain"),
    ],
)
def test_the_form_is_that_of_the_training(settings, form):
    graph = graph_like(Size.from_counts(200, 400, 30, 0.2))
    gate = GATE(**{"dims": (8, 4)} | settings, random_state=0)
    plan = Plan.of(Size.of(graph), gate)
    assert plan.form == form
    model = GATEModel(plan.architecture, np.random.default_rng(0))
    objective = training_objective(model, graph, Loss())
    assert isinstance(objective, CollapsedStep) == (form == "step")


def test_more_takes_more():
    gate = GATE((64, 32))
    small = Size.from_counts(10_000, 50_000, 100, 0.1)
    base = training_bytes(Plan.of(small, gate))
    for other in (
        Size.from_counts(20_000, 50_000, 100, 0.1),
        Size.from_counts(10_000, 500_000, 100, 0.1),
        Size.from_counts(10_000, 50_000, 10_000, 0.1),
        Size.from_counts(10_000, 50_000, 100, 1.0),
    ):
        assert training_bytes(Plan.of(other, gate)) >= base
    assert training_bytes(Plan.of(small, GATE((64, 32), dtype="float64"))) > base
    assert training_bytes(Plan.of(small, GATE((128, 64)))) > base


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_the_graph_that_is_measured_is_like_the_one_asked_for(directed, density):
    size = Size.from_counts(3000, 12_000, 50, density, directed=directed)
    made = Size.of(graph_like(size))
    assert (made.nodes, made.features, made.sparse) == (3000, 50, size.sparse)
    assert made.pairs == pytest.approx(size.pairs, rel=0.05)
    assert made.entries == pytest.approx(size.entries, rel=0.1)


@pytest.mark.parametrize(("width", "measured_nodes"), [(4, 250_000), (512, 32_768), (9999, 20_000)])
def test_time_of_a_large_graph_is_that_of_one_beyond_the_caches(monkeypatch, width, measured_nodes):
    asked = []

    def measured(gate, graph):
        asked.append(graph.n_nodes)
        return Seconds(1e-5 * graph.n_nodes, 1e-4 * graph.n_nodes)

    monkeypatch.setattr(seconds, "_measured", measured)
    found = estimated_seconds(Size.from_counts(1_000_000, 300_000, 2), GATE((width,)))
    assert asked == [measured_nodes]
    assert found.epoch == pytest.approx(100)
    assert found.setup == pytest.approx(10)
    assert found.total(7) == pytest.approx(found.setup + 7 * found.epoch)


def test_a_small_graph_is_measured_itself(monkeypatch):
    monkeypatch.setattr(seconds, "_PATIENCE", 0.0)
    graph = random_graph(0, n=30)
    before = graph.fingerprint()
    found = estimated_seconds(Size.of(graph), GATE((4, 2), epochs=3), graph)
    assert found.epoch > 0
    assert found.setup >= 0
    assert graph.fingerprint() == before


# --- the machine ---------------------------------------------------------------------------------


def system(folder: Path, available: int, group: str = "0::/job") -> Path:
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available} kB\n")
    (proc / "self" / "cgroup").write_text(f"{group}\n")
    (proc / "self" / "status").write_text("VmSize: 5 kB\n")
    return proc


def test_what_the_system_has_available(tmp_path):
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1_024_000


@pytest.mark.parametrize("limited", ["job", "."])
def test_the_limit_of_a_container(tmp_path, limited):
    proc, groups = system(tmp_path, 1000), tmp_path / "cgroup"
    (groups / "job").mkdir(parents=True)
    for folder in (groups, groups / "job"):
        (folder / "memory.max").write_text("max\n")
        (folder / "memory.current").write_text("7000\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 500\n")
    assert available_bytes(proc, groups) == 1_024_000
    (groups / limited / "memory.max").write_text("10000\n")
    assert available_bytes(proc, groups) == 3500
    (groups / limited / "memory.max").write_text("100\n")
    assert available_bytes(proc, groups) == 0


def test_the_limit_of_an_older_container(tmp_path):
    proc = system(tmp_path, 1000, "3:cpu,cpuacct:/job\n4:memory:/job")
    folder = tmp_path / "cgroup" / "memory" / "job"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("10000\n")
    (folder / "memory.usage_in_bytes").write_text("4000\n")
    (folder / "memory.stat").write_text("total_inactive_file 1000\n")
    assert available_bytes(proc, tmp_path / "cgroup") == 7000


def test_the_limit_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.resource, "getrlimit", lambda which: (6 * 1024, 6 * 1024))
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1024


def test_a_system_that_tells_nothing(tmp_path):
    if machine.sys.platform != "darwin":
        assert available_bytes(tmp_path / "none", tmp_path / "none") is None


def test_this_machine_has_some_memory():
    room = available_bytes()
    assert room is None or 0 < room < 2**50


# --- the verdict ---------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_with_what_would(monkeypatch):
    size, gate = Size.from_counts(10**6, 10**7, 1000, 0.02), GATE((512, 512))
    needed = training_bytes(Plan.of(size, gate))
    monkeypatch.setattr(verdict, "available_bytes", lambda: needed)
    check_fits(size, gate)
    with pytest.raises(InputError, match="this run needs about"):
        check_fits(size, gate, graph_too=1)
    monkeypatch.setattr(verdict, "available_bytes", lambda: needed // 3)
    with pytest.raises(InputError, match=r"--dims 128,128 would fit \(`graphgate embed --f"):
        check_fits(size, gate)
    assert training_bytes(Plan.of(size, GATE((128, 128)))) <= needed // 3
    assert training_bytes(Plan.of(size, GATE((256, 256)))) > needed // 3
    monkeypatch.setattr(verdict, "available_bytes", lambda: 10)
    with pytest.raises(InputError, match="not even dims of 1 would fit"):
        check_fits(size, gate)
    monkeypatch.setattr(verdict, "available_bytes", lambda: None)
    check_fits(size, gate)


def test_another_device_has_other_memory(monkeypatch):
    monkeypatch.setattr(verdict, "available_bytes", lambda: 0)
    check_fits(Size.from_counts(10, 5, 3), GATE(device="cuda"))


def test_dims_that_fit_are_as_asked_where_they_can_be():
    size = Size.from_counts(1000, 2000, 30)
    assert fitting_dims(size, GATE((64, 16)), 2**40) == (64, 16)
    assert fitting_dims(size, GATE((64, 16)), 0) is None


def test_amounts_as_people_say_them():
    assert [in_units(x) for x in (12, 2048, 1.5 * 2**20, 300 * 2**20, 3 * 2**30)] == [
        *("12 bytes", "2 KiB", "1.5 MiB", "300 MiB", "3.0 GiB"),
    ]
    assert [in_time(x) for x in (0.0123, 5.04, 600, 3 * 3600)] == [
        "12 ms",
        "5.0 s",
        "10 min",
        "3.0 h",
    ]
