"""Parquet to Parquet: time and memory of `graphgate embed` for large graphs.

    python benchmarks/large.py --json results/benchmarks/large.json

Synthetic block graphs (see `synthetic.py`): 10 undirected edges a node, 20 words a node out of
1,000, in a column of lists. The tables are written by one process; another one, whose time and
peak are those reported, is the command. NMI is that of k-means with the blocks. Each of the three
modes (linear, GATE on the whole graph, GATE by parts) is run by one process with all threads and by
two with a share of them; `--repeats` alternates between them, and reports the median of the times
and all of them. `--only read` reads the tables, encodes them, and writes a random
embedding; `--only columns` compares the plan for large graphs with that for small ones, at 100,000
nodes and in memory. The file is written after every run, and runs that it already has are kept,
unless --renew; --modes and --nodes restrict what is run, and then what is renewed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
from machine import description, listed, use_threads
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize
from synthetic import block_graph

from graphgate.compute.measure import resident
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.io.embeddings import read_embedding, write_embedding
from graphgate.io.files import write_json
from graphgate.io.graph_files import read_graph
from graphgate.linear import linear_plan
from graphgate.paper.experiments.quality import random_probe
from graphgate.tasks.clustering import agreement as agreement_of
from graphgate.tasks.clustering import cluster_vectors

COLUMNS = 128  # of the random embedding
_FILE = "--json results/benchmarks/large.json"
COMPLETE = (
    f"python benchmarks/large.py {_FILE} && python benchmarks/large.py --only columns {_FILE}"
)


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
    LinearGATE().prepare(graph)
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
    with tempfile.TemporaryFile("w+") as said:
        running = subprocess.Popen([*launcher, "embed", *files, *options], cwd=folder, stderr=said)
        _, status, usage = os.wait4(running.pid, 0)
        said.seek(0)
        notes = said.read()
    seconds = time.perf_counter() - start
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"graphgate embed failed with code {running.returncode}: {notes}")
    found = {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory_mb": round(usage.ru_maxrss / 1024, 1),
    }
    return found | ({} if processes == 1 else {"communicating_seconds": communicating(notes)})


def communicating(notes: str) -> float:
    """Seconds that the first process has communicated, waiting for others included, as it said."""
    said = re.findall(r"has communicated for ([\d.]+) (ms|s|min|h)\b", notes)
    return sum(
        float(number) * {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit] for number, unit in said
    )


def agreement(folder: Path) -> dict[str, Any]:
    """In the child: NMI of k-means with the blocks."""
    labels = pyarrow.parquet.read_table(folder / "labels.parquet").column("label").to_numpy()
    vectors = normalize(read_embedding(folder / "out.parquet").vectors)
    k = len(np.unique(labels))
    rough = MiniBatchKMeans(k, n_init=3, batch_size=10_000, random_state=0).fit(vectors)
    clusters = KMeans(k, init=rough.cluster_centers_, n_init=1, max_iter=20).fit_predict(vectors)
    return {
        "blocks": k,
        "columns": vectors.shape[1],
        "nmi": round(float(normalized_mutual_info_score(labels, clusters)), 4),
    }


# By parts, one process does what two do.
EXACT = {"method": "gate", "batch_size": "full"}
PARTS = {"method": "gate", "parts_per_step": 2}
RUNS: tuple[dict[str, Any], ...] = (
    {"nodes": 100_000} | EXACT,
    {"nodes": 100_000, "processes": 2} | EXACT,
    {"nodes": 300_000},
    {"nodes": 300_000, "memory_limit": "1GiB"},
    {"nodes": 300_000, "processes": 2},
    {"nodes": 300_000} | PARTS,
    {"nodes": 300_000, "processes": 2} | PARTS,
    {"nodes": 1_000_000},
    {"nodes": 1_000_000, "processes": 2},
    {"nodes": 1_000_000, "method": "gate"},
    {"nodes": 2_000_000},
)
OPTIONS = ("method", "memory_limit", "batch_size", "parts_per_step")
CHILDREN = ("tables", "read", "columns", "agreement")


def mode(run: dict[str, Any]) -> str:
    """Linear, or how GATE is trained."""
    if "method" not in run:
        return "linear"
    return "exact" if run.get("batch_size") == "full" else "parts"


def columns(n: int, seeds: int = 2) -> dict[str, Any]:
    """In the child: probe accuracy and NMI with few columns and with many, in percent."""
    graph = block_graph(n)
    assert graph.labels is not None
    found: dict[str, dict[str, list[float]]] = {}
    for name, large in (("256", 0), ("512", n)):
        linear_plan.LARGE = large
        measured = found.setdefault(name, {"accuracy": [], "nmi": []})
        for seed in range(seeds):
            z = LinearGATE(random_state=seed).fit(graph).embedding_
            measured["accuracy"].append(random_probe(z, graph.labels, seed)["accuracy"])
            clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=seed)
            measured["nmi"].append(agreement_of(graph.labels, clusters)["nmi"])
    return {"columns": found}


def measure(run: dict[str, Any], folder: Path, sizes: dict[str, Any]) -> dict[str, Any]:
    options = []
    for option in OPTIONS:
        if option in run:
            options += ["--" + option.replace("_", "-"), str(run[option])]
    spent = embed(folder, run.get("processes", 1), options)
    # In a process of its own: the system counts the peak of a process that starts another one
    # as part of the other's peak.
    reached = isolated.run("large.py", "--folder", str(folder), "--child", "agreement")
    return run | sizes | spent | reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, help="only the runs with this many")
    parser.add_argument("--modes", default="linear,exact,parts", help="only the runs of these")
    parser.add_argument("--only", choices=["read", "columns"])
    parser.add_argument("--repeats", type=int, default=1, help="how often to measure each run")
    parser.add_argument("--renew", action="store_true", help="measure everything again")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    if "--child" in sys.argv:
        parser.set_defaults(json=Path())
        next(each for each in parser._actions if each.dest == "json").required = False
    given = parser.parse_args()
    if given.child:
        work = {
            "tables": lambda: write_tables(given.folder, given.nodes),
            "read": lambda: read_and_write(given.folder),
            "columns": lambda: columns(given.nodes),
            "agreement": lambda: agreement(given.folder),
        }
        isolated.answer(work[given.child], isolated.default_limit_gib())
        return
    result: dict[str, Any] = {"runs": []}
    if given.json.exists():
        result |= json.loads(given.json.read_text("utf-8"))
    result |= description("large.py", use_threads(None), COMPLETE)
    if given.only == "columns":
        of_columns = ["--nodes", str(given.nodes or 100_000), "--child", "columns"]
        result |= isolated.run("large.py", *of_columns)
    elif given.only == "read":
        with tempfile.TemporaryDirectory() as name:
            for child in ("tables", "read"):
                size = str(given.nodes or 1_000_000)
                options = ["--nodes", size, "--folder", name, "--child", child]
                result["read"] = isolated.run("large.py", *options)
    else:
        wanted = [
            run
            for run in RUNS
            if given.nodes in (None, run["nodes"]) and mode(run) in listed(given.modes)
        ]
        if given.renew:
            old = [stored for stored in result["runs"] if not any(_same(r, stored) for r in wanted)]
            result["runs"] = old
        measure_all(wanted, result, given.json, given.repeats)
    write_json(given.json, result)


def measure_all(
    wanted: list[dict[str, Any]], result: dict[str, Any], path: Path, repeats: int
) -> None:
    """Those that are not stored, stored one by one, in the order of `RUNS`."""
    new = [run for run in wanted if not any(_same(run, each) for each in result["runs"])]
    for nodes in dict.fromkeys(run["nodes"] for run in new):
        with tempfile.TemporaryDirectory() as name:
            options = ["--nodes", str(nodes), "--folder", name, "--child", "tables"]
            sizes = isolated.run("large.py", *options)
            of_size = [run for run in new if run["nodes"] == nodes]
            for run in of_size * repeats:  # in turn, so that all of them see the same moods
                found = measure(run, Path(name), sizes)
                print(found, flush=True)
                before = [each for each in result["runs"] if _same(run, each)]
                others = [each for each in result["runs"] if not _same(run, each)]
                result["runs"] = sorted([*others, joined([*before, found])], key=_place)
                write_json(path, result)


def joined(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The same run several times: the median time and the largest peak."""
    times = [time for each in found for time in each.get("all_seconds", [each["seconds"]])]
    peak = max(each["peak_memory_mb"] for each in found)
    repeated = {"all_seconds": times} if len(times) > 1 else {}
    return found[-1] | {"seconds": float(np.median(times)), "peak_memory_mb": peak} | repeated


def _place(stored: dict[str, Any]) -> int:
    """Of a stored run in `RUNS`; those that are no longer there come last."""
    return next((at for at, run in enumerate(RUNS) if _same(run, stored)), len(RUNS))


def _same(run: dict[str, Any], stored: dict[str, Any]) -> bool:
    """Whether a stored run was asked for in this way."""
    asked = ("nodes", "processes", *OPTIONS)
    return all(run.get(name) == stored.get(name) for name in asked)


if __name__ == "__main__":
    main()
