"""Small valid inputs from our own writers, and what wraps an input into a valid container."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp

from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.runs import write_run
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import write_embedding
from graphgate.io.graph_writer import write_graph
from graphgate.io.networkx import to_networkx
from graphgate.paper.experiments.experiment import Experiment
from graphgate.paper.experiments.protocol import RunResult
from graphgate.paper.experiments.run_store import RunSpec, RunStore


@cache
def graph() -> Graph:
    """Five nodes with attributes of every kind, labels and weights."""
    attributes = Attributes.from_columns(
        {
            "age": [31.5, None, 52, 24, 1e9],
            "member": [True, False, None, True, False],
            "town": ["Ulm", "Bern", "Ulm", None, 'a "b", c'],
            "interests": [["chess", "music"], ["music"], [], ["rowing"], ["é"]],
        }
    )
    edges = [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("dan", "ann")]
    return Graph.from_edges(
        None,
        edges,
        attributes=attributes,
        weights=[1.0, 0.5, 2.0, 3.0],
        ids=["ann", "bob", "cat", "dan", "07"],
        labels=["staff", "guest", "staff", None, "guest"],
    )


def plain_graph() -> Any:
    """The same for the formats of NetworkX, which hold single values."""
    g = to_networkx(graph())
    for _, data in g.nodes(data=True):
        data.pop("interests", None)
    g.graph.clear()
    return g


def written(name: str, write: Callable[[Path], Any]) -> bytes:
    """The bytes of a file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def tables(name: str) -> bytes:
    """The table of "edges" or "nodes", by the ending of its file."""
    return written(name, lambda path: write_graph(path.parent, graph(), path.suffix))


def parquet(table: pa.Table, **options: Any) -> bytes:
    return written("t.parquet", lambda path: pyarrow.parquet.write_table(table, path, **options))


def embedding(name: str) -> list[bytes]:
    z = np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)
    labels = graph().label_values() if not name.endswith(".txt") else None
    return [
        written(name, lambda path: write_embedding(path, graph().ids, z, labels)),
        written(name, lambda path: write_embedding(path, np.arange(5), z.astype(np.float64))),
    ]


MATRIX = sp.csr_array(np.array([[0, 1, 0.5], [1, 0, 0], [0.5, 0, 0]]))


def npz(**arrays: Any) -> bytes:
    return written("a.npz", lambda path: np.savez(path, **arrays))


def npy(array: Any) -> bytes:
    return written("a.npy", lambda path: np.save(path, array))


def sparse_archives() -> list[bytes]:
    return [
        written("a.npz", lambda path, form=form: sp.save_npz(path, MATRIX.asformat(form)))  # type: ignore[misc]
        for form in ("csr", "csc", "coo", "dia", "bsr")
    ] + [npz(a=MATRIX.toarray())]


def with_member(archive: bytes, name: str) -> Callable[[bytes], bytes]:
    """An archive with another content of one member, whose checksum is right."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        members = {member: old.read(member) for member in old.namelist()}

    def wrap(content: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as new:
            for member, kept in (members | {name: content}).items():
                new.writestr(member, kept)
        return made.getvalue()

    return wrap


def matrix_market() -> list[bytes]:
    square = MATRIX.toarray()
    matrices: list[Any] = [MATRIX, square, sp.coo_array(np.triu(square)), square.astype(int)]
    return [
        *(written("a.mtx", lambda path, m=m: scipy.io.mmwrite(path, m)) for m in matrices),  # type: ignore[misc]
        b"%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 2\n2 1\n 3\t1 \n",
        b"%%MatrixMarket matrix array real skew-symmetric\n2 2\n-1.5e3\n",
    ]


def fitted(kind: str) -> Any:
    made: Any = GATE((2,), epochs=1) if kind == "gate" else LinearGATE(n_components=2)
    return made.set_params(random_state=0).fit(graph())


@cache
def model(kind: str) -> bytes:
    return written("m.safetensors", lambda path: fitted(kind).save(path))


def header(content: bytes) -> bytes:
    """The JSON that a model file has in its metadata."""
    length = int.from_bytes(content[:8], "little")
    text: str = json.loads(content[8 : 8 + length])["__metadata__"]["graphgate"]
    return text.encode()


def with_header(content: bytes) -> Callable[[bytes], bytes]:
    """A model file with another header and the same tensors."""
    length = int.from_bytes(content[:8], "little")
    entries, tensors = json.loads(content[8 : 8 + length]), content[8 + length :]

    def wrap(text: bytes) -> bytes:
        metadata = {"graphgate": text.decode("utf-8", "replace")}
        made = json.dumps(entries | {"__metadata__": metadata}).encode()
        return len(made).to_bytes(8, "little") + made + tensors

    return wrap


def checkpoint() -> bytes:
    return written(
        "c.safetensors",
        lambda path: GATE((2,), epochs=2, random_state=0, checkpoint=path).fit(graph()),
    )


def run_record(kind: str) -> bytes:
    def write(path: Path) -> None:
        edges, nodes = write_graph(path.parents[1], graph(), ".csv")
        inputs = {"edges": edges, "nodes": nodes}
        write_run(path.parent, fitted(kind), graph(), inputs=inputs)

    return written("run/run.json", write)


SPEC = RunSpec.of(Experiment("gate", "cora", "transductive"), "public", {"preset": "authors"}, 0)


def stored_run() -> bytes:
    metrics = {"accuracy": 80.0, "macro_f1": 79.0, "val_accuracy": 78.0}
    result = RunResult(0, metrics, 1.0, 2.0, 1)
    return written(str(SPEC.file), lambda path: RunStore(path.parents[1]).add(SPEC, result))


def compressed(codec: str) -> Callable[[bytes], bytes]:
    def wrap(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.output_stream(sink, compression=codec) as stream:
            stream.write(content)
        return bytes(sink.getvalue().to_pybytes())

    return wrap
