"""A store that grows: time and accuracy of `Store.add`, quality over ten days, kills, and recall.

    python -m benchmarks store --graphs FOLDER --threads 1 --json results/benchmarks/store.json

`add`: synthetic block graphs (see `synthetic.py`) with 10 edges per node and 128 features, of which
ten batches of 50 nodes with 500 edges are added one after the other; the vectors are compared with
those of a transform of the whole graph. The model is fitted on the smallest graph. `days`: half of
the nodes of a graph first, the others in ten batches, with a refit after the fifth; a probe trained
on a tenth of the nodes, compared with a model fitted on everything. `kills`: a process that adds or
refits is killed after a random time. `recall`: of the index, among the vectors of a large graph.
`--parts` selects some of them.
"""

import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from benchmarks.inputs import load
from benchmarks.processes import Process
from benchmarks.runner import Measurements, spread, timed
from benchmarks.synthetic import block_graph
from graphgate import GATE, Graph, LinearGATE, Store, UnknownNodesWarning
from graphgate.store.vector_index import VectorIndex

BATCHES, BATCH_NODES, BATCH_EDGES = 10, 50, 500
SIZES = {"linear": (100_000, 400_000), "gate": (10_000,)}
FEATURES, DIMS = 128, (64, 64)


def measure(
    parts: tuple[str, ...] = ("add", "days", "kills", "recall"),
    nodes: tuple[int, ...] = (0,),
    methods: tuple[str, ...] = ("linear", "gate"),
    graphs: str = "",
    names: tuple[str, ...] = ("pubmed", "dblp"),
    kills: int = 50,
    recall_nodes: int = 100_000,
    seed: int = 0,
) -> Measurements:
    warnings.simplefilter("ignore", UnknownNodesWarning)
    for method in methods if "add" in parts else ():
        sizes = nodes if any(nodes) else SIZES[method]
        model = cache(partial(fitted, method, sizes[0]))
        for n in sizes:
            yield {"part": "add", "method": method, "nodes": n}, partial(measure_add, n, model)
    for name in names if "days" in parts else ():
        yield {"part": "days", "graph": name}, partial(measure_days, name, graphs, seed)
    if "kills" in parts:
        yield {"part": "kills"}, partial(measure_kills, kills, seed)
    if "recall" in parts:
        yield {"part": "recall", "nodes": recall_nodes}, partial(measure_recall, recall_nodes)


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


def new_part(graph: Graph, start: int, stop: int) -> Graph:
    """The nodes from start to stop, with their edges to these and to earlier nodes."""
    near = np.union1d(np.arange(start, stop), graph.adjacency[start:stop].indices)
    part = graph.take(near[near < stop])
    known = np.flatnonzero(near[near < stop] < start)
    old = part.adjacency[known][:, known].tocoo()
    return part.without_edges(np.stack([known[old.row], known[old.col]], axis=1))


def fitted(method: str, n: int) -> Any:
    estimator: Any = LinearGATE if method == "linear" else partial(GATE, DIMS)
    return estimator(random_state=0).fit(grown(n)[0])


def measure_add(n: int, model: Any) -> dict[str, Any]:
    base, stages = grown(n)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        store = Store.create(Path(folder) / "store", base, model())
        created = time.perf_counter() - start
        wall, cpu, changes = [], [], []
        for at, stage in enumerate(stages):
            batch = new_part(stage, n + at * BATCH_NODES, stage.n_nodes)
            used = time.process_time()
            wall.append(timed(lambda batch=batch: changes.append(store.add(batch))))  # type: ignore[misc]
            cpu.append(time.process_time() - used)
        new, at_first = changes[0].added.vectors, model().transform(stages[0])[n:]
        exact = model().transform(stages[-1])
        nearness, shift = cosines(store.vectors().vectors, exact), store.info().stale_shift
        store.refresh()
        off = float(np.abs(store.vectors().vectors - exact).max())
    return {
        "edges": base.n_edges,
        "create_seconds": created,
        "seconds": spread(wall),
        "cpu_seconds": spread(cpu),
        "updated": spread([len(change.changed.ids) for change in changes]),
        "new": summary(cosines(new, at_first))
        | {"largest difference": float(np.abs(new - at_first).max())},
        "after ten batches": {
            "all": summary(nearness),
            "added": summary(nearness[n:]),
            "said": shift,
        },
        "largest difference after refresh": off,
    }


# --- ten days ------------------------------------------------------------------------------------


def trained_probe(vectors: np.ndarray, labels: np.ndarray, train: np.ndarray) -> Any:
    return LogisticRegression(max_iter=1000).fit(normalize(vectors)[train], labels[train])


def accuracy(probe: Any, vectors: np.ndarray, labels: np.ndarray, test: np.ndarray) -> float:
    return 100 * float(probe.score(normalize(vectors)[test], labels[test]))


def measure_days(name: str, folder: str, seed: int) -> dict[str, Any]:
    """Accuracies in percent on nodes that were added, in the store and by a model of everything."""
    graph, rng = load(name, folder=folder), np.random.default_rng(seed)
    n, half = graph.n_nodes, graph.n_nodes // 2
    order = rng.permutation(n)
    labels, whole = np.asarray(graph.labels)[order], graph.reveal().take(order)
    bounds = np.linspace(half, n, BATCHES + 1).astype(int)
    train = rng.random(n) < 0.1
    later = ~train & (np.arange(n) >= half)
    with tempfile.TemporaryDirectory() as temporary:
        first = whole.take(np.arange(half))
        store = Store.create(Path(temporary) / "store", first, LinearGATE(random_state=seed))
        for day, (start, stop) in enumerate(pairwise(bounds.tolist()), start=1):
            store.add(new_part(whole, start, stop))
            if day == BATCHES // 2:
                near, seen, known = summary(store.cosines_to_exact()), train[:stop], labels[:stop]
                old = trained_probe(store.vectors().vectors, known, seen)
                before = accuracy(old, store.vectors().vectors, known, ~seen)
                drift = store.refit()
                after = accuracy(old, store.vectors().vectors, known, ~seen)
        embeddings = {"store": store.vectors().vectors}
    embeddings["everything"] = LinearGATE(random_state=seed).fit(whole).embedding_
    scores = {
        name: accuracy(trained_probe(z, labels, train), z, labels, later)
        for name, z in embeddings.items()
    }
    return {
        **scores,
        "old probe": {"before": before, "after": after},
        "cosines before the refit": near,
        "drift": drift.to_dict()["sentences"],
    }


# --- kills ---------------------------------------------------------------------------------------


def writer(path: Path, action: str, batch: Graph) -> Iterator[dict[str, Any]]:
    """Opens a store, and adds or refits when asked again."""
    warnings.simplefilter("ignore")
    store = Store.open(path)
    yield {}
    yield {"seconds": timed(partial(store.add, batch) if action == "add" else store.refit)}


def measure_kills(count: int, seed: int) -> dict[str, Any]:
    """Kill writers at random moments; the store must be the version before or after, exactly."""
    rng = np.random.default_rng(seed)
    base, (grown_once, *_) = grown(3000, seed)
    batch, states = new_part(grown_once, 3000, grown_once.n_nodes), {"before": 0, "after": 0}
    with tempfile.TemporaryDirectory() as folder:
        origin, path = Path(folder) / "origin", Path(folder) / "store"
        Store.create(origin, base, LinearGATE(16, random_state=0, progress=False))
        whole: dict[str, float] = {}  # seconds that a change takes if it is left alone
        for turn in range(-2, count):
            action = "add" if turn % 2 == 0 else "refit"
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(origin, path)
            process = Process(writer, path, action, batch)
            process.next()
            if turn < 0:
                whole[action] = process.next()["seconds"]
                process.end()
                continue
            process.ask()
            process.answers_within(rng.uniform(0, whole[action]))
            process.end()
            store = Store.open(path)
            state = "before" if store.version == 1 else "after"
            states[state] += 1
            expected = grown_once if (state, action) == ("after", "add") else base
            assert store.graph().fingerprint() == expected.fingerprint(), f"kill {turn}: the graph"
            assert len(store.vectors().vectors) == expected.n_nodes, f"kill {turn}: the vectors"
            store.add(batch)
            again = store.graph().fingerprint()
            assert again == grown_once.fingerprint(), f"kill {turn}: the batch, added again"
    return {"kills": count, **states}


# --- recall --------------------------------------------------------------------------------------


def measure_recall(n: int) -> dict[str, Any]:
    graph = block_graph(n, n_features=FEATURES, per_row=8).reveal()
    vectors = LinearGATE(random_state=0).fit(graph).embedding_
    used = time.process_time()
    index = VectorIndex(vectors)
    return {
        "size": int(vectors.shape[1]),
        "build_cpu_seconds": time.process_time() - used,
        "recall": index.recall(n_queries=1000),
    }
