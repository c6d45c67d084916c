"""A third method, as short as it can be: features are projected and averaged over neighbors."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.plan_log import Plan
from graphgate.compute.speed import Work
from graphgate.estimators.embedder import Embedder
from graphgate.estimators.fitted import VECTOR, Fitted, Reach
from graphgate.estimators.registry import Method

METHOD = Method("smooth", "smoothing_method:Smoothing", "Smoothing")


@dataclass(frozen=True)
class SmoothingPlan(Plan):
    counts: object
    n_components: int

    @property
    def bytes(self):
        return 8 * self.counts.nodes * self.n_components

    def sentence(self, processes=1):
        return "means over neighbors"

    def work(self):
        return Work(sparse=(self.counts.entries + self.counts.pairs) * self.n_components)


@dataclass(frozen=True)
class Smoothed:
    """embedding : (N, D). own : (N, D), before it is averaged."""

    fit: "SmoothingFit"
    graph: object
    own: np.ndarray
    embedding: np.ndarray
    edge_values: ClassVar[None] = None

    def reconstruction(self):
        return self.embedding @ np.linalg.pinv(self.fit.projection.numpy())

    def feature_errors(self):
        return np.linalg.norm(self.embedding - self.own, axis=1)

    def edge_errors(self):
        return np.full(len(self.own), np.nan)


@dataclass(frozen=True)
class SmoothingFit(Fitted):
    projection: Annotated[Tensor, "F D"]

    @property
    def reach(self):
        return Reach(1, np.inf, exact=True, near_features=False)

    def encode(self, graph):
        own = np.asarray(graph.x @ self.projection.numpy())
        attended = graph.attended + sp.eye_array(graph.n_nodes)
        return Smoothed(self, graph, own, attended @ own / attended.sum(axis=1)[:, None])

    def states(self, encoded):
        return {"own": encoded.own, VECTOR: encoded.embedding.astype(np.float32)}

    def update(self, region):
        own, vector = region.states["own"], region.states[VECTOR]
        new = own.copy()
        if region.features is not None:
            new[region.changed] = region.features @ self.projection.numpy()
        before, after = region.loops()
        old_sums, sums = (
            s[:, :1] + loops[:, None] for s, loops in zip(region.sums, (before, after), strict=True)
        )
        top = vector * old_sums - region.attended[0] @ own - before[:, None] * own
        top += region.attended[1] @ new + after[:, None] * new
        moved = top / np.where(sums > 0, sums, 1)
        return {"own": new, VECTOR: moved.astype(np.float32)}


class Smoothing(Embedder):
    fit_: SmoothingFit

    def __init__(
        self,
        n_components: int = 4,
        *,
        scale: bool = True,
        random_state: int | None = None,
        dtype: str = "float32",
        memory_limit: float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state
        self.dtype = dtype
        self.memory_limit = memory_limit

    def plan(self, counts, available=None, n_processes=1):
        return SmoothingPlan(counts, self.n_components)

    def _learn(self, prepared, seed):
        torch.manual_seed(seed)
        fit = SmoothingFit(torch.randn(prepared.graph.n_features, self.n_components))
        return fit, fit.encode(prepared.graph).embedding, {}

    def _encode(self, graph):
        return self.fit_.encode(graph)
