"""Time and memory of reading a large graph from Parquet: read, checked, encoded.

    python -m benchmarks reading --json results/benchmarks/reading.json

The tables are random: integer ids, float32 attributes, edges between any two nodes. They are
written by one process, read by a second, whose peak is measured, and trained on by a third, because
the yardstick for the time of reading a graph is that of an epoch.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.inputs import DIMS, loss_of
from benchmarks.peers import make_peer
from benchmarks.processes import isolated
from benchmarks.runner import Measurements, spread, timed
from graphgate.compute.measure import measured, resident
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.graph_files import read_graph


def measure(
    nodes: int = 100_000, edges: int = 1_000_000, columns: int = 500, epochs: int = 3
) -> Measurements:
    subject = {"nodes": nodes, "edges": edges, "columns": columns}
    yield subject, partial(write_and_read, nodes, edges, columns, epochs)


def write_and_read(n: int, edges: int, columns: int, epochs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return (
            isolated(write_tables, Path(folder), n, edges, columns)
            | isolated(time_reading, Path(folder))
            | isolated(time_epochs, Path(folder), epochs)
        )


def write_tables(folder: Path, n: int, edges: int, columns: int) -> dict[str, Any]:
    """Node and edge tables; returns their size in memory, in MiB."""
    rng = np.random.default_rng(0)
    table = {"id": pa.array(rng.permutation(n))}
    for at in range(columns):
        table[f"c{at}"] = pa.array(rng.normal(3, 2, n).astype(np.float32))
    ends = {name: pa.array(rng.integers(0, n, edges)) for name in ("source", "target")}
    tables = {"nodes": pa.table(table), "edges": pa.table(ends)}
    for name, written in tables.items():
        pyarrow.parquet.write_table(written, folder / f"{name}.parquet")
    return {"data_mb": round(sum(written.nbytes for written in tables.values()) / 2**20, 1)}


def read(folder: Path) -> Graph:
    """The graph with the features that GATE learns from."""
    return GATE().prepare(read_graph(folder / "edges.parquet", folder / "nodes.parquet")).graph


def time_reading(folder: Path) -> dict[str, Any]:
    libraries = resident()
    with measured() as cost:
        graph = read(folder)
    return {
        "graph": repr(graph),
        "seconds": round(cost.seconds, 3),
        "peak_memory_mb": round(cost.peak_memory_mb - libraries, 1),
    }


def time_epochs(folder: Path, epochs: int) -> dict[str, Any]:
    trained = make_peer("ours", read(folder), DIMS, loss_of("synthetic"))
    return {"epoch_seconds": spread([timed(trained.epoch) for _ in range(epochs)])}
