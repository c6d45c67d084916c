"""Clustering and link prediction as tasks beside those of the paper: one run a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from graphgate.errors import InputError
from graphgate.experiments.measure import Cost, measured
from graphgate.experiments.protocol import Run, embed, refuse_interrupted
from graphgate.graph.graph import Graph
from graphgate.tasks.clustering import agreement, cluster_vectors
from graphgate.tasks.links import score_split, split_links


@dataclass(frozen=True)
class ClusteringTask:
    """Embed the whole graph, find as many clusters as classes, and compare the two."""

    make_method: Callable[[int], Any]
    graph: Graph
    method: str = "kmeans"
    setting: ClassVar[str] = "clustering"

    def run(self, seed: int) -> Run:
        graph, method = self.graph, self.make_method(seed)
        _check_embedder(method)
        if graph.labels is None:
            raise InputError("clusters are compared with classes, and the graph has no labels")
        with measured() as cost:
            embedding = embed(method, graph, "transductive", ())
        refuse_interrupted(method)
        k = len(graph.classes)
        found = cluster_vectors(embedding, k, method=self.method, random_state=seed)
        return _run(seed, agreement(graph.labels, found), cost)


@dataclass(frozen=True)
class LinksTask:
    """Embed the graph without some edges, and tell these from pairs that have none.

    The seed draws the edges, too. val, test : the shares of the edges that are held out.
    """

    make_method: Callable[[int], Any]
    graph: Graph
    val: float = 0.05
    test: float = 0.1
    setting: ClassVar[str] = "links"

    def run(self, seed: int) -> Run:
        method = self.make_method(seed)
        _check_embedder(method)
        split = split_links(self.graph, val_size=self.val, test_size=self.test, random_state=seed)
        with measured() as cost:
            embedding = embed(method, split.graph, "transductive", ())
        refuse_interrupted(method)
        return _run(seed, score_split(embedding, split), cost)


def _check_embedder(method: Any) -> None:
    if hasattr(method, "predict"):
        raise InputError(f"{type(method).__name__} classifies and gives no vectors to work with")


def _run(seed: int, metrics: Any, cost: Cost) -> Run:
    return Run(
        seed,
        metrics,
        round(cost.seconds, 3),
        round(cost.peak_memory_mb, 1),
        torch.get_num_threads(),
    )
