"""How time and memory of training grow with the graph.

    python benchmarks/growth.py --nodes 30000,100000,300000,1000000 --epochs 3 --json out.json

Synthetic block graphs (see `synthetic.py`): 10 undirected edges a node, 1,000 sparse features,
dimensions (512, 512), the authors' form with λ = 1. Each size is trained in a fresh process.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import isolated
import numpy as np
from inputs import DIMS, loss_of
from machine import description, listed, spread, use_threads
from peers import make_peer
from synthetic import block_graph

import graphgate.estimators.gate  # noqa: F401  what a user imports counts as library
from graphgate.compute.measure import measured, resident
from graphgate.io.files import write_json


def train(n: int, epochs: int) -> dict[str, Any]:
    """In the child: seconds of every epoch, and the peak with the graph's making included."""
    libraries = resident()
    seconds: list[float] = []
    with measured() as cost:
        graph = block_graph(n)
        trained = make_peer("ours", graph, DIMS, loss_of("synthetic"))
        for _ in range(epochs):
            start = time.perf_counter()
            trained.epoch()
            seconds.append(time.perf_counter() - start)
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "epoch_seconds": spread(seconds),
        "peak_memory_mb": round(cost.peak_memory_mb - libraries, 1),
    }


def exponent(nodes: list[int], values: list[float]) -> float:
    """p of value ~ nodesᵖ, by least squares on logarithms."""
    slope, _ = np.polyfit(np.log(nodes), np.log(values), 1)
    return float(slope)


def exponents(sizes: list[dict[str, Any]]) -> dict[str, float]:
    """Of time and of memory; none from a single size."""
    done = [size for size in sizes if size["status"] == "ok"]
    if len({size["nodes"] for size in done}) < 2:
        return {}
    nodes = [size["nodes"] for size in done]
    return {
        "seconds": exponent(nodes, [size["epoch_seconds"]["median"] for size in done]),
        "memory": exponent(nodes, [size["peak_memory_mb"] for size in done]),
    }


def line(size: dict[str, Any]) -> str:
    if size["status"] != "ok":
        return f"{size['nodes']:>12,} nodes: {size['status']}"
    seconds, peak = size["epoch_seconds"]["median"], size["peak_memory_mb"]
    return f"{size['nodes']:>12,} nodes: {seconds:8.2f} s per epoch, peak {peak:,.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="30000,100000,300000,1000000")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit = given.limit or isolated.default_limit_gib()
    threads = use_threads(given.threads)
    if given.child:
        isolated.answer(lambda: train(int(given.nodes), given.epochs), limit)
        return
    result = description("growth.py", threads)
    result |= {"memory_limit_gib": limit, "epochs": given.epochs, "sizes": []}
    for nodes in map(int, listed(given.nodes)):
        options = ["--epochs", str(given.epochs), "--threads", str(threads), "--limit", str(limit)]
        found = isolated.run("growth.py", "--child", "--nodes", str(nodes), *options)
        result["sizes"].append({"nodes": nodes} | found)
        print(line(result["sizes"][-1]), flush=True)
        result["exponents"] = exponents(result["sizes"])
        if given.json:  # after every size: a later one takes long
            write_json(given.json, result)
    for name, value in result["exponents"].items():
        print(f"{name} grow as nodes^{value:.2f}")


if __name__ == "__main__":
    main()
