"""Hand-made files of less than 100 kB that once crashed, or took gigabytes or minutes."""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fuzz.seeds import compressed, npz, parquet
from fuzz.targets import nodes_of
from graphgate.estimators.loading import load_model
from graphgate.io.embeddings import read_embedding
from graphgate.io.graph_files import read_graph

LARGEST = 100_000  # bytes


@dataclass(frozen=True)
class Hostile:
    """A file, and how it is read."""

    file: str
    content: Callable[[], bytes]
    read: Callable[[Path], Any] = read_graph


def repeated(piece: bytes, size: int, head: bytes = b"", tail: bytes = b"") -> bytes:
    return head + piece * (size // len(piece)) + tail


def numbered(form: str, size: int, head: str = "", tail: str = "") -> bytes:
    """Pieces with a running number, as many as fit."""
    pieces, length, at = [head], len(head), 0
    while length < size:
        pieces.append(form.format(at))
        length += len(pieces[-1])
        at += 1
    return "".join([*pieces, tail]).encode()


def bomb(codec: str, content: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: compressed(codec)(content())


def sparse(form: str, **arrays: Any) -> bytes:
    return npz(format=np.array(form.encode()), **arrays)


def zipped(size: int, name: str = "a.npy", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of one array of zeros."""
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 1), }" % size
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive, archive.open(name, "w") as member:
        member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(size // 1_000_000):
            member.write(bytes(1_000_000))
    return made.getvalue()


def lists_of_zeros() -> bytes:
    """Two lists of 2·10⁷ zeros."""
    values = pa.array(np.zeros(4 * 10**7, dtype=np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, 2 * 10**7, 4 * 10**7], pa.int32()), values)
    return parquet(pa.table({"node_id": [1, 2], "embedding": lists}), compression="zstd")


def long_text() -> bytes:
    """One text of 1 MB that 20,000 rows share."""
    rows = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(20_000, dtype=np.int32)), pa.array(["x" * 10**6])
    )
    return parquet(pa.table({"source": rows, "target": rows}), compression="zstd")


def delta_text() -> bytes:
    """300 texts of 1 MB, each the same as the one before."""
    table = pa.table({"source": ["x" * 10**6] * 300, "target": ["y"] * 300})
    encodings = {"source": "DELTA_BYTE_ARRAY"}
    return parquet(table, compression="zstd", use_dictionary=False, column_encoding=encodings)


def parquet_rows(n: int) -> bytes:
    zeros = pa.array(np.zeros(n, dtype=np.int32)).dictionary_encode()
    table = pa.table({"source": zeros, "target": zeros})
    return parquet(table, compression="zstd", row_group_size=n, max_rows_per_page=n)


def lying_page() -> bytes:
    """A page that states a size of 2 GB, in a file whose footer is right."""
    content = bytearray(parquet(pa.table({"source": ["a"], "target": ["b"]})))
    header = content.index(b"\x15\x00\x15")  # the fields of a header: kind, then sizes
    content[header + 3 : header + 4] = b"\xfe\xff\xff\xff\x0f"
    return bytes(content)


def deep_json(depth: int) -> bytes:
    header = json.dumps({"__metadata__": {"graphgate": "[" * depth}}).encode()
    return len(header).to_bytes(8, "little") + header


def many_edges(size: int) -> bytes:
    head = b"graph [\nmultigraph 1\nnode [ id 0 ]\nnode [ id 1 ]\n"
    return repeated(b"edge [ source 0 target 1 ]\n", size, head, b"]")


MTX = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.0"
GEXF = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph><nodes>'
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
HOSTILE: dict[str, Hostile] = {
    # the interpreter died
    "indptr that ends in -1": Hostile(
        "a.npz",
        lambda: sparse(
            "csr",
            shape=np.array([3, 3]),
            data=np.ones(1),
            indices=np.array([0]),
            indptr=np.array([0, 100, 200, -1]),
        ),
    ),
    ".mtx that ends in a space": Hostile("a.mtx", lambda: MTX + b" "),
    ".mtx that ends in a CR": Hostile("a.mtx", lambda: MTX + b"\r"),
    ".mtx that ends in a NUL": Hostile("a.mtx", lambda: MTX + b"\0"),
    ".mtx that ends in 1.0x": Hostile("a.mtx", lambda: MTX + b"x"),
    "word2vec 0 1000000": Hostile("z.txt", lambda: b"0 1000000\n", read_embedding),
    "rows in .csv.bz2": Hostile(
        "e.csv.bz2", bomb("bz2", lambda: repeated(b"1,2\n", 40_000_000, b"source,target\n"))
    ),
    "rows in .csv.zst": Hostile(
        "e.csv.zst", bomb("zstd", lambda: repeated(b"1,2\n", 200_000_000, b"source,target\n"))
    ),
    # gigabytes or minutes
    "word2vec 3 999999999": Hostile("z.txt", lambda: b"3 999999999\n", read_embedding),
    "Pajek, a million vertices": Hostile("g.net", lambda: b"*Vertices 1000000\n"),
    "Pajek, 2,500 columns": Hostile(
        "g.net", lambda: numbered("1 a 0 0 box c{0} 1\n", 50_000, "*Vertices 90000\n")[:60_000]
    ),
    "Pajek, columns of 50 vertices": Hostile(
        "g.net",
        lambda: numbered("a{0} 1 ", 90_000, "*Vertices 50\n1 a 0 0 box ", "\n"),
    ),
    "9,999,999 nodes, one edge": Hostile(
        "a.npz",
        lambda: sparse(
            "coo",
            shape=np.array([9_999_999] * 2),
            data=np.ones(1),
            row=np.array([0]),
            col=np.array([1]),
        ),
    ),
    "9,999,999 nodes in .mtx": Hostile(
        "a.mtx", lambda: MTX.replace(b"2 2 1", b"9999999 9999999 1") + b"\n"
    ),
    ".npz in dia form": Hostile(
        "a.npz",
        lambda: sparse(
            "dia",
            shape=np.array([2**30] * 2),
            data=np.ones((40, 2)),
            offsets=np.arange(40),
        ),
    ),
    "lists of zeros in Parquet": Hostile("z.parquet", lists_of_zeros, read_embedding),
    "endless header in .csv.bz2": Hostile(
        "e.csv.bz2", bomb("bz2", lambda: repeated(b"abcdefgh", 40_000_000, b"source,target,"))
    ),
    "endless cell in .csv.zst": Hostile(
        "e.csv.zst",
        bomb("zstd", lambda: repeated(b"abcdefgh", 200_000_000, b"source,target\n1,2")),
    ),
    "endless cell, quoted": Hostile(
        "e.csv.zst",
        bomb("zstd", lambda: repeated(b"abc\n", 200_000_000, b'source,target\n1,"2')),
    ),
    "nodes in .gml.zst": Hostile(
        "g.gml.zst", bomb("zstd", lambda: repeated(b"node [ id 1 ]\n", 50_000_000, b"graph [\n"))
    ),
    "nodes in .graphml.zst": Hostile(
        "g.graphml.zst",
        bomb("zstd", lambda: repeated(b'<node id="1"/>', 50_000_000, GRAPHML.encode())),
    ),
    "edges in .edgelist.zst": Hostile(
        "g.edgelist.zst", bomb("zstd", lambda: repeated(b"1 2\n", 100_000_000))
    ),
    "edges in .edgelist.bz2": Hostile(
        "g.edgelist.bz2", bomb("bz2", lambda: repeated(b"1 2\n", 20_000_000))
    ),
    "entries in .mtx.zst": Hostile(
        "g.mtx.zst",
        bomb("zstd", lambda: repeated(b"1 2 1\n", 100_000_000, MTX.replace(b"2 2 1", b"2 2 9"))),
    ),
    ".npy of shape (10¹², 0)": Hostile(
        "x.npy",
        lambda: (
            b"\x93NUMPY\x01\x00\x3d\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0), }".ljust(60)[
                :60
            ]
            + b"\n"
        ),
        nodes_of,
    ),
    # as much as the limits allow
    "GEXF within the limit": Hostile(
        "g.gexf.zst",
        bomb(
            "zstd", lambda: numbered('<node id="{0}"/>', 4_990_000, GEXF, "</nodes></graph></gexf>")
        ),
    ),
    "GraphML within the limit": Hostile(
        "g.graphml.zst",
        bomb(
            "zstd", lambda: numbered('<node id="{0}"/>', 4_990_000, GRAPHML, "</graph></graphml>")
        ),
    ),
    "GML within the limit": Hostile("g.gml.zst", bomb("zstd", lambda: many_edges(4_990_000))),
    "adjacency list within the limit": Hostile(
        "g.adjlist.zst", bomb("zstd", lambda: repeated(b" 2", 4_990_000, b"1"))
    ),
    "edge list within the limit": Hostile(
        "g.edgelist.zst", bomb("zstd", lambda: repeated(b"1 2\n", 4_990_000))
    ),
    "Pajek within the limit": Hostile(
        "g.net.zst", bomb("zstd", lambda: repeated(b"1 2\n", 4_990_000, b"*Vertices 2\n*Arcs\n"))
    ),
    "rows of .csv within the limit": Hostile(
        "e.csv.zst", bomb("zstd", lambda: repeated(b"1,2\n", 24_900_000, b"source,target\n"))
    ),
    "text in .csv within the limit": Hostile(
        "e.csv.zst", bomb("zstd", lambda: repeated(b"a,b\n", 24_900_000, b"source,target\n"))
    ),
    "empty cells within the limit": Hostile(
        "n.csv.zst",
        bomb(
            "zstd",
            lambda: numbered("{0}" + "," * 999 + "\n", 24_900_000, f"id{_names(999)}\n"),
        ),
        nodes_of,
    ),
    "40,000 columns of text": Hostile(
        "n.csv.bz2",
        bomb("bz2", lambda: f"id{_names(39_999)}\n0{',a' * 39_999}\n1{',b' * 39_999}\n".encode()),
        nodes_of,
    ),
    "40,001 columns": Hostile(
        "n.csv.bz2",
        bomb("bz2", lambda: f"id{_names(40_000)}\n1{',a' * 40_000}\n".encode()),
        nodes_of,
    ),
    "zeros in .npz within the limit": Hostile("a.npz", lambda: zipped(24_000_000)),
    "edges in .npz within the limit": Hostile(
        "a.npz",
        lambda: _saved_compressed(
            format=np.array(b"coo"),
            shape=np.array([100, 100]),
            data=np.ones(8_000_000, dtype=bool),
            row=np.zeros(8_000_000, dtype=np.uint8),
            col=np.ones(8_000_000, dtype=np.uint8),
        ),
    ),
    "zeros in .npz": Hostile("a.npz", lambda: zipped(90_000_000)),
    "zeros in an embedding .npz": Hostile(
        "z.npz", lambda: zipped(90_000_000, "embedding.npy"), read_embedding
    ),
    ".npz compressed by LZMA": Hostile(
        "a.npz", lambda: zipped(90_000_000, method=zipfile.ZIP_LZMA)
    ),
    "2·10⁷ rows of Parquet": Hostile("e.parquet", lambda: parquet_rows(20_000_000)),
    "rows of Parquet within the limit": Hostile("e.parquet", lambda: parquet_rows(12_000_000)),
    "a long text in Parquet, 20,000 times": Hostile("e.parquet", long_text),
    "a long text in Parquet, by prefixes": Hostile("e.parquet", delta_text),
    "a page of Parquet that lies": Hostile("e.parquet", lying_page),
    # errors that were no sentence
    "deep JSON": Hostile("m.safetensors", lambda: deep_json(90_000), load_model),
    "header of 2⁶³ bytes": Hostile(
        "m.safetensors", lambda: struct.pack("<Q", 2**63) + b"{}", load_model
    ),
    "deep XML": Hostile("g.graphml", lambda: b"<a>" * 33_000),
    "deep GML": Hostile("g.gml", lambda: b"graph [ " + b"a [ " * 20_000),
    "unpaired surrogate in GML": Hostile(
        "g.gml", lambda: b'graph [ node [ id 0 label "&#55296;" ] node [ id 1 ] ]'
    ),
    "integer of 400 digits in GML": Hostile(
        "g.gml", lambda: b"graph [ node [ id 0 a 1%s ] node [ id 1 a 2 ] ]" % (b"0" * 400)
    ),
    "weight of 400 digits": Hostile("g.edgelist", lambda: b"a b {'weight': 1%s}" % (b"0" * 400)),
    "GraphML without ids": Hostile(
        "g.graphml", lambda: GRAPHML.encode() + b"<node/><node/><edge/></graph></graphml>"
    ),
    "attributes of every node in GML": Hostile(
        "g.gml.zst",
        bomb("zstd", lambda: numbered("node [ id {0} a{0} 1 ]\n", 900_000, "graph [\n", "]")),
    ),
}


def _names(n: int) -> str:
    return "".join(f",{at:x}" for at in range(n))


def _saved_compressed(**arrays: Any) -> bytes:
    made = io.BytesIO()
    np.savez_compressed(made, **arrays)
    return made.getvalue()
