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

from graphgate.datasets.archives import list_archives
from graphgate.datasets.planetoid import NAMES
from graphgate.experiments.measure import measured
from graphgate.experiments.methods import find_method
from graphgate.experiments.quality import METHODS, QUICK, QualityRun
from graphgate.io.files import write_json

COMPLETE = "python benchmarks/fits.py --graphs FOLDER --json results/benchmarks/fits.json"
FEW = 4  # epochs from which a long fit is projected
EPOCHS = {"gate": 200}  # of a preset, where they are not among the parameters


def fit(run: QualityRun, longest: float) -> dict[str, Any]:
    """In the child: what a fit takes, and whether that is projected."""
    known, params, graph = find_method(run.method), run.params(), run.load().reveal()
    made = known.make(params, run.seed)
    epochs = getattr(made, "epochs", None) or EPOCHS.get(run.method)
    if run.method not in QUICK and epochs is not None and run.method != "dgi":
        spent = []
        with measured() as cost:
            for count in (1, 1, 1 + FEW):  # one warms up
                start = time.perf_counter()
                known.make(params | {"epochs": count}, run.seed).fit(graph)
                spent.append(time.perf_counter() - start)
        seconds = spent[1] + (epochs - 1) * max(0.0, spent[2] - spent[1]) / FEW
        if seconds > longest:
            return {"seconds": seconds, "projected": True, "peak_memory_mb": cost.peak_memory_mb}
    elif run.method in QUICK:
        known.make(params, run.seed).fit(graph)  # warms up
    with measured() as cost:
        made.fit(graph)
    return {"seconds": cost.seconds, "projected": False, "peak_memory_mb": cost.peak_memory_mb}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, .npz archives")
    parser.add_argument("--names", help="graphs, separated by commas; default: all")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--longest", type=float, default=15.0)
    parser.add_argument("--limit", type=float, default=16.0, help="GiB that a fit may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    archives = {} if given.graphs is None else list_archives(given.graphs)
    names = listed(given.names) if given.names else [*NAMES, *archives]
    runs = [
        QualityRun(method, name, 0, None if name in NAMES else archives[name])
        for name in names
        for method in listed(given.methods)
    ]
    if given.child:
        warnings.simplefilter("ignore")
        isolated.answer(lambda: fit(runs[0], given.longest), given.limit)
        return
    result: dict[str, Any] = {"fits": {}}
    if given.json and given.json.exists():
        result |= json.loads(given.json.read_text("utf-8"))
    result |= description("fits.py", use_threads(None), COMPLETE) | {"longest": given.longest}
    common = ["--longest", str(given.longest), "--limit", str(given.limit)]
    common += ["--graphs", str(given.graphs)] if given.graphs else []
    for run in runs:
        stored = result["fits"].setdefault(run.graph, {})
        if run.method in stored:
            continue
        options = ["--names", run.graph, "--methods", run.method]
        stored[run.method] = isolated.run("fits.py", "--child", *options, *common)
        print(run.graph, run.method, stored[run.method], flush=True)
        if given.json:
            write_json(given.json, result)


if __name__ == "__main__":
    main()
