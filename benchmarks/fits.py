"""Seconds and memory of one fit of every method of the comparison, alone on the machine.

    python -m benchmarks fits --graphs FOLDER --json results/benchmarks/fits.json

One process per method and graph, with the parameters of `graphgate reproduce quality` and seed 0.
A fit whose number of epochs is fixed is projected from a few of them if it would take longer than
--longest seconds; others (DGI stops by its loss) run to the end.
"""

import warnings
from functools import partial
from typing import Any

from benchmarks.inputs import graph_names, load
from benchmarks.processes import isolated
from benchmarks.runner import Measurements, timed
from graphgate.compute.measure import measured
from graphgate.paper.experiments.experiment import QUICK, find_experiment
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY

FEW = 4  # epochs from which a long fit is projected
EPOCHS = {"gate": 200}  # of a preset, where they are not among the parameters
LIMIT = 16.0  # GiB that a fit may take


def measure(
    graphs: str = "",
    names: tuple[str, ...] = (),
    methods: tuple[str, ...] = QUALITY,
    longest: float = 15.0,
) -> Measurements:
    for name in graph_names(names, graphs):
        for method in methods:
            work = partial(isolated, fit, method, name, graphs, longest, limit=LIMIT)
            yield {"graph": name, "method": method}, work


def fit(method: str, name: str, folder: str, longest: float) -> dict[str, Any]:
    """What a fit takes, and whether that is projected."""
    warnings.simplefilter("ignore")
    experiment = find_experiment(method, name, "quality")
    assert experiment is not None
    row, params = find_row(method), experiment.params
    graph = load(name, folder=folder).reveal()
    estimator = row.make(params, 0)
    epochs = getattr(estimator, "epochs", None) or EPOCHS.get(method)
    if method in QUICK:
        row.make(params, 0).fit(graph)  # warms up
    elif epochs is not None and method != "dgi":
        with measured() as cost:
            few = [row.make({**params, "epochs": count}, 0) for count in (1, 1, 1 + FEW)]
            _, short, long = (timed(partial(made.fit, graph)) for made in few)  # one warms up
        seconds = short + (epochs - 1) * max(0.0, long - short) / FEW
        if seconds > longest:
            return {"seconds": seconds, "projected": True, "peak_memory_mb": cost.peak_memory_mb}
    with measured() as cost:
        estimator.fit(graph)
    return {"seconds": cost.seconds, "projected": False, "peak_memory_mb": cost.peak_memory_mb}
