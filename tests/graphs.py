"""Small random graphs for property tests."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import strategies as st

from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import Architecture, GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern

CPU = torch.device("cpu")
DOUBLE = {"device": CPU, "dtype": torch.float64}


def random_graph(
    seed: int,
    n: int = 9,
    f: int = 6,
    *,
    directed: bool = False,
    weighted: bool = False,
    dense: bool = False,
    hub: bool = False,
) -> Graph:
    """A sparse random graph; node 0 has neither features nor edges, the last may be a hub."""
    rng = np.random.default_rng(seed)
    edges = rng.random((n, n)) < 0.3
    if hub:
        edges[:, -1] = edges[-1, :] = True
    edges[0, :] = edges[:, 0] = False
    weights = rng.uniform(0.2, 3.0, (n, n)) if weighted else np.ones((n, n))
    adjacency = np.where(edges, weights, 0.0)
    if not directed:
        adjacency = np.triu(adjacency, 1)
    x = rng.random((n, f)) * (rng.random((n, f)) < 0.6)
    x[0] = 0
    return Graph(x if dense else sp.csr_array(x), adjacency, directed=directed)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    return random_graph(
        draw(st.integers(0, 2**20)),
        n=draw(st.integers(1, 14)),
        f=draw(st.integers(1, 8)),
        directed=draw(st.booleans()),
        weighted=draw(st.booleans()),
        dense=draw(st.booleans()),
        hub=draw(st.booleans()),
    )


def parts_of(graph: Graph) -> tuple[FeatureMatrix, AttentionPattern]:
    return FeatureMatrix(graph.x, **DOUBLE), AttentionPattern(graph, **DOUBLE)


def model_for(graph: Graph, dims: tuple[int, ...], seed: int = 0, **settings) -> GATEModel:
    architecture = Architecture(graph.n_features, dims, **settings)
    return GATEModel(architecture, np.random.default_rng(seed), dtype=torch.float64)


def value_and_gradients(parts, model: GATEModel) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Loss parts as numbers, and the gradient of the total by every parameter."""
    names, tensors = zip(*model.named_parameters(), strict=True)
    gradients = torch.autograd.grad(parts["loss"], tensors, allow_unused=True)
    values = {name: part.item() for name, part in parts.items()}
    return values, {
        name: np.zeros(tuple(tensor.shape)) if gradient is None else gradient.numpy()
        for name, tensor, gradient in zip(names, tensors, gradients, strict=True)
    }
