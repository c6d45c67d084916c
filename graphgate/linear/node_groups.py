"""Nodes grouped by their vectors, to find likely neighbors without comparing all pairs."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

from graphgate.compute.decomposition import Decomposed, right_singular_vectors
from graphgate.compute.draws import Draws

_COLUMNS = 64  # of the projection


class _Keys(Decomposed):
    def __init__(self, keys: Tensor) -> None:
        self.shape, self.dtype, self._keys = (len(keys), keys.shape[1]), keys.dtype, keys

    def squares(self, m: Tensor) -> Tensor:
        return self._keys.T @ (self._keys @ m)


@dataclass(frozen=True)
class NodeGroups:
    """About √N groups, by k-means on a projection of (N, C) keys.

    basis : (C, ·), the projection.
    centers : (G, ·)
    members : the rows of each group.
    """

    basis: Tensor
    centers: np.ndarray
    members: list[np.ndarray]

    @classmethod
    def of(cls, keys: Tensor, seed: int) -> Self:
        n_groups = math.isqrt(len(keys))
        basis, _ = right_singular_vectors(_Keys(keys), _COLUMNS, Draws(seed).normal)
        projected = (keys @ basis).numpy()
        means = MiniBatchKMeans(n_groups, batch_size=4096, n_init=1, random_state=seed)
        labels = means.fit(projected).labels_
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=n_groups))[:-1]
        return cls(basis, means.cluster_centers_, np.split(order, ends))

    def nearest(self, query: Tensor, count: int) -> np.ndarray:
        """At least `count` rows, those of the groups whose centers suit a query, (C,), best."""
        products = self.centers @ (query @ self.basis).numpy()
        order = np.argsort(-products, kind="stable")
        sizes = np.cumsum([len(self.members[group]) for group in order])
        enough = int(np.searchsorted(sizes, count)) + 1
        return np.concatenate([self.members[group] for group in order[:enough]])
