"""An order of the nodes in which neighbors are near each other.

The products of training fetch a long row for every edge. Where neighbors are near in memory, most
of these rows are still in the cache; otherwise they come from main memory every time.
"""

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

_COLUMNS, _STEPS, _LEAF = 16, 20, 256


def locality_order(adjacency: sp.csr_array) -> np.ndarray:
    """A permutation of the rows; the same for the same pattern.

    Random vectors, averaged over neighborhoods repeatedly, become equal within densely connected
    parts long before they do between them (power iteration towards the leading eigenvectors of
    D^-½ (A + I) D^-½; the first one, the same for every graph, is projected out). A k-d tree then
    divides the nodes into leaves of similar vectors.
    """
    n = adjacency.shape[0]
    pattern = sp.csr_array(
        (np.ones(adjacency.nnz, dtype=np.float32), adjacency.indices, adjacency.indptr), (n, n)
    )
    both = (pattern + pattern.T + sp.eye_array(n, dtype=np.float32)).tocsr()
    root = np.sqrt(both.sum(axis=1))[:, None]
    constant = root / np.linalg.norm(root)
    vectors = np.random.default_rng(0).standard_normal((n, _COLUMNS), dtype=np.float32)
    for _ in range(_STEPS):
        vectors = (both @ (vectors / root)) / root
        vectors -= constant * (constant.T @ vectors)
        vectors /= np.maximum(vectors.std(axis=0), np.finfo(np.float32).tiny)
    order: np.ndarray = KDTree(vectors / root, leafsize=_LEAF).indices
    return order
