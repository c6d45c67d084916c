"""Runs in several processes: the same numbers, no trace left, and clear errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from experiment_runs import labelled_graph, small_gate

from graphgate import evaluate
from graphgate.errors import InputError
from graphgate.paper.experiments import parallel
from graphgate.paper.experiments.parallel import available_cores, faster_n_jobs, run_unordered
from graphgate.paper.experiments.protocol import run_classification


def one_run(seed: int) -> list[tuple[str, float]]:
    found = run_classification(
        small_gate(seed),
        labelled_graph(),
        "inductive",
        unseen=("test",),
        probe="one-vs-rest",
        seed=seed,
    )
    return sorted(found.metrics.items())


def threads_of(item: str) -> int:
    return torch.get_num_threads()


def fail_on_two(item: int) -> int:
    if item == 2:
        raise InputError("two is refused")
    time.sleep(0.1)
    return item


def be_killed(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_processes_change_no_number_and_are_missed_when_killed():
    seeds = [4, 7, 5]
    in_this_process = list(run_unordered(one_run, seeds, n_jobs=1))
    assert [seed for seed, _ in in_this_process] == seeds
    assert dict(run_unordered(one_run, seeds, n_jobs=2)) == dict(in_this_process)
    # Workers have one thread each. Starting them takes seconds, so the same ones are asked.
    assert dict(run_unordered(threads_of, "abc", n_jobs=2)) == dict.fromkeys("abc", 1)
    with pytest.raises(InputError, match="a worker process was killed during a run") as raised:
        list(run_unordered(be_killed, [1, 2], n_jobs=2))
    assert "--" not in str(raised.value)


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_the_number_of_threads_in_this_process(n_jobs):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert dict(run_unordered(threads_of, "ab", n_jobs=n_jobs)) == dict.fromkeys(
            "ab", n_jobs or 2
        )
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_results_need_not_all_be_taken():
    found = run_unordered(fail_on_two, [1, 3, 4, 5], n_jobs=2)
    assert next(found)[0] in (1, 3)
    found.close()
    assert sorted(run_unordered(fail_on_two, [6, 7], n_jobs=2)) == [(6, 6), (7, 7)]
    with pytest.raises(InputError, match="two is refused"):
        list(run_unordered(fail_on_two, [1, 2, 3, 4], n_jobs=2))


@pytest.mark.parametrize(
    ("n_runs", "cores", "n_jobs"),
    [
        (1, 4, None),
        (5, 1, None),
        (2, 2, 2),  # one round of two, instead of two rounds of 1/1.8 each
        (3, 2, None),  # two rounds, instead of three of 1/1.8 each
        (100, 2, 2),
        (3, 8, None),  # only three of eight cores would work
        (8, 8, 8),
    ],
)
def test_the_faster_number_of_processes(n_runs, cores, n_jobs):
    assert faster_n_jobs(n_runs, cores) == n_jobs


def test_cores_are_limited_by_the_machine_and_by_torch(monkeypatch):
    for machine, threads, cores in ((8, 2, 2), (2, 8, 2), (4, 4, 4)):
        monkeypatch.setattr(parallel.joblib, "cpu_count", lambda machine=machine: machine)
        monkeypatch.setattr(parallel.torch, "get_num_threads", lambda threads=threads: threads)
        assert available_cores() == cores


def used_cores() -> str:
    found = evaluate("raw", "citeseer", n_runs=4, progress=False)
    threads = {run.threads for run in found.runs}
    return f"{available_cores()} {threads} {torch.get_num_threads()}"


@pytest.mark.slow
def test_evaluate_uses_one_core_where_torch_has_one(empty_folder):
    """Also on a machine with several cores."""
    assert torch.get_num_threads() == 1
    assert used_cores() == "1 {1} 1"


@pytest.mark.slow
def test_evaluate_uses_one_core_where_a_variable_says_so(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    here = Path(__file__).parent
    path = [*map(str, (here, here.parent, Path(parallel.__file__).parents[3]))]
    environment |= {"PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import test_parallel; print(test_parallel.used_cores())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout.strip() == "1 {1} 1"
