"""Graphs whose groups are known by construction, to measure what a method makes of each source."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph

N_NODES, N_GROUPS = 500, 4
_GOOD = (8.0, 2.0)  # mean number of edges of a node within its group, and to others
_RANDOM = (2.5, 7.5)  # of edges that ignore four groups


class Planted(NamedTuple):
    """groups : (N,) the planted group of each node."""

    graph: Graph
    groups: np.ndarray


def irrelevant_columns(
    n_columns: int,
    kind: str = "number",
    *,
    edges: bool = True,
    informative: int = 0,
    n_nodes: int = N_NODES,
    random_state: int = 0,
) -> Planted:
    """Groups with columns that have nothing to do with them.

    Parameters
    ----------
    n_columns : how many columns are irrelevant.
    kind : of these: "number", or "category" of three values.
    edges : whether edges stay within groups more often than not; otherwise they ignore the groups.
    informative : number of columns that name the group of three quarters of the nodes.

    Examples
    --------
    >>> irrelevant_columns(2, informative=1).graph.attributes.names
    ('good 0', 'noise 0', 'noise 1')
    """
    rng = np.random.default_rng(random_state)
    groups = rng.permutation(np.arange(n_nodes) % N_GROUPS)
    adjacency = block_edges(rng, groups, *(_GOOD if edges else _RANDOM))
    columns = {f"good {at}": _informative(rng, groups, 0.75) for at in range(informative)}
    for at in range(n_columns):
        noise = rng.normal(size=n_nodes) if kind == "number" else rng.integers(0, 3, n_nodes)
        columns[f"noise {at}"] = noise.tolist() if kind == "number" else [f"c{v}" for v in noise]
    return Planted(_graph(adjacency, columns), groups)


def half_of_the_groups(random_state: int = 0) -> Planted:
    """Edges that carry four groups, and three columns that only know two pairs of them."""
    rng = np.random.default_rng(random_state)
    groups = rng.permutation(np.arange(N_NODES) % N_GROUPS)
    adjacency = block_edges(rng, groups, *_GOOD)
    sides = groups // 2
    columns = {f"side {at}": _informative(rng, sides, s) for at, s in enumerate((0.9, 0.8))}
    columns["number"] = (1.5 * sides + rng.normal(size=N_NODES)).tolist()
    return Planted(_graph(adjacency, columns), groups)


def unlike_neighbors(random_state: int = 0) -> Planted:
    """Edges between two groups of a pair, so that neighbors predict the other group."""
    rng = np.random.default_rng(random_state)
    groups = rng.permutation(np.arange(N_NODES) % N_GROUPS)
    of_group = [np.flatnonzero(groups == group) for group in range(N_GROUPS)]
    source = rng.integers(0, N_NODES, 4 * N_NODES)
    across = np.array([rng.choice(of_group[groups[node] ^ 1]) for node in source])
    target = np.where(rng.random(len(source)) < 0.8, across, rng.integers(0, N_NODES, len(source)))
    columns = {f"good {at}": _informative(rng, groups, 0.6) for at in range(4)}
    return Planted(_graph(_adjacency(source, target, N_NODES), columns), groups)


def missing_values(random_state: int = 0) -> Planted:
    """Informative columns, of which a tenth of the nodes have none, and others lack some."""
    rng = np.random.default_rng(random_state)
    groups = rng.permutation(np.arange(N_NODES) % N_GROUPS)
    adjacency = block_edges(rng, groups, *_GOOD)
    without = rng.random(N_NODES) < 0.1
    columns = {}
    for at in range(4):
        gone = without | (rng.random(N_NODES) < 0.1)
        values = _informative(rng, groups, 0.7)
        columns[f"good {at}"] = [None if g else v for g, v in zip(gone, values, strict=True)]
    return Planted(_graph(adjacency, columns), groups)


def bipartite(random_state: int = 0) -> Planted:
    """Users and items: a column that names the type, and noise."""
    rng = np.random.default_rng(random_state)
    groups = rng.permutation(np.arange(N_NODES) % N_GROUPS)
    users = np.arange(N_NODES) < 2 * N_NODES // 3
    items = np.flatnonzero(~users)
    of_group = [items[groups[items] == group] for group in range(N_GROUPS)]
    source = np.repeat(np.flatnonzero(users), 6)
    within = np.array([rng.choice(of_group[groups[node]]) for node in source])
    target = np.where(rng.random(len(source)) < 0.8, within, rng.choice(items, len(source)))
    columns = {
        "type": ["user" if user else "item" for user in users],
        "noise": rng.normal(size=N_NODES).tolist(),
    }
    return Planted(_graph(_adjacency(source, target, N_NODES), columns), groups)


def gradient(random_state: int = 0) -> Planted:
    """Layers of a square lattice, with genes of each layer and others that vary along it."""
    rng = np.random.default_rng(random_state)
    side, genes = 22, 60
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side)))
    groups = x * N_GROUPS // side
    nodes = np.arange(side * side).reshape(side, side)
    steps = (
        (nodes[:, :-1], nodes[:, 1:]),
        (nodes[:-1], nodes[1:]),
        (nodes[:-1, :-1], nodes[1:, 1:]),
    )
    source, target = (np.concatenate([step[end].ravel() for step in steps]) for end in (0, 1))
    slope = np.zeros(genes)
    slope[:8] = 3 * rng.normal(size=8)
    features = 0.8 * rng.normal(size=(N_GROUPS, genes))[groups] + np.outer(y / side - 0.5, slope)
    features += 1.5 * rng.normal(size=features.shape)
    return Planted(Graph(features.astype(np.float32), _adjacency(source, target, side**2)), groups)


PLANTED: dict[str, Callable[[int], Planted]] = {
    "half of the groups": half_of_the_groups,
    "unlike neighbors": unlike_neighbors,
    "missing values": missing_values,
    "bipartite": bipartite,
    "gradient": gradient,
}


def block_edges(
    rng: np.random.Generator, groups: np.ndarray, within: float, between: float
) -> sp.csr_array:
    """A random graph whose nodes have so many edges within their group and to others on average."""
    n = len(groups)
    pairs = []
    for same, degree in ((True, within), (False, between)):
        source, target = rng.integers(0, n, (2, int(4 * N_GROUPS * n * degree)))
        wanted = ((groups[source] == groups[target]) == same) & (source != target)
        pairs.append(np.stack([source, target], axis=1)[wanted][: int(n * degree / 2)])
    source, target = np.concatenate(pairs).T
    return _adjacency(source, target, n)


def _adjacency(source: np.ndarray, target: np.ndarray, n: int) -> sp.csr_array:
    ends = (np.concatenate([source, target]), np.concatenate([target, source]))
    adjacency = sp.coo_array((np.ones(len(ends[0])), ends), shape=(n, n)).tocsr()
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    adjacency.data[:] = 1
    return adjacency


def _informative(rng: np.random.Generator, groups: np.ndarray, share: float) -> list[str]:
    """Names of the groups, of which only this share is meant."""
    random = rng.integers(0, groups.max() + 1, len(groups))
    return [f"k{v}" for v in np.where(rng.random(len(groups)) < share, groups, random)]


def _graph(adjacency: sp.csr_array, columns: dict[str, list]) -> Graph:
    attributes = Attributes.from_columns(columns) if columns else None
    return Graph(adjacency=adjacency, attributes=attributes)
