"""Graphs as the tensors that the baselines take."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from baseline_graphs import dense_convolution
from graphs import random_graph

from graphgate.graph.graph import Graph
from graphgate.paper.baselines.inputs import convolution_inputs


@pytest.mark.parametrize("directed", [False, True])
def test_inputs_of_convolutions(directed):
    graph = random_graph(5, directed=directed, weighted=True)
    found = convolution_inputs(graph, normalize=True)[1].to_dense().numpy()
    np.testing.assert_allclose(found, dense_convolution(graph), atol=1e-6)

    few = sp.random_array((30, 50), density=0.03, random_state=np.random.default_rng(0))
    sparse, dense = Graph(few), Graph(few.toarray())
    for normalize in (False, True):
        kept, _ = convolution_inputs(sparse, normalize=normalize)
        assert kept.layout == torch.sparse_csr
        made, _ = convolution_inputs(dense, normalize=normalize)
        np.testing.assert_allclose(kept.to_dense(), made, atol=1e-6)
