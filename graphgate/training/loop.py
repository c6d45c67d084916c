"""The training loop. It knows parameters and an objective, and nothing of GATE."""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphgate.errors import DivergenceError, InputError
from graphgate.io.progress import progress_bar
from graphgate.io.schema import Schema
from graphgate.io.tensors import check_tensors, read_tensors, write_tensors
from graphgate.training.optimizers import OPTIMIZERS, Optimizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Schedule:
    """How to train: by default all epochs; with `patience`, until the loss stops improving.

    clip_norm : longest allowed gradient over all parameters; infinity never clips.
    patience : stop after this many epochs in which the loss has not fallen by `tolerance`
        (a fraction of its best value); None never stops early.
    """

    epochs: int = 200
    learning_rate: float = 1e-4
    optimizer: str = "adam"
    clip_norm: float = math.inf
    patience: int | None = None
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        whole = {"epochs": self.epochs, "patience": 1 if self.patience is None else self.patience}
        for name, value in whole.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
        if not 0 < self.learning_rate <= 1e6:
            raise InputError(
                f"learning_rate must be positive and at most 1e6, got {self.learning_rate!r}"
            )
        if not self.clip_norm > 0:
            raise InputError(
                f"clip_norm must be positive (infinity: never clip), got {self.clip_norm!r}"
            )
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance must be at least 0 and below 1, got {self.tolerance!r}")
        if self.optimizer not in OPTIMIZERS:
            raise InputError(
                f"unknown optimizer {self.optimizer!r}; use one of {', '.join(OPTIMIZERS)}"
            )


@dataclass
class History:
    """What each epoch's loss was before its update.

    series : name -> one value an epoch; "loss" is what was minimised, the others are its parts.
    stopped : why training ended: "epochs", "patience" or "interrupted".
    """

    series: dict[str, list[float]] = field(default_factory=dict)
    stopped: str = "epochs"

    def __getitem__(self, name: str) -> list[float]:
        return self.series[name]

    def __len__(self) -> int:
        return len(self.series.get("loss", ()))

    def append(self, parts: Mapping[str, float]) -> None:
        for name, value in parts.items():
            self.series.setdefault(name, []).append(value)

    def still_falling(self, share: float = 0.1, by: float = 0.05) -> bool:
        """Whether the last tenth of the epochs still lowered the loss by more than a twentieth."""
        losses = self.series.get("loss", [])
        span = max(1, round(share * len(losses)))
        return len(losses) > span and losses[-1] < (1 - by) * losses[-1 - span]


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep the state of a run, how often, and what tells one run from another."""

    path: Path
    every: int
    run: str


def train(
    parameters: Mapping[str, Tensor],
    objective: Callable[[], Mapping[str, float]],
    schedule: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    show_progress: bool = True,
) -> History:
    """Minimise in place. `objective()` fills the gradients and returns "loss" and its parts.

    Ctrl-C ends the epoch at hand and returns what was learned; a second one interrupts at once.
    """
    tensors = list(parameters.values())
    optimizer = OPTIMIZERS[schedule.optimizer](parameters, schedule.learning_rate)
    history = History()
    if checkpoint is not None and checkpoint.path.exists():
        history = _resume(checkpoint, optimizer)
        if len(history) > schedule.epochs:
            raise InputError(
                f"the checkpoint {checkpoint.path} is at epoch {len(history)}, past the "
                f"{schedule.epochs} asked for; ask for more epochs or name another file"
            )
    start, saved = len(history), len(history)
    with (
        _delayed_interrupt() as interrupted,
        progress_bar("training", schedule.epochs, done=start, show=show_progress) as advance,
    ):
        for epoch in range(start, schedule.epochs):
            if schedule.patience and _stalled(history.series.get("loss", []), schedule):
                history.stopped = "patience"
                break
            if interrupted():
                history.stopped = "interrupted"
                logger.warning("interrupted after epoch %d of %d", epoch, schedule.epochs)
                break
            parts = objective()
            if not math.isfinite(parts["loss"]):
                raise _divergence(parts["loss"], epoch + 1, schedule)
            clip_gradients(tensors, schedule.clip_norm)
            optimizer.step()
            history.append(parts)
            advance(note="  ".join(f"{name} {value:,.4g}" for name, value in parts.items()))
            if checkpoint and (epoch + 1) % checkpoint.every == 0:
                _save(checkpoint, optimizer, history)
                saved = epoch + 1
        if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors):
            raise _divergence(math.nan, len(history), schedule)
        if checkpoint and saved < len(history):
            _save(checkpoint, optimizer, history)
    return history


def _divergence(loss: float, epoch: int, schedule: Schedule) -> DivergenceError:
    return DivergenceError(
        f"training diverged: the loss or a weight became {loss} at epoch {epoch}; lower "
        f"learning_rate (now {schedule.learning_rate:g}), set clip_norm (now "
        f"{schedule.clip_norm:g}), or scale the features"
    )


def clip_gradients(tensors: Sequence[Tensor], longest: float) -> None:
    if math.isinf(longest):
        return
    gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    if norm > longest:
        torch._foreach_mul_(gradients, longest / norm.item())


def _stalled(losses: Sequence[float], schedule: Schedule) -> bool:
    patience = schedule.patience or 0
    if len(losses) <= patience:
        return False
    before = min(losses[:-patience])
    return min(losses[-patience:]) > before - schedule.tolerance * abs(before)


@contextmanager
def _delayed_interrupt() -> Iterator[Callable[[], bool]]:
    """Turns the first Ctrl-C into an answer to `interrupted()`; only the main thread can."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def handler(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    before = signal.getsignal(signal.SIGINT)
    if before is None or before is signal.SIG_IGN:  # not ours to take
        yield pressed.is_set
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


_CHECKPOINT_SCHEMA: Schema = {"run": str, "history": dict, "optimizer": str}


def _tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Everything that a run carries from one epoch to the next, by reference."""
    kept = {f"parameter.{name}": tensor for name, tensor in optimizer.parameters.items()}
    return kept | {f"optimizer.{name}": tensor for name, tensor in optimizer.state.items()}


def _save(checkpoint: Checkpoint, optimizer: Optimizer, history: History) -> None:
    header = {
        "run": checkpoint.run,
        "history": history.series,
        "optimizer": type(optimizer).__name__,
    }
    write_tensors(checkpoint.path, "checkpoint", header, _tensors(optimizer))


def _resume(checkpoint: Checkpoint, optimizer: Optimizer) -> History:
    header, tensors = read_tensors(checkpoint.path, "checkpoint", _CHECKPOINT_SCHEMA)
    what = f"the checkpoint {checkpoint.path}"
    if header["run"] != checkpoint.run or header["optimizer"] != type(optimizer).__name__:
        raise InputError(
            f"{what} belongs to another run (other settings, seed or graph); "
            "remove it or name another file"
        )
    series = header["history"]
    numbers = all(
        isinstance(values, list) and all(isinstance(v, (int, float)) for v in values)
        for values in series.values()
    )
    if "loss" not in series or not numbers or len({len(v) for v in series.values()}) != 1:
        raise InputError(f"{what} holds no history of the loss; remove it to start anew")
    present = _tensors(optimizer)
    check_tensors(tensors, {n: (tuple(t.shape), t.dtype) for n, t in present.items()}, what)
    with torch.no_grad():
        for name, tensor in present.items():
            tensor.copy_(tensors[name])
    history = History({name: list(map(float, values)) for name, values in series.items()})
    optimizer.steps = len(history)
    return history
