"""Checkpoints: the state of a run in one file, from which the same run resumes."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphgate.errors import InputError
from graphgate.io.files import Schema
from graphgate.io.tensors import check_tensors, read_tensors, write_tensors
from graphgate.training.adam import Adam
from graphgate.training.history import History

logger = logging.getLogger(__name__)

_SCHEMA: Schema = {"run": str, "history": dict, "finished": bool}


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often to save the state of a run.

    path : the file.
    every : number of epochs between two saves.
    run : identifies the run: a digest of everything that decides its course.
    """

    path: Path
    every: int
    run: str

    def save(
        self, optimizer: Adam, best: Mapping[str, Tensor], history: History, *, finished: bool
    ) -> None:
        """Write the file. best : name -> the best parameters so far; empty if they do not count."""
        header = {"run": self.run, "history": history.series, "finished": finished}
        write_tensors(self.path, "checkpoint", header, _tensors(optimizer, best))

    def resume(
        self, optimizer: Adam, best: Mapping[str, Tensor], epochs: int, steps: int = 1
    ) -> History:
        """Restore parameters, optimizer and the best parameters from the file.

        Returns the history up to there. An epoch has `steps` steps.

        Without a file, or with that of another run that has finished, training starts from the
        beginning. The file of another run that has not finished is never overwritten.
        """
        if not self.path.exists():
            return History()
        header, tensors = read_tensors(self.path, "checkpoint", _SCHEMA)
        what = f"the checkpoint {self.path}"
        if header["run"] != self.run:
            if not header["finished"]:
                raise InputError(
                    f"{what} belongs to another run (other parameters, random_state or graph) "
                    "that has not finished; remove it, or use another file"
                )
            logger.warning("replacing %s, which belongs to another run that has finished", what)
            return History()
        history = _history(header["history"], what)
        if len(history) > epochs:
            raise InputError(
                f"{what} is at epoch {len(history)}, past the {epochs} requested; "
                "request more epochs, or use another file"
            )
        current = _tensors(optimizer, best)
        check_tensors(tensors, {n: (tuple(t.shape), t.dtype) for n, t in current.items()}, what)
        with torch.no_grad():
            for name, tensor in current.items():
                tensor.copy_(tensors[name])
        optimizer.steps = len(history) * steps
        logger.info("resuming %s after epoch %d of %d", what, len(history), epochs)
        return history


def _tensors(optimizer: Adam, best: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Everything that a run carries from one epoch to the next, by reference."""
    kinds = {"parameter": optimizer.parameters, "optimizer": optimizer.state, "best": best}
    return {f"{kind}.{name}": tensor for kind in kinds for name, tensor in kinds[kind].items()}


def _history(series: dict[str, Any], what: str) -> History:
    columns = [values for values in series.values() if isinstance(values, list)]
    numbers = all(isinstance(value, (int, float)) for column in columns for value in column)
    lengths = {len(column) for column in columns}
    if "loss" not in series or len(columns) < len(series) or len(lengths) != 1 or not numbers:
        raise InputError(f"{what} has no valid loss history; remove it to start over")
    return History({name: list(map(float, values)) for name, values in series.items()})
