"""Random numbers that follow ids."""

import numpy as np
import torch

from graphgate import Graph
from graphgate.compute.draws import Draws


def test_numbers_of_nodes_follow_their_ids():
    graph = Graph(np.eye(6))
    order = np.array([3, 0, 5, 1, 4, 2])
    turned = graph.subgraph(graph.ids[order])
    one, other = Draws(4, graph.id_ranks), Draws(4, turned.id_ranks)
    assert torch.equal(one.uniform_by_node(6)[order], other.uniform_by_node(6))
    assert torch.equal(one.normal_by_node(6, 2)[order], other.normal_by_node(6, 2))
    assert torch.equal(one.normal(5, 2), other.normal(5, 2))


def test_the_seed_decides_every_number():
    first, again, other = (Draws(seed).normal(3, 2) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
