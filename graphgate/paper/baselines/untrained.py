"""Methods without trained parameters: raw features, and label propagation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from graphgate.graph.graph import Graph
from graphgate.paper.baselines.contract import GraphClassifier, InductiveEmbedder, labelled_rows
from graphgate.paper.baselines.inputs import dense_features
from graphgate.training.sampling import symmetrized


@dataclass(kw_only=True, eq=False, repr=False)
class RawFeatures(InductiveEmbedder):
    """The features of a node as its vector, (N, F): a baseline for every embedding.

    The paper takes its numbers from Veličković et al. (2019, "Deep Graph Infomax"), who scale the
    features of a node to sum to 1.

    Parameters
    ----------
    normalize : divide the features of a node by their sum.
    random_state : not used; nothing here is random.
    """

    normalize: bool = True
    random_state: int = 0

    def _learn(self, graph: Graph) -> np.ndarray:
        return self._embed(graph)

    def _embed(self, graph: Graph) -> np.ndarray:
        return dense_features(graph, normalize=self.normalize).numpy()


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPropagation(GraphClassifier):
    """Labels propagate along edges from the training nodes, which keep theirs, until convergence.

    Zhu & Ghahramani (2002), "Learning from Labeled and Unlabeled Data with Label Propagation". The
    edges of the graph replace the paper's complete graph of distances, with their weights if they
    have any, in both directions. A node that no label reaches gets the most frequent class of the
    training nodes; the paper has no such nodes. Labels of validation nodes are not used.

    Parameters
    ----------
    tolerance : stop when no fraction of a class at a node changes by more than this.
    iterations : maximum number of iterations.
    random_state : not used; nothing here is random.

    Attributes
    ----------
    fractions_ : (N, C), how much of each class has reached a node; a row sums to 1, or to 0 where
        no label can arrive.
    """

    tolerance: float = 1e-6
    iterations: int = 10_000
    random_state: int = 0
    _inductive: ClassVar[bool] = False

    def _learn(self, graph: Graph) -> None:
        assert graph.labels is not None
        train = labelled_rows(graph, "train")
        given = np.eye(len(graph.classes))[graph.labels[train]]
        self.most_frequent_ = int(given.sum(axis=0).argmax())
        weights = symmetrized(graph).astype(np.float64)
        totals = weights.sum(axis=0)
        # (N, N), T_ij = w_ij / Σ_k w_kj: the probability of a jump from j to i.
        transitions = sp.csr_array(weights @ sp.diags_array(1 / np.where(totals > 0, totals, 1)))
        fractions = np.zeros((graph.n_nodes, given.shape[1]))
        fractions[train] = given
        for _ in range(self.iterations):
            before, fractions = fractions, transitions @ fractions
            sums = fractions.sum(axis=1, keepdims=True)
            fractions /= np.where(sums > 0, sums, 1)
            fractions[train] = given
            if np.abs(fractions - before).max() <= self.tolerance:
                break
        self.fractions_ = fractions

    def _predict(self, graph: Graph) -> np.ndarray:
        reached = self.fractions_.any(axis=1)
        return np.where(reached, self.fractions_.argmax(axis=1), self.most_frequent_)
