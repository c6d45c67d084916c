"""Structural attributes, for graphs of which only edges and ids are known.

Four numbers describe the role of a node: the logarithm of its degree, the mean of that over its
neighbors, its clustering coefficient and its core number. Roles alone cannot distinguish two parts
of a graph that look alike. So every node has a signature of 128 signs, the bits of a hash of its id
(a random projection of one column per node), and its position in the graph is the mean signature
of the nodes at which a random walk of 16 steps from it ends: similar for nodes of the same densely
connected part. Direction and weight of edges are ignored.
"""

import hashlib
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column

ROLES = ("log degree", "mean log degree of neighbors", "clustering", "core number")
SIGNATURE = 128
STEPS = 16  # of a walk; on citation graphs 4 and 8 gave worse embeddings, 32 no better ones
_NOISE = 1e-5  # lengths that are due to rounding
_WEDGES = 1 << 22  # paths of two edges that are processed together


def structural_attributes(adjacency: sp.csr_array, ids: np.ndarray) -> Attributes:
    """The structural columns of N nodes, all of kind "number"."""
    # Ones where there is an edge in either direction.
    ones = np.ones(adjacency.nnz, dtype=np.float64)
    directed = sp.csr_array((ones, adjacency.indices, adjacency.indptr), adjacency.shape)
    pattern = directed.maximum(directed.T.tocsr())
    pattern.sort_indices()
    degree = np.diff(pattern.indptr)
    log_degree = np.log1p(degree)
    roles = (
        log_degree,
        pattern @ log_degree / np.maximum(degree, 1),
        2 * triangles(pattern) / np.maximum(degree * (degree - 1.0), 1),
        core_numbers(pattern),
    )
    names = (*ROLES, *(f"position {at}" for at in range(SIGNATURE)))
    columns = zip(names, (*roles, *positions(pattern, ids).T), strict=True)
    return Attributes(
        {name: Column("number", values.astype(np.float32)) for name, values in columns}
    )


def triangles(pattern: sp.csr_array) -> np.ndarray:
    """(N,) triangles that each node is in.

    Every edge points to its end of higher degree, so that no node has more than √(2E) outgoing
    edges, and a hub does not give as many paths as it has pairs of neighbors.
    """
    n = pattern.shape[0]
    degree = np.diff(pattern.indptr)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(n)
    rows = np.repeat(np.arange(n), degree)
    up = rank[rows] < rank[pattern.indices]
    out = sp.csr_array((pattern.data[up], (rows[up], pattern.indices[up])), shape=(n, n))
    found = np.zeros(n)
    # A triangle u -> v -> w, u -> w is found by its lowest node, and then by its middle one.
    for left in (out, out.T.tocsr()):
        paths = np.cumsum(left @ np.diff(out.indptr))  # of two edges, up to the row they start in
        parts = (paths // _WEDGES).astype(np.int64)
        bounds = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), n]
        for start, stop in pairwise(bounds):
            closed = (left[start:stop] @ out).multiply(out[start:stop])
            found[start:stop] += closed.sum(axis=1)
            if left is out:
                found += closed.sum(axis=0)
    return found


def core_numbers(pattern: sp.csr_array) -> np.ndarray:
    """(N,) the largest k such that the node is in a subgraph of minimum degree k."""
    left = np.diff(pattern.indptr).astype(np.int64)
    core = np.zeros(len(left), dtype=np.int64)
    alive = np.ones(len(left), dtype=bool)
    k = 0
    while alive.any():
        k = max(k, int(left[alive].min()))
        peeled = np.flatnonzero(alive & (left <= k))
        while len(peeled):
            core[peeled] = k
            alive[peeled] = False
            touched, times = np.unique(pattern[peeled].indices, return_counts=True)
            left[touched] -= times
            peeled = touched[alive[touched] & (left[touched] <= k)]
    return core


def positions(pattern: sp.csr_array, ids: np.ndarray) -> np.ndarray:
    """(N, 128), rows of length 1: the mean signature at the end of a lazy random walk.

    The mean over all nodes, to which long walks converge, is subtracted.
    """
    walk = pattern.astype(np.float32) + sp.eye_array(len(ids), dtype=np.float32, format="csr")
    walk = (sp.diags_array(1 / walk.sum(axis=1)) @ walk).astype(np.float32).tocsr()
    found = signatures(ids)
    for _ in range(STEPS):
        found = walk @ found
    found -= found.mean(axis=0)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _NOISE)
    return found


def signatures(ids: np.ndarray) -> np.ndarray:
    """(N, 128) of -1 and 1, the bits of a hash of each id; the same in every process."""
    if ids.dtype == np.int64:
        numbers = ids.astype(np.uint64)
        hashes = np.stack([_mixed(numbers), _mixed(~numbers)], axis=1)
    else:
        digests = [hashlib.blake2b(repr(i).encode(), digest_size=16).digest() for i in ids.tolist()]
        hashes = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)
    bits = (hashes[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    return bits.reshape(-1, SIGNATURE).astype(np.float32) * 2 - 1


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64: a bijection after which consecutive numbers have nothing in common."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
