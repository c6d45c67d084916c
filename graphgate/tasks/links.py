"""Link prediction: edges held out of a graph, as many pairs without an edge, and their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate.errors import InputError
from graphgate.graph.graph import Graph


@dataclass(frozen=True)
class LinkSplit:
    """A graph without the held-out edges, and pairs to tell apart; all are rows, (M, 2) each.

    A pair is in one of the four only, whichever way it is written, and is no edge of `graph`; the
    non-edges are no edges of the whole graph, either way. Of an undirected edge one way is listed.
    """

    graph: Graph
    val_edges: np.ndarray
    val_non_edges: np.ndarray
    test_edges: np.ndarray
    test_non_edges: np.ndarray


def split_links(graph: Graph, *, val: float = 0.05, test: float = 0.1, seed: int = 0) -> LinkSplit:
    """Holds out these shares of the connected pairs at random, and draws as many non-edges.

    A directed graph loses both ways of a pair, so that neither tells of the other.
    """
    if not (0 <= val < 1 and 0 < test < 1 and val + test < 1):
        raise InputError(
            f"the shares of edges held out are {val:g} and {test:g}; their sum must be below 1, "
            "and that of the test above 0"
        )
    n = graph.n_nodes
    entries = graph.adjacency.tocoo()
    source, target = entries.row.astype(np.int64), entries.col.astype(np.int64)
    keys = np.minimum(source, target) * n + np.maximum(source, target)
    pairs, first = np.unique(keys, return_index=True)
    n_val, n_test = int(val * len(pairs)), int(test * len(pairs))
    if n_test < 1:
        raise InputError(
            f"the graph has {len(pairs):,} connected pairs, of which {test:g} is not one; "
            "hold out a larger share"
        )
    rng = np.random.default_rng(seed)
    held = rng.permutation(len(pairs))[: n_val + n_test]
    # An edge is written as it points; where both ways are there, one of them stands for the pair.
    edges = np.stack([source, target], axis=1)[first[held]]
    non_edges = _non_edges(rng, pairs, n, n_val + n_test)
    return LinkSplit(
        graph.without_edges(edges),
        edges[:n_val],
        non_edges[:n_val],
        edges[n_val:],
        non_edges[n_val:],
    )


def _non_edges(rng: np.random.Generator, pairs: np.ndarray, n: int, wanted: int) -> np.ndarray:
    """Different pairs of different nodes that are not connected, (wanted, 2), in random order."""
    free = n * (n - 1) // 2 - len(pairs)
    if free < wanted:
        raise InputError(
            f"only {free:,} pairs of nodes have no edge, and {wanted:,} are needed; "
            "hold out fewer edges"
        )
    if 4 * wanted > free or n <= 64:  # nearly all of them: list them
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
            # The first of equals stays where it was, so that the order tells nothing.
            found = both[np.sort(np.unique(both, return_index=True)[1])]
        found = found[:wanted]
    ends = np.stack([found // n, found % n], axis=1)
    turned = rng.random(len(ends)) < 0.5
    return np.where(turned[:, None], ends[:, ::-1], ends)


def link_scores(embedding: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """h_i · h_j of every pair, (M,), in double precision."""
    left, right = embedding[pairs[:, 0]], embedding[pairs[:, 1]]
    return np.einsum("md,md->m", left, right, dtype=np.float64)


def link_quality(
    embedding: np.ndarray, edges: np.ndarray, non_edges: np.ndarray
) -> dict[str, float]:
    """How well h_i · h_j tells edges from non-edges: area under ROC, average precision, percent."""
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    scores = link_scores(embedding, np.concatenate([edges, non_edges]))
    if not np.isfinite(scores).all():
        raise InputError("the embedding has values that are not finite; links cannot be scored")
    return {
        "auc": round(100 * float(roc_auc_score(truth, scores)), 4),
        "ap": round(100 * float(average_precision_score(truth, scores)), 4),
    }
