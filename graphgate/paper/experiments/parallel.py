"""Independent runs on the cores of one machine."""

import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import joblib
import torch

from graphgate.errors import InputError

# The fraction of its cores that a run uses: on two cores a run on Cora was 1.8 times as fast as on
# one (benchmarks/layouts.py, which also checks that the choice made with it is the faster one).
_THREAD_GAIN = 0.9


def available_cores() -> int:
    """Cores that this process may use.

    Affinity and container limits count, and so does the number of threads that torch was given,
    by `torch.set_num_threads` or OMP_NUM_THREADS.
    """
    return min(joblib.cpu_count(), torch.get_num_threads())


def faster_n_jobs(n_runs: int, cores: int) -> int | None:
    """The number of single-threaded processes; None if one run after another is faster.

    Processes use every core fully, because runs share nothing; but the last round of processes
    may leave cores idle, and with few runs that costs more.
    """
    if cores == 1 or n_runs <= 1:
        return None
    rounds = math.ceil(n_runs / cores)
    return min(cores, n_runs) if rounds * max(1.0, _THREAD_GAIN * cores) < n_runs else None


def run_unordered(
    function: Callable[[Any], Any], items: Sequence[Any], *, n_jobs: int | None
) -> Iterator[tuple[Any, Any]]:
    """Yields (item, function(item)) for every item, in the order in which they finish.

    n_jobs : single-threaded processes; None runs one item after another in this process, with
        torch's number of threads. Function, items and results are pickled.
    """
    if n_jobs is None or min(n_jobs, len(items)) <= 1:
        before = torch.get_num_threads()
        torch.set_num_threads(before if n_jobs is None else 1)
        try:
            for item in items:
                yield item, function(item)
        finally:
            torch.set_num_threads(before)
        return
    try:
        with _ignored_interrupts(), joblib.parallel_config("loky", inner_max_num_threads=1):
            # A run takes seconds, so runs are handed out one by one.
            parallel = joblib.Parallel(
                n_jobs=min(n_jobs, len(items)),
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch="n_jobs",
            )
            results = parallel(
                joblib.delayed(_in_worker)(function, item, os.getpid()) for item in items
            )
        try:
            for item, result in results:
                yield item, result
        finally:
            with warnings.catch_warnings():  # joblib warns about the runs that it abandons
                warnings.simplefilter("ignore")
                results.close()
    except BrokenProcessPool:
        raise InputError(
            "a worker process was killed during a run, most likely for lack of memory; "
            "use fewer processes, or a smaller model"
        ) from None


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Processes started in the block always ignore Ctrl-C; this process ends them.

    A mask would not do: loky unblocks the signal when it starts its resource tracker.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_worker(function: Callable[[Any], Any], item: Any, parent: int) -> tuple[Any, Any]:
    if not any(thread.name == _WATCH for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=_WATCH, daemon=True).start()
    return item, function(item)


_WATCH = "graphgate-parent-watch"


def _end_with(parent: int) -> None:
    """Ends a worker whose parent was killed, instead of leaving it running."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
