"""The plan of a fit, what is said about it beforehand, and about its traffic afterwards."""

import logging

from graphgate.compute.machine import format_bytes
from graphgate.compute.processes import Processes
from graphgate.compute.speed import Work, format_seconds

_START = 0.2  # seconds of what does not depend on the size
logger = logging.getLogger(__name__)


class Plan:
    """How a method is fitted to a graph of a given size, in the memory that there is."""

    @property
    def bytes(self) -> int:
        """What the fit takes at its peak, in addition to the graph."""
        raise NotImplementedError

    @property
    def disk_bytes(self) -> int:
        """What it writes to temporary files."""
        return 0

    @property
    def epochs(self) -> int | None:
        """Their number, the largest where training stops by the loss; None without training."""
        return None

    @property
    def remedy(self) -> str:
        """What would take less memory."""
        return "use a smaller graph"

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        raise NotImplementedError

    def work(self) -> Work:
        """What all processes compute together, as far as it takes time."""
        return Work()

    def fitting_dims(self, room: int | None) -> tuple[int, ...] | None:
        """Sizes of layers that fit into this many bytes, none if none do; None without layers."""
        return None


def planned_seconds(plan: Plan, n_processes: int = 1) -> float:
    """The time of a fit, computed from its operations and their speed on this machine."""
    return _START + (plan.work() * (1 / n_processes)).seconds()


def log_plan(processes: Processes, plan: Plan) -> None:
    """Say how a fit will be done, in how much memory beside the graph, and about how long."""
    if not (processes.leads and logger.isEnabledFor(logging.INFO)):
        return  # speeds take a moment to measure
    seconds = planned_seconds(plan, processes.size)
    time = "less than a second" if seconds < 1 else f"about {format_seconds(seconds)}"
    sentence = plan.sentence(processes.size)
    logger.info("plan: %s; about %s of memory, %s", sentence, format_bytes(plan.bytes), time)


def log_traffic(processes: Processes) -> None:
    """Say what sharing a fit has cost so far."""
    if processes.size > 1 and processes.leads:
        logger.info(
            "each of %d processes has sent about %s, and this one has communicated for %s",
            processes.size,
            format_bytes(processes.bytes_sent),
            format_seconds(processes.seconds),
        )
