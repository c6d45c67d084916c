"""A store that grows: time and accuracy of `Store.add`, quality over ten days, kills, and recall.

    python benchmarks/store.py add --nodes 100000,400000 --json out.json
    python benchmarks/store.py days --graphs FOLDER --json out.json
    python benchmarks/store.py kills --json out.json
    python benchmarks/store.py recall --nodes 100000 --json out.json

`add`: synthetic block graphs (see `synthetic.py`) with 10 edges per node and 128 features, of which
ten batches of 50 nodes with 500 edges are added one after the other; the vectors are compared with
those of a transform of the whole graph. The model is fitted on the smallest graph. `days`: half of
the nodes of a graph first, the others in ten batches, with a refit after the fifth; a probe trained
on a tenth of the nodes, compared with a model fitted on everything. `kills`: a process that adds or
refits is killed after a random time. Each part replaces its entry in the file of results.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from machine import description, spread, use_threads
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from synthetic import block_graph

from graphgate import GATE, Graph, LinearGATE, Store, UnknownNodesWarning
from graphgate.datasets.archives import list_archives, read_archive
from graphgate.datasets.citation import load_dataset
from graphgate.io.files import write_json
from graphgate.store.vector_index import VectorIndex

BATCHES, BATCH_NODES, BATCH_EDGES = 10, 50, 500
FEATURES, DIMS = 128, (64, 64)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", normalize(a), normalize(b))


def summary(values: np.ndarray) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "5 %": float(np.quantile(values, 0.05)),
        "smallest": float(values.min()),
    }


# --- time and accuracy of add --------------------------------------------------------------------


def grown(n: int, seed: int = 0) -> tuple[Graph, list[Graph]]:
    """A graph of N nodes, and the graphs after each batch; new nodes have the largest ids."""
    total = n + BATCHES * BATCH_NODES
    whole = block_graph(total, n_features=FEATURES, per_row=8, seed=seed).reveal()
    upper = whole.adjacency.tocoo()
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(upper.row > upper.col))
    newest, other = upper.row[order], upper.col[order]
    stages = []
    kept = newest < n
    base = np.stack([newest[kept], other[kept]], axis=1)
    pairs = [base]
    for batch in range(BATCHES):
        first = n + batch * BATCH_NODES
        rows = np.flatnonzero((newest >= first) & (newest < first + BATCH_NODES))[:BATCH_EDGES]
        pairs.append(np.stack([newest[rows], other[rows]], axis=1))
        edges = np.concatenate(pairs)
        stages.append(Graph.from_edges(whole.x[: first + BATCH_NODES], edges))
    return Graph.from_edges(whole.x[:n], base), stages


def batch_of(stage: Graph, start: int) -> Graph:
    """What is new in a stage: nodes from `start` on, and their edges."""
    found = stage.adjacency[start:].tocoo()
    rows, columns = found.row + start, found.col
    keep = (columns < start) | (rows > columns)
    ids = np.union1d(np.arange(start, stage.n_nodes), columns)
    pairs = np.stack([rows[keep], columns[keep]], axis=1)
    return Graph.from_edges(stage.x[ids], pairs, ids=ids)


def measure_add(sizes: list[int], method: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    model: Any = None
    for n in sizes:
        base, stages = grown(n)
        if model is None:
            model = LinearGATE(random_state=0) if method == "linear" else GATE(DIMS, random_state=0)
            model.fit(base)
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            store = Store.create(Path(folder) / "store", base, model)
            created = time.perf_counter() - start
            wall, cpu, changed, first = [], [], [], n
            news: dict[str, float] = {}
            for stage in stages:
                batch = batch_of(stage, first)
                clock, used = time.perf_counter(), time.process_time()
                change = store.add(batch)
                wall.append(time.perf_counter() - clock)
                cpu.append(time.process_time() - used)
                changed.append(len(change.changed.ids))
                if first == n:
                    exact = model.transform(stage)[first:]
                    news = summary(cosines(change.added.vectors, exact))
                    worst = float(np.abs(change.added.vectors - exact).max())
                first = stage.n_nodes
            exact = model.transform(stages[-1])
            nearness = cosines(store.vectors().vectors, exact)
            shift = store.info().stale_shift
            store.refresh()
            off = float(np.abs(store.vectors().vectors - exact).max())
            found[str(n)] = {
                "edges": base.n_edges,
                "create_seconds": created,
                "seconds": spread(wall),
                "cpu_seconds": spread(cpu),
                "updated": spread(changed),
                "new": news | {"largest difference": worst},
                "after ten batches": {
                    "all": summary(nearness),
                    "added": summary(nearness[n:]),
                    "said": shift,
                },
                "largest difference after refresh": off,
            }
        print(n, found[str(n)], flush=True)
    return found


# --- ten days ------------------------------------------------------------------------------------


def accuracy(vectors: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    rows = normalize(vectors)
    probe = LogisticRegression(max_iter=1000).fit(rows[train], labels[train])
    return 100 * float(probe.score(rows[test], labels[test]))


def measure_days(graph: Graph, seed: int) -> dict[str, Any]:
    """Accuracies in percent on nodes that were added, in the store and by a model of everything."""
    labels = np.asarray(graph.labels)
    graph = graph.reveal()
    rng = np.random.default_rng(seed)
    whole = graph.take(rng.permutation(graph.n_nodes))
    labels = labels[np.asarray(whole.ids)] if whole.ids.dtype == np.int64 else labels
    n = graph.n_nodes
    half = n // 2
    bounds = np.linspace(half, n, BATCHES + 1).astype(int)
    train = rng.random(n) < 0.1
    later = ~train & (np.arange(n) >= half)
    with tempfile.TemporaryDirectory() as folder:
        first = whole.take(np.arange(half))
        store = Store.create(Path(folder) / "store", first, LinearGATE(random_state=seed))
        drift = None
        kept: dict[str, float] = {}
        near: dict[str, float] = {}
        for day, (start, stop) in enumerate(pairwise(bounds.tolist()), start=1):
            store.add(_new_part(whole, start, stop))
            if day == BATCHES // 2:
                old, now = store.vectors().vectors, slice(0, stop)
                probe = LogisticRegression(max_iter=1000)
                probe.fit(normalize(old[train[now]]), labels[now][train[now]])
                rest = ~train[now]
                near = summary(store.cosines_to_exact())
                kept["before"] = 100 * probe.score(normalize(old[rest]), labels[now][rest])
                drift = store.refit()
                new = store.vectors().vectors
                kept["after"] = 100 * probe.score(normalize(new[rest]), labels[now][rest])
        grown = accuracy(store.vectors().vectors, labels, train, later)
    everything = LinearGATE(random_state=seed).fit(whole).embedding_
    return {
        "store": grown,
        "everything": accuracy(everything, labels, train, later),
        "old probe": kept,
        "cosines before the refit": near,
        "drift": None if drift is None else drift.to_dict()["sentences"],
    }


def _new_part(whole: Graph, start: int, stop: int) -> Graph:
    """The nodes from start to stop, with their edges to these and to earlier nodes."""
    near = np.union1d(np.arange(start, stop), whole.adjacency[start:stop].indices)
    part = whole.take(near[near < stop])
    known = np.flatnonzero(near[near < stop] < start)
    old = part.adjacency[known][:, known].tocoo()
    return part.without_edges(np.stack([known[old.row], known[old.col]], axis=1))


# --- kills ---------------------------------------------------------------------------------------

CHILD = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from graphgate import Graph, Store
store = Store.open(sys.argv[1])
batch = np.load(sys.argv[3])
graph = Graph.from_edges(batch["x"], batch["edges"], ids=batch["ids"])
print("ready", flush=True)
store.add(graph) if sys.argv[2] == "add" else store.refit()
print("done", flush=True)
"""


def measure_kills(count: int, seed: int) -> dict[str, Any]:
    """Kill writers at random moments; the store must be the version before or after, exactly."""
    rng = np.random.default_rng(seed)
    base, stages = grown(3000, seed)
    batch, result = batch_of(stages[0], 3000), {"before": 0, "after": 0}
    with tempfile.TemporaryDirectory() as folder:
        origin, store_path = Path(folder) / "origin", Path(folder) / "store"
        pairs = batch.ids[np.argwhere(np.triu(batch.adjacency.toarray()))]
        np.savez(Path(folder) / "batch.npz", x=batch.x.toarray(), edges=pairs, ids=batch.ids)
        Store.create(origin, base, LinearGATE(16, random_state=0, progress=False))
        whole: dict[str, float] = {}  # seconds that a change takes if it is left alone
        for turn in range(-2, count):
            action = "add" if turn % 2 == 0 else "refit"
            shutil.rmtree(store_path, ignore_errors=True)
            shutil.copytree(origin, store_path)
            command = [sys.executable, "-c", CHILD, str(store_path), action]
            child = subprocess.Popen(
                [*command, str(Path(folder) / "batch.npz")], stdout=subprocess.PIPE, text=True
            )
            assert child.stdout is not None
            child.stdout.readline()
            start = time.perf_counter()
            if turn < 0:
                child.stdout.readline()
                whole[action] = time.perf_counter() - start
                child.wait()
                continue
            time.sleep(rng.uniform(0, whole[action]))
            child.send_signal(signal.SIGKILL)
            child.wait()
            store = Store.open(store_path)
            state = "before" if store.version == 1 else "after"
            result[state] += 1
            expected = stages[0] if (state, action) == ("after", "add") else base
            if store.graph().fingerprint() != expected.fingerprint():
                raise SystemExit(f"kill {turn}: the graph is that of neither version")
            if store.vectors().vectors.shape[0] != expected.n_nodes:
                raise SystemExit(f"kill {turn}: the vectors are those of neither version")
            store.add(batch)
            if store.graph().fingerprint() != stages[0].fingerprint():
                raise SystemExit(f"kill {turn}: the batch could not be added again")
            print(turn, action, state, flush=True)
    return {"kills": count, **result}


# --- recall --------------------------------------------------------------------------------------


def measure_recall(n: int) -> dict[str, Any]:
    graph = block_graph(n, n_features=FEATURES, per_row=8).reveal()
    vectors = LinearGATE(random_state=0).fit(graph).embedding_
    start, used = time.perf_counter(), time.process_time()
    index = VectorIndex(vectors)
    built, cpu = time.perf_counter() - start, time.process_time() - used
    return {
        "nodes": n,
        "size": int(vectors.shape[1]),
        "build_seconds": built,
        "build_cpu_seconds": cpu,
        "recall": index.recall(n_queries=1000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("add", "days", "kills", "recall"))
    parser.add_argument("--nodes", default="100000,400000")
    parser.add_argument("--method", default="linear", choices=("linear", "gate"))
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, .npz archives")
    parser.add_argument("--names", default="pubmed,dblp")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", UnknownNodesWarning)
    described = description("store.py", use_threads(given.threads))
    result: dict[str, Any] = {"command": described["command"]}
    sizes = [int(n) for n in given.nodes.split(",")]
    name = given.part
    if given.part == "add":
        name, result["sizes"] = f"add {given.method}", measure_add(sizes, given.method)
    elif given.part == "days":
        archives = {} if given.graphs is None else list_archives(given.graphs)
        result["graphs"] = {
            graph: measure_days(
                load_dataset(graph).graph if graph == "pubmed" else read_archive(archives[graph]),
                given.seed,
            )
            for graph in given.names.split(",")
        }
    elif given.part == "kills":
        result |= measure_kills(given.count, given.seed)
    else:
        result |= measure_recall(sizes[0])
    print(json.dumps(result, indent=1))
    if given.json:
        known = json.loads(given.json.read_text("utf-8")) if given.json.is_file() else {}
        write_json(given.json, described | {"parts": known.get("parts", {}) | {name: result}})


if __name__ == "__main__":
    main()
