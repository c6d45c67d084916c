"""What `graphgate estimate` says beforehand, against what a run then takes.

    python benchmarks/estimate.py --nodes 3000,30000,100000 --json out.json

Synthetic block graphs (see `synthetic.py`), with sparse or dense features. Each is trained in a
fresh process: the peak is that of the process, of which the fit has added a part to libraries and
graph; time is that of the whole fit. Medians of several rounds, in each of which every case has its
turn.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import isolated
import numpy as np
from machine import description, listed, ratio_spread, use_threads
from synthetic import block_graph

from graphgate.compute.counts import GraphCounts
from graphgate.compute.measure import measured, resident
from graphgate.estimators.estimate import measured_time, plan_for
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json
from graphgate.training.memory import training_bytes

CASES: dict[str, dict[str, Any]] = {
    "sparse": {"dims": (512, 512)},
    "small": {"dims": (64, 32)},
    "dense": {"dims": (256, 128)},
    "one layer": {"dims": (256,)},
    "activation": {"dims": (128, 64), "activation": "elu"},
    "untied": {"dims": (128, 128), "tied_weights": False},
}

UNITS = {"added_mb": "MiB", "peak_memory_mb": "MiB", "seconds": "s"}


def compare(nodes: int, case: str, epochs: int) -> dict[str, Any]:
    """In the child: the estimate, then the run."""
    graph = block_graph(nodes)
    if case == "dense":
        x = np.random.default_rng(0).random((nodes, 200), dtype=np.float32)
        graph = Graph(x, graph.adjacency)
    gate = GATE(**CASES[case], preset="authors", epochs=epochs, random_state=0, progress=False)
    before = resident()
    with measured() as cost, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few epochs have not converged
        gate.fit(graph)
    # Told after the run, since what a calibration has freed would be taken again unseen; neither
    # of the two looks at the run.
    counts = GraphCounts.of(graph)
    added = training_bytes(plan_for(counts, gate)) / 2**20
    seconds = measured_time(counts, gate, graph).total(epochs)
    peak = cost.peak_memory_mb
    return {
        "edges": graph.n_edges,
        "added_mb": {"estimated": round(added, 1), "measured": round(peak - before, 1)},
        "peak_memory_mb": {"estimated": round(before + added, 1), "measured": round(peak, 1)},
        "seconds": {"estimated": round(seconds, 2), "measured": round(cost.seconds, 2)},
    }


def summary(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians of told and measured, and the median and quartiles of what one is of the other."""
    if any(found["status"] != "ok" for found in rounds):
        return {"status": next(found["status"] for found in rounds if found["status"] != "ok")}
    made: dict[str, Any] = {"status": "ok", "edges": rounds[0]["edges"], "rounds": len(rounds)}
    for what in UNITS:
        told, seen = ([found[what][key] for found in rounds] for key in ("estimated", "measured"))
        made[what] = {
            "estimated": round(median(told), 2),
            "measured": round(median(seen), 2),
            "ratio": {name: round(value, 3) for name, value in ratio_spread(told, seen).items()},
        }
    return made


def line(found: dict[str, Any]) -> str:
    if found["status"] != "ok":
        return f"{found['nodes']:>10,} nodes, {found['case']}: {found['status']}"
    parts = []
    for what, unit in UNITS.items():
        told, seen = found[what]["estimated"], found[what]["measured"]
        parts.append(f"{told:,.4g} {unit} told, {seen:,.4g} measured ({told / seen - 1:+.0%})")
    return f"{found['nodes']:>10,} nodes, {found['case']}: {'; '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="3000,30000,100000,300000")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit = given.limit or isolated.default_limit_gib()
    threads = use_threads(given.threads)
    if given.child:
        work = lambda: compare(int(given.nodes), given.cases, given.epochs)  # noqa: E731
        isolated.answer(work, limit)
        return
    result = description("estimate.py", threads)
    result |= {"memory_limit_gib": limit, "epochs": given.epochs, "runs": []}
    options = ["--epochs", str(given.epochs), "--threads", str(threads), "--limit", str(limit)]
    cells = [(int(n), case) for n in listed(given.nodes) for case in listed(given.cases)]
    found: dict[tuple[int, str], list[dict[str, Any]]] = {cell: [] for cell in cells}
    for _ in range(given.rounds):
        for nodes, case in cells:
            child = ["--child", "--nodes", str(nodes), "--cases", case, *options]
            found[nodes, case].append(isolated.run("estimate.py", *child))
            print(line({"nodes": nodes, "case": case} | found[nodes, case][-1]), flush=True)
            result["runs"] = [
                {"nodes": nodes, "case": case} | summary(rounds)
                for (nodes, case), rounds in found.items()
                if rounds
            ]
            if given.json:  # after every run: a later one takes long
                write_json(given.json, result)


if __name__ == "__main__":
    main()
