"""What a fit says about its plan before it starts, and about its traffic afterwards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from graphgate.compute.machine import format_bytes
from graphgate.compute.processes import Processes
from graphgate.compute.speed import Work, format_seconds

logger = logging.getLogger(__name__)


def log_plan(processes: Processes, plan: str, needed: int, work: Work) -> None:
    """Say how a fit will be done, in how much memory beside the graph, and about how long.

    work : of all processes together, which share it.
    """
    if not (processes.leads and logger.isEnabledFor(logging.INFO)):
        return  # speeds take a moment to measure
    seconds = (work * (1 / processes.size)).seconds()
    time = "less than a second" if seconds < 1 else f"about {format_seconds(seconds)}"
    logger.info("plan: %s; about %s of memory, %s", plan, format_bytes(needed), time)


def log_traffic(processes: Processes) -> None:
    """Say what sharing a fit has cost so far."""
    if processes.size > 1 and processes.leads:
        logger.info(
            "each of %d processes has sent about %s, and this one has communicated for %s",
            processes.size,
            format_bytes(processes.bytes_sent),
            format_seconds(processes.seconds),
        )


@contextmanager
def silent_plans() -> Iterator[None]:
    """For fits that only measure."""
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
