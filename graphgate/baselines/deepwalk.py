"""DeepWalk: Perozzi, Al-Rfou & Skiena (2014), "DeepWalk: Online Learning of Social
Representations".

Settings are those of the paper's experiments: 80 walks of 40 nodes from every node, windows of 10
to either side, 128 dimensions, skip-gram with hierarchical softmax, one pass.

Walks go along edges both ways and ignore weights. A node without edges is a walk by itself, which
teaches nothing: it keeps the random vector it starts with. Training runs in one thread, since
gensim's threads race each other and no two runs would agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from gensim.models import Word2Vec

from graphgate.baselines.tensors import seeded
from graphgate.graph.graph import Graph
from graphgate.training.sampling import random_walks, symmetrized


class _Sentences:
    """Walks as sentences of node numbers; can be read again and again."""

    def __init__(self, walks: np.ndarray, alone: np.ndarray) -> None:
        self.walks = walks
        self.alone = alone  # (N,) True where a node has no edges
        self.words = [str(node) for node in range(len(alone))]

    def __iter__(self) -> Iterator[list[str]]:
        for walk in self.walks:
            nodes = walk[:1] if self.alone[walk[0]] else walk
            yield [self.words[node] for node in nodes.tolist()]


@dataclass(kw_only=True)
class DeepWalk:
    """Skip-gram over random walks. It knows no nodes but those it was fitted on.

    Parameters
    ----------
    n_components : size of the embedding, D.
    walks : so many from every node.
    length : nodes of a walk.
    window : nodes to either side that a node predicts.
    """

    n_components: int = 128
    walks: int = 80
    length: int = 40
    window: int = 10
    random_state: int = 0
    embedding_: np.ndarray = field(init=False, repr=False, compare=False)

    def fit(self, graph: Graph) -> Self:
        self.embedding_ = self._embed(graph)
        return self

    def _embed(self, graph: Graph) -> np.ndarray:
        n, adjacency = graph.n_nodes, symmetrized(graph)
        with seeded(self.random_state) as rng:
            starts = np.concatenate([rng.permutation(n) for _ in range(self.walks)])
            walks = random_walks(adjacency, starts, self.length - 1, rng).astype(np.int32)
            sentences = _Sentences(walks, np.diff(adjacency.indptr) == 0)
            model = Word2Vec(
                vector_size=self.n_components,
                window=self.window,
                sg=1,
                hs=1,
                negative=0,
                sample=0,
                min_count=1,
                epochs=1,
                workers=1,
                seed=self.random_state % 2**32,
            )
            model.build_vocab(sentences)
            if adjacency.nnz:  # gensim's thread dies, and fit would wait for it, if n is 1
                model.train(sentences, total_examples=model.corpus_count, epochs=1)
        rows = [model.wv.key_to_index[str(node)] for node in range(n)]
        return model.wv.vectors[rows]
