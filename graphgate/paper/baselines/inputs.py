"""Graphs as input tensors of networks, optimizer steps, and seeding without side effects.

Tensors are sparse where that is faster: `GCNConv(..., normalize=False)` is given the normalized
adjacency as CSR, so that no (E, D) array of messages is gathered, and may be given features as CSR.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.sparse_operator import csr_tensor, index_tensor, shared_tensor
from graphgate.estimators import hyperparameters
from graphgate.graph.graph import Graph

_CPU = torch.device("cpu")

# A fixed rule, so that the same graph always takes the same path. Measured on one thread with 512
# columns, forward and backward: Citeseer (0.9 %) 42 ms sparse and 355 ms dense, Pubmed (10 %)
# 472 ms sparse and 279 ms dense.
_SPARSE_BELOW = 0.05


@contextmanager
def seeded(random_state: Any) -> Iterator[np.random.Generator]:
    """Seed torch, NumPy and Python in the block, and restore their state afterwards.

    Yields a NumPy generator with the same seed.
    """
    seed = hyperparameters.seed(random_state)
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  libraries use them
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
        try:
            yield np.random.default_rng(seed)
        finally:
            np.random.set_state(numpy)  # noqa: NPY002
            random.setstate(python)


def step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take one optimizer step on a loss."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def scale_to_length(z: np.ndarray, length: float) -> float:
    """The factor that gives (N, D) vectors this root mean square length; 1 if all are zero."""
    current = float(np.sqrt(np.square(z, dtype=np.float64).sum(axis=1).mean()))
    return length / current if current > 0 else 1.0


def as_tensor(matrix: sp.csr_array) -> Tensor:
    """The matrix as a CSR tensor of float32."""
    indptr, indices = index_tensor(matrix.indptr, _CPU), index_tensor(matrix.indices, _CPU)
    values = shared_tensor(matrix.data, _CPU, torch.float32)
    return csr_tensor(indptr, indices, values, matrix.shape)


def is_sparse(graph: Graph) -> bool:
    """Whether the features are so sparse that a sparse product is faster."""
    x = graph.x
    return not isinstance(x, np.ndarray) and x.nnz <= _SPARSE_BELOW * x.shape[0] * x.shape[1]


def dense_features(graph: Graph, *, normalize: bool = True) -> Tensor:
    """(N, F) float32, dense; if normalized, the absolute values of a row sum to 1."""
    x = np.array(graph.x) if isinstance(graph.x, np.ndarray) else graph.x.toarray()
    dense = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    if normalize:
        dense /= dense.abs().sum(dim=1, keepdim=True).clamp(min=1e-12)
    return dense


def normalized_features(graph: Graph) -> sp.csr_array:
    """(N, F) float32; the absolute values of a row sum to 1, or are all zero."""
    x = sp.csr_array(graph.x, dtype=np.float32)
    sums = abs(x).sum(axis=1)
    return sp.csr_array(sp.diags_array(1 / np.where(sums > 0, sums, 1)) @ x, dtype=np.float32)


def normalized_adjacency(graph: Graph, *, loops: bool) -> sp.csr_array:
    """D^-1/2 A D^-1/2, (N, N), or (D + 1)^-1/2 (A + 1) (D + 1)^-1/2 with `loops`.

    Row i lists what node i attends over; the row of a node without edges is zero. Weights are
    ignored. In a directed graph D counts what a node attends over.
    """
    a = sp.csr_array(graph.attended != 0, dtype=np.float32)
    if loops:
        a = a + sp.eye_array(graph.n_nodes, dtype=np.float32)
    # In a directed graph a node may be attended over without attending over any.
    scale = sp.diags_array(1 / np.sqrt(np.maximum(a.sum(axis=1), 1)))
    return sp.csr_array(scale @ a @ scale, dtype=np.float32)


def convolution_inputs(graph: Graph, *, normalize: bool) -> tuple[Tensor, Tensor]:
    """Features, (N, F), and D^-1/2 (A + I) D^-1/2, (N, N) CSR, both float32.

    Features are CSR if they are sparse enough, dense otherwise.
    """
    adjacency = as_tensor(normalized_adjacency(graph, loops=True))
    if not is_sparse(graph):
        return dense_features(graph, normalize=normalize), adjacency
    return as_tensor(normalized_features(graph) if normalize else graph.x), adjacency
