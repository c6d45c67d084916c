"""What a fit says about its plan before it starts, and about its traffic afterwards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from graphgate.training.distributed import Processes
from graphgate.training.memory import format_bytes
from graphgate.training.speed import Work, format_seconds

logger = logging.getLogger(__name__)


def plans_are_shown(processes: Processes) -> bool:
    """Whether this process should say what the plan is; its time takes a moment to measure."""
    return processes.leads and logger.isEnabledFor(logging.INFO)


def log_plan(plan: str, needed: int, work: Work) -> None:
    """Say how a fit will be done, in how much memory beside the graph, and about how long."""
    seconds = work.seconds()
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
