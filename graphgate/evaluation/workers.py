"""Many runs on the cores of one machine, with one progress bar."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import mean

import torch

from graphgate.evaluation.protocol import Layout, Run, Task
from graphgate.progress import progress_bar

# What share of a further core a run makes use of: an estimate. benchmarks/layouts.py shows whether
# the layout chosen by it is the faster one.
_THREAD_GAIN = 0.85
_task: Task


def best_layout(runs: int, cores: int | None = None) -> Layout:
    """Processes of one thread each where that ends sooner than run after run on all cores.

    Runs do not share anything, so processes use every core fully; but the last round of
    processes may leave cores idle, and with few runs that costs more.
    """
    cores = cores or available_cores()
    one_by_one = Layout(1, cores)
    if cores == 1 or runs == 1:
        return one_by_one
    rounds = math.ceil(runs / cores)
    together = rounds * max(1.0, _THREAD_GAIN * cores) < runs
    return Layout(min(cores, runs), 1) if together else one_by_one


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    task: Task, seeds: Sequence[int], layout: Layout, *, show_progress: bool = True
) -> tuple[Run, ...]:
    """One run a seed, in the order of the seeds; the bytes do not depend on `processes`."""
    runs: list[Run] = []
    with progress_bar(task.setting, len(seeds), show=show_progress) as advance:
        for run in _runs(task, seeds, layout):
            runs.append(run)
            advance(note=f"accuracy {mean(run.accuracy for run in runs):.1f}")
    return tuple(runs)


def _runs(task: Task, seeds: Sequence[int], layout: Layout) -> Iterator[Run]:
    if layout.processes == 1:
        before = torch.get_num_threads()
        torch.set_num_threads(layout.threads)
        try:
            yield from map(task.run, seeds)
        finally:
            torch.set_num_threads(before)
        return
    # "spawn": a forked child inherits the locks of the parent's threads, and may hang on them.
    context = multiprocessing.get_context("spawn")
    with _deaf_children():
        pool = context.Pool(layout.processes, _start, (task, layout.threads))
    with pool:
        yield from pool.imap(_run, seeds)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Children made in this block ignore Ctrl-C: the parent hears it and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(task: Task, threads: int) -> None:
    global _task
    torch.set_num_threads(threads)
    _task = task


def _run(seed: int) -> Run:
    return _task.run(seed)
