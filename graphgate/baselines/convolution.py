"""A graph as the fixed matrices that convolutions multiply by, sparse where that pays.

`GCNConv(..., normalize=False)` is given the normalised adjacency as CSR, so that no (E, D) array
of messages is gathered, and may be given features as CSR, so that bags of words stay sparse.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.baselines.tensors import feature_tensor
from graphgate.graph.graph import Graph
from graphgate.nn.pattern import csr_tensor, index_tensor, shared_tensor

_CPU = torch.device("cpu")

# A fixed rule, so that the same graph always takes the same path. Measured on one thread with 512
# columns, forward and backward: Citeseer (0.9 %) 42 ms sparse and 355 ms dense, Pubmed (10 %)
# 472 ms sparse and 279 ms dense.
_SPARSE_BELOW = 0.05


def as_tensor(matrix: sp.csr_array) -> Tensor:
    """The matrix as a CSR tensor of float32."""
    indptr, indices = index_tensor(matrix.indptr, _CPU), index_tensor(matrix.indices, _CPU)
    values = shared_tensor(matrix.data, _CPU, torch.float32)
    return csr_tensor(indptr, indices, values, matrix.shape)


def normalized_features(graph: Graph) -> sp.csr_array:
    """(N, F) float32; the absolute values of a row add up to 1, or it is all zero."""
    x = sp.csr_array(graph.x, dtype=np.float32)
    sums = abs(x).sum(axis=1)
    return sp.csr_array(sp.diags_array(1 / np.where(sums > 0, sums, 1)) @ x, dtype=np.float32)


def normalized_adjacency(graph: Graph, *, loops: bool) -> sp.csr_array:
    """D^-1/2 A D^-1/2, (N, N), or (D + 1)^-1/2 (A + 1) (D + 1)^-1/2 with `loops`.

    Row i lists what node i attends over; a row of a node without any is all zero.
    """
    a = sp.csr_array(graph.attended != 0, dtype=np.float32)
    if loops:
        a = a + sp.eye_array(graph.n_nodes, dtype=np.float32)
    # In a directed graph a node may be attended over without attending over any.
    scale = sp.diags_array(1 / np.sqrt(np.maximum(a.sum(axis=1), 1)))
    return sp.csr_array(scale @ a @ scale, dtype=np.float32)


def convolution_adjacency(graph: Graph) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, (N, N) float32 CSR; row i lists what node i takes from.

    Weights are ignored. Of a directed graph D counts what a node attends over.
    """
    return as_tensor(normalized_adjacency(graph, loops=True))


def convolution_features(graph: Graph, *, normalize: bool) -> Tensor:
    """Features, (N, F) float32: CSR if they are sparse enough, dense otherwise."""
    x = graph.x
    if isinstance(x, np.ndarray) or x.nnz > _SPARSE_BELOW * x.shape[0] * x.shape[1]:
        return feature_tensor(graph, normalize=normalize)
    return as_tensor(normalized_features(graph) if normalize else x)
