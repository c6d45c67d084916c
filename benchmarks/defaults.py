"""Our own form of GATE against the reference implementation's settings, on validation nodes.

    python benchmarks/defaults.py --folder FOLDER --json results/gate-defaults.json

10 % of the nodes train a multinomial logistic regression on rows of unit length or standardized
columns, another 10 % choose among both and C, on as many random splits as have 5,000 validation
nodes together, but at least five and at most 20, or on --splits. Test nodes are never looked at.
FOLDER has the graphs as NumPy archives (x_data, x_indices, x_indptr, x_shape, adj_indices,
adj_indptr, labels); the citation graphs are those of the package. Runs that the file already has
are kept, unless --renew; so is what was tried with other programs, "tried_before".

    python benchmarks/defaults.py --folder FOLDER --json results/gate-defaults.json --seconds

measures the processor time of one fit instead, on one thread: medians of rounds in which both forms
take turns. The 200 epochs of the reference implementation are projected from its first ones.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from machine import Spread, description, listed, spread, use_threads
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from graphgate.datasets.citation import NAMES, load_dataset
from graphgate.errors import TrainingWarning
from graphgate.estimators.gate import GATE
from graphgate.estimators.hyperparameters import find_preset
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json

COMPLETE = "python benchmarks/defaults.py --folder FOLDER --json results/gate-defaults.json"
GRAPHS = (
    *("cora", "citeseer", "pubmed", "cora_ml", "acm", "citeseer_full", "dblp", "film"),
    *("blogcatalog", "flickr", "texas", "wisconsin"),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "own": {},
    "own (64, 32)": {"dims": (64, 32)},
    "authors": {"preset": "authors"},
}
_STRENGTHS = (1, 10, 100, 1000)
_VALIDATION = 5000  # nodes of all splits together
_FEWEST_SPLITS, _MOST_SPLITS = 5, 20


def load(name: str, folder: Path | None) -> Graph:
    if name in NAMES:
        return load_dataset(name).graph
    if folder is None:
        raise SystemExit(f"{name} needs --folder with {name}.npz")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        n, f = map(int, file["x_shape"])
        x = sp.csr_array((file["x_data"], file["x_indices"], file["x_indptr"]), (n, f))
        ones = np.ones(len(file["adj_indices"]), dtype=np.float32)
        adjacency = sp.csr_array((ones, file["adj_indices"], file["adj_indptr"]), (n, n))
        return Graph(x.astype(np.float32), adjacency, labels=file["labels"])


def validation_accuracy(z: np.ndarray, labels: np.ndarray, splits: int) -> float:
    """The mean over random splits of the best accuracy on validation nodes, in percent."""
    known = np.flatnonzero(labels >= 0)
    size = len(known) // 10
    found = []
    for split in range(splits):
        nodes = np.random.default_rng(split).permutation(known)
        train, val = nodes[:size], nodes[size : 2 * size]
        scores = [
            LogisticRegression(C=c, max_iter=200, tol=1e-3)
            .fit(vectors[train], labels[train])
            .score(vectors[val], labels[val])
            for vectors in (normalize(z), StandardScaler().fit_transform(z))
            for c in _STRENGTHS
        ]
        found.append(max(scores))
    return 100 * float(np.mean(found))


def n_splits(labels: np.ndarray) -> int:
    """How many random splits together have enough validation nodes."""
    size = int(np.count_nonzero(labels >= 0)) // 10
    return min(max(-(-_VALIDATION // size), _FEWEST_SPLITS), _MOST_SPLITS)


def measure(
    graph: Graph, settings: dict[str, Any], seed: int, splits: int | None
) -> dict[str, Any]:
    gate = GATE(**settings, random_state=seed, progress=False).fit(graph)
    assert graph.labels is not None
    splits = splits or n_splits(graph.labels)
    return {
        "val_accuracy": round(validation_accuracy(gate.embedding_, graph.labels, splits), 2),
        "splits": splits,
        "epochs": len(gate.history_),
        "stopped": gate.history_.stopped,
        "loss": [round(gate.history_["loss"][0], 1), round(min(gate.history_["loss"]), 1)],
    }


def cpu_seconds(graph: Graph, **settings: Any) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        GATE(**settings, random_state=0, progress=False).fit(graph)
    return time.process_time() - start


def measure_seconds(graph: Graph, rounds: int) -> dict[str, Spread]:
    """The processor time of a fit by setting, "own" and "authors"."""
    few, epochs = 20, find_preset("authors").epochs
    found: dict[str, list[float]] = {"own": [], "authors": []}
    cpu_seconds(graph, epochs=1)  # loads what is loaded once
    for _ in range(rounds):
        found["own"].append(cpu_seconds(graph))
        short, long = (cpu_seconds(graph, preset="authors", epochs=e) for e in (1, 1 + few))
        found["authors"].append(short + (epochs - 1) * (long - short) / few)
    return {name: spread(values) for name, values in found.items()}


def table(result: dict[str, Any]) -> str:
    """Means over the seeds: accuracy and epochs; and the time as a fraction of the reference's."""
    lines = []
    for graph, settings in result["graphs"].items():
        for name, runs in settings.items():
            accuracy, epochs = (
                np.mean([run[key] for run in runs.values()]) for key in ("val_accuracy", "epochs")
            )
            lines.append(f"{graph:14}{name:28}{accuracy:7.2f}{epochs:7.1f} epochs")
    for graph, seconds in result["seconds"].items():
        own, authors = (seconds[name]["median"] for name in ("own", "authors"))
        lines.append(f"{graph:14}{own:7.2f} s of {authors:7.2f} s, {own / authors:.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--settings", nargs="+", default=[*SETTINGS], choices=SETTINGS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--splits", type=int, help="random splits; by default, see above")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--renew", action="store_true", help="measure everything again")
    parser.add_argument("--seconds", action="store_true", help="measure the time of a fit only")
    parser.add_argument("--rounds", type=int, default=3, help="of measuring time")
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    result: dict[str, Any] = {"tried_before": [], "graphs": {}, "seconds": {}}
    if given.json.exists():
        result |= json.loads(given.json.read_text(encoding="utf-8"))
    if given.renew:
        result["graphs"] = {}
    result |= description("defaults.py", use_threads(1), COMPLETE) | {"settings": SETTINGS}
    for name in listed(given.graphs):
        graph = load(name, given.folder)
        if given.seconds:
            result["seconds"][name] = measure_seconds(graph, given.rounds)
            print(name, result["seconds"][name], flush=True)
            write_json(given.json, result)
            continue
        of_graph = result["graphs"].setdefault(name, {})
        for setting in [one for one in SETTINGS if one in given.settings]:
            runs = of_graph.setdefault(setting, {})
            for seed in range(given.seeds):
                if str(seed) not in runs:
                    runs[str(seed)] = measure(graph, SETTINGS[setting], seed, given.splits)
                    print(name, setting, seed, runs[str(seed)], flush=True)
                    write_json(given.json, result)
    write_json(given.json, result)
    print(table(result))


if __name__ == "__main__":
    main()
