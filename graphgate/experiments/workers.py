"""Many pieces of work on the cores of one machine."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch

from graphgate.errors import InputError
from graphgate.experiments.protocol import Run, Task
from graphgate.experiments.scores import SCORES
from graphgate.io.progress import progress_bar

# What share of its cores a run makes use of: on two cores a run on Cora was 1.8 times as fast as on
# one (benchmarks/layouts.py, which also shows whether the layout chosen by it is the faster one).
_THREAD_GAIN = 0.9


@dataclass(frozen=True)
class Layout:
    """How the runs share the machine: so many processes with so many threads each."""

    processes: int
    threads: int


def best_layout(runs: int, cores: int | None = None) -> Layout:
    """Processes of one thread each where that ends sooner than run after run on all cores.

    Runs do not share anything, so processes use every core fully; but the last round of
    processes may leave cores idle, and with few runs that costs more.
    """
    cores = cores or available_cores()
    one_by_one = Layout(1, cores)
    if cores == 1 or runs <= 1:
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
    runs: dict[int, Run] = {}
    metric = SCORES[task.setting].shown[0]
    with progress_bar(task.setting, len(seeds), show=show_progress) as advance:
        for seed, run in each(task.run, seeds, layout):
            runs[seed] = run
            done = [run.metrics[metric] or 0.0 for run in runs.values()]
            advance(note=f"{metric} {mean(done):.1f}")
    return tuple(runs[seed] for seed in seeds)


def each(work: Callable[[Any], Any], items: Sequence[Any], layout: Layout) -> Iterator[Any]:
    """(item, work(item)) for every item, in the order in which they are done.

    `work` is sent to every process once; an item and its result should be small.
    """
    if layout.processes == 1:
        before = torch.get_num_threads()
        torch.set_num_threads(layout.threads)
        try:
            for item in items:
                yield item, work(item)
        finally:
            torch.set_num_threads(before)
        return
    others = set(multiprocessing.active_children())
    # "spawn": a forked child inherits the locks of the parent's threads, and may hang on them.
    pool = ProcessPoolExecutor(
        min(layout.processes, max(1, len(items))),
        multiprocessing.get_context("spawn"),
        _start,
        (work, layout.threads, os.getpid()),
    )
    ended = False
    try:
        with _deaf_children():
            promises = {pool.submit(_do, item): item for item in items}
        for promise in as_completed(promises):
            yield promises[promise], promise.result()
        ended = True
    except BrokenProcessPool:
        raise InputError(
            "a process was killed in the middle of a run, most likely for lack of memory; "
            "use fewer --jobs, or smaller settings"
        ) from None
    finally:
        if not ended:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
        # Once, and waiting: its thread would else find its pipes closed as Python ends, and after
        # a call that does not wait a second one has no thread left to wait for.
        pool.shutdown(wait=True, cancel_futures=True)


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


_work: Callable[[Any], Any]


def _start(work: Callable[[Any], Any], threads: int, parent: int) -> None:
    global _work
    torch.set_num_threads(threads)
    _work = work
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A child whose parent was killed ends too, instead of going on for nobody."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _do(item: Any) -> Any:
    return _work(item)
