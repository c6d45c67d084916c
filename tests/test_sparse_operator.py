"""Products of sparse matrices, and how long they take."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphs import random_graph

from graphgate.estimators.gate import GATE
from graphgate.linear import solution
from graphgate.training import run, speed
from graphgate.training.distributed import Processes
from graphgate.training.plan import GraphCounts
from graphgate.training.sparse_operator import SparseOperator
from graphgate.training.speed import Work

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 5, 40])
def test_sparse_products_some_rows_at_a_time(monkeypatch, dtype, columns):
    """Rows without entries, and a whole chunk of them, are zero."""
    monkeypatch.setattr("graphgate.nn.row_bags._ROWS", 7)
    rng = np.random.default_rng(columns)
    dense = np.where(rng.random((30, 12)) < 0.3, rng.normal(size=(30, 12)), 0)
    dense[5:21] = 0
    found = SparseOperator(sp.csr_array(dense), dtype)
    h = torch.from_numpy(rng.normal(size=(columns, 12))).to(dtype).T  # not contiguous
    wanted = dense @ h.numpy()
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    out = torch.full((30, columns), np.nan, dtype=dtype)
    assert found.multiply(h, out) is out
    np.testing.assert_allclose(out, wanted, atol=tolerance)
    np.testing.assert_array_equal(found.multiply(h), out)


def test_time_is_that_of_each_kind_of_product(monkeypatch):
    monkeypatch.setattr(speed, "_speeds", lambda: Work(sparse=10.0, gathered=20.0, dense=100.0))
    work = Work(sparse=30.0, gathered=40.0, dense=100.0)
    assert work.seconds() == 3 + 2 + 1
    assert (work * 0.5).seconds() == 3


def test_speeds_are_measured_once():
    found = speed._speeds()
    assert min(found.sparse, found.gathered, found.dense) > 0
    assert speed._speeds() is found


def test_the_time_of_a_plan_is_divided_by_the_processes(monkeypatch):
    said: list[Work] = []
    for module in (solution, run):
        monkeypatch.setattr(module, "plans_are_shown", lambda processes: True)
        monkeypatch.setattr(module, "log_plan", lambda plan, needed, work: said.append(work))
    graph = random_graph(0, 30, 5)
    counts, problem = GraphCounts.of(graph), solution.Problem(8, True, 0, torch.float32)
    gate = GATE((4, 2), epochs=7)
    _, loss, schedule = gate.checked_settings(5)
    training = run.TrainingRun(gate.training_plan(counts), loss, schedule, 0)
    for size in (1, 2):
        processes = Processes(0, size)
        problem._announce(graph, problem.size(counts).plan(None), processes)
        training._announce(processes, None)
    assert said[2] == said[0] * 0.5
    assert said[3] == said[1] * 0.5
    assert said[1] == training.plan.work() * 7
