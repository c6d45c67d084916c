"""A call in a process of its own, within limits of processor time and memory."""

import math
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any


class LimitReached(Exception):
    """The call needs more than it may have; `what` is "time" or "memory"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class CallFailed(Exception):
    """The call raised something else, or its process died."""


def call_within(function: Callable[[], Any], *, cpu_seconds: float, memory: int) -> Any:
    """What a call returns.

    Processor time is counted, which other work on the machine does not change. Function and result
    are pickled. Raises `LimitReached` or `CallFailed`.

    memory : bytes of address space of the process.
    """
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(
        target=_answer, args=(function, results, cpu_seconds, memory), daemon=True
    )
    process.start()
    try:
        kind, content = _awaited(results, process)
    finally:
        process.kill()
        process.join()
    if kind == "limit":
        raise LimitReached(content)
    if kind == "error":
        raise CallFailed(content)
    return content


def _awaited(results: Any, process: BaseProcess) -> tuple[str, Any]:
    while process.is_alive():
        with suppress(Empty):
            return results.get(timeout=1)
    if process.exitcode == -signal.SIGXCPU:
        return "limit", "time"
    with suppress(Empty):  # what it said last
        return results.get(timeout=1)
    return "error", f"its process ended with exit code {process.exitcode}"


def _answer(function: Callable[[], Any], results: Any, cpu_seconds: float, memory: int) -> None:
    allowed = math.ceil(time.process_time() + cpu_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 60))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        results.put(("result", function()))
    except LimitReached as reached:
        results.put(("limit", reached.what))
    except Exception as error:  # whatever it is, the other process names it
        named = ("error", f"{type(error).__name__}: {error}")
        results.put(("limit", "memory") if is_memory_error(error) else named)


def is_memory_error(error: Exception) -> bool:
    """Torch raises RuntimeError where its allocator gets nothing."""
    text = str(error)
    signs = ("allocate memory", "not enough memory", "bad_alloc")
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)
