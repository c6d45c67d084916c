"""The most likely edges that a graph does not have, without scoring all pairs of nodes.

Nodes are grouped by k-means on a projection of their vectors into about √N groups. A node is
compared with the members of its own group and of the nearest ones, and with the √N nodes of
highest degree, which are likely neighbors of any node.
"""

import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import expit
from sklearn.metrics import euclidean_distances
from torch import Tensor

from graphgate.linear.edge_decoder import (
    DEGREE_TERMS,
    EdgeDecoder,
    log_degrees,
    similarity_blocks,
)
from graphgate.linear.model import States
from graphgate.linear.neighborhoods import Neighborhoods
from graphgate.linear.node_groups import NodeGroups

_NEAREST = 4  # groups that a node is compared with, its own included
_ALL_PAIRS = 2000  # nodes up to which all pairs are compared
_ROWS = 1024  # compared together


def propose_links(
    decoder: EdgeDecoder, states: States, known: sp.csr_array, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest pairs without an edge: (M, 2) rows, likeliest first, and (M,) probabilities.

    known : (N, N), the edges that exist, whichever way.
    n : the number of pairs wanted; M is smaller where there are not as many.
    """
    keys, queries = keys_and_queries(decoder, states)
    degrees, neighborhoods = log_degrees(states), Neighborhoods(states.operator.attended)
    known = (known + known.T).tocsr()
    pairs, scores = np.empty((0, 2), dtype=np.int64), np.empty(0)
    for rows, others in _candidates(keys, degrees, seed):
        logits = (queries[rows] @ keys[others].T).numpy().astype(np.float64)
        for name, term in DEGREE_TERMS.items():
            logits += decoder.weight(name) * term(degrees[rows][:, None], degrees[others])
        for name, values in neighborhoods.blocks(rows, others):
            logits += decoder.weight(name) * values
        edges = known[rows][:, others].tocoo()
        logits[edges.row, edges.col] = -np.inf
        logits[rows[:, None] == others] = -np.inf
        best = _largest(logits.ravel(), 2 * n)  # a pair may be there both ways
        best = best[np.isfinite(logits.ravel()[best])]
        new = np.stack([rows[best // len(others)], others[best % len(others)]], axis=1)
        pairs = np.concatenate([pairs, np.sort(new, axis=1)])
        scores = np.concatenate([scores, logits.ravel()[best]])
        _, distinct = np.unique(pairs @ [len(degrees), 1], return_index=True)
        kept = distinct[_largest(scores[distinct], n)]
        pairs, scores = pairs[kept], scores[kept]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))
    return pairs[order], expit(scores[order] + decoder.bias)


def keys_and_queries(decoder: EdgeDecoder, states: States) -> tuple[Tensor, Tensor]:
    """(N, ·) each, whose inner products are the weighted similarities of all pairs.

    Both have the square roots of the weights, so that their distances are about the scores.
    """
    everyone = np.arange(states.engine.n)
    keys, queries = [], []
    for name, block in similarity_blocks(states, decoder.reconstruction, everyone):
        columns = torch.from_numpy(decoder.column_weights(name, block.shape[1])).to(block.dtype)
        keys.append(block * columns.abs().sqrt())
        queries.append(keys[-1] * columns.sign())
    return torch.cat(keys, dim=1), torch.cat(queries, dim=1)


def _candidates(
    keys: Tensor, degrees: np.ndarray, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Groups of rows, each with the rows that it is compared with."""
    n = len(keys)
    everyone = np.arange(n)
    if n <= _ALL_PAIRS:
        yield everyone, everyone
        return
    n_groups = math.isqrt(n)
    groups = NodeGroups.of(keys, seed)
    hubs = np.argsort(-degrees, kind="stable")[:n_groups]
    distances = euclidean_distances(groups.centers)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEAREST]
    members = groups.members
    for group, rows in enumerate(members):
        others = np.unique(np.concatenate([hubs, *(members[near] for near in nearest[group])]))
        for start in range(0, len(rows), _ROWS):
            yield rows[start : start + _ROWS], others


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest values, in no particular order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count - 1)[:count]
