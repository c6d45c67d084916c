"""The training loop. It knows parameters and an objective, and nothing about GATE."""

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphgate.compute.processes import Processes
from graphgate.errors import DivergenceError, InputError, TrainingWarning
from graphgate.io.progress import progress_bar
from graphgate.training.adam import Adam
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.history import History


@dataclass(frozen=True)
class Schedule:
    """How to train: for all epochs or, with `patience`, until the loss stops improving.

    steps : updates per epoch; the loss of an epoch is the mean of those before each update.
    clip_norm : maximum gradient norm over all parameters; infinity disables clipping.
    patience : stop after this many epochs in which the loss has not fallen by `tolerance`
        (a fraction of its best value); None never stops early.
    keep_best : end with the weights of the lowest loss instead of the last ones. Weights that are
        good from the start cannot get lost. Those of an epoch of several steps are the ones
        before its last update.
    """

    epochs: int = 200
    learning_rate: float = 1e-4
    clip_norm: float = math.inf
    patience: int | None = None
    tolerance: float = 1e-4
    keep_best: bool = False
    steps: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate <= 1e6:
            raise InputError(
                f"learning_rate must be positive and at most 1e6, got {self.learning_rate!r}"
            )
        if not self.clip_norm > 0:
            raise InputError(
                f"clip_norm must be positive (infinity disables clipping), got {self.clip_norm!r}"
            )
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance must be in [0, 1), got {self.tolerance!r}")


def train(
    parameters: Mapping[str, Tensor],
    objective: Callable[[int], Mapping[str, float]],
    schedule: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    show_progress: bool = True,
    processes: Processes | None = None,
) -> History:
    """Minimize in place. `objective(step)` fills the gradients and returns "loss" and its parts.

    Ctrl-C ends training after the current epoch and returns the history up to there, with a
    `TrainingWarning`; a second one interrupts immediately. A completed run whose loss
    rose raises `DivergenceError`, unless the best weights are kept; one that changed nothing or is
    far from convergence warns. Of several processes, which do the same, only the first writes
    checkpoints and shows progress, and Ctrl-C in one of them ends training in all.
    """
    processes = processes or Processes()
    show_progress = show_progress and processes.leads
    optimizer = Adam(parameters, schedule.learning_rate)
    tensors = list(parameters.values())
    best = {n: t.detach().clone() for n, t in parameters.items()} if schedule.keep_best else {}
    epochs, steps = schedule.epochs, schedule.steps
    history = checkpoint.resume(optimizer, best, epochs, steps) if checkpoint else History()
    start = len(history)
    processes.agree_on("checkpoints", f"{checkpoint is None} {history.series}")
    writes = checkpoint if processes.leads else None
    with (
        _delayed_interrupt() as interrupted,
        progress_bar("training", epochs * steps, done=start * steps, show=show_progress) as advance,
    ):
        for epoch in range(start, epochs):
            if schedule.patience and _stalled(history.series.get("loss", []), schedule):
                history.stopped = "patience"
                break
            if processes.any(interrupted()):
                history.stopped = "interrupted"
                break
            if writes and epoch > start and epoch % writes.every == 0:
                writes.save(optimizer, best, history, finished=False)
            found: list[Mapping[str, float]] = []
            for step in range(epoch * steps, (epoch + 1) * steps):
                found.append(objective(step))
                norm = clip_gradients(tensors, schedule.clip_norm)
                if not math.isfinite(found[-1]["loss"] + norm):
                    raise _overflow(epoch + 1, schedule)
                if len(found) == steps:
                    parts = _mean(found)
                    if best and parts["loss"] < min(history.series.get("loss", [math.inf])):
                        _copy(parameters, best)
                optimizer.step()
                advance(note="  ".join(f"{n} {value:,.4g}" for n, value in found[-1].items()))
            history.append(parts)
        # A squared gradient that overflows leaves its weight where it is from then on.
        for tensor in (*tensors, *optimizer.state.values()):
            if not bool(torch.isfinite(tensor).all()):
                raise _overflow(len(history), schedule)
        if writes and len(history) > start:
            writes.save(optimizer, best, history, finished=history.stopped != "interrupted")
    if best:
        _copy(best, parameters)
    _judge(history, schedule)
    return history


def _mean(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(each[name] for each in found) / len(found) for name in found[0]}


@torch.no_grad()
def _copy(source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> None:
    for name, tensor in source.items():
        target[name].copy_(tensor)


def _overflow(epoch: int, schedule: Schedule) -> DivergenceError:
    if epoch == 1:
        return DivergenceError(
            "training cannot start: the loss or its gradient overflows at the initial weights; "
            "scale the features, or compute in float64"
        )
    return DivergenceError(
        f"training diverged: the loss or a weight overflowed at epoch {epoch}; {_remedy(schedule)}"
    )


def _remedy(schedule: Schedule) -> str:
    return (
        f"lower learning_rate (now {schedule.learning_rate:g}), set clip_norm (now "
        f"{schedule.clip_norm:g}), or scale the features"
    )


def _judge(history: History, schedule: Schedule) -> None:
    """Raise for a completed run without a usable result; warn about one that could be better."""
    epochs, change = len(history), ""
    if history.diverged and not schedule.keep_best:
        change = f"the loss rose from {history['loss'][0]:,.6g} to {history['loss'][-1]:,.6g}"
    if history.stopped == "interrupted":
        message = f"training was interrupted after epoch {epochs} of {schedule.epochs}"
        message += f", when {change}; {_remedy(schedule)}" if change else ""
    elif change:
        raise DivergenceError(
            f"training diverged: {change} in {epochs} epochs; {_remedy(schedule)}"
        )
    elif history.constant:
        message = (
            f"training changed nothing: the loss is {history['loss'][0]:,.6g} in all {epochs} "
            "epochs; check that the features are not all zero, scale them, or change activation, "
            "learning_rate or random_state"
        )
    elif schedule.keep_best and epochs > 1 and min(history["loss"][1:]) >= history["loss"][0]:
        message = (
            f"no epoch lowered the loss of {history['loss'][0]:,.6g}, so the initial weights are "
            f"kept; {_remedy(schedule)}"
        )
    elif history.stopped == "epochs" and (
        history.halved_late if schedule.keep_best else history.far_from_converged
    ):
        message = (
            f"the loss was still falling after {epochs} epochs; "
            "more epochs, or a higher learning_rate, may give a better embedding"
        )
    else:
        return
    warnings.warn(message, TrainingWarning, stacklevel=4)


def clip_gradients(tensors: Sequence[Tensor], max_norm: float) -> float:
    """Scale the gradients to a norm of at most `max_norm` over all tensors; return their norm.

    With an infinite `max_norm` the norm is not computed and 0 is returned. Where the norm of
    float32 gradients overflows, `torch.nn.utils.clip_grad_norm_` would multiply them by zero.
    """
    if math.isinf(max_norm):
        return 0.0
    gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
    for dtype in (None, torch.float64):  # squares of float32 may overflow though their root fits
        norms = [torch.linalg.vector_norm(gradient, dtype=dtype) for gradient in gradients]
        norm = torch.linalg.vector_norm(torch.stack(norms)).item()
        if math.isfinite(norm):
            break
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm


def _stalled(losses: Sequence[float], schedule: Schedule) -> bool:
    patience = schedule.patience or 0
    if len(losses) <= patience:
        return False
    before = min(losses[:-patience])
    return min(losses[-patience:]) > before - schedule.tolerance * abs(before)


@contextmanager
def _delayed_interrupt() -> Iterator[Callable[[], bool]]:
    """Make the first Ctrl-C what `interrupted()` returns; possible in the main thread only.

    SIGTERM, where the program handles it, does the same and is then delivered after the block.
    """
    received: list[int] = []

    def handler(number: int, frame: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    main = threading.current_thread() is threading.main_thread()
    # Signals that are ignored, or end the process, are none of our business.
    delayed = [number for number, known in before.items() if main and callable(known)]
    for number in delayed:
        signal.signal(number, handler)
    try:
        yield lambda: bool(received)
    finally:
        for number in delayed:
            signal.signal(number, before[number])
    if signal.SIGTERM in received:
        signal.raise_signal(signal.SIGTERM)
