"""Our own form of GATE against the reference implementation's settings, on validation nodes.

    python -m benchmarks gate_defaults --graphs FOLDER --json results/benchmarks/gate_defaults.json

10 % of the nodes train a logistic regression on rows of unit length or standardized columns,
another 10 % choose among both and C, on as many random splits as have 5,000 validation nodes
together, but at least five and at most 20. Test nodes are never looked at. `--accuracy 0` leaves
this out, and `--rounds-of-seconds 0` the processor time of a fit on one thread: medians of rounds
in which both forms take turns, where the 200 epochs of the reference implementation are projected
from its first ones. "tried_before" in the file is what was tried with other programs.
"""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.inputs import graph_names, load
from benchmarks.runner import Measurements, in_turn, spreads
from graphgate.errors import TrainingWarning
from graphgate.estimators.gate import GATE
from graphgate.estimators.hyperparameters import find_preset
from graphgate.graph.graph import Graph
from graphgate.paper.experiments.quality import random_probe

SETTINGS: dict[str, dict[str, Any]] = {
    "own": {},
    "own (64, 32)": {"dims": (64, 32)},
    "authors": {"preset": "authors"},
}
FEW_EPOCHS = 20  # from which a fit is projected


def measure(
    graphs: str = "",
    names: tuple[str, ...] = (),
    seeds: int = 5,
    splits: int = 0,
    accuracy: int = 1,
    rounds_of_seconds: int = 3,
) -> Measurements:
    for name in graph_names(names, graphs):
        for settings in SETTINGS if accuracy else ():
            for seed in range(seeds):
                subject = {"graph": name, "settings": settings, "seed": seed}
                yield subject, partial(validate, name, graphs, settings, seed, splits)
        if rounds_of_seconds:
            seconds = partial(cpu_seconds_of_fits, name, graphs, rounds_of_seconds)
            yield {"graph": name, "measured": "seconds"}, seconds


def validate(name: str, folder: str, settings: str, seed: int, splits: int) -> dict[str, Any]:
    """The mean accuracy on validation nodes, in percent, and how the training went."""
    graph = load(name, folder=folder)
    assert graph.labels is not None
    gate = GATE(**SETTINGS[settings], random_state=seed, progress=False).fit(graph)
    splits = splits or n_splits(graph.labels)
    z, history = gate.embedding_, gate.history_
    accuracies = [random_probe(z, graph.labels, at)["val_accuracy"] for at in range(splits)]
    return {
        "val_accuracy": round(float(np.mean(accuracies)), 2),
        "splits": splits,
        "epochs": len(history),
        "stopped": history.stopped,
        "loss": [round(history["loss"][0], 1), round(min(history["loss"]), 1)],
    }


def n_splits(labels: np.ndarray) -> int:
    """How many random splits together have enough validation nodes."""
    size = int(np.count_nonzero(labels >= 0)) // 10
    return min(max(-(-5000 // size), 5), 20)


def cpu_seconds_of_fits(name: str, folder: str, rounds: int) -> dict[str, Any]:
    """The processor time of a fit by settings, "own" and "authors"."""
    graph, epochs = load(name, folder=folder), find_preset("authors").epochs
    turns = {
        "own": lambda: cpu_seconds(graph),
        "short": lambda: cpu_seconds(graph, preset="authors", epochs=1),
        "long": lambda: cpu_seconds(graph, preset="authors", epochs=1 + FEW_EPOCHS),
    }
    seconds = in_turn(turns, rounds, warm_up=1)
    pairs = zip(seconds["short"], seconds["long"], strict=True)
    authors = [short + (epochs - 1) * (long - short) / FEW_EPOCHS for short, long in pairs]
    return {**spreads({"own": seconds["own"], "authors": authors})}


def cpu_seconds(graph: Graph, **settings: Any) -> float:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        GATE(**settings, random_state=0, progress=False).fit(graph)
    return time.process_time() - start
