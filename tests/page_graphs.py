"""Small graphs with random attention, as content of a page."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphgate import Graph
from graphgate.visualization.page.page_content import build_content


def ring(n=6, **more):
    names = more.get("ids", range(n))
    edges = [(names[i], names[(i + 1) % n]) for i in range(n)]
    return Graph.from_edges(np.eye(n), edges, **more)


def random_attention(graph, seed=0):
    rng = np.random.default_rng(seed)
    alpha = sp.csr_array(graph.attended + sp.eye_array(graph.n_nodes))
    alpha.data = rng.uniform(0.1, 1, alpha.nnz)
    return sp.csr_array(sp.diags_array(1 / alpha.sum(axis=1)) @ alpha)


def small_content(graph=None, **more):
    graph = ring(labels=list("aabbcc")) if graph is None else graph
    rng = np.random.default_rng(0)
    more.setdefault("points", rng.normal(size=(graph.n_nodes, 2)))
    z = rng.normal(size=(graph.n_nodes, 4)).astype(np.float32)
    return build_content(graph, z, random_attention(graph), **more)
