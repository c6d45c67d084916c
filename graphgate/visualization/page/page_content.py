"""The content of a page: an embedded graph as plain arrays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from graphgate.compute.neighbors import nearest_rows
from graphgate.errors import InputError
from graphgate.estimators.fitted import EdgeScores, EdgeValues, titled_values
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.tasks.classification import encode_labels
from graphgate.tasks.clustering import cluster_vectors, count_distinct
from graphgate.tasks.edge_attention import edge_attention
from graphgate.visualization.maps import project, vectors_of
from graphgate.visualization.page.node_columns import (
    NodeColumn,
    attribute_columns,
    category_column,
    shown_columns,
)

NEAREST = 12
CLUSTERS_WITHOUT_CLASSES = 8
MOST_FEATURE_COLUMNS = 20  # wider features are bags of words or the like, not attributes
MOST_ATTRIBUTE_COLUMNS = 50  # a page holds every value of every column
MOST_PROJECTED = 20_000  # t-SNE of more nodes takes too long


@dataclass(frozen=True)
class PageContent:
    """An embedded graph as a page shows it.

    title, layout : the name of the graph, and how the points were computed.
    points : (N, 2) positions on the map.
    ids : N names.
    columns : what nodes can be colored by.
    edges : (E, 2) pairs of rows u < v, largest value first.
    edge_values : (E, 2), u to v and v to u; NaN where a node does not attend to the other. Ones if
        there is no `edge_title`.
    edge_title : what the values of edges are, "attention" or "edge score percentile"; None if there
        are none.
    nearest, cosines : (N, K), the nearest nodes in the embedding, nearest first.
    """

    title: str
    layout: str
    points: np.ndarray
    ids: tuple[str, ...]
    columns: tuple[NodeColumn, ...]
    edges: np.ndarray
    edge_values: np.ndarray
    edge_title: str | None
    nearest: np.ndarray
    cosines: np.ndarray


def build_content(
    graph: Graph,
    embedding: Any,
    edge_values: EdgeValues | sp.sparray | None = None,
    *,
    title: str = "Embedded graph",
    points: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    columns: Mapping[str, Any] | None = None,
    random_state: int | None = 0,
) -> PageContent:
    """The content of a page.

    Parameters
    ----------
    embedding : an `Embedding` of the graph's nodes, whose labels are shown if the graph has none,
        or an (N, D) array.
    edge_values : `encode(graph).edge_values` of an estimator: attention of `GATE`, edge scores of
        `LinearGATE`, shown as percentiles because most are close to 1; or an (N, N) sparse array
        of attention. None shows edges without values.
    title : the heading.
    points : (N, 2) positions; the default is t-SNE of the embedding.
    clusters : N values; the default is k-means with as many clusters as classes.
    columns : name -> N values to color by and to read, beside the attributes of the graph; they
        replace attributes of the same name.
    random_state : seed of t-SNE and k-means.

    Examples
    --------
    >>> graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 2), (2, 3)], labels=list("aabb"))
    >>> content = build_content(graph, np.eye(4), graph.adjacency / 2)
    >>> content.edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    z = vectors_of(graph, embedding)
    edges, values, edge_title = _sorted_edges(graph, edge_values)
    places, layout = _placed(z, points, random_state)
    nearest, cosines = np.empty((len(z), 0), np.int64), np.empty((len(z), 0), np.float32)
    if len(z) > 1:
        nearest, cosines = nearest_rows(z.astype(np.float32, copy=False), NEAREST)
    codes, classes = graph.labels, graph.classes
    if codes is None:
        codes, classes = encode_labels(embedding)
    shown = _own_columns(graph, codes, classes)
    clustered = _cluster_column(z, clusters, len(classes), random_state)
    shown.insert(len(classes) > 0, clustered)
    return PageContent(
        title=title,
        layout=layout,
        points=places,
        ids=tuple(map(str, graph.ids.tolist())),
        columns=tuple(_all_columns(graph, shown, columns or {})),
        edges=edges,
        edge_values=values,
        edge_title=edge_title,
        nearest=nearest,
        cosines=cosines,
    )


def _sorted_edges(
    graph: Graph, edge_values: EdgeValues | sp.sparray | None
) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Edges, values and title of a page, the largest values first."""
    title, values = None, graph.attended.astype(bool).astype(np.float32)
    if edge_values is not None:
        title, values = titled_values(edge_values)
    if values.shape != (graph.n_nodes, graph.n_nodes):
        raise InputError(
            f"the {title} has shape {values.shape}, but there are {graph.n_nodes:,} nodes"
        )
    attention = edge_attention(sp.csr_array(values))
    order = np.argsort(-attention.raw.astype(np.float32), kind="stable")
    shown = attention.directions[order].astype(np.float32)
    if title == EdgeScores.title:
        title, shown = f"{title} percentile", _percentiles(shown)
    return attention.edges[order], shown, title


def _placed(
    z: np.ndarray, points: np.ndarray | None, random_state: int | None
) -> tuple[np.ndarray, str]:
    """Positions of the nodes on the map, and how they were computed."""
    layout = "as given"
    if points is None:
        points, layout = _projected(z, random_state)
    points = np.asarray(points, dtype=np.float32)
    if points.shape != (len(z), 2) or not np.isfinite(points).all():
        raise InputError(f"points must be {len(z):,} finite pairs, got shape {points.shape}")
    return points, layout


def _cluster_column(
    z: np.ndarray, clusters: np.ndarray | None, n_classes: int, random_state: int | None
) -> NodeColumn:
    """The clusters that are given, else by k-means with as many clusters as classes."""
    if clusters is None:
        k = count_distinct(z, n_classes or CLUSTERS_WITHOUT_CLASSES)
        fast = len(z) > MOST_PROJECTED
        clusters = cluster_vectors(z, k, mini_batch=fast, random_state=random_state) + 1
    elif np.shape(clusters) != (len(z),):
        raise InputError(f"clusters must be {len(z):,} values, got shape {np.shape(clusters)}")
    names, codes = np.unique(clusters, return_inverse=True)
    return category_column("cluster", codes, names.tolist())


def _percentiles(values: np.ndarray) -> np.ndarray:
    """The fraction of values that are at most as large, equal ones alike; NaN stays."""
    ranks = rankdata(values, "max", axis=None, nan_policy="omit").reshape(values.shape)
    return (ranks / max(np.isfinite(values).sum(), 1)).astype(np.float32)


def _projected(z: np.ndarray, random_state: int | None) -> tuple[np.ndarray, str]:
    """t-SNE; of many nodes a sample, the others placed among their nearest of the sample."""
    n = len(z)
    if n <= MOST_PROJECTED:
        return project(z, random_state), "t-SNE of the embedding"
    rng = np.random.default_rng(random_state)
    sample = np.sort(rng.choice(n, MOST_PROJECTED // 2, replace=False))
    placed = project(z[sample], random_state)
    distance, near = NearestNeighbors(n_neighbors=5).fit(z[sample]).kneighbors(z)
    weight = 1 / (distance + 1e-6 * (distance.mean() + 1e-12) + 1e-12)
    weight /= weight.sum(axis=1, keepdims=True)
    points = np.einsum("nk,nkd->nd", weight, placed[near])
    return points, f"t-SNE of {len(sample):,} nodes, the others placed among their nearest"


def _own_columns(graph: Graph, codes: np.ndarray, classes: tuple[Any, ...]) -> list[NodeColumn]:
    """Class, split, number of neighbors, and plain features if they are few."""
    columns = [category_column("class", codes, classes)] if classes else []
    if graph.splits:
        parts = np.select([*graph.splits.values()], range(len(graph.splits)), -1)
        columns.append(category_column("split", parts, tuple(graph.splits)))
    pattern = graph.adjacency.astype(bool)
    degrees = np.diff((pattern + pattern.T).tocsr().indptr)
    columns.append(NodeColumn("neighbors", "number", degrees.astype(np.float32)))
    if graph.feature_names is not None and graph.n_features <= MOST_FEATURE_COLUMNS:
        x = sp.csr_array(graph.x).toarray().astype(np.float32)
        named = zip(graph.feature_names, x.T, strict=True)
        columns += [NodeColumn(f"feature {name}", "number", values) for name, values in named]
    return columns


def _all_columns(
    graph: Graph, first: list[NodeColumn], given: Mapping[str, Any]
) -> Iterator[NodeColumn]:
    """The page's own columns, then the attributes, then those given, which replace attributes."""
    yield from first
    taken = {column.name for column in first}
    for column in attribute_columns(graph, MOST_ATTRIBUTE_COLUMNS):
        name = column.name
        if name not in given:
            yield replace(column, name=f"{name} (attribute)") if name in taken else column
    if repeated := taken & given.keys():
        raise InputError(f"the column {min(repeated)!r} already exists; choose another name")
    if given:
        table = Attributes.from_columns(given)
        if len(table) != graph.n_nodes:
            raise InputError(f"columns has {len(table):,} values for {graph.n_nodes:,} nodes")
        yield from shown_columns(table)
