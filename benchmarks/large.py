"""Parquet to Parquet: time and memory of `graphgate embed` for large graphs.

    python -m benchmarks large --rounds 3 --json results/benchmarks/large.json

Synthetic block graphs (see `synthetic.py`): 10 undirected edges per node, 20 words per node out of
1,000, in a column of lists. The tables are written by one process; another one, whose time and
peak are reported, is the command. NMI is that of k-means with the blocks. Each of the three modes
(linear, GATE on the whole graph, GATE by parts) is run by one process with all threads and by two
that share them. At the end, the plan for large graphs is compared with that for small ones, at
100,000 nodes and in memory. --modes and --nodes restrict what is run.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from benchmarks.processes import isolated
from benchmarks.runner import Measurements
from benchmarks.synthetic import block_graph
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.io.embeddings import read_embedding
from graphgate.linear import linear_plan
from graphgate.paper.experiments.quality import random_probe
from graphgate.tasks.clustering import agreement, cluster_vectors

LINEAR: dict[str, Any] = {"mode": "linear"}
EXACT = {"mode": "exact", "method": "gate", "batch_size": "full"}
PARTS = {"mode": "parts", "method": "gate"}
# By parts, one process does what two do.
TWO_PARTS = PARTS | {"parts_per_step": 2}
RUNS: tuple[tuple[int, dict[str, Any]], ...] = (
    (100_000, EXACT | {"processes": 1}),
    (100_000, EXACT | {"processes": 2}),
    (300_000, LINEAR | {"processes": 1}),
    (300_000, LINEAR | {"processes": 1, "memory_limit": "1GiB"}),
    (300_000, LINEAR | {"processes": 2}),
    (300_000, TWO_PARTS | {"processes": 1}),
    (300_000, TWO_PARTS | {"processes": 2}),
    (1_000_000, LINEAR | {"processes": 1}),
    (1_000_000, LINEAR | {"processes": 2}),
    (1_000_000, PARTS | {"processes": 1}),
    (2_000_000, LINEAR | {"processes": 1}),
)
OPTIONS = ("method", "memory_limit", "batch_size", "parts_per_step")
UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def measure(
    nodes: int = 0, modes: tuple[str, ...] = ("linear", "exact", "parts", "columns")
) -> Measurements:
    for size in sorted({size for size, _ in RUNS if nodes in (0, size)}):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            tables = cache(partial(isolated, write_tables, folder, size))
            for run in (run for n, run in RUNS if n == size and run["mode"] in modes):
                subject = {"nodes": size, "memory_limit": None} | run
                yield subject, partial(embed, folder, run, tables)
    for columns in (256, 512) if "columns" in modes else ():
        work = partial(isolated, few_or_many, columns, nodes or 100_000)
        yield {"mode": "columns", "coordinates": columns}, work


def write_tables(folder: Path, n: int) -> dict[str, Any]:
    """edges.parquet, nodes.parquet with lists of words, and labels.parquet."""
    graph = block_graph(n)
    ids = pa.array([f"node-{at}" for at in range(n)])
    pairs = sp.triu(graph.adjacency, 1).tocoo()
    order = np.random.default_rng(0).permutation(pairs.nnz)
    ends = {"source": pairs.row, "target": pairs.col}
    names = pa.array([f"word{at}" for at in range(graph.n_features)])
    words = pa.ListArray.from_arrays(
        pa.array(graph.x.indptr, pa.int32()), names.take(pa.array(graph.x.indices))
    )
    tables = {
        "edges": {name: ids.take(pa.array(rows[order])) for name, rows in ends.items()},
        "nodes": {"id": ids, "words": words},
        "labels": {"id": ids, "label": graph.labels},
    }
    for name, columns in tables.items():
        pyarrow.parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "features": graph.n_features}


def embed(
    folder: Path, run: dict[str, Any], tables: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Time and peak of the command, and NMI; of several processes, the peak of the largest."""
    sizes, processes = tables(), run["processes"]
    options = []
    for option in OPTIONS:
        if option in run:
            options += ["--" + option.replace("_", "-"), str(run[option])]
    launcher = [sys.executable, "-m", "graphgate"]
    if processes > 1:
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        launcher = [sys.executable, *torchrun, "-m", "graphgate"]
    files = ["edges.parquet", "--nodes", "nodes.parquet", "--out", "out.parquet"]
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as notes:
        running = subprocess.Popen([*launcher, "embed", *files, *options], cwd=folder, stderr=notes)
        _, status, usage = os.wait4(running.pid, 0)
        notes.seek(0)
        text = notes.read()
    seconds = time.perf_counter() - start
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"graphgate embed failed with code {running.returncode}: {text}")
    values = {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory_mb": round(usage.ru_maxrss / 1024, 1),
    }
    values |= {"communicating_seconds": communicating(text)} if processes > 1 else {}
    # In a process of its own: the system counts the peak of a process that starts another one
    # as part of the other's peak.
    return sizes | values | isolated(clusters_and_blocks, folder)


def communicating(notes: str) -> float:
    """Seconds that the first process reports for communication, including waiting for others."""
    reported = re.findall(r"has communicated for ([\d.]+) (ms|s|min|h)\b", notes)
    return sum(float(number) * UNITS[unit] for number, unit in reported)


def clusters_and_blocks(folder: Path) -> dict[str, Any]:
    """NMI of k-means with the blocks."""
    labels = pyarrow.parquet.read_table(folder / "labels.parquet").column("label").to_numpy()
    vectors = normalize(read_embedding(folder / "out.parquet").vectors)
    k = len(np.unique(labels))
    rough = MiniBatchKMeans(k, n_init=3, batch_size=10_000, random_state=0).fit(vectors)
    clusters = KMeans(k, init=rough.cluster_centers_, n_init=1, max_iter=20).fit_predict(vectors)
    nmi = round(float(normalized_mutual_info_score(labels, clusters)), 4)
    return {"blocks": k, "columns": vectors.shape[1], "nmi": nmi}


def few_or_many(columns: int, n: int, seeds: int = 2) -> dict[str, Any]:
    """Probe accuracy and NMI with few columns and with many, in percent."""
    graph = block_graph(n)
    assert graph.labels is not None
    linear_plan.LARGE = 0 if columns == 256 else n
    values: dict[str, list[float]] = {"accuracy": [], "nmi": []}
    for seed in range(seeds):
        z = LinearGATE(random_state=seed).fit(graph).embedding_
        values["accuracy"].append(random_probe(z, graph.labels, seed)["accuracy"])
        clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=seed)
        values["nmi"].append(agreement(graph.labels, clusters)["nmi"])
    return {**values}
