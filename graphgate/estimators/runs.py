"""A run as a folder: its results and a record from which it can be repeated.

embedding.parquet     node_id, embedding, and label where the graph has labels
model.safetensors     the model, for `load_model`
attention.parquet     GATE: attention coefficients, one row per edge
history.json          GATE: the losses of every epoch, and why training stopped
edge_scores.parquet   LinearGATE: how likely each edge is, one row per edge
report.json           LinearGATE: label-free diagnostics
run.json              method, settings, seed, command, inputs with their SHA-256, metrics, and
                      what decides the last bits: versions, processor, threads and processes
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from graphgate.compute.processes import current_processes
from graphgate.errors import InputError
from graphgate.estimators.codec import take_apart
from graphgate.estimators.embedder import Prepared
from graphgate.estimators.fitted import Encoded
from graphgate.estimators.loading import Estimator, named_estimator
from graphgate.estimators.persistence import read_params
from graphgate.estimators.registry import EMBEDDERS, method_of
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import Embedding, read_embedding
from graphgate.io.files import (
    Schema,
    StrPath,
    check_fields,
    check_new_folder,
    complete_folder,
    read_json,
    write_json,
)
from graphgate.io.graph_files import read_graph
from graphgate.io.limits import current_limits, remedy
from graphgate.io.provenance import processor, versions
from graphgate.io.reading_options import ReadingOptions

_FIELDS: Schema = {
    "command": str,
    "method": str,
    "settings": dict,
    "reading": dict,
    "threads": int,
    "processes": int,
    "processor": str,
    "inputs": dict,
    "graph": str,
    "embedding_sha256": str,
    "metrics": dict,
    "versions": dict,
}
_INPUT: Schema = {"path": str, "sha256": str}
_MOST_THREADS = 1024  # a system may refuse to start more, which ends the process
# Where a run is saved and what it shows do not affect what it computes.
_NOT_RECORDED = ("checkpoint", "checkpoint_every", "scratch", "progress")
_OTHERS = 16  # nodes that each node is compared with
_ROWS = 8192  # compared at a time
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json.

    method : "linear" or "gate".
    settings : parameters with which the run can be repeated, random_state included.
    reading : `ReadingOptions` with which the inputs are read.
    threads, processes, processor, versions : what the last bits of the embedding depend on.
    inputs : "edges" and, if there is a node table, "nodes" -> the "path" of the file, relative to
        the run's folder, and the "sha256" of its content.
    graph : its `repr`.
    embedding_sha256 : of the values, row by row.
    metrics : what the caller measured and, for GATE, epochs, stopped and the last value of each
        loss.
    """

    command: str
    method: str
    settings: dict[str, Any]
    reading: dict[str, Any]
    threads: int
    processes: int
    processor: str
    inputs: dict[str, dict[str, str]]
    graph: str
    embedding_sha256: str
    metrics: dict[str, Any]
    versions: dict[str, str]


@dataclass(frozen=True)
class Rerun:
    """A run that was repeated.

    prepared : what the estimator was fitted on, for its `encode`.
    identical : whether the embedding is bit-identical to that of the original run.
    difference : the largest difference between the two embeddings in the cosine of two nodes, or
        in a length relative to the longest vector; infinite if their shapes differ.
    changed : names of the inputs whose content differs from that of the original run.
    moved : which of "versions", "processor" and "processes" differ from those of the original run.
    """

    # Other kernels and threads changed cosines and relative lengths by up to 5e-6 (LinearGATE) and
    # 6e-5 (GATE, which enlarges rounding from epoch to epoch) on Cora and Citeseer.
    tolerance: ClassVar[float] = 1e-3

    gate: Estimator
    graph: Graph
    prepared: Prepared
    record: RunRecord
    inputs: dict[str, Path]
    identical: bool
    difference: float
    changed: tuple[str, ...]
    moved: tuple[str, ...]

    @property
    def reproduced(self) -> bool:
        """Bit-identical where everything that decides the bits is the same, else to rounding."""
        return self.identical or (bool(self.moved) and self.difference <= self.tolerance)

    def sentences(self) -> list[str]:
        """Whether inputs and embedding are those of the original run."""
        states = [
            f"{name}: {path} has {'' if name in self.changed else 'not '}changed since the run"
            for name, path in self.inputs.items()
        ]
        equal, limit = "bit-identical to that of the run", ""
        if self.moved and not self.identical:
            other = " and other ".join(self.moved)
            equal = f"equal up to rounding to that of the run, which had other {other}"
            limit = f", at most {self.tolerance:g}"
        verdict = equal if self.reproduced else f"NOT {equal}"
        return [*states, f"embedding: {verdict}; largest difference {self.difference:.1g}{limit}"]


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
    gate: Estimator,
    graph: Graph,
    *,
    inputs: Mapping[str, StrPath],
    reading: Mapping[str, Any] | None = None,
    command: str = "",
    threads: int | None = None,
    metrics: Mapping[str, Any] | None = None,
    encoded: Encoded | None = None,
) -> Path:
    """Write a fitted estimator and everything needed to rerun it into a new folder.

    The folder appears complete or not at all.

    Parameters
    ----------
    gate : fitted on `graph`.
    inputs : "edges" and, if there is one, "nodes" -> the file that `graph` was read from.
    reading : keyword arguments of `read_graph` that `graph` was read with.
    command : what the user called, for the record.
    threads : number of threads during `fit`; None is torch's current number.
    metrics : measurements to record.
    encoded : of `graph`, by `gate.encode`, where it has been computed already.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from graphgate import LinearGATE, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     edges = Path(folder, "edges.csv")
    ...     _ = edges.write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    ...     graph = read_graph(edges)
    ...     gate = LinearGATE(n_components=2, random_state=0).fit(graph)
    ...     _ = write_run(f"{folder}/run", gate, graph, inputs={"edges": edges})
    ...     sorted(path.name for path in Path(folder, "run").iterdir())
    ['embedding.parquet', 'model.safetensors', 'report.json', 'run.json']
    """
    target = check_new_folder(folder)
    kept = {k: v for k, v in gate.get_params().items() if k not in _NOT_RECORDED}
    settings, _ = take_apart(kept | gate._params)
    summary = gate.summary()
    if summary.interrupted:  # what can be repeated is the part that was trained
        settings["epochs"] = max(1, len(summary.history or ()))
    record = RunRecord(
        command=command,
        method=method_of(gate).name,
        settings=settings,
        reading=ReadingOptions(**reading or {}).to_dict(),
        threads=torch.get_num_threads() if threads is None else threads,
        processes=current_processes().size,
        processor=processor(),
        inputs={
            name: {"path": os.path.relpath(path, target), "sha256": file_sha256(path)}
            for name, path in inputs.items()
        },
        graph=repr(graph),
        embedding_sha256=embedding_sha256(gate.embedding_),
        metrics=dict(metrics or {}) | summary.metrics(),
        versions=versions(),
    )
    with complete_folder(target) as new:
        Embedding.of(graph, gate.embedding_).save(new / "embedding.parquet")
        gate.save(new / "model.safetensors")
        values = (encoded or gate.encode(graph)).edge_values
        if values is not None:
            values.write(new / f"{values.name}.parquet", graph.ids)
        for name, content in ({"run.json": asdict(record)} | summary.files()).items():
            write_json(new / name, content)
    return target


def read_run(folder: StrPath) -> RunRecord:
    """Read the record of a run that `write_run` wrote.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from graphgate import LinearGATE, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     edges = Path(folder, "edges.csv")
    ...     _ = edges.write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    ...     graph = read_graph(edges)
    ...     gate = LinearGATE(n_components=2, random_state=0).fit(graph)
    ...     _ = write_run(f"{folder}/run", gate, graph, inputs={"edges": edges})
    ...     read_run(f"{folder}/run").method
    'linear'
    """
    path = Path(folder) / "run.json"
    what = f"{path} is not the record of a graphgate run"
    if not path.exists():
        raise InputError(f"{folder} is not a run folder: it has no run.json")
    stored = read_json(path, what)
    check_fields(stored, _FIELDS, what, "record")
    if "edges" not in stored["inputs"] or not stored["inputs"].keys() <= {"edges", "nodes"}:
        raise InputError(f"{what}: its inputs are not edges and perhaps nodes")
    for name, given in stored["inputs"].items():
        check_fields(given, _INPUT, what, f"input {name!r}")
    if not 1 <= stored["threads"] <= _MOST_THREADS:
        raise InputError(f"{what}: it asks for {stored['threads']} threads")
    if stored["method"] not in EMBEDDERS:
        raise InputError(f"{what}: its method is {stored['method']!r}")
    kind = EMBEDDERS[stored["method"]].maker()
    names = [name for name in signature(kind).parameters if name not in _NOT_RECORDED]
    settings = read_params(kind, names, stored["settings"], what)
    most = current_limits().epochs
    if (settings.get("epochs") or 0) > most:
        raise InputError(f"{what}: it asks for more than {most:,.0f} epochs; {remedy('epochs')}")
    return RunRecord(**stored | {"settings": settings})


def _relative(path: Path) -> Path:
    """A path as it is written from the current folder."""
    try:
        return Path(os.path.relpath(path.resolve()))
    except (OSError, RuntimeError, ValueError):  # a link to itself, a zero byte
        return path


def rerun(
    folder: StrPath,
    edges: StrPath | None = None,
    nodes: StrPath | None = None,
    *,
    force: bool = False,
) -> Rerun:
    """Repeat a run with its settings and number of threads, and compare the embeddings.

    They must be bit-identical if versions, processor and number of processes are those of the
    original run. Elsewhere, kernels round differently, and singular vectors of nearly equal
    singular values turn; what decides there are the cosines between nodes and the lengths of their
    vectors, which turning leaves alone.

    Parameters
    ----------
    folder : that `write_run` wrote.
    edges, nodes : files to read instead of those of the original run, which may have moved.
    force : fit even if memory will not suffice.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from graphgate import LinearGATE, read_graph
    >>> with TemporaryDirectory() as folder:
    ...     edges = Path(folder, "edges.csv")
    ...     _ = edges.write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    ...     graph = read_graph(edges)
    ...     gate = LinearGATE(n_components=2, random_state=0).fit(graph)
    ...     _ = write_run(f"{folder}/run", gate, graph, inputs={"edges": edges})
    ...     rerun(f"{folder}/run").identical
    True
    """
    record = read_run(folder)
    original = _original_embedding(Path(folder), record)
    given = {"edges": edges, "nodes": nodes}
    inputs = {
        name: _relative(Path(folder) / stored["path"]) for name, stored in record.inputs.items()
    } | {name: Path(path) for name, path in given.items() if path is not None}
    for name, path in inputs.items():
        if not path.is_file():
            raise InputError(f"the {name} of the run are no longer at {path}; pass their new path")
    options = ReadingOptions.from_dict(record.reading)
    graph = read_graph(inputs["edges"], inputs.get("nodes"), **options.to_dict())
    gate = named_estimator(record.method, record.settings)
    prepared = gate.prepare(graph)
    if not force:
        gate.check_fits(prepared)
    threads = torch.get_num_threads()
    torch.set_num_threads(record.threads)
    try:
        gate.fit(prepared)
    finally:
        torch.set_num_threads(threads)
    # Inputs that the original run did not read, or read with other content.
    changed = tuple(
        name
        for name, path in inputs.items()
        if name not in record.inputs or file_sha256(path) != record.inputs[name]["sha256"]
    )
    here = {
        "versions": versions(),
        "processor": processor(),
        "processes": current_processes().size,
    }
    return Rerun(
        gate,
        graph,
        prepared,
        record,
        inputs,
        identical=embedding_sha256(gate.embedding_) == record.embedding_sha256,
        difference=largest_difference(gate.embedding_, original),
        changed=changed,
        moved=tuple(name for name, value in here.items() if getattr(record, name) != value),
    )


def _original_embedding(folder: Path, record: RunRecord) -> np.ndarray:
    path = folder / "embedding.parquet"
    vectors = read_embedding(path).vectors
    if embedding_sha256(vectors) != record.embedding_sha256:
        raise InputError(
            f"{path} is not the embedding that {folder / 'run.json'} describes; make the run again "
            "with --run"
        )
    return vectors


def largest_difference(one: np.ndarray, other: np.ndarray) -> float:
    """Between two embeddings of the same nodes: in a cosine, or in a relative length.

    Each node is compared with `_OTHERS` nodes. Rotating an embedding changes none of them.
    """
    if one.shape != other.shape:
        return np.inf
    n = len(one)
    lengths = [np.sqrt(np.einsum("ij,ij->i", z, z, dtype=np.float64)) for z in (one, other)]
    relative = [length / max(length.max(initial=0.0), _TINY) for length in lengths]
    largest = np.abs(relative[0] - relative[1]).max(initial=0.0)
    for shift in np.random.default_rng(0).permutation(np.arange(1, n))[:_OTHERS]:
        for start in range(0, n, _ROWS):
            rows = np.arange(start, min(start + _ROWS, n))
            cosines = [
                _cosines(z, length, rows, (rows + shift) % n)
                for z, length in zip((one, other), lengths, strict=True)
            ]
            largest = max(largest, np.abs(cosines[0] - cosines[1]).max())
    return float(largest)


def _cosines(
    z: np.ndarray, lengths: np.ndarray, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Zero where a vector is zero."""
    products = np.einsum("ij,ij->i", z[rows], z[others], dtype=np.float64)
    return products / np.maximum(lengths[rows] * lengths[others], _TINY)
