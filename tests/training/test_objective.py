"""The objective of a fit: as the plan says, in the memory that is there."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from graphgate.compute import machine
from graphgate.compute.columns import Blocks
from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.datasets.synthetic import community_graph
from graphgate.errors import MemoryLimitError, TrainingWarning
from graphgate.estimators import embedder
from graphgate.estimators.gate import GATE
from graphgate.nn import collapsed_step
from graphgate.training import part_objective
from graphgate.training.memory import training_bytes
from graphgate.training.objective import training_objective

pytestmark = pytest.mark.numerical


def fitted(gate, graph, monkeypatch):
    """The estimator, fitted, and the objective that it was trained with."""
    made = []

    def watched(*args, **kwargs):
        made.append(training_objective(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(part_objective, "training_objective", watched)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # so few epochs have not converged
        gate.fit(graph)
    return gate, made[0]


@pytest.mark.parametrize("preset", [None, "paper"])
def test_a_fit_in_less_memory_gives_the_same_result(monkeypatch, preset):
    graph = community_graph(3000, 9000, 200, n_entries=30_000)
    settings = {"dims": (64, 64), "preset": preset, "epochs": 4, "random_state": 0}
    settings |= {"dtype": "float64", "progress": False}
    monkeypatch.setattr(machine, "resident_bytes", lambda: 0)  # the limit is for training alone
    monkeypatch.setattr(collapsed_step, "_CHUNK", 1 << 14)  # else chunks are larger than the graph
    whole, step = fitted(GATE(**settings), graph, monkeypatch)
    assert len(step.columns) == 1
    plan = whole.plan(GraphCounts.of(graph)).plan
    limit = training_bytes(plan)
    same, step = fitted(GATE(**settings, memory_limit=limit), graph, monkeypatch)
    assert len(step.columns) == 1
    assert np.array_equal(same.embedding_, whole.embedding_)
    for blocks in (Blocks(32), Blocks(16, spilled=True)):
        # The start is over before the first step, and a limit is kept within a fifth.
        limit = training_bytes(replace(plan, blocks=blocks, svd_start=False))
        blocked, step = fitted(GATE(**settings, memory_limit=limit), graph, monkeypatch)
        assert (len(step.columns), step.blocks.spilled) == (64 // blocks.width, blocks.spilled)
        np.testing.assert_allclose(blocked.history_["loss"], whole.history_["loss"], rtol=1e-10)
        np.testing.assert_allclose(blocked.embedding_, whole.embedding_, rtol=1e-6, atol=1e-9)
    with pytest.raises(
        MemoryLimitError, match=r"memory limit leaves 9\.5 MiB beside the .* raise it"
    ) as e:
        GATE(**settings, memory_limit="10MB").fit(graph)
    assert e.value.available == 10_000_000 < e.value.needed


def test_what_is_free_decides_without_a_limit(monkeypatch):
    graph = community_graph(3000, 9000, 200, n_entries=30_000)
    monkeypatch.setattr(collapsed_step, "_CHUNK", 1 << 14)
    gate, counts = GATE((64, 64), dtype="float64", preset="paper"), GraphCounts.of(graph)

    def blocks(gate: GATE, local_size: int = 1) -> Blocks | None:
        plan, _ = gate.planned(counts, Processes(local_size=local_size))
        return plan.plan.blocks

    needed = gate.plan(counts).bytes
    for missing in (0, 1):
        monkeypatch.setattr(embedder, "available_bytes", lambda: needed - missing)  # noqa: B023
        assert (blocks(gate) is None) == (missing == 0)
        assert blocks(gate, local_size=2) is not None
        assert blocks(clone(gate).set_params(device="cuda")) is None
    monkeypatch.setattr(embedder, "available_bytes", lambda: None)
    assert blocks(gate) is None
