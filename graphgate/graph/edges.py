"""Edges as users give them, turned into one canonical adjacency matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError
from graphgate.graph.validation import (
    Positions,
    array_of_numbers,
    check_sparse,
    errors_about,
    index_type,
    listed,
    plain,
)

_SMALL = 1 << 20  # edges that are sorted at once; more are sorted in up to 16 blocks of rows
_BLOCK_BITS = 4


@errors_about("edges")
def edge_pairs(edges: Any, ids: np.ndarray | None) -> np.ndarray:
    """(E, 2) row numbers of pairs (source, target) of ids; without ids, the pairs as they are."""
    if not isinstance(edges, np.ndarray):
        pairs = listed(edges, "edges")
        if any(not _is_pair(pair) for pair in pairs):
            raise InputError("edges must be pairs (source, target); pass weights as `weights`")
        if ids is not None:
            return Positions(ids).rows([end for pair in pairs for end in pair]).reshape(-1, 2)
        try:
            edges = np.array(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
        except (ValueError, OverflowError) as error:
            raise InputError(f"edges must be pairs of row numbers: {error}") from None
    if edges.ndim != 2 or edges.shape[1] != 2:
        hint = "; transpose it" if edges.ndim == 2 and edges.shape[0] == 2 else ""
        raise InputError(f"edges must have shape (E, 2), got {edges.shape}{hint}")
    return edges if ids is None else Positions(ids).rows(edges.ravel()).reshape(-1, 2)


@errors_about("edges")
def row_pairs(edge_index: Any, n: int | None) -> np.ndarray:
    """(E, 2) row numbers of a (2, E) edge index, all of them within the N nodes, if known."""
    try:
        index = np.asarray(edge_index)
    except ValueError as error:
        raise InputError(f"edge_index must be a rectangular array: {error}") from None
    if index.ndim != 2 or index.shape[0] != 2:
        hint = "; transpose it" if index.ndim == 2 and index.shape[1] == 2 else ""
        raise InputError(f"edge_index must have shape (2, E), got {index.shape}{hint}")
    if index.dtype.kind not in "iu" and index.size:
        raise InputError(
            f"row numbers must be integers, got dtype {index.dtype}; pass the ids of all nodes as "
            "ids= to name nodes by id"
        )
    n = int(index.max(initial=-1)) + 1 if n is None else n
    if index.size and not 0 <= index.min() <= index.max() < n:
        outside = (index < 0) | (index >= n)
        at = int(np.argwhere(outside.T)[0, 0])
        raise InputError(
            f"edge {at} is {tuple(index[:, at].tolist())}, out of range for {n:,} nodes "
            f"(rows 0 to {n - 1}); fix the edge, or name nodes by id with ids="
        )
    return index.T.astype(np.int32 if index.dtype == np.int32 else np.int64, copy=False)


def _is_pair(pair: Any) -> bool:
    sequence = isinstance(pair, (Sequence, np.ndarray)) and not isinstance(pair, (str, bytes))
    return sequence and len(pair) == 2


@errors_about("edges")
def edge_weights(weights: Any, n: int, at: str = "edge") -> np.ndarray:
    """(E,) finite weights ≥ 0; a zero is no edge."""
    values = array_of_numbers(weights, "edge weights").astype(np.float64)
    if values.shape != (n,):
        raise InputError(
            f"edge weights have shape {values.shape} for {n:,} edges; pass one per edge"
        )
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"the weight of {at} {first} is {values[first]}; weights must be positive and finite"
        )
    return values


@errors_about("edges")
def adjacency_entries(adjacency: Any, n: int | None) -> tuple[int, np.ndarray, np.ndarray | None]:
    """N, pairs and weights of an adjacency matrix; weights are None where every value is 1."""
    if adjacency is None:
        if n is None:
            raise InputError("pass features, attributes, or a square adjacency matrix")
        return n, np.empty((0, 2), dtype=np.int64), None
    if sp.issparse(adjacency):
        check_sparse(adjacency, "the entries of the adjacency")
    else:
        adjacency = array_of_numbers(adjacency, "the entries of the adjacency")
    n = int((*adjacency.shape, 0)[0]) if n is None else n
    if adjacency.shape != (n, n):
        raise InputError(
            f"the adjacency has shape {adjacency.shape}, but there are {n:,} nodes; "
            f"it must be ({n}, {n})"
        )
    # COO keeps duplicates apart, so that an unweighted list with duplicates stays unweighted.
    entries = sp.coo_array(adjacency)
    pairs = np.stack([entries.row, entries.col], axis=1)
    weights = edge_weights(entries.data, len(pairs), at="adjacency entry")
    stored = weights != 0
    pairs, weights = pairs[stored], weights[stored]
    return n, pairs, None if (weights == 1).all() else weights


@errors_about("edges")
def merged_adjacency(
    edges: np.ndarray, weights: np.ndarray | None, ids: np.ndarray, *, directed: bool
) -> sp.csr_array:
    """The canonical adjacency: duplicates merged, no self-loops, symmetric if undirected."""
    n = len(ids)
    if weights is None:
        return _unweighted(edges, n, directed=directed)
    keep = (edges[:, 0] != edges[:, 1]) & (weights != 0)
    source, target = edges[keep].T.astype(index_type(max(n, 2 * len(edges))))
    with np.errstate(over="ignore"):  # refused just below
        adjacency = sp.csr_array((weights[keep], (source, target)), shape=(n, n))
        adjacency.sum_duplicates()
    if not np.isfinite(adjacency.data).all():
        raise InputError("the summed weights of a repeated edge are too large; scale the weights")
    if not directed:
        reverse = adjacency.T.tocsr()
        _refuse_two_weights(adjacency, reverse, ids)
        adjacency = adjacency.maximum(reverse)
    adjacency.sort_indices()
    return adjacency


def _unweighted(edges: np.ndarray, n: int, *, directed: bool) -> sp.csr_array:
    """Ones, sorted block by block, so that little is in memory besides edges and result."""
    source, target = edges.T
    ways = [(source, target)] if directed else [(source, target), (target, source)]
    most = len(ways) * len(edges)
    kind = index_type(max(n, most))
    shift = max(n.bit_length() - (_BLOCK_BITS if most > _SMALL else 0), 0)
    # The block of 2^shift rows that each edge starts in; an impossible one for a self-loop.
    no_block = np.uint8(255)
    blocks = [np.where(source != target, (u >> shift).astype(np.uint8), no_block) for u, _ in ways]
    indptr, indices = np.zeros(n + 1, dtype=kind), np.empty(most, dtype=kind)
    count = 0
    for block in range(((n - 1) >> shift) + 1):
        ends = np.arange(block << shift, min((block + 1) << shift, n)) + 1
        inside = [numbers == block for numbers in blocks]
        keys = np.concatenate(
            [u[at].astype(np.int64) * n + v[at] for at, (u, v) in zip(inside, ways, strict=True)]
        )
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) != 0]
        indptr[ends] = count + np.searchsorted(keys, ends * n)
        indices[count : count + len(keys)] = keys % n
        count += len(keys)
    del blocks, inside, keys
    indices.resize(count, refcheck=False)
    ones = np.ones(count, dtype=np.float32)
    adjacency = sp.csr_array((ones, indices, indptr), shape=(n, n))
    adjacency.has_canonical_format = True
    return adjacency


def _refuse_two_weights(adjacency: sp.csr_array, reverse: sp.csr_array, ids: np.ndarray) -> None:
    there = adjacency.multiply(reverse.astype(bool)).tocoo()
    back = reverse.multiply(adjacency.astype(bool)).tocoo()
    differ = ~np.isclose(there.data, back.data, rtol=1e-6, atol=0)
    if differ.any():
        at = int(np.flatnonzero(differ)[0])
        u, v = plain(ids[there.row[at]]), plain(ids[there.col[at]])
        raise InputError(
            f"the undirected edge between {u!r} and {v!r} has weight {there.data[at]} in one "
            f"direction and {back.data[at]} in the other; "
            "give one weight, or pass directed=True"
        )
