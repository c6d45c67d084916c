"""Many runs on one machine: the parallel runner against two fixed layouts.

    python -m benchmarks layouts --json results/benchmarks/layouts.json

The layouts take turns: all runs one after the other on all cores, all runs in processes of one
thread each, and whatever `graphgate evaluate` chooses by itself.
"""

from functools import partial
from typing import Any

from benchmarks.runner import Measurements, ratio_spread, seconds_in_turn, spreads
from graphgate.datasets.citation import available_split
from graphgate.paper.experiments.experiment import find_experiment
from graphgate.paper.experiments.parallel import available_cores, faster_n_jobs, run_unordered
from graphgate.paper.experiments.run_store import RunSpec


def measure(dataset: str = "cora", runs: int = 20, repeats: int = 3) -> Measurements:
    yield {"dataset": dataset, "runs": runs}, partial(compare, dataset, runs, repeats)


def compare(dataset: str, runs: int, repeats: int) -> dict[str, Any]:
    split, cores = available_split(dataset), available_cores()
    chosen = faster_n_jobs(runs, cores)
    experiment = find_experiment("gate", dataset, "transductive")
    assert experiment is not None
    specs = [RunSpec.of(experiment, split, experiment.params, seed) for seed in range(runs)]
    n_jobs = {"threads": None, "processes": cores, "chosen": chosen}
    layouts = {
        name: lambda n=n: list(run_unordered(RunSpec.run, specs, n_jobs=n))
        for name, n in n_jobs.items()
    }
    seconds = seconds_in_turn(layouts, repeats, warm_up=0)
    better = list(map(min, seconds["threads"], seconds["processes"]))
    return {
        "chosen": {"processes": chosen or 1, "threads": 1 if chosen else cores},
        "seconds": spreads(seconds),
        "ratios": {
            "chosen/better": ratio_spread(seconds["chosen"], better),
            "threads/processes": ratio_spread(seconds["threads"], seconds["processes"]),
        },
    }
