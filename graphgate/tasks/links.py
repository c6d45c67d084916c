"""Link prediction: held-out edges against sampled non-edges, scored by inner products."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph


@dataclass(frozen=True)
class LinkSplit:
    """A graph without its held-out edges, and the pairs to score, (M, 2) row numbers each.

    The four sets of pairs and the edges of `graph` are disjoint, whichever way a pair is written;
    non-edges are not connected in the original graph. An undirected edge is listed once.
    """

    graph: Graph
    val_edges: np.ndarray
    val_non_edges: np.ndarray
    test_edges: np.ndarray
    test_non_edges: np.ndarray


def evaluate_links(
    graph: Graph,
    estimator: Any = None,
    *,
    val_size: float = 0.05,
    test_size: float = 0.1,
    random_state: int = 0,
) -> dict[str, float | None]:
    """Hold out edges, train on the rest, and score the held-out edges against non-edges.

    Parameters
    ----------
    graph : its labels are hidden from the estimator.
    estimator : unfitted, with `fit(graph)` and `embedding_`; the default is `GATE`.
    val_size, test_size : fractions of the connected pairs to hold out.
    random_state : seed of the split, and of the default estimator.

    Returns "auc" and "ap" (average precision) of the test edges and "val_auc" and "val_ap" of the
    validation edges, in percent; the latter are None where `val_size` holds out no edge.

    Examples
    --------
    >>> ring = Graph.from_edges(np.eye(40), [(i, (i + 1) % 40) for i in range(40)])
    >>> gate = GATE((8, 2), epochs=300, learning_rate=0.01, random_state=0)
    >>> sorted(evaluate_links(ring, gate))
    ['ap', 'auc', 'val_ap', 'val_auc']
    """
    model = GATE(random_state=random_state) if estimator is None else estimator
    if hasattr(model, "predict"):
        raise InputError(f"{type(model).__name__} is a classifier and gives no vectors to score")
    split = split_links(graph, val_size=val_size, test_size=test_size, random_state=random_state)
    return score_split(model.fit(split.graph.reveal()).embedding_, split)


def split_links(
    graph: Graph, *, val_size: float = 0.05, test_size: float = 0.1, random_state: int | None = 0
) -> LinkSplit:
    """Hold out random fractions of the connected pairs, and draw as many non-edges.

    Both directions of a pair are held out together, so that neither reveals the other.
    """
    if not (0 <= val_size < 1 and 0 < test_size < 1 and val_size + test_size < 1):
        raise InputError(
            f"val_size={val_size:g} and test_size={test_size:g} must be fractions whose sum is "
            "below 1, and test_size must be above 0"
        )
    n = graph.n_nodes
    entries = graph.adjacency.tocoo()
    source, target = entries.row.astype(np.int64), entries.col.astype(np.int64)
    keys = np.minimum(source, target) * n + np.maximum(source, target)
    pairs, first = np.unique(keys, return_index=True)
    n_val, n_test = int(val_size * len(pairs)), int(test_size * len(pairs))
    if n_test < 1:
        raise InputError(
            f"test_size={test_size:g} of {len(pairs):,} connected pairs is less than one pair; "
            "hold out a larger fraction"
        )
    rng = np.random.default_rng(random_state)
    chosen = rng.permutation(len(pairs))[: n_val + n_test]
    # A directed edge is listed as it points; if both directions exist, one represents the pair.
    edges = np.stack([source, target], axis=1)[first[chosen]]
    non_edges = _non_edges(rng, pairs, n, n_val + n_test)
    return LinkSplit(
        graph.without_edges(edges),
        edges[:n_val],
        non_edges[:n_val],
        edges[n_val:],
        non_edges[n_val:],
    )


def _non_edges(rng: np.random.Generator, pairs: np.ndarray, n: int, wanted: int) -> np.ndarray:
    """(wanted, 2) distinct pairs of distinct nodes without an edge, in random order."""
    free = n * (n - 1) // 2 - len(pairs)
    if free < wanted:
        raise InputError(
            f"only {free:,} pairs of nodes have no edge, but {wanted:,} are needed; "
            "hold out fewer edges"
        )
    if 4 * wanted > free or n <= 64:  # nearly all of them: enumerate
        low, high = np.triu_indices(n, 1)
        keys = np.setdiff1d(low * n + high, pairs, assume_unique=True)
        found = rng.permutation(keys)[:wanted]
    else:
        found = np.empty(0, dtype=np.int64)
        while len(found) < wanted:
            ends = rng.integers(0, n, (2 * (wanted - len(found)) + 16, 2))
            ends = ends[ends[:, 0] != ends[:, 1]]
            keys = ends.min(axis=1) * n + ends.max(axis=1)
            keys = keys[~np.isin(keys, pairs)]
            both = np.concatenate([found, keys])
            # Keeping first occurrences in the order drawn, so that the order carries no pattern.
            found = both[np.sort(np.unique(both, return_index=True)[1])]
        found = found[:wanted]
    ends = np.stack([found // n, found % n], axis=1)
    flipped = rng.random(len(ends)) < 0.5
    return np.where(flipped[:, None], ends[:, ::-1], ends)


def link_quality(vectors: np.ndarray, edges: np.ndarray, non_edges: np.ndarray) -> dict[str, float]:
    """AUC and average precision of h_i · h_j for edges against non-edges, in percent."""
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    left, right = np.concatenate([edges, non_edges]).T
    scores = np.einsum("md,md->m", vectors[left], vectors[right], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise InputError("the embedding has values that are not finite; links cannot be scored")
    return {
        "auc": round(100 * float(roc_auc_score(truth, scores)), 4),
        "ap": round(100 * float(average_precision_score(truth, scores)), 4),
    }


def score_split(vectors: np.ndarray, split: LinkSplit) -> dict[str, float | None]:
    """`link_quality` of the test pairs and, prefixed by "val_", of the validation pairs."""
    test = link_quality(vectors, split.test_edges, split.test_non_edges)
    scores: dict[str, float | None] = {**test, "val_auc": None, "val_ap": None}
    if len(split.val_edges):
        val = link_quality(vectors, split.val_edges, split.val_non_edges)
        scores |= {f"val_{name}": value for name, value in val.items()}
    return scores
