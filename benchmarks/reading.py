"""Time and memory of reading a large graph from Parquet: read, checked, encoded.

    python benchmarks/reading.py --nodes 100000 --edges 1000000 --columns 500 --json out.json

The tables are random: whole ids, float32 attributes, edges between any two nodes. They are written
by one process, read by a second, whose peak is measured, and trained on by a third, because the
measure of a fair time to read a graph is that of an epoch.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import isolated
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from inputs import DIMS, loss_of
from machine import description, spread, use_threads
from peers import make_peer

import graphgate.estimators.gate  # what a user imports counts as library
from graphgate.compute.measure import measured, resident
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json
from graphgate.io.graph_files import read_graph


def write_tables(folder: Path, n: int, edges: int, columns: int) -> dict[str, Any]:
    """Node and edge tables; returns their size as they are in memory, in MiB."""
    rng = np.random.default_rng(0)
    table = {"id": pa.array(rng.permutation(n))}
    for at in range(columns):
        table[f"c{at}"] = pa.array(rng.normal(3, 2, n).astype(np.float32))
    pyarrow.parquet.write_table(pa.table(table), folder / "nodes.parquet")
    ends = {name: pa.array(rng.integers(0, n, edges)) for name in ("source", "target")}
    pyarrow.parquet.write_table(pa.table(ends), folder / "edges.parquet")
    data = pa.table(table).nbytes + pa.table(ends).nbytes
    return {"data_mb": round(data / 2**20, 1)}


def read(folder: Path) -> Graph:
    """The graph with the features that GATE learns from."""
    graph = read_graph(folder / "edges.parquet", folder / "nodes.parquet")
    return graphgate.estimators.gate.GATE().prepare(graph)


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
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        trained.epoch()
        seconds.append(time.perf_counter() - start)
    return {"epoch_seconds": spread(seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=3, help="0: do not train")
    parser.add_argument("--threads", type=int, help="of training; by default torch's own choice")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=["write", "read", "train"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit = given.limit or isolated.default_limit_gib()
    threads = use_threads(given.threads)
    if given.child:
        work = {
            "write": lambda: write_tables(given.folder, given.nodes, given.edges, given.columns),
            "read": lambda: time_reading(given.folder),
            "train": lambda: time_epochs(given.folder, given.epochs),
        }
        isolated.answer(work[given.child], limit)
        return
    result = description("reading.py", threads)
    result |= {"nodes": given.nodes, "edges": given.edges, "columns": given.columns}
    with tempfile.TemporaryDirectory() as folder:
        for child in ("write", "read", *(["train"] if given.epochs else [])):
            options = {"--nodes": given.nodes, "--edges": given.edges, "--columns": given.columns}
            options |= {"--epochs": given.epochs, "--threads": threads, "--limit": limit}
            options |= {"--folder": folder, "--child": child}
            flat = [str(part) for pair in options.items() for part in pair]
            result |= isolated.run("reading.py", *flat)
    print(line(result))
    if given.json:
        write_json(given.json, result)


def line(result: dict[str, Any]) -> str:
    if result["status"] != "ok":
        return str(result["status"])
    peak, data = result["peak_memory_mb"], result["data_mb"]
    told = f"{result['seconds']:.2f} s, peak {peak:,.0f} MiB, {peak / data:.2f} × the data's size"
    if "epoch_seconds" in result:
        epochs = result["seconds"] / result["epoch_seconds"]["median"]
        told += f"; as long as {epochs:.1f} epochs of training"
    return told


if __name__ == "__main__":
    main()
