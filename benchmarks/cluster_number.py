"""How often the number of clusters that `cluster(…, "auto")` chooses is right.

    python benchmarks/cluster_number.py --seeds 1,2,3 --json FILE

Block graphs, whose number of blocks is known, and random graphs, which have no clusters. The
thresholds were chosen on graphs of some of these kinds with another seed (20).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from machine import description, listed, use_threads

from graphgate import Graph, cluster, embed
from graphgate.io.files import write_json

MEASURED = Path(__file__).parents[1] / "results" / "benchmarks" / "cluster-number.json"
Kind = dict[str, Any]
# sizes of blocks, chance of an edge within and between blocks
KINDS: dict[str, Kind] = {
    "2 blocks, close": {"sizes": [200] * 2, "within": 0.06, "between": 0.02, "words": 100},
    "3 blocks": {"sizes": [100] * 3, "within": 0.10, "between": 0.01},
    "4 blocks of 40 to 200": {"sizes": [200, 120, 80, 40], "within": 0.12, "between": 0.01},
    "4 blocks, hubs": {"sizes": [150] * 4, "within": 0.10, "between": 0.01, "hubs": True},
    "5 blocks, words": {"sizes": [80] * 5, "within": 0.15, "between": 0.01, "words": 200},
    "6 blocks, words, sparse": {"sizes": [150] * 6, "within": 0.04, "between": 0.002, "words": 300},
    "7 blocks of 60 to 180": {
        "sizes": [60, 80, 100, 120, 140, 160, 180],
        "within": 0.10,
        "between": 0.005,
    },
    "8 blocks": {"sizes": [60] * 8, "within": 0.20, "between": 0.01},
    "10 blocks": {"sizes": [60] * 10, "within": 0.25, "between": 0.01},
    "12 blocks, words": {"sizes": [50] * 12, "within": 0.25, "between": 0.008, "words": 240},
    "random, sparse": {"sizes": [400], "within": 0.03},
    "random, words": {"sizes": [800], "within": 0.01, "words": 200},
    "random, dense": {"sizes": [300], "within": 0.10, "words": 100},
    "random, hubs": {"sizes": [500], "within": 0.03, "words": 100, "hubs": True},
    "random, small": {"sizes": [120], "within": 0.08},
}


def block_graph(
    seed: int,
    sizes: list[int],
    within: float,
    between: float = 0.0,
    words: int = 0,
    *,
    hubs: bool = False,
) -> Graph:
    """Edges, and words if there are any, are more frequent within blocks."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(len(sizes)), sizes)
    activity = rng.pareto(3, len(block)) + 0.5 if hubs else np.ones(len(block))
    chance = np.where(block[:, None] == block, within, between)
    chance = chance * np.outer(activity, activity) / activity.mean() ** 2
    x = None
    if words:
        own = np.arange(words) % len(sizes) == block[:, None]
        x = sp.csr_array(rng.random(own.shape) < np.where(own, 0.08, 0.02), dtype=np.float32)
    return Graph(x, np.triu(rng.random(chance.shape) < chance, 1), labels=block)


def table() -> str:
    """One row per kind of graph, from the stored result, and how many runs are right."""
    stored = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows, right, runs = [], 0, 0
    for each in stored["kinds"]:
        blocks, found = each["blocks"], each["found"]
        close = [abs(k - blocks) <= 1 if blocks > 1 else k == 1 for k in found]
        right, runs = right + sum(close), runs + len(found)
        clusters = ", ".join("none" if k == 1 else str(k) for k in found)
        cells = (each["kind"], f"{each['nodes']:,}", "none" if blocks == 1 else blocks, clusters)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    seeds = len(stored["seeds"])
    heads = f"| graph | nodes | blocks | found, {seeds} seeds |\n| --- | ---: | ---: | --- |"
    summary = f"Within one of the truth, or none on random graphs: {right} of {runs} runs."
    return "\n".join([heads, *rows, "", summary])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    seeds = [int(seed) for seed in listed(given.seeds)]
    results: dict[str, Any] = description("cluster_number.py", use_threads(None))
    results |= {"seeds": seeds, "kinds": []}
    for name, kind in KINDS.items():
        graphs = [block_graph(seed, **kind) for seed in seeds]
        found = [len(cluster(embed(graph), "auto").sizes) for graph in graphs]
        results["kinds"].append(
            {
                "kind": name,
                "nodes": sum(kind["sizes"]),
                "blocks": len(kind["sizes"]),
                "found": found,
            }
        )
        print(f"{name}: {len(kind['sizes'])} blocks, found {found}", flush=True)
    if given.json:
        write_json(given.json, results)


if __name__ == "__main__":
    main()
