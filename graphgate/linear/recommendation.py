"""The likeliest new neighbors of single nodes, among some candidates.

Few candidates are all scored. Of many, those that can be likely are retrieved: what is near in the
graph, the groups of nodes whose keys suit the query, and the nodes of highest degree. Their scores
are those of the decoder, without an approximation.
"""

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import expit

from graphgate.linear.edge_decoder import DEGREE_TERMS, EdgeDecoder, log_degrees
from graphgate.linear.link_proposals import keys_and_queries
from graphgate.linear.model import States
from graphgate.linear.neighborhoods import COMMON, Neighborhoods
from graphgate.linear.node_groups import NodeGroups

ALL_PAIRS = 20_000_000  # of queries and candidates, up to which all are scored
_RETRIEVED = (2000, 0.02)  # candidates per query: at least, and as a fraction of all
_NEAR = 1000  # of them by what their neighborhoods have in common
_CELLS = 1 << 22  # scores in memory together


class Recommender:
    """Scores of candidates for any nodes of one graph; expensive to make, cheap to ask.

    decoder, states : of the graph.
    known : (N, N), the edges that exist, whichever way.
    candidates : (C,) distinct rows, increasing.
    """

    def __init__(
        self,
        decoder: EdgeDecoder,
        states: States,
        known: sp.csr_array,
        candidates: np.ndarray,
        seed: int,
    ) -> None:
        self.decoder, self.states, self.candidates = decoder, states, candidates
        self._seed = seed
        self._keys, self._queries = keys_and_queries(decoder, states)
        self._degrees = log_degrees(states)
        self._neighborhoods = Neighborhoods(states.operator.attended)
        self._known = (known + known.T).tocsr()

    def best(self, rows: np.ndarray, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each node, at most n candidates that are not its neighbors, and probabilities."""
        few = len(rows) * len(self.candidates) <= ALL_PAIRS
        retrieved = self._all(rows) if few else self._retrieved(rows)
        return [self._largest(*each, n) for each in retrieved]

    def _all(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        size = max(1, _CELLS // max(1, len(self.candidates)))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            logits = self._similarities(some, self.candidates)
            for name, values in self._neighborhoods.blocks(some, self.candidates):
                logits += self.decoder.weight(name) * values
            for row, scores in zip(some.tolist(), logits, strict=True):
                yield row, self.candidates, scores

    def _retrieved(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        n = len(self.candidates)
        count = min(n, max(_RETRIEVED[0], math.ceil(_RETRIEVED[1] * n)))
        allowed = np.zeros(len(self._degrees), dtype=bool)
        allowed[self.candidates] = True
        shared = np.zeros(len(self._degrees))
        for row in rows.tolist():
            near, values = self._shared(row)
            shared[near] = values
            likely, values = near[allowed[near]], values[allowed[near]]
            likely = likely[np.argsort(-values, kind="stable")[:_NEAR]]
            suiting = self.candidates[self._groups.nearest(self._queries[row], count)]
            others = np.unique(np.concatenate([likely, suiting, self._hubs]))
            yield row, others, self._similarities(np.array([row]), others)[0] + shared[others]
            shared[near] = 0

    def _shared(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes whose neighborhoods have something in common with one, and what it counts."""
        nodes, terms = self._neighborhoods.row(row)
        return nodes, terms @ [self.decoder.weight(name) for name in COMMON]

    def _similarities(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """(R, C), logits without what neighborhoods have in common."""
        logits = (self._queries[rows] @ self._keys[others].T).numpy().astype(np.float64)
        left, right = self._degrees[rows][:, None], self._degrees[others]
        for name, term in DEGREE_TERMS.items():
            logits += self.decoder.weight(name) * term(left, right)
        return logits + self.decoder.bias

    def _largest(
        self, row: int, others: np.ndarray, logits: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        neighbors = self._known.indices[self._known.indptr[row] : self._known.indptr[row + 1]]
        new = ~np.isin(others, neighbors) & (others != row)
        others, logits = others[new], logits[new]
        if n < len(logits):
            kept = np.argpartition(-logits, n)[:n]
            others, logits = others[kept], logits[kept]
        order = np.lexsort((others, -logits))
        return others[order], expit(logits[order])

    @cached_property
    def _groups(self) -> NodeGroups:
        return NodeGroups.of(self._keys[torch.from_numpy(self.candidates)], self._seed)

    @cached_property
    def _hubs(self) -> np.ndarray:
        order = np.argsort(-self._degrees[self.candidates], kind="stable")
        return self.candidates[order[: math.isqrt(len(self.candidates))]]
