"""Measurements in processes of their own: fresh memory, and a limit that protects the machine."""

import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import torch

from graphgate.paper.experiments.limited_run import is_memory_error

OUT_OF_MEMORY = "out of memory"


class Process:
    """A generator in a process of its own, which computes a value whenever it is asked for one.

    Every value is a dictionary, to which a status is added, "ok" or "out of memory". A process that
    the system killed ran out of memory as well: it cannot report that itself.

    limit : GiB beyond the address space that the imported libraries have taken.
    """

    context: ClassVar[Any] = multiprocessing.get_context("spawn")

    def __init__(
        self, function: Callable[..., Iterator[Any]], *arguments: Any, limit: float | None = None
    ) -> None:
        self._connection, child = self.context.Pipe()
        most = default_limit_gib() if limit is None else limit
        given = (child, most, torch.get_num_threads(), function, arguments)
        self._process = self.context.Process(target=_answer, args=given, daemon=True)
        self._process.start()
        child.close()

    def next(self, timeout: float | None = None) -> dict[str, Any]:
        """Ask for a value and wait for it, for at most this many seconds."""
        try:
            self.ask()
            if not self._connection.poll(timeout):
                raise SystemExit(f"a process has not answered within {timeout:.0f} s")
            value: dict[str, Any] = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            if self._process.exitcode in (-signal.SIGKILL, -signal.SIGABRT):
                return {"status": OUT_OF_MEMORY}
            raise SystemExit(f"a process failed with code {self._process.exitcode}") from None
        return value

    def ask(self) -> None:
        self._connection.send(None)

    def answers_within(self, seconds: float) -> bool:
        """Whether the value that was asked for arrives in this time."""
        return bool(self._connection.poll(seconds))

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self._process.kill()
        self._process.join()


def isolated(
    function: Callable[..., dict[str, Any]], *arguments: Any, limit: float | None = None
) -> dict[str, Any]:
    """The result of a function that runs in a process of its own, and its status."""
    process = Process(_once, function, *arguments, limit=limit)
    try:
        return process.next()
    finally:
        process.end()


def _once(function: Callable[..., dict[str, Any]], *arguments: Any) -> Iterator[dict[str, Any]]:
    yield function(*arguments)


def _answer(
    connection: Connection,
    limit: float,
    threads: int,
    function: Callable[..., Iterator[Any]],
    arguments: Any,
) -> None:
    torch.set_num_threads(threads)
    limit_memory(limit)
    values = function(*arguments)
    while True:
        connection.recv()
        try:
            value = {"status": "ok"} | next(values)
        except (MemoryError, RuntimeError) as error:
            if not is_memory_error(error):
                raise
            value = {"status": OUT_OF_MEMORY}
        connection.send(value)


def limit_memory(gib: float) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = pages * resource.getpagesize() + int(gib * 2**30)
    resource.setrlimit(
        resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard)
    )


def default_limit_gib() -> float:
    """At most 20 GiB, and never so much that the machine itself runs out."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return round(min(20.0, 0.85 * free / 2**20), 1)
