"""Memory of a planned run, counted."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graphgate.compute.columns import Blocks
from graphgate.compute.counts import GraphCounts, graph_bytes
from graphgate.compute.machine import release_freed_memory
from graphgate.compute.measure import measured, resident
from graphgate.datasets.synthetic import community_graph
from graphgate.nn import collapsed_step
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.losses import Loss
from graphgate.nn.svd_start import start_from_features
from graphgate.training.memory import embedding_bytes, fitting_plan, training_bytes
from graphgate.training.objective import training_objective
from graphgate.training.plan import TrainingPlan

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc"
)


def test_bytes_of_a_graph_are_those_of_its_arrays():
    graph = community_graph(500, 2000, 40, n_entries=2000)
    arrays = [graph.x.data, graph.x.indices, graph.x.indptr, graph.ids]
    arrays += [graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr]
    expected = sum(array.nbytes for array in arrays)
    assert graph_bytes(GraphCounts.of(graph)) == pytest.approx(expected, rel=0.01)


def allocated(step: CollapsedStep) -> int:
    """Bytes of every tensor that a step keeps, each storage once."""
    kept = [*step.buffers, step.b, step.d_b, step.gram, step.k]
    if step.loss.feature_weight:
        kept.append(step.q.block(0))
    return sum(tensor.nbytes for tensor in kept)


@pytest.mark.parametrize("feature_weight", [1.0, 0.0])
@pytest.mark.parametrize("dims", [(64, 48), (64,), (64, 64, 48)])
def test_all_buffers_of_a_step_are_counted(monkeypatch, dims, feature_weight):
    monkeypatch.setattr(collapsed_step, "_CHUNK", 1 << 12)  # else chunks are larger than the graph
    graph = community_graph(2000, 10, 300, n_entries=6000)
    loss = Loss(feature_weight=feature_weight)
    architecture = Architecture(300, dims)
    model = GATEModel(architecture, np.random.default_rng(0))
    step = training_objective(model, graph, loss)
    assert isinstance(step, CollapsedStep)
    plan = TrainingPlan(GraphCounts.of(graph), architecture, feature_loss=bool(feature_weight))
    weights = sum(p.nbytes for p in model.parameters())
    assert plan.n_parameters * 4 == weights
    held = allocated(step) + 4 * weights  # weights, gradients, and two moments of Adam
    rest = training_bytes(plan) - 24 * 2**20 - held
    assert 0 < rest < 0.3 * held  # attention, the pattern, and Xᵀ


@needs_proc
@pytest.mark.parametrize(("nodes", "features"), [(20_000, 50), (500, 4000), (100, 9000)])
def test_the_arrays_of_a_start_from_singular_vectors_are_counted(nodes, features):
    graph = community_graph(nodes, 3 * nodes, features, n_entries=10 * nodes)
    architecture = Architecture(features, (16, 8))
    model = GATEModel(architecture, np.random.default_rng(0))
    start_from_features(model, graph, Loss(), np.random.default_rng(0))  # imports what it needs
    release_freed_memory()
    before = resident()
    with measured() as cost:
        start_from_features(model, graph, Loss(), np.random.default_rng(0))
    peak = (cost.peak_memory_mb - before) * 2**20
    plan = TrainingPlan(GraphCounts.of(graph), architecture, svd_start=True)
    counted = training_bytes(plan) - 24 * 2**20 - plan.n_parameters * 4
    kept = 16 << 20  # by allocators, whose peak depends on what ran before in this process
    assert 0.9 * peak < counted + kept
    assert counted < 2 * (peak + kept) + plan.n_parameters * 32


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


# --- blocks of columns ---------------------------------------------------------------------------

WIDE = TrainingPlan(
    GraphCounts.planned(100_000, 1_000_000, 1000, 0.02), Architecture(1000, (512, 512))
)


def test_what_fits_is_trained_at_once():
    needed = training_bytes(WIDE)
    for room in (None, 2**50, needed):
        assert fitting_plan(WIDE, room) == WIDE
    assert fitting_plan(WIDE, needed - 1).blocks is not None


@pytest.mark.parametrize("share", [0.9, 0.7, 0.5, 0.4, 0.3])
def test_blocks_are_as_wide_as_memory_allows(share):
    room = int(share * training_bytes(WIDE))
    found = fitting_plan(WIDE, room)
    assert training_bytes(found) <= room
    blocks = found.blocks
    assert blocks.width >= (16 if blocks.spilled else 32)
    wider = replace(blocks, width=2 * blocks.width)
    assert blocks.width == 64 or training_bytes(replace(found, blocks=wider)) > room
    if blocks.spilled:  # no blocks in memory would fit
        kept = replace(blocks, width=32, spilled=False)
        assert training_bytes(replace(found, blocks=kept)) > room


def test_where_nothing_fits_the_least_is_taken():
    least = fitting_plan(WIDE, 0)
    assert least.blocks.spilled
    widths = (512, 64, 32, 16)
    choices = [Blocks(width, spilled) for width in widths for spilled in (False, True)]
    needed = [training_bytes(replace(WIDE, blocks=each)) for each in choices]
    assert training_bytes(least) == min(needed) < 0.35 * training_bytes(WIDE)


def test_processes_split_the_columns_even_if_everything_fits():
    for room in (None, 2**50):
        assert fitting_plan(WIDE, room, 3).blocks == Blocks(171)
    assert fitting_plan(WIDE, 0, 3).blocks == Blocks(32, spilled=True)
    # Each process has the whole embedding in the end.
    assert training_bytes(fitting_plan(WIDE, 0, 64)) == (24 << 20) + embedding_bytes(WIDE)


def test_other_forms_have_no_blocks():
    for settings in ({"activation": "relu"}, {"tied_weights": False}):
        plan = replace(WIDE, architecture=Architecture(1000, (512, 512), **settings))
        assert fitting_plan(plan, 0, 2) == plan


PEAK = """
import json, sys, torch, numpy as np
from graphgate.compute.machine import release_freed_memory
from graphgate.datasets.synthetic import community_graph
from graphgate.compute.measure import measured, resident
from graphgate.nn import collapsed_step
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.losses import Loss
from graphgate.training.adam import Adam
from graphgate.compute.counts import GraphCounts
from graphgate.training.memory import fitting_plan
from graphgate.training.objective import training_objective
from graphgate.training.plan import TrainingPlan
torch.set_num_threads(1)
def train(graph, limit):
    model = GATEModel(Architecture(300, (256, 256)), np.random.default_rng(0))
    plan = TrainingPlan(GraphCounts.of(graph), model.architecture)
    step = training_objective(model, graph, Loss(), fitting_plan(plan, limit))
    optimizer = Adam(dict(model.named_parameters()), 1e-3)
    for _ in range(2):
        step()
        optimizer.step()
    return step
train(community_graph(9000, 100, 300, n_entries=9000), None)  # loads libraries
graph = community_graph(40_000, 120_000, 300, n_entries=400_000)
for limit in map(int, sys.argv[1:]):
    step = None
    before = resident()
    with measured() as cost:
        step = train(graph, limit)
    print(json.dumps([cost.peak_memory_mb - before, step.blocks.spilled, len(step.columns)]))
"""


EMBEDDING = """
import json, sys, torch
from graphgate.compute.machine import release_freed_memory
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.gate import GATE
from graphgate.compute.measure import measured, resident
torch.set_num_threads(1)
nodes, activation = int(sys.argv[1]), sys.argv[2]
small = community_graph(900, 3000, 300, n_entries=9000)
gate = GATE(dims=(128, 128), epochs=1, activation=activation, progress=False).fit(small)
graph = community_graph(nodes, 5 * nodes, 300, n_entries=10 * nodes)
before = resident()
with measured() as cost:
    z = gate.transform(graph)
print(json.dumps(cost.peak_memory_mb - before))
"""


def lines_of(script: str, *arguments: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
        # What is freed goes back to the system at once, so that the peak is that of the arrays.
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    return done.stdout.splitlines()


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_an_embedding_takes_as_much_memory_as_counted(activation):
    nodes = 80_000
    counts = GraphCounts.planned(nodes, 5 * nodes, 300, 10 / 300)
    plan = TrainingPlan(counts, Architecture(300, (128, 128), activation))
    (peak,) = map(json.loads, lines_of(EMBEDDING, nodes, activation))
    assert 0.8 * embedding_bytes(plan) < peak * 2**20 < embedding_bytes(plan)


@pytest.mark.slow
@needs_proc
def test_blocks_take_as_much_memory_as_counted():
    limits = [150 << 20, 100 << 20]
    lines = lines_of(PEAK, *limits)
    counts = GraphCounts.planned(40_000, 120_000, 300, 400_000 / (40_000 * 300))
    whole = TrainingPlan(counts, Architecture(300, (256, 256)))
    found = [json.loads(line) for line in lines]
    for limit, (peak, spilled, blocks) in zip(limits, found, strict=True):
        plan = fitting_plan(whole, limit)
        assert (spilled, blocks) == (plan.blocks.spilled, 256 // plan.blocks.width)
        assert training_bytes(plan) <= limit < training_bytes(whole)
        counted = training_bytes(plan) / 2**20 - 24  # without what libraries take at first
        assert peak == pytest.approx(counted, rel=0.1)
    assert [spilled for _, spilled, _ in found] == [False, True]


def test_by_parts_the_embedding_takes_most():
    counts = GraphCounts.planned(1_000_000, 10_000_000, 1000, 0.02)
    whole = TrainingPlan(counts, Architecture(1000, (512, 512)), svd_start=True)
    parts = replace(whole, part_size=4096)
    embedding = 1_000_000 * 512 * 4
    assert embedding < training_bytes(parts) < 2 * embedding < training_bytes(whole) / 3
    narrow = replace(parts, architecture=Architecture(1000, (512, 8)))
    assert training_bytes(narrow) < training_bytes(parts) - 0.8 * embedding
    many = replace(parts, parts_per_step=1000)
    assert training_bytes(many) == training_bytes(parts)  # gradients are added up
