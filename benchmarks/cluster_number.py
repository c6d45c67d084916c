"""How often the number of clusters that `cluster(…, "auto")` chooses is right.

    python -m benchmarks cluster_number --json results/benchmarks/cluster_number.json

Block graphs, whose number of blocks is known, and graphs without clusters: random ones, and
continuous ones, which can be cut anywhere. The thresholds were chosen on graphs of some of these
kinds with other seeds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from benchmarks.runner import Measurements
from graphgate import Graph, cluster, embed

# sizes of blocks, probability of an edge within and between blocks
BLOCKS: dict[str, dict[str, Any]] = {
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


CONTINUOUS: dict[str, Callable[[int], Any]] = {
    "ring": lambda _: nx.circulant_graph(400, [1, 2]),
    "ring, some edges rewired": lambda seed: nx.watts_strogatz_graph(500, 8, 0.05, seed=seed),
    "lattice, square": lambda _: nx.grid_2d_graph(20, 20),
    "lattice, long": lambda _: nx.grid_2d_graph(10, 60),
    "random geometric": lambda seed: nx.random_geometric_graph(500, 0.1, seed=seed),
    "random geometric, dense": lambda seed: nx.random_geometric_graph(300, 0.15, seed=seed),
    "random geometric, large": lambda seed: nx.random_geometric_graph(2000, 0.05, seed=seed),
}


def graph_of(kind: str, seed: int) -> Graph:
    if kind in BLOCKS:
        return block_graph(seed, **BLOCKS[kind])
    return Graph(adjacency=nx.to_scipy_sparse_array(CONTINUOUS[kind](seed)))


def measure(seeds: tuple[int, ...] = (1, 2, 3)) -> Measurements:
    for name in (*BLOCKS, *CONTINUOUS):
        yield {"kind": name}, partial(count, name, seeds)


def count(name: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    graphs = [graph_of(name, seed) for seed in seeds]
    return {
        "nodes": graphs[0].n_nodes,
        "blocks": max(1, len(graphs[0].classes)),
        "clusters": [len(cluster(embed(graph), "auto").sizes) for graph in graphs],
    }
