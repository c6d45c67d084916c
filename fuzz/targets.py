"""What is fuzzed: every function of the package that parses bytes, with valid inputs."""

import bz2
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import save

from fuzz.seeds import (
    MATRIX,
    SPEC,
    checkpoint,
    compressed,
    embedding,
    graph,
    header,
    matrix_market,
    model,
    npy,
    npz,
    parquet,
    plain_graph,
    run_record,
    sparse_archives,
    stored_run,
    tables,
    with_header,
    with_member,
    written,
)
from graphgate.compute.scratch import Scratch
from graphgate.datasets.archives import read_archive
from graphgate.datasets.unpickler import load_content
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import load_model
from graphgate.estimators.runs import read_run
from graphgate.io.embeddings import read_embedding
from graphgate.io.graph_files import read_graph
from graphgate.io.graph_writer import to_tables
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.tensors import read_tensors
from graphgate.paper.experiments.run_store import RunStore
from tests.graph_archive import ARCHIVE
from tests.old_pickles import fake_parts, old_pickle

Seeds = Callable[[], list[bytes]]


@dataclass(frozen=True)
class Target:
    """What reads a file of this name, and valid inputs.

    wrap : makes the content of the file from an input, where a checksum or a container around it
        would let hardly any mutation through.
    """

    file: str
    parse: Callable[[Path], Any]
    seeds: Seeds
    wrap: Callable[[bytes], bytes] = bytes


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
    made.check_fits(prepared)
    return record


def find_stored_run(path: Path) -> Any:
    place = path.parent / SPEC.file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(path.read_bytes())
    return RunStore(path.parent).find(SPEC)


def checkpoint_of(path: Path) -> Any:
    return read_tensors(path, "checkpoint", {"run": str, "history": dict, "finished": bool})


def _graphs() -> dict[str, Target]:
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
    targets = {
        name: Target(
            f"g.{name}",
            read_graph,
            lambda name=name, write=write: [  # type: ignore[misc]
                written(f"g.{name}", lambda path: write(plain_graph(), path)),
                *more.get(name, []),
            ],
        )
        for name, write in texts.items()
    }
    targets |= {
        "csv-edges": Target("e.csv", read_graph, lambda: [tables("edges.csv")]),
        "csv-nodes": Target("n.csv", nodes_of, lambda: [tables("nodes.csv")]),
        "tsv-edges": Target("e.tsv", read_graph, lambda: [b'source\ttarget\n1\t2\n"a"\t007\n']),
        "parquet-edges": Target(
            "e.parquet",
            read_graph,
            lambda: [
                tables("edges.parquet"),
                parquet(dictionary),
                parquet(edges, compression="zstd"),
            ],
        ),
        "parquet-nodes": Target("n.parquet", nodes_of, lambda: [tables("nodes.parquet")]),
        "npz-graph": Target("a.npz", read_graph, sparse_archives),
        "npz-indptr": Target(
            "a.npz",
            read_graph,
            lambda: [npy(MATRIX.indptr)],
            with_member(sparse_archives()[0], "indptr.npy"),
        ),
        "npy-features": Target(
            "x.npy",
            nodes_of,
            lambda: [npy(np.eye(3, dtype=kind)) for kind in ("f4", ">f8", "i2", "?")],
        ),
        "mtx": Target("a.mtx", read_graph, matrix_market),
    }
    # A reader of bzip2 allocates a block for every input, the smallest of which has 100 kB.
    codecs = {"gz": compressed("gzip"), "bz2": partial(bz2.compress, compresslevel=1)}
    for ending, codec in (codecs | {"zst": compressed("zstd")}).items():
        seeds = lambda codec=codec: [codec(tables("edges.csv"))]  # noqa: E731
        targets[f"csv.{ending}"] = Target(f"e.csv.{ending}", read_graph, seeds)
    targets["csv-inside-zst"] = Target(
        "e.csv.zst", read_graph, lambda: [tables("edges.csv")], compressed("zstd")
    )
    return targets


def _others() -> dict[str, Target]:
    embeddings = {
        f"embedding-{ending}": Target(
            f"z.{ending}",
            read_embedding,
            lambda ending=ending: embedding(f"z.{ending}"),  # type: ignore[misc]
        )
        for ending in ("parquet", "csv", "npz", "txt")
    }
    models = {
        f"model-{kind}": Target(
            "m.safetensors",
            load_model,
            lambda kind=kind: [model(kind)],  # type: ignore[misc]
        )
        for kind in ("gate", "linear")
    }
    headers = {
        f"header-{kind}": Target(
            "m.safetensors",
            load_model,
            lambda kind=kind: [header(model(kind))],  # type: ignore[misc]
            lambda text, kind=kind: with_header(model(kind))(text),  # type: ignore[misc]
        )
        for kind in ("gate", "linear")
    }
    return {
        **embeddings,
        "embedding-ids": Target(
            "z.npz",
            read_embedding,
            lambda: [npy(np.array(["a", "bc", "d", "é", "07"]))],
            with_member(embedding("z.npz")[0], "ids.npy"),
        ),
        **models,
        **headers,
        "tensors": Target("c.safetensors", checkpoint_of, lambda: [save({"a": torch.zeros(2, 3)})]),
        "checkpoint": Target("c.safetensors", checkpoint_of, lambda: [checkpoint()]),
        "run.json": Target(
            "run.json",
            prepared_run,
            lambda: [run_record("gate"), run_record("linear")],
        ),
        "stored-run": Target("r.jsonl", find_stored_run, lambda: [stored_run()]),
        "scratch-journal": Target(
            "progress.json",
            lambda path: Scratch(path.parent, "a"),
            lambda: [b'{"run": "a", "rounds": {"smooth": 3}}'],
        ),
        "planetoid-pickle": Target(
            "ind.cora.x",
            lambda path: load_content(path.read_bytes(), "ind.cora.x"),
            lambda: [
                fake_parts()["ty"],
                fake_parts()["tx"],
                old_pickle(np.arange(3, dtype=np.int32)),
                old_pickle({1: [2, 3]}),
            ],
        ),
        "dataset-archive": Target("d.npz", read_archive, lambda: [npz(**ARCHIVE)]),
        "dataset-indptr": Target(
            "d.npz",
            read_archive,
            lambda: [npy(ARCHIVE["x_indptr"])],
            with_member(npz(**ARCHIVE), "x_indptr.npy"),
        ),
    }


TARGETS: dict[str, Target] = _graphs() | _others()

# What parses the bytes; several targets reach the same parser by another file ending, from inside a
# container, or on behalf of another reader.
PARSERS: dict[str, tuple[str, ...]] = {
    "CSV, TSV": ("csv-edges", "csv-nodes", "tsv-edges", "embedding-csv", "csv-inside-zst"),
    "gzip": ("csv.gz",),
    "bzip2": ("csv.bz2",),
    "Zstandard": ("csv.zst",),
    "word2vec text": ("embedding-txt",),
    "Parquet": ("parquet-edges", "parquet-nodes", "embedding-parquet"),
    "NumPy arrays": ("npy-features", "npz-indptr", "embedding-ids", "dataset-indptr"),
    "NumPy archives": ("npz-graph", "embedding-npz", "dataset-archive"),
    "Matrix Market": ("mtx",),
    "GraphML": ("graphml",),
    "GML": ("gml",),
    "GEXF": ("gexf",),
    "Pajek": ("net",),
    "edge list": ("edgelist",),
    "adjacency list": ("adjlist",),
    "safetensors": ("model-gate", "model-linear", "tensors", "checkpoint"),
    "header of a model": ("header-gate", "header-linear"),
    "record of a run": ("run.json",),
    "stored result": ("stored-run",),
    "scratch journal": ("scratch-journal",),
    "Planetoid pickle": ("planetoid-pickle",),
}
