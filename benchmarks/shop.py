"""Recommendations of a shop made by a generator: LinearGATE against factorizations and popularity.

    python -m benchmarks shop --json results/benchmarks/shop.json

Customers and products have mixtures of tastes; a purchase is drawn by popularity and by how well
the tastes fit. Two purchases of every customer are held out, and all products that the customer has
not bought are ranked. hit@10 is the fraction of customers with a held-out purchase among the first
ten, recall@20 that of held-out purchases among the first twenty. Seconds are processor time of a
fit and of all recommendations.

The factorizations have 32 factors; confidence and penalty of ALS (of four pairs) and the power of
popularity (of four) were chosen on seed 100, which nothing else uses.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from benchmarks.runner import Measurements
from graphgate import Graph, LinearGATE

CUSTOMERS, PRODUCTS, TASTES = 2000, 600, 12
FACTORS, MOST = 32, 20
POWER = 0.5  # of popularity, beside the normalized SVD
CONFIDENCE, PENALTY = 3.0, 10.0  # of ALS
TOWNS = 20  # a column that says nothing
Rank = Callable[[sp.csr_array, Graph, int], np.ndarray]


def measure(
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4), methods: tuple[str, ...] = ()
) -> Measurements:
    for method in methods or METHODS:
        yield {"method": method}, partial(compare, method, seeds)


def compare(method: str, seeds: tuple[int, ...]) -> dict[str, Any]:
    hits, recalls, seconds, right = [], [], [], []
    for seed in seeds:
        known, hidden, graph = shop(seed)
        start = time.process_time()
        ranked = METHODS[method](known, graph, seed)  # (customers, 20) products
        seconds.append(time.process_time() - start)
        found = np.array([np.isin(row, held) for row, held in zip(ranked, hidden, strict=True)])
        hits.append(100 * float(found[:, :10].any(axis=1).mean()))
        recalls.append(100 * float(found.sum() / hidden.size))
        right.append(bool(((ranked >= 0) & (ranked < PRODUCTS)).all()))
    return {
        "seeds": list(seeds),
        "hit@10": hits,
        "recall@20": recalls,
        "all_products": all(right),
        "seconds": mean(seconds),
    }


# --- the shop ------------------------------------------------------------------------------------


def shop(seed: int) -> tuple[sp.csr_array, np.ndarray, Graph]:
    """Known purchases, (customers, products); two hidden ones of each customer; and the graph.

    Customers have an age group that follows from their main taste in two of three cases, and a town
    that means nothing; products have a category that follows from theirs likewise.
    """
    rng = np.random.default_rng(seed)
    of_customers = rng.dirichlet(np.full(TASTES, 0.2), CUSTOMERS)
    of_products = rng.dirichlet(np.full(TASTES, 0.1), PRODUCTS)
    popularity = rng.lognormal(0, 1, PRODUCTS)
    chances = (of_customers @ of_products.T) ** 1.5 * popularity
    chances /= chances.sum(axis=1, keepdims=True)
    counts = 5 + rng.poisson(6, CUSTOMERS)
    known, hidden = np.zeros((CUSTOMERS, PRODUCTS)), np.empty((CUSTOMERS, 2), dtype=int)
    for customer, count in enumerate(counts):
        bought = rng.choice(PRODUCTS, count, replace=False, p=chances[customer])
        bought = rng.permutation(bought)
        known[customer, bought[2:]], hidden[customer] = 1, bought[:2]
    columns = {
        "kind": ["customer"] * CUSTOMERS + ["product"] * PRODUCTS,
        "age group": [*_described(rng, of_customers), *[None] * PRODUCTS],
        "town": [*(f"t{at}" for at in rng.integers(0, TOWNS, CUSTOMERS)), *[None] * PRODUCTS],
        "category": [*[None] * CUSTOMERS, *_described(rng, of_products)],
    }
    matrix = sp.csr_array(known)
    customer, product = matrix.nonzero()
    edges = np.stack([customer, product + CUSTOMERS])
    return (
        matrix,
        hidden,
        Graph.from_edge_index(None, edges, num_nodes=CUSTOMERS + PRODUCTS, attributes=columns),
    )


def _described(rng: np.random.Generator, tastes: np.ndarray) -> list[str]:
    main = tastes.argmax(axis=1)
    said = np.where(rng.random(len(main)) < 2 / 3, main, rng.integers(0, TASTES, len(main)))
    return [f"g{each}" for each in said]


# --- methods -------------------------------------------------------------------------------------


def _first(known: sp.csr_array, scores: np.ndarray) -> np.ndarray:
    scores[known.nonzero()] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, :MOST]


def _popularity(known: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    return _first(known, np.tile(known.sum(axis=0), (CUSTOMERS, 1)).astype(float))


def _svd(known: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    left, lengths, right = svds(known, FACTORS, random_state=seed)
    return _first(known, (left * lengths) @ right)


def _normalized_svd(known: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    """Of D^-½ A D^-½, times the square root of the popularity that the division took away."""
    of_customers, of_products = known.sum(axis=1), np.maximum(known.sum(axis=0), 1)
    scaled = sp.diags_array(of_customers**-0.5) @ known @ sp.diags_array(of_products**-0.5)
    left, lengths, right = svds(scaled, FACTORS, random_state=seed)
    return _first(known, (left * lengths) @ right * of_products**POWER)


def _als(known: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    """Implicit alternating least squares (Hu, Koren & Volinsky, 2008)."""
    rng = np.random.default_rng(seed)
    of_customers = rng.normal(0, 0.1, (CUSTOMERS, FACTORS))
    of_products = rng.normal(0, 0.1, (PRODUCTS, FACTORS))
    for _ in range(15):
        of_customers = _solved(known, of_products)
        of_products = _solved(known.T.tocsr(), of_customers)
    return _first(known, of_customers @ of_products.T)


def _solved(known: sp.csr_array, factors: np.ndarray) -> np.ndarray:
    gram, penalty = factors.T @ factors, PENALTY * np.eye(FACTORS)
    solved = np.empty((known.shape[0], FACTORS))
    for row in range(known.shape[0]):
        own = factors[known.indices[known.indptr[row] : known.indptr[row + 1]]]
        left = gram + CONFIDENCE * own.T @ own + penalty
        solved[row] = np.linalg.solve(left, (1 + CONFIDENCE) * own.sum(axis=0))
    return solved


def _linear(known: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    gate = LinearGATE(random_state=seed, progress=False).fit(graph)
    found = gate.recommend(graph.ids[:CUSTOMERS], {"kind": "product"}, MOST)
    return (found.neighbors - CUSTOMERS).reshape(CUSTOMERS, MOST)


METHODS: dict[str, Rank] = {
    "popularity": _popularity,
    "SVD": _svd,
    "normalized SVD": _normalized_svd,
    "implicit ALS": _als,
    "linear": _linear,
}
