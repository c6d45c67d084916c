"""Seconds and memory of one fit of every method of the comparison, alone on the machine.

    python benchmarks/fits.py --graphs FOLDER --json results/benchmarks/fits.json

One process per method and graph, with the parameters of `graphgate reproduce quality` and seed 0.
A fit whose number of epochs is fixed is projected from a few of them if it would take longer than
--longest seconds; others (DGI stops by its loss) run to the end. Fits that the file already has
are kept.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import isolated
from machine import description, listed, use_threads

from graphgate.compute.measure import measured
from graphgate.datasets.archives import list_archives
from graphgate.datasets.planetoid import NAMES
from graphgate.io.files import write_json
from graphgate.paper.experiments.experiment import QUICK, find_experiment
from graphgate.paper.experiments.methods import find_row
from graphgate.paper.experiments.reproduce import QUALITY
from graphgate.paper.experiments.run_store import named_dataset

COMPLETE = "python benchmarks/fits.py --graphs FOLDER --json results/benchmarks/fits.json"
FEW = 4  # epochs from which a long fit is projected
EPOCHS = {"gate": 200}  # of a preset, where they are not among the parameters


def fit(method: str, name: str, archive: Path | None, longest: float) -> dict[str, Any]:
    """In the child: what a fit takes, and whether that is projected."""
    experiment = find_experiment(method, name, "quality")
    assert experiment is not None
    known, params, seed = find_row(method), experiment.params, 0
    graph = named_dataset(name, archive).graph.reveal()
    made = known.make(params, seed)
    epochs = getattr(made, "epochs", None) or EPOCHS.get(method)
    if method not in QUICK and epochs is not None and method != "dgi":
        spent = []
        with measured() as cost:
            for count in (1, 1, 1 + FEW):  # one warms up
                start = time.perf_counter()
                known.make({**params, "epochs": count}, seed).fit(graph)
                spent.append(time.perf_counter() - start)
        seconds = spent[1] + (epochs - 1) * max(0.0, spent[2] - spent[1]) / FEW
        if seconds > longest:
            return {"seconds": seconds, "projected": True, "peak_memory_mb": cost.peak_memory_mb}
    elif method in QUICK:
        known.make(params, seed).fit(graph)  # warms up
    with measured() as cost:
        made.fit(graph)
    return {"seconds": cost.seconds, "projected": False, "peak_memory_mb": cost.peak_memory_mb}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, .npz archives")
    parser.add_argument("--names", help="graphs, separated by commas; default: all")
    parser.add_argument("--methods", default=",".join(QUALITY))
    parser.add_argument("--longest", type=float, default=15.0)
    parser.add_argument("--limit", type=float, default=16.0, help="GiB that a fit may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    archives = {} if given.graphs is None else list_archives(given.graphs)
    names = listed(given.names) if given.names else [*NAMES, *archives]
    runs = [(method, name) for name in names for method in listed(given.methods)]
    if given.child:
        warnings.simplefilter("ignore")
        method, name = runs[0]
        archive = None if name in NAMES else archives[name]
        isolated.answer(lambda: fit(method, name, archive, given.longest), given.limit)
        return
    result: dict[str, Any] = {"fits": {}}
    if given.json and given.json.exists():
        result |= json.loads(given.json.read_text("utf-8"))
    result |= description("fits.py", use_threads(None), COMPLETE) | {"longest": given.longest}
    common = ["--longest", str(given.longest), "--limit", str(given.limit)]
    common += ["--graphs", str(given.graphs)] if given.graphs else []
    for method, name in runs:
        stored = result["fits"].setdefault(name, {})
        if method in stored:
            continue
        options = ["--names", name, "--methods", method]
        stored[method] = isolated.run("fits.py", "--child", *options, *common)
        print(name, method, stored[method], flush=True)
        if given.json:
            write_json(given.json, result)


if __name__ == "__main__":
    main()
