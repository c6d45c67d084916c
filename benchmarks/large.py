"""Parquet to Parquet: time and memory of `graphgate embed` for a large graph.

    python benchmarks/large.py --nodes 1000000 --json results/benchmarks/large.json

Synthetic block graphs (see `synthetic.py`): 10 undirected edges a node, 20 words a node out of
1,000, in a column of lists. The tables are written by one process; another one, whose time and
peak are those reported, is the command. With `--only read` that process reads the tables, encodes
them, and writes a random embedding, but trains nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import isolated
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from machine import description, use_threads
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score
from synthetic import block_graph

import graphgate.estimators.linear_gate  # what a user imports counts as library
from graphgate.experiments.measure import resident
from graphgate.io.embeddings import read_embedding, write_embedding
from graphgate.io.files import write_json
from graphgate.io.graph_files import read_graph

COLUMNS = 128  # of the random embedding


def write_tables(folder: Path, n: int) -> dict[str, Any]:
    """edges.parquet, nodes.parquet with lists of words, and labels.parquet."""
    graph = block_graph(n)
    ids = pa.array([f"node-{at}" for at in range(n)])
    pairs = sp.triu(graph.adjacency, 1).tocoo()
    order = np.random.default_rng(0).permutation(pairs.nnz)
    ends = {"source": pairs.row, "target": pairs.col}
    edges = {name: ids.take(pa.array(rows[order])) for name, rows in ends.items()}
    pyarrow.parquet.write_table(pa.table(edges), folder / "edges.parquet")
    names = pa.array([f"word{at}" for at in range(graph.n_features)])
    words = pa.ListArray.from_arrays(
        pa.array(graph.x.indptr, pa.int32()), names.take(pa.array(graph.x.indices))
    )
    pyarrow.parquet.write_table(pa.table({"id": ids, "words": words}), folder / "nodes.parquet")
    labels = pa.table({"id": ids, "label": graph.labels})
    pyarrow.parquet.write_table(labels, folder / "labels.parquet")
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "features": graph.n_features}


def read_and_write(folder: Path) -> dict[str, Any]:
    """In the child: CPU seconds of each step, and the peak of the process after it, in MiB."""
    result: dict[str, Any] = {"libraries_mb": round(resident(), 1), "steps": {}}

    start = time.process_time()

    def note(step: str) -> None:
        nonlocal start
        seconds = round(time.process_time() - start, 3)
        result["steps"][step] = {"cpu_seconds": seconds, "peak_memory_mb": round(_peak(), 1)}
        start = time.process_time()

    graph = read_graph(folder / "edges.parquet", folder / "nodes.parquet")
    note("read")
    graphgate.estimators.linear_gate.LinearGATE().prepare(graph)
    note("encode")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((graph.n_nodes, COLUMNS), dtype=np.float32)
    start = time.process_time()
    write_embedding(folder / "random.parquet", graph.ids, vectors)
    note("write")
    return result


def _peak() -> float:
    """MiB of this process, without the processes that it started."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def embed(folder: Path, processes: int, options: list[str]) -> dict[str, Any]:
    """Time and peak of the command; of several processes, the peak of the largest."""
    launcher = [sys.executable, "-m", "graphgate"]
    if processes > 1:
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        launcher = [sys.executable, *torchrun, "-m", "graphgate"]
    files = ["edges.parquet", "--nodes", "nodes.parquet", "--out", "out.parquet"]
    start = time.perf_counter()
    running = subprocess.Popen([*launcher, "embed", *files, *options], cwd=folder)
    _, status, usage = os.wait4(running.pid, 0)
    seconds = time.perf_counter() - start
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"graphgate embed failed with code {running.returncode}")
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory_mb": round(usage.ru_maxrss / 1024, 1),
    }


def agreement(folder: Path) -> dict[str, Any]:
    """NMI of k-means with the blocks."""
    labels = pyarrow.parquet.read_table(folder / "labels.parquet").column("label").to_numpy()
    vectors = read_embedding(folder / "out.parquet").vectors
    k = len(np.unique(labels))
    clusters = MiniBatchKMeans(k, n_init=3, batch_size=10_000, random_state=0).fit_predict(vectors)
    return {
        "blocks": k,
        "columns": vectors.shape[1],
        "nmi": round(float(normalized_mutual_info_score(labels, clusters)), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--method", help="of `graphgate embed`; by default its own choice")
    parser.add_argument("--memory-limit", help="passed on to `graphgate embed`")
    parser.add_argument("--processes", type=int, default=1, help="started by torchrun")
    parser.add_argument("--only", choices=["read"], help="read, encode and write; do not embed")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=["tables", "read"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        work = {
            "tables": lambda: write_tables(given.folder, given.nodes),
            "read": lambda: read_and_write(given.folder),
        }
        isolated.answer(work[given.child], isolated.default_limit_gib())
        return
    result = description("large.py", use_threads(None)) | {"processes": given.processes}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for child in ("tables", *(["read"] if given.only else [])):
            arguments = ("--nodes", str(given.nodes), "--folder", name, "--child", child)
            result |= isolated.run("large.py", *arguments)
        if given.only is None:
            passed = {"--method": given.method, "--memory-limit": given.memory_limit}
            options = [part for pair in passed.items() if pair[1] is not None for part in pair]
            result |= embed(folder, given.processes, options) | agreement(folder)
    print({name: value for name, value in result.items() if name != "versions"})
    if given.json:
        write_json(given.json, result)


if __name__ == "__main__":
    main()
