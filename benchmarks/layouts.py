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

from graphgate.datasets.citation import load_dataset
from graphgate.experiments.evaluate import evaluate_method
from graphgate.experiments.report import write_json
from graphgate.experiments.workers import Layout, available_cores, best_layout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    dataset, cores = load_dataset(given.dataset), available_cores()
    chosen = best_layout(given.runs)
    layouts = {"threads": Layout(1, cores), "processes": Layout(cores, 1), "chosen": chosen}
    seconds: dict[str, list[float]] = {name: [] for name in layouts}
    for _ in range(given.rounds):
        for name, layout in layouts.items():
            start = time.perf_counter()
            evaluate_method("gate", dataset, setting="transductive", runs=given.runs, layout=layout)
            seconds[name].append(time.perf_counter() - start)
            print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    better = [min(pair) for pair in zip(seconds["threads"], seconds["processes"], strict=True)]
    result = description("layouts.py", use_threads(None)) | {
        "dataset": given.dataset,
        "runs": given.runs,
        "rounds": given.rounds,
        "chosen": {"processes": chosen.processes, "threads": chosen.threads},
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
