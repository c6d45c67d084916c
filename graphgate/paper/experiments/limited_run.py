"""A call in a process of its own, within limits of processor time and memory."""

import math
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class LimitReached(Exception):
    """The call exceeds a limit; the argument is "time" or "memory"."""


class CallFailed(Exception):
    """The call raised something else, or its process died."""


def call_within(function: Callable[[], Any], *, cpu_seconds: float, memory: int) -> Any:
    """What a call returns.

    Processor time is counted, which other work on the machine does not change. Function and result
    are pickled. Raises `LimitReached` or `CallFailed`.

    memory : bytes of address space of the process.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(
        target=_answer, args=(sending, function, cpu_seconds, memory), daemon=True
    )
    process.start()
    sending.close()  # so that the pipe ends when the process does
    try:
        result = receiving.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            raise LimitReached("time") from None
        raise CallFailed(f"its process ended with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if isinstance(result, LimitReached | CallFailed):
        raise result
    return result


def _answer(
    sending: Connection, function: Callable[[], Any], cpu_seconds: float, memory: int
) -> None:
    allowed = math.ceil(time.process_time() + cpu_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 60))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        result = function()
    except Exception as error:  # whatever it is, the other process names it
        failed = CallFailed(f"{type(error).__name__}: {error}")
        result = LimitReached("memory") if is_memory_error(error) else failed
    sending.send(result)


def is_memory_error(error: Exception) -> bool:
    """Torch raises RuntimeError where its allocator gets nothing."""
    signs = ("allocate memory", "not enough memory", "bad_alloc")
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in signs)
