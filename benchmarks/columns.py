"""Processor time and memory of reading and encoding messy columns, beside scikit-learn on the text.

    python -m benchmarks columns --json results/benchmarks/columns.json

A table of twenty columns, three of them text, is written as Parquet by one process. A second
decides what the columns are and encodes them; a third runs `TfidfVectorizer` on the columns of text
alone. Times are of the processor, so that other work on the machine matters less.
"""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from benchmarks.processes import isolated
from benchmarks.runner import Measurements
from graphgate.compute.measure import measured, resident
from graphgate.io.graph_files import read_graph
from graphgate.preprocessing.attribute_encoder import AttributeEncoder

TEXTS = ("title", "abstract", "comment")


def measure(nodes: int = 1_000_000) -> Measurements:
    yield {"nodes": nodes, "columns": 20, "texts": len(TEXTS)}, partial(compare, nodes)


def compare(nodes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        isolated(write_tables, Path(folder), nodes)
        ours = isolated(encode, Path(folder))
        peer = isolated(vectorize, Path(folder))
    return ours | peer | {"ratio": round(ours["cpu_seconds"] / peer["tfidf_cpu_seconds"], 2)}


def write_tables(folder: Path, n: int) -> dict[str, Any]:
    """Random values: numbers, spelled numbers, dates, categories and text of Zipf's words."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"id": np.arange(n)}
    columns |= {f"number {at}": rng.normal(size=n).astype(np.float32) for at in range(8)}
    columns |= {f"level {at}": rng.integers(0, 50, n) for at in range(2)}
    columns["price"] = [f"€ {p:,.2f}" for p in rng.lognormal(5, 1, n)]
    columns["day"] = np.datetime64("2015-01-01") + rng.integers(0, 3000, n)
    columns["town"] = pa.array([f"town{at}" for at in range(3000)]).take(
        pa.array(rng.integers(0, 3000, n))
    )
    columns["color"] = pa.array(["red", "green", "blue"]).take(pa.array(rng.integers(0, 3, n)))
    columns["member"] = rng.random(n) < 0.4
    columns["mail"] = pa.array([f"box{at}@host{at % 99}.test" for at in range(20_000)]).take(
        pa.array(rng.integers(0, 20_000, n))
    )
    columns["score"] = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    words = pa.array([f"w{at}" for at in range(50_000)])
    for name, length in zip(TEXTS, (6, 30, 12), strict=True):
        chosen = np.minimum(rng.zipf(1.3, n * length), 50_000) - 1
        starts = pa.array(np.arange(n + 1, dtype=np.int32) * length)
        lists = pa.ListArray.from_arrays(starts, words.take(pa.array(chosen)))
        columns[name] = pc.binary_join(lists, " ")
    pyarrow.parquet.write_table(pa.table(columns), folder / "nodes.parquet")
    ends = {name: pa.array(rng.integers(0, n, 10)) for name in ("source", "target")}
    pyarrow.parquet.write_table(pa.table(ends), folder / "edges.parquet")
    return {}


def encode(folder: Path) -> dict[str, Any]:
    libraries = resident()
    start = time.process_time()
    with measured() as cost:
        graph = read_graph(folder / "edges.parquet", folder / "nodes.parquet")
        read = time.process_time() - start
        assert graph.attributes is not None
        encoder = AttributeEncoder().fit(graph.attributes)
        x = encoder.transform(graph.attributes)
    return {
        "features": x.shape[1],
        "reading_cpu_seconds": round(read, 2),
        "cpu_seconds": round(time.process_time() - start, 2),
        "peak_memory_mb": round(cost.peak_memory_mb - libraries, 1),
    }


def vectorize(folder: Path) -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = pyarrow.parquet.read_table(folder / "nodes.parquet", columns=list(TEXTS))
    texts = {name: table.column(name).to_pylist() for name in TEXTS}
    start = time.process_time()
    for name in TEXTS:
        TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(texts[name])
    return {"tfidf_cpu_seconds": round(time.process_time() - start, 2)}
