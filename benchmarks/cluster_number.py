"""How often the number of clusters that `cluster(…, "auto")` chooses is right.

    python -m benchmarks cluster_number --json results/benchmarks/cluster_number.json

Block graphs, whose number of blocks is known, and graphs without clusters: random ones, and
continuous ones, which can be cut anywhere. The thresholds were chosen on graphs of some of these
kinds with other seeds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

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


def ring(seed: int, n: int, reach: int, rewired: float = 0.0) -> Graph:
    """Each node is joined to the next ones; some edges lead to a random node instead."""
    rng = np.random.default_rng(seed)
    nodes = np.repeat(np.arange(n), reach)
    ends = (nodes + np.tile(np.arange(1, reach + 1), n)) % n
    ends = np.where(rng.random(len(ends)) < rewired, rng.integers(0, n, len(ends)), ends)
    return Graph.from_edge_index(None, np.stack([nodes, ends]), num_nodes=n)


def lattice(_seed: int, rows: int, columns: int) -> Graph:
    at = np.arange(rows * columns).reshape(rows, columns)
    ends = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
    index = np.hstack([np.stack([u.ravel(), v.ravel()]) for u, v in ends])
    return Graph.from_edge_index(None, index)


def geometric(seed: int, n: int, radius: float) -> Graph:
    """Random points in the unit square, joined where they are close."""
    places = np.random.default_rng(seed).random((n, 2))
    pairs = KDTree(places).query_pairs(radius, output_type="ndarray")
    return Graph.from_edge_index(None, pairs.T, num_nodes=n)


CONTINUOUS: dict[str, Callable[[int], Graph]] = {
    "ring": partial(ring, n=400, reach=2),
    "ring, some edges rewired": partial(ring, n=500, reach=4, rewired=0.05),
    "lattice, square": partial(lattice, rows=20, columns=20),
    "lattice, long": partial(lattice, rows=10, columns=60),
    "random geometric": partial(geometric, n=500, radius=0.1),
    "random geometric, dense": partial(geometric, n=300, radius=0.15),
    "random geometric, large": partial(geometric, n=2000, radius=0.05),
}

KINDS: dict[str, Callable[[int], Graph]] = {
    name: partial(block_graph, **kind) for name, kind in BLOCKS.items()
} | CONTINUOUS


def measure(seeds: tuple[int, ...] = (1, 2, 3)) -> Measurements:
    for name in KINDS:
        yield {"kind": name}, partial(count, name, seeds)


def count(name: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    graphs = [KINDS[name](seed) for seed in seeds]
    return {
        "nodes": graphs[0].n_nodes,
        "blocks": max(1, len(graphs[0].classes)),
        "clusters": [len(cluster(embed(graph), "auto").sizes) for graph in graphs],
    }
