"""Many runs on one machine: the parallel runner against the two ways of laying runs out.

    python benchmarks/layouts.py --runs 20 --json out.json

The layouts take turns, round by round, on Cora: all runs one after the other on all cores, all
runs in processes of one thread each, and whatever `graphgate evaluate` chooses by itself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from machine import description, ratio_spread, spread, use_threads

from graphgate.datasets.citation import available_split
from graphgate.io.files import write_json
from graphgate.paper.experiments.experiment import find_experiment
from graphgate.paper.experiments.parallel import available_cores, faster_n_jobs, run_unordered
from graphgate.paper.experiments.run_store import RunSpec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    split, cores = available_split(given.dataset), available_cores()
    chosen = faster_n_jobs(given.runs, cores)
    layouts = {"threads": None, "processes": cores, "chosen": chosen}  # numbers of processes
    experiment = find_experiment("gate", given.dataset, "transductive")
    assert experiment is not None
    specs = [RunSpec.of(experiment, split, experiment.params, s) for s in range(given.runs)]
    seconds: dict[str, list[float]] = {name: [] for name in layouts}
    for _ in range(given.rounds):
        for name, n_jobs in layouts.items():
            start = time.perf_counter()
            list(run_unordered(RunSpec.run, specs, n_jobs=n_jobs))
            seconds[name].append(time.perf_counter() - start)
            print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    better = [min(pair) for pair in zip(seconds["threads"], seconds["processes"], strict=True)]
    result = description("layouts.py", use_threads(None)) | {
        "dataset": given.dataset,
        "runs": given.runs,
        "rounds": given.rounds,
        "chosen": {"processes": chosen or 1, "threads": 1 if chosen else cores},
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratios": {
            "chosen/better": ratio_spread(seconds["chosen"], better),
            "threads/processes": ratio_spread(seconds["threads"], seconds["processes"]),
        },
    }
    print(f"chosen against the better of the two: {result['ratios']['chosen/better']}")
    if given.json:
        write_json(given.json, result)


if __name__ == "__main__":
    main()
