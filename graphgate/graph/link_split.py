"""Held-out edges of a graph, and pairs of nodes without an edge to compare them with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgate.errors import InputError
from graphgate.graph.arrays import contained
from graphgate.graph.graph import Graph

Draw = Callable[[int], np.ndarray]  # a number of random pairs, (M, 2)


@dataclass(frozen=True)
class LinkSplit:
    """A graph without its held-out edges, and the pairs to score, (M, 2) row numbers each.

    The four sets of pairs and the edges of `graph` are disjoint, whichever way a pair is written;
    non-edges are not connected in the original graph. An undirected edge is listed once. Where each
    edge is compared with non-edges of its own, these are (M, K, 2).
    """

    graph: Graph
    val_edges: np.ndarray
    val_non_edges: np.ndarray
    test_edges: np.ndarray
    test_non_edges: np.ndarray


def split_links(
    graph: Graph,
    *,
    val_size: float = 0.05,
    test_size: float = 0.1,
    random_state: int | None = 0,
    times: tuple[np.ndarray, np.ndarray] | None = None,
    node_types: np.ndarray | None = None,
    per_edge: int = 1,
) -> LinkSplit:
    """Hold out fractions of the connected pairs, and draw as many non-edges.

    Both directions of a pair are held out together, so that neither reveals the other.

    Parameters
    ----------
    times : (M, 2) rows and (M,) the times of these edges. The latest edges are the test edges, and
        those before them the validation edges; without times, edges are drawn at random. An edge
        that is listed more than once counts by its first time.
    node_types : (N,) the type of each node. The ends of non-edges then have the types of those of
        the edges that they are compared with.
    per_edge : number of non-edges for every held-out edge.
    """
    if not (0 <= val_size < 1 and 0 < test_size < 1 and val_size + test_size < 1):
        raise InputError(
            f"val_size={val_size:g} and test_size={test_size:g} must be fractions whose sum is "
            "below 1, and test_size must be above 0"
        )
    pairs, edges_of = _connected_pairs(graph)
    n_val, n_test = int(val_size * len(pairs)), int(test_size * len(pairs))
    if n_test < 1:
        raise InputError(
            f"test_size={test_size:g} of {len(pairs):,} connected pairs is less than one pair; "
            "hold out a larger fraction"
        )
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(pairs))
    if times is not None:
        first = _first_times(graph, pairs, *times)
        order = order[np.argsort(first[order], kind="stable")][::-1][: n_val + n_test][::-1]
    edges = edges_of(order[: n_val + n_test])
    return _with_non_edges(rng, graph, pairs, edges, n_val, node_types, per_edge)


def given_split(
    graph: Graph,
    test_edges: np.ndarray,
    val_edges: np.ndarray | None = None,
    *,
    random_state: int | None = 0,
    node_types: np.ndarray | None = None,
) -> LinkSplit:
    """Hold out these pairs of rows, (M, 2), and draw as many non-edges as in `split_links`.

    Those that the graph has as edges are removed from it; others were removed before.
    """
    n = graph.n_nodes
    val = np.empty((0, 2), dtype=np.int64) if val_edges is None else np.asarray(val_edges)
    edges = np.concatenate([val, test_edges]).astype(np.int64)
    keys = _keys(edges, n)
    if len(test_edges) < 1:
        raise InputError("test_edges are empty; give at least one pair of nodes")
    if (edges[:, 0] == edges[:, 1]).any():
        raise InputError("a held-out edge joins a node to itself; remove it")
    if len(np.unique(keys)) < len(keys):
        raise InputError("a held-out edge is listed more than once; list each pair of nodes once")
    pairs = np.union1d(_connected_pairs(graph)[0], keys)
    rng = np.random.default_rng(random_state)
    return _with_non_edges(rng, graph, pairs, edges, len(val), node_types)


def _with_non_edges(
    rng: np.random.Generator,
    graph: Graph,
    pairs: np.ndarray,
    edges: np.ndarray,
    n_val: int,
    node_types: np.ndarray | None,
    per_edge: int = 1,
) -> LinkSplit:
    """The split whose validation edges are the first; pairs : the keys of all that is connected."""
    if node_types is None:
        non_edges = _non_edges(rng, pairs, graph.n_nodes, per_edge * len(edges))
    else:
        alike = np.repeat(edges, per_edge, axis=0)
        non_edges = _non_edges_of_types(rng, pairs, alike, node_types)
    n_val_others = per_edge * n_val
    return LinkSplit(
        graph.without_edges(edges),
        edges[:n_val],
        non_edges[:n_val_others],
        edges[n_val:],
        non_edges[n_val_others:],
    )


# --- edges ---------------------------------------------------------------------------------------


def _keys(pairs: np.ndarray, n: int) -> np.ndarray:
    """(M,) one number per pair, the same for both directions."""
    keys: np.ndarray = pairs.min(axis=1).astype(np.int64) * n + pairs.max(axis=1)
    return keys


def _connected_pairs(graph: Graph) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The key of every connected pair, increasing, and from their places to the edges, (M, 2).

    A directed edge is listed as it points; if both directions exist, one represents the pair.
    """
    n, adjacency = graph.n_nodes, graph.adjacency
    rows = np.repeat(np.arange(n), np.diff(adjacency.indptr))
    if not graph.directed:
        upper = rows < adjacency.indices
        keys = rows[upper] * n + adjacency.indices[upper]
        return keys, lambda places: np.stack(np.divmod(keys[places], n), axis=1)
    columns = adjacency.indices.astype(np.int64)
    keys, first = np.unique(_keys(np.stack([rows, columns], axis=1), n), return_index=True)
    return keys, lambda places: np.stack([rows, columns], axis=1)[first[places]]


def _first_times(
    graph: Graph, pairs: np.ndarray, listed: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """(M,) the first time of each connected pair, as a rank."""
    _, ranks = np.unique(times, return_inverse=True)
    order = np.argsort(ranks, kind="stable")
    keys, first = np.unique(_keys(listed, graph.n_nodes)[order], return_index=True)
    known = contained(pairs, keys)
    if not known.all():
        u, v = graph.ids[list(divmod(int(pairs[~known][0]), graph.n_nodes))].tolist()
        raise InputError(
            f"the edge between {u!r} and {v!r} has no time; give one for every edge", about="edges"
        )
    found: np.ndarray = ranks[order][first[np.searchsorted(keys, pairs)]]
    return found


# --- non-edges -----------------------------------------------------------------------------------


def _non_edges(rng: np.random.Generator, pairs: np.ndarray, n: int, wanted: int) -> np.ndarray:
    """(wanted, 2) distinct pairs of distinct nodes without an edge, in random order."""
    free = n * (n - 1) // 2 - len(pairs)
    if free < wanted:
        raise InputError(
            f"only {free:,} pairs of nodes have no edge, but {wanted:,} are needed; "
            "hold out fewer edges"
        )
    if 4 * wanted > free or n <= 64:  # nearly all of them: enumerate
        low, high = np.triu_indices(n, 1)
        keys = np.setdiff1d(low * n + high, pairs, assume_unique=True)
        keys = rng.permutation(keys)[:wanted]
    else:
        keys = _drawn(lambda count: rng.integers(0, n, (count, 2)), pairs, n, wanted)
    ends = np.stack(np.divmod(keys, n), axis=1)
    flipped = rng.random(len(ends)) < 0.5
    return np.where(flipped[:, None], ends[:, ::-1], ends)


def _non_edges_of_types(
    rng: np.random.Generator, pairs: np.ndarray, edges: np.ndarray, node_types: np.ndarray
) -> np.ndarray:
    """For each edge, a pair without one, whose ends have the types of its ends; all distinct."""
    n = len(node_types)
    names, types = np.unique(node_types, return_inverse=True)
    kinds = np.sort(types[edges], axis=1)
    non_edges = np.empty_like(edges)
    for low, high in np.unique(kinds, axis=0):
        places = np.flatnonzero((kinds == [low, high]).all(axis=1))
        left, right = (np.flatnonzero(types == kind) for kind in (low, high))
        possible = len(left) * len(right) if low != high else len(left) * (len(left) - 1) // 2
        if possible <= max(4096, 8 * len(places)):
            ends = np.stack(np.meshgrid(left, right, indexing="ij"), axis=2).reshape(-1, 2)
            keys = np.unique(_keys(ends[ends[:, 0] != ends[:, 1]], n))
            keys = rng.permutation(np.setdiff1d(keys, pairs, assume_unique=True))[: len(places)]
        else:
            ends = np.stack(np.divmod(pairs, n), axis=1)
            taken = int((np.sort(types[ends], axis=1) == [low, high]).all(axis=1).sum())
            enough = possible - taken >= 2 * len(places)
            keys = _drawn(_draw_between(rng, left, right), pairs, n, len(places) if enough else 0)
        if len(keys) < len(places):
            one, other = names[[low, high]].tolist()
            raise InputError(
                f"too few pairs of nodes of the types {one!r} and {other!r} have no edge, for "
                f"{len(places):,} held-out edges; hold out fewer"
            )
        # In the direction of the edge: its source has the type of the first end.
        ends = np.stack(np.divmod(keys, n), axis=1)
        turned = types[ends[:, 0]] != types[edges[places, 0]]
        non_edges[places] = np.where(turned[:, None], ends[:, ::-1], ends)
    return non_edges


def _draw_between(rng: np.random.Generator, left: np.ndarray, right: np.ndarray) -> Draw:
    return lambda count: np.stack([rng.choice(left, count), rng.choice(right, count)], axis=1)


def _drawn(draw: Draw, pairs: np.ndarray, n: int, wanted: int) -> np.ndarray:
    """(wanted,) keys of distinct pairs of distinct nodes without an edge, by repeated draws."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        ends = draw(2 * (wanted - len(found)) + 16)
        keys = _keys(ends[ends[:, 0] != ends[:, 1]], n)
        both = np.concatenate([found, keys[~contained(keys, pairs)]])
        # Keeping first occurrences in the order drawn, so that the order carries no pattern.
        found = both[np.sort(np.unique(both, return_index=True)[1])]
    return found[:wanted]


def node_types_of(graph: Graph, node_types: Any) -> np.ndarray | None:
    """(N,) the types of the nodes of a graph as a user gives them; None where there are none."""
    if node_types is None:
        return None
    types = np.asarray(node_types)
    if types.shape != (graph.n_nodes,):
        raise InputError(
            f"node_types have shape {types.shape} for {graph.n_nodes:,} nodes; give one per node"
        )
    return types.astype(str) if types.dtype == object else types
