"""A run as a folder: what it made, how, and from what; enough to repeat it to the bit.

embedding.parquet     node_id, embedding, and label where the graph has labels
model.safetensors     the model, for `GATE.load`
attention.parquet     who attends over whom
history.json          the losses of every epoch, and why training stopped
run.json              settings, seed, versions, command, inputs with their SHA-256, metrics
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.attention import write_attention
from graphgate.io.embeddings import read_embedding, write_embedding
from graphgate.io.files import StrPath, check_new_folder
from graphgate.io.provenance import versions
from graphgate.io.tensors import Schema, check_fields

_FIELDS: Schema = {
    "command": str,
    "settings": dict,
    "reading": dict,
    "threads": int,
    "inputs": dict,
    "graph": str,
    "embedding_sha256": str,
    "metrics": dict,
    "versions": dict,
}
_INPUT: Schema = {"path": str, "sha256": str}
_NEVER = "infinity"  # which JSON has no number for
# Where a run goes and what it shows are not part of what it computes.
_ELSEWHERE = ("checkpoint", "checkpoint_every", "progress")


@dataclass(frozen=True)
class Input:
    """A file that a run read. path : from the run's folder. sha256 : of its content then."""

    path: str
    sha256: str


@dataclass(frozen=True)
class RunRecord:
    """What run.json says.

    settings : arguments of `GATE` that give this run again, the seed (random_state) among them.
    reading : how its files were read, as the command line knows it.
    threads : the sums of other numbers of threads differ in their last bits.
    inputs : "edges" and, if there were any, "nodes" -> `Input`.
    graph : its `repr`.
    embedding_sha256 : of the numbers, row by row.
    metrics : seconds, peak_memory_mb, epochs, stopped, and the last value of each loss.
    """

    command: str
    settings: dict[str, Any]
    reading: dict[str, Any]
    threads: int
    inputs: dict[str, Input]
    graph: str
    embedding_sha256: str
    metrics: dict[str, Any]
    versions: dict[str, str]


def file_sha256(path: StrPath) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def embedding_sha256(embedding: np.ndarray) -> str:
    values = np.ascontiguousarray(embedding)
    return hashlib.sha256(str(values.dtype).encode() + values.tobytes()).hexdigest()


def write_run(
    folder: StrPath,
    gate: GATE,
    graph: Graph,
    *,
    inputs: Mapping[str, Path],
    reading: Mapping[str, Any],
    command: str,
    threads: int,
    seconds: float,
    peak_memory_mb: float,
) -> Path:
    """Makes the folder of a fitted `gate`; it appears whole or not at all."""
    target = check_new_folder(folder)
    settings = {k: v for k, v in gate.get_params().items() if k not in _ELSEWHERE}
    settings |= {
        "dims": np.atleast_1d(gate.dims).tolist(),
        "random_state": gate.seed_,
        "dtype": str(gate.dtype).removeprefix("torch."),
        "clip_norm": _NEVER if gate.clip_norm == math.inf else gate.clip_norm,
    }
    history = gate.history_
    if history.stopped == "interrupted":  # as long as it went, it can be had again
        settings["epochs"] = max(1, len(history))
    record = RunRecord(
        command=command,
        settings=settings,
        reading=dict(reading),
        threads=threads,
        inputs={
            name: Input(os.path.relpath(path, target), file_sha256(path))
            for name, path in inputs.items()
        },
        graph=repr(graph),
        embedding_sha256=embedding_sha256(gate.embedding_),
        metrics={
            "seconds": round(seconds, 3),
            "peak_memory_mb": round(peak_memory_mb, 1),
            "epochs": len(history),
            "stopped": history.stopped,
            "losses": {name: values[-1] for name, values in history.series.items()},
        },
        versions=versions(),
    )
    with _made_aside(target) as aside:
        write_embedding(
            aside / "embedding.parquet", graph.ids, gate.embedding_, graph.label_values()
        )
        gate.save(aside / "model.safetensors")
        attention = gate.attention_
        write_attention(
            aside / "attention.parquet", graph.ids, attention.encoder, attention.decoder
        )
        told = {"stopped": history.stopped} | history.series
        for name, content in (("history.json", told), ("run.json", asdict(record))):
            text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            (aside / name).write_text(text, encoding="utf-8")
    return target


@contextmanager
def _made_aside(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that gets its name if the block ends well; else it is gone."""
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        aside.mkdir()
        yield aside
        os.rename(aside, target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read_run(folder: StrPath) -> RunRecord:
    """What run.json in a folder says; an `InputError` if it is not one of ours."""
    path = Path(folder) / "run.json"
    what = f"{path} is not the record of a graphgate run"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{folder} is no folder of a run: there is no run.json in it") from None
    except ValueError:
        raise InputError(f"{what}: it is no JSON") from None
    check_fields(told, _FIELDS, what, "record")
    for name, given in told["inputs"].items():
        check_fields(given, _INPUT, what, f"input {name!r}")
    known = GATE().get_params().keys() - set(_ELSEWHERE)
    if told["settings"].keys() != known or not isinstance(told["settings"]["dims"], list):
        raise InputError(f"{what}: its settings are not those of GATE")
    inputs = {name: Input(**given) for name, given in told["inputs"].items()}
    settings = told["settings"] | {"dims": tuple(told["settings"]["dims"])}
    if settings["clip_norm"] == _NEVER:
        settings["clip_norm"] = math.inf
    return RunRecord(**told | {"inputs": inputs, "settings": settings})


def changed_inputs(record: RunRecord, inputs: Mapping[str, Path]) -> list[str]:
    """Names of the inputs whose content is not what the run has read."""
    return [
        name
        for name, path in inputs.items()
        if name not in record.inputs or file_sha256(path) != record.inputs[name].sha256
    ]


def largest_difference(folder: StrPath, embedding: np.ndarray) -> float | None:
    """Between a run's embedding and another; None where they have different shapes."""
    before = read_embedding(Path(folder) / "embedding.parquet").vectors
    if before.shape != embedding.shape:
        return None
    return float(np.abs(before.astype(np.float64) - embedding).max())
