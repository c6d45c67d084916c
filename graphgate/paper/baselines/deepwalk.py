"""DeepWalk: Perozzi, Al-Rfou & Skiena (2014), "DeepWalk: Online Learning of Social
Representations"; alone, and beside the features as in Veličković et al. (2019, "Deep Graph
Infomax"), from whom the paper takes the numbers of "DeepWalk + features".

Parameters are those of the paper's experiments: 80 walks of 40 nodes from every node, windows of
10 nodes to either side, 128 dimensions, skip-gram with hierarchical softmax, one pass.

Walks follow edges in both directions and ignore weights. A node without edges is a walk by itself,
from which nothing is learned: it keeps its random initial vector. Training uses a single thread,
because gensim's threads race each other and no two runs would agree.

Departures, with features: the parameters of their DeepWalk are not published, so they are those
above. Their probe has no penalty, so the scale of the vectors does not matter to it; it does to a
probe with a penalty, for which features that sum to 1 would vanish beside the vectors of walks. So
both parts have rows of length 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from gensim.models import Word2Vec
from sklearn.preprocessing import normalize

from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import BaselineEmbedder
from graphgate.paper.baselines.inputs import dense_features, seeded
from graphgate.training.sampling import random_walks, symmetrized


def _sentences(walks: np.ndarray, isolated: np.ndarray, words: list[str]) -> Iterator[list[str]]:
    """Walks as sentences of node numbers; a node without edges is a sentence of its own."""
    for walk in walks:
        nodes = walk[:1] if isolated[walk[0]] else walk
        yield [words[node] for node in nodes.tolist()]


@dataclass(kw_only=True, eq=False, repr=False)
class DeepWalk(BaselineEmbedder):
    """Skip-gram over random walks.

    Parameters
    ----------
    n_components : size of the embedding, D.
    walks : walks from every node.
    length : nodes per walk.
    window : nodes to either side that a node predicts.
    """

    n_components: int = 128
    walks: int = 80
    length: int = 40
    window: int = 10
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        n, adjacency = graph.n_nodes, symmetrized(graph)
        seed = hyperparameters.seed(self.random_state)
        with seeded(seed) as rng:
            starts = np.concatenate([rng.permutation(n) for _ in range(self.walks)])
            walks = random_walks(adjacency, starts, self.length - 1, rng).astype(np.int32)
            isolated, words = np.diff(adjacency.indptr) == 0, [str(node) for node in range(n)]
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
                seed=seed % 2**32,
            )
            model.build_vocab(_sentences(walks, isolated, words))
            if adjacency.nnz:  # with a single node, gensim's thread dies and `train` hangs
                sentences = _sentences(walks, isolated, words)
                model.train(sentences, total_examples=model.corpus_count, epochs=1)
        return model.wv[words]


@dataclass(kw_only=True, eq=False, repr=False)
class DeepWalkFeatures(DeepWalk):
    """The embedding of `DeepWalk` followed by the features, (N, D + F), each of length 1."""

    def _learn(self, graph: Graph) -> np.ndarray:
        features = dense_features(graph, normalize=False).numpy()
        return np.hstack([normalize(super()._learn(graph)), normalize(features)])
