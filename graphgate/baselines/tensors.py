"""A graph as the tensors that PyG's layers take, and randomness that leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from graphgate.errors import InputError
from graphgate.graph.graph import Graph


@contextmanager
def seeded(random_state: int) -> Iterator[np.random.Generator]:
    """torch, NumPy and Python draw from this seed in the block, and go on after it as before.

    Yields a generator of the same seed, for what can be given one.
    """
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  libraries use them
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        np.random.seed(random_state % 2**32)  # noqa: NPY002
        random.seed(random_state)
        try:
            yield np.random.default_rng(random_state)
        finally:
            np.random.set_state(numpy)  # noqa: NPY002
            random.setstate(python)


def feature_tensor(graph: Graph, *, normalize: bool = True) -> Tensor:
    """Features, dense (N, F) float32; if normalised, the absolute values of a row add up to 1."""
    x = np.array(graph.x) if isinstance(graph.x, np.ndarray) else graph.x.toarray()
    dense = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    if normalize:
        dense /= dense.abs().sum(dim=1, keepdim=True).clamp(min=1e-12)
    return dense


def edge_index(graph: Graph) -> Tensor:
    """(2, E) int64, PyG's reading: column (j, i) where i attends over j; no self-loops."""
    attended = graph.attended.tocoo()
    return torch.from_numpy(np.stack([attended.col, attended.row]).astype(np.int64))


def check_features(graph: Graph, expected: int | None, method: str) -> None:
    """Refuses a graph for a method that was fitted on another number of features, or not at all."""
    if expected is None:
        raise InputError(f"this {method} has not been fitted; call fit first")
    if graph.n_features != expected:
        raise InputError(
            f"the graph has {graph.n_features} features, and {method} was fitted on {expected}"
        )
