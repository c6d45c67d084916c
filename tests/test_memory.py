"""Memory of a planned run, counted, and memory of the machine, read from the system."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graphgate.datasets.synthetic import community_graph
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.collapsed_step import CollapsedStep, buffer_shapes
from graphgate.nn.losses import Loss
from graphgate.nn.svd_start import start_from_features
from graphgate.training import memory
from graphgate.training.memory import available_bytes, graph_bytes, training_bytes
from graphgate.training.objective import training_objective
from graphgate.training.plan import GraphCounts, TrainingPlan


def test_bytes_of_a_graph_are_those_of_its_arrays():
    graph = community_graph(500, 2000, 40, n_entries=2000)
    arrays = [graph.x.data, graph.x.indices, graph.x.indptr, graph.ids]
    arrays += [graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr]
    expected = sum(array.nbytes for array in arrays)
    assert graph_bytes(GraphCounts.of(graph)) == pytest.approx(expected, rel=0.01)


def allocated(step: CollapsedStep) -> int:
    """Bytes of every tensor that a step keeps, each storage once."""
    kept = [step.g, *step.h, *step.u, step.t, step.d_h, step.b, step.d_b, step.gram, step.k]
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in kept}.values())


@pytest.mark.parametrize("feature_weight", [1.0, 0.0])
@pytest.mark.parametrize("dims", [(64, 48), (64,), (64, 64, 48)])
def test_all_buffers_of_a_step_are_counted(dims, feature_weight):
    graph = community_graph(2000, 10, 300, n_entries=6000)
    loss = Loss(feature_weight=feature_weight)
    architecture = Architecture(300, dims)
    model = GATEModel(architecture, np.random.default_rng(0))
    step = training_objective(model, graph, loss)
    assert isinstance(step, CollapsedStep)
    shapes = buffer_shapes(architecture, 2000, feature_loss=bool(feature_weight))
    assert allocated(step) == 4 * sum(rows * columns for rows, columns in shapes.values())

    plan = TrainingPlan(GraphCounts.of(graph), architecture, feature_loss=bool(feature_weight))
    weights = sum(p.nbytes for p in model.parameters())
    assert plan.n_parameters * 4 == weights
    held = allocated(step) + 4 * weights  # weights, gradients, and two moments of Adam
    rest = training_bytes(plan) - 24 * 2**20 - held
    assert 0 < rest < 0.3 * held  # attention, the pattern, and Xᵀ


@pytest.mark.parametrize(("nodes", "features"), [(20_000, 50), (500, 4000)])
def test_the_arrays_of_a_start_from_singular_vectors_are_counted(nodes, features):
    graph = community_graph(nodes, 3 * nodes, features, n_entries=10 * nodes)
    architecture = Architecture(features, (16, 8))
    model = GATEModel(architecture, np.random.default_rng(0))
    start_from_features(model, graph, np.random.default_rng(0))  # imports what it needs
    tracemalloc.start()
    start_from_features(model, graph, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    plan = TrainingPlan(GraphCounts.of(graph), architecture, svd_start=True)
    counted = training_bytes(plan) - 24 * 2**20 - plan.n_parameters * 4
    assert 0.6 * peak < counted < 2 * peak + plan.n_parameters * 32


def bytes_of(dims=(64, 32), *, dtype=torch.float32, feature_loss=True, **counts) -> int:
    sizes = {"n_nodes": 10_000, "n_edges": 50_000, "n_features": 100, "density": 0.1} | counts
    planned = GraphCounts.planned(**sizes)
    architecture = Architecture(planned.features, dims)
    return training_bytes(TrainingPlan(planned, architecture, dtype, feature_loss))


@pytest.mark.parametrize(
    "change",
    [
        {"n_nodes": 20_000},
        {"n_edges": 500_000},
        {"n_features": 10_000},
        {"density": 1.0},
        {"dtype": torch.float64},
        {"dims": (128, 64)},
    ],
)
def test_a_larger_run_takes_more(change):
    assert bytes_of(**change) > bytes_of()


def test_a_run_without_a_feature_loss_takes_less():
    assert bytes_of(feature_loss=False) < bytes_of()


# --- the machine ---------------------------------------------------------------------------------


def system(folder: Path, available: int, group: str = "0::/job") -> Path:
    proc = folder / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available} kB\n")
    (proc / "self" / "cgroup").write_text(f"{group}\n")
    (proc / "self" / "status").write_text("VmSize: 5 kB\n")
    return proc


def test_the_available_memory_of_the_system(tmp_path):
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


def test_the_limit_of_the_process(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (6 * 1024, 6 * 1024))
    assert available_bytes(system(tmp_path, 1000), tmp_path / "none") == 1024


def test_a_system_that_reports_nothing(tmp_path):
    if memory.sys.platform != "darwin":
        assert available_bytes(tmp_path / "none", tmp_path / "none") is None


def test_this_machine_has_some_memory():
    available = available_bytes()
    assert available is None or 0 < available < 2**50


def test_by_parts_the_embedding_takes_most():
    counts = GraphCounts.planned(1_000_000, 10_000_000, 1000, 0.02)
    whole = TrainingPlan(counts, Architecture(1000, (512, 512)), svd_start=True)
    parts = replace(whole, part_size=4096)
    embedding = 1_000_000 * 512 * 4
    assert embedding < training_bytes(parts) < 2 * embedding < training_bytes(whole) / 3
    narrow = replace(parts, architecture=Architecture(1000, (512, 8)))
    assert training_bytes(narrow) < training_bytes(parts) - 0.8 * embedding
    many = replace(parts, parts_per_step=1000)
    assert training_bytes(many) > 2000 * parts.n_parameters * 4
