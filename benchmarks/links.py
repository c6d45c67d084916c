"""Link prediction by heuristics, smoothing and LinearGATE, with random and with hard non-edges.

    python -m benchmarks links --graphs FOLDER --json results/benchmarks/links.json

70 % of the edges to fit on, 10 % for validation, 20 % for testing, as in Refined-GAE: Hits@100
among as many random pairs as test edges. For HeaRT at most 2,000 test edges have 500 pairs each.
All figures are of test edges, which are scored once; LinearGATE was chosen on validation edges.
Seconds are processor time of a fit and of scoring all pairs.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
import torch

from benchmarks.inputs import graph_names, load
from benchmarks.runner import Measurements
from graphgate import Graph, LinearGATE
from graphgate.graph.link_split import LinkSplit, split_links
from graphgate.linear.neighborhoods import Neighborhoods
from graphgate.linear.propagation import Propagation, averaging
from graphgate.tasks.hard_negatives import Heuristics
from graphgate.tasks.links import score_split, with_hard_negatives

BINS = 10  # of the reliability diagram
Scorer = Callable[[np.ndarray], np.ndarray]


def measure(
    graphs: str = "",
    names: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    seeds: int = 5,
    heart_seeds: int = 1,
) -> Measurements:
    for name in graph_names(names, graphs):
        for method in methods or METHODS:
            runs = {"random": seeds, "heart": heart_seeds}
            for negatives, count in runs.items():
                subject = {"graph": name, "method": method, "negatives": negatives}
                yield subject, partial(compare, name, graphs, method, negatives, count)


def compare(name: str, folder: str, method: str, negatives: str, seeds: int) -> dict[str, Any]:
    graph = load(name, folder=folder).reveal()
    runs, seconds, scored = [], [], []
    for seed in range(seeds):
        split = split_links(graph, val_size=0.1, test_size=0.2, random_state=seed)
        if negatives == "heart":
            none = split.val_edges[:0]
            split = LinkSplit(split.graph, none, none, split.test_edges, split.test_non_edges)
            split = with_hard_negatives(split, graph, None, seed)
        start = time.process_time()
        score = METHODS[method](split.graph, seed)
        runs.append(score_split(_Scored(score), split))
        seconds.append(time.process_time() - start)
        if method == "linear" and negatives == "random":
            scored.append((score(split.test_edges), score(split.test_non_edges)))
    found: dict[str, Any] = {"seeds": seeds, "nodes": graph.n_nodes, "edges": graph.n_edges}
    found |= {metric: [run[metric] for run in runs] for metric in runs[0]}
    return found | {"seconds": mean(seconds)} | (_reliability(scored) if scored else {})


class _Scored:
    def __init__(self, pair_scores: Scorer) -> None:
        self.pair_scores = pair_scores


def _reliability(scored: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """Expected calibration error of balanced pairs, and the bins of all seeds together."""
    probabilities = np.concatenate([np.concatenate(pair) for pair in scored])
    truth = np.concatenate([np.repeat([1.0, 0.0], [len(a), len(b)]) for a, b in scored])
    places = np.minimum((BINS * probabilities).astype(int), BINS - 1)
    bins = [
        {
            "pairs": int((places == at).sum()),
            "mean": float(probabilities[places == at].mean()),
            "edges": float(truth[places == at].mean()),
        }
        for at in range(BINS)
        if (places == at).any()
    ]
    error = sum(each["pairs"] * abs(each["mean"] - each["edges"]) for each in bins) / len(truth)
    return {"calibration_error": error, "bins": bins}


# --- methods -------------------------------------------------------------------------------------


def _neighborhood(at: int, graph: Graph, seed: int) -> Scorer:
    hood = Neighborhoods(graph.attended)
    return lambda pairs: hood.terms(pairs)[:, at]


def _pagerank(graph: Graph, seed: int) -> Scorer:
    """The mean of both directions."""
    heuristics = Heuristics(graph, None)

    def score(pairs: np.ndarray) -> np.ndarray:
        nodes, ends = np.unique(pairs, return_inverse=True)
        ends, scores = ends.reshape(-1, 2), np.zeros(len(pairs))
        for start in range(0, len(nodes), 256):
            rows = nodes[start : start + 256]
            values = heuristics.pagerank(rows)
            for one, other in ((0, 1), (1, 0)):
                here = (ends[:, one] >= start) & (ends[:, one] < start + len(rows))
                scores[here] += values[ends[here, one] - start, pairs[here, other]] / 2
        return scores

    return score


def _cosine(graph: Graph, seed: int) -> Scorer:
    return _of_vectors(torch.from_numpy(_unit(_dense(graph))))


def _smoothed(graph: Graph, seed: int) -> Scorer:
    """Cosine similarity after S²GC with 16 steps."""
    operator = Propagation(graph, 1.0, torch.float32)
    vectors = operator.apply(torch.from_numpy(_unit(_dense(graph))), averaging(16, 0.05))
    return _of_vectors(torch.from_numpy(_unit(vectors.numpy())))


def _linear(graph: Graph, seed: int) -> Scorer:
    return LinearGATE(random_state=seed, progress=False).fit(graph).pair_scores


def _dense(graph: Graph) -> np.ndarray:
    x = graph.x if isinstance(graph.x, np.ndarray) else graph.x.toarray()
    return np.asarray(x, dtype=np.float32)


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(lengths > 0, lengths, 1)
    return unit


def _of_vectors(vectors: torch.Tensor) -> Scorer:
    def score(pairs: np.ndarray) -> np.ndarray:
        parts = np.array_split(pairs, max(1, len(pairs) // 4096))
        dots = [(vectors[p[:, 0]] * vectors[p[:, 1]]).sum(dim=1).numpy() for p in parts]
        return np.concatenate(dots)

    return score


METHODS: dict[str, Callable[[Graph, int], Scorer]] = {
    "common neighbors": partial(_neighborhood, 0),
    "Adamic-Adar": partial(_neighborhood, 1),
    "resource allocation": partial(_neighborhood, 2),
    "personalized PageRank": _pagerank,
    "feature cosine": _cosine,
    "smoothing": _smoothed,
    "linear": _linear,
}
