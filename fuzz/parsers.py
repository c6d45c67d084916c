"""Every parser of bytes in the package, each with small valid inputs from our own writers."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp
import torch
from safetensors.torch import save

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # scripts, not a package
from old_pickles import fake_parts, old_pickle

from graphgate.datasets.archives import read_archive
from graphgate.datasets.unpickler import load_content
from graphgate.estimators.estimate import check_fits
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import load_model
from graphgate.estimators.runs import read_run, write_run
from graphgate.experiments.experiment import Experiment
from graphgate.experiments.protocol import RunResult
from graphgate.experiments.quality import QualityRun, QualityStore
from graphgate.experiments.run_store import RunSpec, RunStore
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.io.embeddings import read_embedding, write_embedding
from graphgate.io.graph_files import read_graph
from graphgate.io.graph_writer import to_tables, write_graph
from graphgate.io.networkx import to_networkx
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.tensors import read_tensors
from graphgate.linear.scratch import Scratch

Seeds = Callable[[], list[bytes]]


@dataclass(frozen=True)
class Parser:
    """What reads a file of this name, and valid inputs.

    wrap : makes the content of the file from an input, where a checksum or a container around it
        would let hardly any mutation through.
    """

    file: str
    parse: Callable[[Path], Any]
    seeds: Seeds
    wrap: Callable[[bytes], bytes] = bytes


# --- seeds ---------------------------------------------------------------------------------------


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
    folder = Path(tempfile.mkdtemp())
    try:
        write(folder / name)
        return (folder / name).read_bytes()
    finally:
        shutil.rmtree(folder)


def tables(ending: str, which: int) -> bytes:
    folder = Path(tempfile.mkdtemp())
    try:
        return write_graph(folder / "g", graph(), ending)[which].read_bytes()
    finally:
        shutil.rmtree(folder)


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

    def wrap(content: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
            for member in old.namelist():
                new.writestr(member, content if member == name else old.read(member))
        return made.getvalue()

    return wrap


def matrix_market() -> list[bytes]:
    square = MATRIX.toarray()
    matrices: list[Any] = [MATRIX, square, sp.coo_array(np.triu(square)), square.astype(int)]
    found = [written("a.mtx", lambda path, m=m: scipy.io.mmwrite(path, m)) for m in matrices]  # type: ignore[misc]
    return [
        *found,
        b"%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 2\n2 1\n 3\t1 \n",
        b"%%MatrixMarket matrix array real skew-symmetric\n2 2\n-1.5e3\n",
    ]


@cache
def model(kind: str) -> bytes:
    made: Any = GATE((2,), epochs=1, random_state=0) if kind == "gate" else None
    made = made or LinearGATE(n_components=2, random_state=0)
    return written("m.safetensors", lambda path: made.fit(graph()).save(path))


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
    folder = Path(tempfile.mkdtemp())
    try:
        edges, nodes = write_graph(folder / "g", graph(), ".csv")
        made: Any = GATE((2,), epochs=1, random_state=0) if kind == "gate" else None
        made = made or LinearGATE(n_components=2, random_state=0)
        inputs = {"edges": edges, "nodes": nodes}
        write_run(folder / "run", made.fit(graph()), graph(), inputs=inputs)
        return (folder / "run" / "run.json").read_bytes()
    finally:
        shutil.rmtree(folder)


SPEC = RunSpec.of(Experiment("gate", "cora", "transductive"), "public", {"preset": "authors"}, 0)


def stored_run() -> bytes:
    metrics = {"accuracy": 80.0, "macro_f1": 79.0, "val_accuracy": 78.0}
    folder = Path(tempfile.mkdtemp())
    try:
        RunStore(folder).add(SPEC, RunResult(0, metrics, 1.0, 2.0, 1))
        return (folder / SPEC.file).read_bytes()
    finally:
        shutil.rmtree(folder)


def stored_quality() -> bytes:
    folder = Path(tempfile.mkdtemp())
    try:
        QualityStore(folder).add(QualityRun("linear", "cora", 0), {"accuracy": 80.0})
        return (folder / "cora" / "linear.json").read_bytes()
    finally:
        shutil.rmtree(folder)


ARCHIVE = {
    "x_data": np.array([1.0, 2.0], dtype=np.float32),
    "x_indices": np.array([0, 1]),
    "x_indptr": np.array([0, 1, 2, 2]),
    "x_shape": np.array([3, 2]),
    "adj_indices": np.array([1, 0]),
    "adj_indptr": np.array([0, 1, 2, 2]),
    "labels": np.array([0, 1, 0]),
}


# --- parsers -------------------------------------------------------------------------------------


def nodes_of(path: Path) -> Any:
    """The file as the nodes of a graph, whose edges are known."""
    edges = path.with_name("edges-of-nodes.csv")
    if not edges.exists():
        edges.write_text("source,target\nann,bob\n0,1\n1,2\n")
    return read_graph(edges, path)


def prepared_run(path: Path) -> Any:
    """Everything that happens before a run is repeated."""
    record = read_run(path.parent)
    ReadingOptions.from_dict(record.reading)
    made: Any = (LinearGATE if record.method == "linear" else GATE)(**record.settings)
    prepared = made.prepare(graph())
    check_fits(prepared, made)
    return record


def find_stored_run(path: Path) -> Any:
    place = path.parent / SPEC.file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(path.read_bytes())
    return RunStore(path.parent).find(SPEC)


def find_quality(path: Path) -> Any:
    place = path.parent / "cora" / "linear.json"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(path.read_bytes())
    return QualityStore(path.parent).runs("linear", "cora")


def checkpoint_of(path: Path) -> Any:
    return read_tensors(path, "checkpoint", {"run": str, "history": dict, "finished": bool})


def compressed(codec: str) -> Callable[[bytes], bytes]:
    def wrap(content: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.output_stream(sink, compression=codec) as stream:
            stream.write(content)
        found: bytes = sink.getvalue().to_pybytes()
        return found

    return wrap


def _graphs() -> dict[str, Parser]:
    edges = to_tables(graph())[0]
    dictionary = pa.table({name: edges[name].dictionary_encode() for name in ("source", "target")})
    texts = {
        "graphml": nx.write_graphml_xml,
        "gml": lambda g, path: nx.write_gml(g, path),
        "gexf": nx.write_gexf,
        "edgelist": nx.write_edgelist,
        "adjlist": nx.write_adjlist,
        "net": lambda g, path: nx.write_pajek(nx.Graph(g.edges), path),
    }
    pajek = b"*Vertices 3\n1 a 0.1 0.2 box ic Red\n2 b\n3 c\n*Arcs\n1 2 3\n*Edgeslist\n1 2 3\n"
    more = {"net": [pajek, b"*Vertices 2\n*Matrix\n0 1\n1 0\n"], "edgelist": [b"a b\n1 2 0.5\n"]}
    found = {
        name: Parser(
            f"g.{name}",
            read_graph,
            lambda name=name, write=write: [  # type: ignore[misc]
                written(f"g.{name}", lambda path: write(plain_graph(), path)),
                *more.get(name, []),
            ],
        )
        for name, write in texts.items()
    }
    found |= {
        "csv-edges": Parser("e.csv", read_graph, lambda: [tables(".csv", 0)]),
        "csv-nodes": Parser("n.csv", nodes_of, lambda: [tables(".csv", 1)]),
        "tsv-edges": Parser("e.tsv", read_graph, lambda: [b'source\ttarget\n1\t2\n"a"\t007\n']),
        "parquet-edges": Parser(
            "e.parquet",
            read_graph,
            lambda: [
                tables(".parquet", 0),
                parquet(dictionary),
                parquet(edges, compression="zstd"),
            ],
        ),
        "parquet-nodes": Parser("n.parquet", nodes_of, lambda: [tables(".parquet", 1)]),
        "npz-graph": Parser("a.npz", read_graph, sparse_archives),
        "npz-indptr": Parser(
            "a.npz",
            read_graph,
            lambda: [npy(MATRIX.indptr)],
            with_member(sparse_archives()[0], "indptr.npy"),
        ),
        "npy-features": Parser(
            "x.npy",
            nodes_of,
            lambda: [npy(np.eye(3, dtype=kind)) for kind in ("f4", ">f8", "i2", "?")],
        ),
        "mtx": Parser("a.mtx", read_graph, matrix_market),
    }
    for ending, codec in ((".gz", "gzip"), (".bz2", "bz2"), (".zst", "zstd")):
        seeds = lambda codec=codec: [compressed(codec)(tables(".csv", 0))]  # noqa: E731
        found[f"csv{ending}"] = Parser(f"e.csv{ending}", read_graph, seeds)
    found["csv-inside-zst"] = Parser(
        "e.csv.zst", read_graph, lambda: [tables(".csv", 0)], compressed("zstd")
    )
    return found


def _others() -> dict[str, Parser]:
    embeddings = {
        f"embedding-{ending}": Parser(
            f"z.{ending}",
            read_embedding,
            lambda ending=ending: embedding(f"z.{ending}"),  # type: ignore[misc]
        )
        for ending in ("parquet", "csv", "npz", "txt")
    }
    models = {
        f"model-{kind}": Parser(
            "m.safetensors",
            load_model,
            lambda kind=kind: [model(kind)],  # type: ignore[misc]
        )
        for kind in ("gate", "linear")
    }
    headers = {
        f"header-{kind}": Parser(
            "m.safetensors",
            load_model,
            lambda kind=kind: [header(model(kind))],  # type: ignore[misc]
            lambda text, kind=kind: with_header(model(kind))(text),  # type: ignore[misc]
        )
        for kind in ("gate", "linear")
    }
    return {
        **embeddings,
        "embedding-ids": Parser(
            "z.npz",
            read_embedding,
            lambda: [npy(np.array(["a", "bc", "d", "é", "07"]))],
            with_member(embedding("z.npz")[0], "ids.npy"),
        ),
        **models,
        **headers,
        "tensors": Parser("c.safetensors", checkpoint_of, lambda: [save({"a": torch.zeros(2, 3)})]),
        "checkpoint": Parser("c.safetensors", checkpoint_of, lambda: [checkpoint()]),
        "run.json": Parser(
            "run.json",
            prepared_run,
            lambda: [run_record("gate"), run_record("linear")],
        ),
        "stored-run": Parser("r.json", find_stored_run, lambda: [stored_run()]),
        "stored-quality": Parser("q.json", find_quality, lambda: [stored_quality()]),
        "scratch-journal": Parser(
            "progress.json",
            lambda path: Scratch(path.parent, "a"),
            lambda: [b'{"run": "a", "rounds": {"smooth": 3}}'],
        ),
        "planetoid-pickle": Parser(
            "ind.cora.x",
            lambda path: load_content(path.read_bytes(), "ind.cora.x"),
            lambda: [
                fake_parts()["ty"],
                fake_parts()["tx"],
                old_pickle(np.arange(3, dtype=np.int32)),
                old_pickle({1: [2, 3]}),
            ],
        ),
        "dataset-archive": Parser("d.npz", read_archive, lambda: [npz(**ARCHIVE)]),
        "dataset-indptr": Parser(
            "d.npz",
            read_archive,
            lambda: [npy(ARCHIVE["x_indptr"])],
            with_member(npz(**ARCHIVE), "x_indptr.npy"),
        ),
    }


PARSERS: dict[str, Parser] = _graphs() | _others()
