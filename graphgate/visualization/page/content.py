"""What a page shows: an embedded graph as plain arrays. Nothing is trained here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from graphgate.errors import InputError
from graphgate.estimators.gate import Attention
from graphgate.graph.graph import Graph
from graphgate.tasks.clustering import cluster_vectors, count_distinct
from graphgate.visualization.node_map import project
from graphgate.visualization.page.columns import Column, attribute_columns, categories, column
from graphgate.visualization.page.nearest import attended_pairs, nearest_nodes

NEAREST = 12
CLUSTERS_WITHOUT_CLASSES = 8
MOST_FEATURE_COLUMNS = 20  # wider features are bags of words or the like: no attributes to read
MOST_ATTRIBUTE_COLUMNS = 50  # a page holds every value of every column
MOST_PROJECTED = 20_000  # t-SNE of more nodes takes longer than anyone waits


@dataclass(frozen=True)
class PageContent:
    """An embedded graph as a page shows it.

    title, layout : the graph's name, and how the points were made.
    points : (N, 2), positions on the map.
    ids : N names, as text.
    columns : what nodes can be coloured by.
    edges : (E, 2), pairs of rows u < v, those of most attention first.
    attention : (E, 2), u to v and v to u, averaged over the layers; NaN where a node does not
        attend over the other.
    nearest, cosine : (N, K), the nearest nodes in the embedding, nearest first.
    """

    title: str
    layout: str
    points: np.ndarray
    ids: tuple[str, ...]
    columns: tuple[Column, ...]
    edges: np.ndarray
    attention: np.ndarray
    nearest: np.ndarray
    cosine: np.ndarray


def from_embedding(
    graph: Graph,
    embedding: np.ndarray,
    attention: Attention | sp.sparray,
    *,
    title: str = "Embedded graph",
    points: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    columns: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> PageContent:
    """The content of a page.

    embedding : (N, D).
    attention : `GATE.attention_` or `GATE.encode(graph).attention`, or an (N, N) sparse array.
    points : (N, 2); t-SNE of the embedding by default.
    clusters : N whole numbers; k-means with as many clusters as classes by default.
    columns : name -> N values, more to colour by and to read; one that has the name of an
        attribute takes its place.

    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)], labels=list("aabb"))
    >>> content = from_embedding(graph, np.eye(4), graph.adjacency / 2)
    >>> content.edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    n = graph.n_nodes
    z = np.asarray(embedding)
    if z.ndim != 2 or len(z) != n:
        raise InputError(f"the embedding has the shape {z.shape}, but the graph has {n:,} nodes")
    if not np.isfinite(z).all():
        raise InputError("the embedding has values that are not finite; train it again")
    alpha = attention.average if isinstance(attention, Attention) else attention
    if alpha.shape != (n, n):
        raise InputError(f"the attention is {alpha.shape}, but the graph has {n:,} nodes")
    edges, values = attended_pairs(sp.csr_array(alpha))
    nearest, cosine = nearest_nodes(z, NEAREST)
    layout = "positions as given"
    if points is None:
        points, layout = _points(z, seed)
    points = np.asarray(points, dtype=np.float32)
    if points.shape != (n, 2) or not np.isfinite(points).all():
        raise InputError(f"the points must be {n:,} finite pairs, got the shape {points.shape}")
    return PageContent(
        title=title,
        layout=layout,
        points=points,
        ids=tuple(map(str, graph.ids.tolist())),
        columns=_columns(graph, z, edges, clusters, columns or {}, seed),
        edges=edges,
        attention=values,
        nearest=nearest,
        cosine=cosine,
    )


def _points(z: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    """t-SNE; of a sample where the nodes are many, the others among the nearest of the sample."""
    n = len(z)
    if n <= MOST_PROJECTED:
        return project(z, seed), "t-SNE of the embedding"
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(n, MOST_PROJECTED // 2, replace=False))
    placed = project(z[sample], seed)
    search = NearestNeighbors(n_neighbors=5).fit(z[sample])
    distance, near = search.kneighbors(z)
    weight = 1 / (distance + 1e-6 * (distance.mean() + 1e-12) + 1e-12)
    weight /= weight.sum(axis=1, keepdims=True)
    points = np.einsum("nk,nkd->nd", weight, placed[near])
    points[sample] = placed
    return points, f"t-SNE of {len(sample):,} nodes, the others placed among their nearest"


def _columns(
    graph: Graph,
    z: np.ndarray,
    edges: np.ndarray,
    clusters: np.ndarray | None,
    given: Mapping[str, Any],
    seed: int,
) -> tuple[Column, ...]:
    found = list(_own_columns(graph, z, edges, clusters, seed))
    taken = {each.name for each in found}
    for each in attribute_columns(graph, MOST_ATTRIBUTE_COLUMNS):
        if each.name in given:
            continue
        # A column of one's own may be named as one of the page's.
        found.append(replace(each, name=f"{each.name} (attribute)") if each.name in taken else each)
    for name, values in given.items():
        if str(name) in taken:
            raise InputError(f"the column {name!r} is there twice; give it another name")
        taken.add(str(name))
        found.append(column(str(name), values, graph.n_nodes))
    return tuple(found)


def _own_columns(
    graph: Graph, z: np.ndarray, edges: np.ndarray, clusters: np.ndarray | None, seed: int
) -> Iterator[Column]:
    """Class, cluster, split, number of neighbours, and plain features where they are few."""
    n = graph.n_nodes
    if graph.labels is not None:
        yield categories("class", graph.labels, graph.classes)
    if clusters is None:
        clusters = _clusters(z, len(graph.classes) or CLUSTERS_WITHOUT_CLASSES, seed)
    elif np.shape(clusters) != (n,):
        raise InputError(f"the clusters must be {n:,} values, got {np.shape(clusters)}")
    names, codes = np.unique(clusters, return_inverse=True)
    yield categories("cluster", codes, names.tolist())
    if graph.splits:
        codes = np.full(n, -1)
        for code, mask in enumerate(graph.splits.values()):
            codes[mask] = code
        yield categories("split", codes, tuple(graph.splits))
    degrees = np.bincount(edges.ravel(), minlength=n).astype(np.float32)
    yield Column("neighbours", "number", degrees)
    if graph.feature_names is not None and graph.n_features <= MOST_FEATURE_COLUMNS:
        x = sp.csr_array(graph.x).toarray()
        for name, values in zip(graph.feature_names or (), x.T, strict=True):
            yield Column(f"feature {name}", "number", values.astype(np.float32))


def _clusters(z: np.ndarray, wanted: int, seed: int) -> np.ndarray:
    """Cluster numbers from 1, the largest cluster first; as `graphgate cluster` finds them."""
    k = count_distinct(z, wanted)
    return cluster_vectors(z, k, mini_batch=len(z) > MOST_PROJECTED, random_state=seed) + 1
