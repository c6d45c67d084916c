"""Time and peak memory of an epoch at once, against one in blocks of columns.

    python benchmarks/blocked.py --nodes 100000 --widths 256,128,64,32 --json out.json

A synthetic block graph (see `synthetic.py`), dimensions (512, 512), the authors' form with λ = 1.
What is put aside goes to a temporary file. Each way is trained in a fresh process, which the ways
take turns at; time is CPU time of the process and that of the clock, memory what is added to the
libraries and the graph, and losses are compared after the last epoch.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import isolated
import torch
from inputs import DIMS, loss_of
from machine import description, listed, ratio_spread, spread, use_threads
from peers import start_weights
from synthetic import block_graph

import graphgate.estimators.gate  # noqa: F401  what a user imports counts as library
from graphgate.compute.columns import Blocks
from graphgate.compute.measure import measured, resident
from graphgate.io.files import write_json
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.adam import Adam


def train(n: int, width: int, epochs: int) -> dict[str, Any]:
    """In the child: a width of 0 takes all columns at once."""
    graph, loss = block_graph(n).by_locality(), loss_of("synthetic")
    model = start_weights(graph, DIMS, torch.float32)
    before, clock, cpu = resident(), [], []
    with measured() as cost:
        where: dict[str, Any] = {"device": torch.device("cpu"), "dtype": torch.float32}
        parts = model, FeatureMatrix(graph.x, **where), AttentionPattern(graph, **where), loss
        step = CollapsedStep(*parts, Blocks(width, spilled=True) if width else None)
        optimizer = Adam(dict(model.named_parameters()), 1e-4)
        for _ in range(epochs + 1):  # one warms up
            start = time.perf_counter(), time.process_time()
            value = step()["loss"]
            optimizer.step()
            clock.append(time.perf_counter() - start[0])
            cpu.append(time.process_time() - start[1])
    return {
        "edges": graph.n_edges,
        "features": graph.n_features,
        "epoch_seconds": sum(clock[1:]) / epochs,
        "epoch_cpu_seconds": sum(cpu[1:]) / epochs,
        "added_mb": cost.peak_memory_mb - before,
        "loss": value,
    }


def summary(width: int, rounds: list[dict[str, Any]], whole: list[dict[str, Any]]) -> Any:
    """Medians and quartiles, and what they are of those at once, round by round."""
    failed = [found["status"] for found in (*rounds, *whole) if found["status"] != "ok"]
    if failed:
        return {"width": width or None, "status": failed[0]}
    made: dict[str, Any] = {"width": width or None, "status": "ok"}
    for what in ("epoch_seconds", "epoch_cpu_seconds", "added_mb"):
        values, base = ([found[what] for found in each] for each in (rounds, whole))
        made[what] = spread(values) | {"ratio": ratio_spread(values, base)["median"]}
    made["loss"] = rounds[0]["loss"]
    made["loss_difference"] = abs(rounds[0]["loss"] / whole[0]["loss"] - 1)
    return made


def line(found: dict[str, Any]) -> str:
    name = f"width {found['width']}" if found["width"] else "at once"
    if found["status"] != "ok":
        return f"{name:>10}: {found['status']}"
    cpu, added = found["epoch_cpu_seconds"], found["added_mb"]
    return (
        f"{name:>10}: {cpu['median']:.2f} s of CPU per epoch (× {cpu['ratio']:.2f}), "
        f"{added['median']:,.0f} MiB (× {added['ratio']:.2f}), "
        f"loss off by {found['loss_difference']:.0e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--widths", default="256,128,64,32")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--provisional", action="store_true", help="note that others ran as well")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit = given.limit or isolated.default_limit_gib()
    threads = use_threads(given.threads)
    if given.child:
        isolated.answer(lambda: train(given.nodes, int(given.widths), given.epochs), limit)
        return
    options = ["--child", "--nodes", str(given.nodes), "--epochs", str(given.epochs)]
    options += ["--threads", str(threads), "--limit", str(limit)]
    ways: dict[int, list[dict[str, Any]]] = {0: []}
    ways |= {int(width): [] for width in listed(given.widths)}
    result = description("blocked.py", threads)
    result |= {"provisional": given.provisional, "nodes": given.nodes, "epochs": given.epochs}
    for _ in range(given.rounds):
        for width, rounds in ways.items():
            rounds.append(isolated.run("blocked.py", *options, "--widths", str(width)))
        counts = {name: ways[0][0].get(name) for name in ("edges", "features")}
        made = [summary(width, rounds, ways[0]) for width, rounds in ways.items()]
        result |= counts | {"rounds": len(ways[0]), "ways": made}
        if given.json:  # after every round: a later one takes long
            write_json(given.json, result)
    for each in result["ways"]:
        print(line(each), flush=True)


if __name__ == "__main__":
    main()
