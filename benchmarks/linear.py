"""LinearGATE against GATE and against a truncated SVD of the features alone.

    python benchmarks/linear.py --graphs FOLDER --json out.json

The three take turns, round by round: `LinearGATE().fit`, its report included, one epoch of
`GATE(preset="authors", dims=(512, 512))` (200 of which are a fit, without its set-up), and
scikit-learn's `TruncatedSVD(512, n_iter=5)` where there are more than 512 features.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from machine import description, ratio_spread, spread, use_threads
from sklearn.decomposition import TruncatedSVD

from graphgate import GATE, Graph, LinearGATE
from graphgate.datasets.archives import list_archives, read_archive
from graphgate.datasets.citation import load_dataset
from graphgate.datasets.planetoid import NAMES
from graphgate.io.files import write_json
from graphgate.nn.autoencoder import GATEModel
from graphgate.training.adam import Adam
from graphgate.training.objective import training_objective

EPOCHS = 200  # of GATE's fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, .npz archives")
    parser.add_argument("--names", help="graphs, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    archives = {} if given.graphs is None else list_archives(given.graphs)
    threads = use_threads(None)
    result = description("linear.py", threads) | {"rounds": given.rounds, "graphs": {}}
    for name in given.names.split(",") if given.names else [*NAMES, *archives]:
        graph = load_dataset(name).graph if name in NAMES else read_archive(archives[name])
        result["graphs"][name] = compare(graph.reveal(), given.rounds)
        print(name, result["graphs"][name]["ratios"], flush=True)
        if given.json:
            write_json(given.json, result)


def compare(graph: Graph, rounds: int) -> dict[str, object]:
    turns: dict[str, Callable[[], object]] = {
        "linear": lambda: LinearGATE(random_state=0).fit(graph),
        "epoch": epoch_of_gate(graph),
    }
    if graph.n_features > 512:
        turns["svd"] = lambda: TruncatedSVD(512, n_iter=5, random_state=0).fit_transform(graph.x)
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for turn in range(rounds + 1):
        for name, run in turns.items():
            start = time.perf_counter()
            run()
            if turn:  # the first round warms up
                seconds[name].append(time.perf_counter() - start)
    fit = [EPOCHS * value for value in seconds["epoch"]]
    ratios = {"linear/gate": ratio_spread(seconds["linear"], fit)}
    if "svd" in seconds:
        ratios["linear/svd"] = ratio_spread(seconds["linear"], seconds["svd"])
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratios": ratios,
    }


def epoch_of_gate(graph: Graph) -> Callable[[], None]:
    """One epoch of training; the set-up is not part of it."""
    gate = GATE((512, 512), preset="authors")
    architecture, loss, _ = gate.checked_settings(graph.n_features)
    model = GATEModel(architecture, np.random.default_rng(0), dtype=torch.float32)
    objective = training_objective(model, graph, loss)
    optimizer = Adam(dict(model.named_parameters()), 1e-9)

    def epoch() -> None:
        objective(0)
        optimizer.step()

    return epoch


if __name__ == "__main__":
    main()
