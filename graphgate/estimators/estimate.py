"""Whether a run fits into this machine, and what would."""

from __future__ import annotations

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.training.machine import available_bytes
from graphgate.training.memory import training_bytes
from graphgate.training.plan import Plan, Size


def fitting_dims(size: Size, gate: GATE, room: int) -> tuple[int, ...] | None:
    """The dims of `gate`, halved until a run fits into `room` bytes; None if none do."""
    plan = Plan.of(size, gate)
    dims = plan.architecture.dims
    while training_bytes(plan) > room:
        if max(dims) == 1:
            return None
        dims = tuple(max(1, d // 2) for d in dims)
        plan = Plan.of(size, GATE(**gate.get_params() | {"dims": dims}))
    return dims


def check_fits(size: Size, gate: GATE, *, graph_too: int = 0) -> None:
    """Refuses a run for which this machine has not enough memory, and says what would fit.

    graph_too : bytes of a graph that is not in memory yet.
    """
    room = available_bytes()
    if room is None or not str(gate.device).startswith("cpu"):
        return
    needed = training_bytes(Plan.of(size, gate)) + graph_too
    if needed <= room:
        return
    dims = fitting_dims(size, gate, room - graph_too)
    instead = (
        "not even dims of 1 would fit"
        if dims is None
        else f"--dims {','.join(map(str, dims))} would fit"
    )
    raise InputError(
        f"this run needs about {in_units(needed)} of memory, and {in_units(room)} are free; "
        f"{instead} (`graphgate embed --force` starts it all the same)"
    )


def in_units(amount: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return (
        f"{amount:.0f} {unit}"
        if unit in ("bytes", "KiB") or amount >= 100
        else f"{amount:.1f} {unit}"
    )


def in_time(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
