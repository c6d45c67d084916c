"""Structure factors, against LAPACK and by id."""

import numpy as np
import pytest
import torch
from linear_graphs import community_graph, engine_for, normalized

from graphgate import Graph
from graphgate.compute.draws import Draws
from graphgate.linear.model import structure_factors
from graphgate.linear.structure import StructureFactors, find_rows, plain_ids

pytestmark = pytest.mark.numerical


def fit(graph: Graph, seed: int = 0) -> StructureFactors:
    draws = Draws(seed, graph.id_ranks)
    vectors, own = structure_factors(graph, engine_for(graph), 128, draws)
    known = StructureFactors(plain_ids(graph.ids), vectors)
    np.testing.assert_allclose(own.whole(), of(known, graph), atol=1e-12)
    return known


def of(factors: StructureFactors, graph: Graph) -> torch.Tensor:
    return factors.of(graph, engine_for(graph)).whole()


KINDS = [{}, {"directed": True}, {"weighted": True}, {"directed": True, "weighted": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_factors_of_a_small_graph_are_complete(kind):
    graph = community_graph(1, n=60, **kind)
    factors = fit(graph)
    dense = normalized(graph)
    v = factors.vectors.numpy()
    assert v.shape == (60, 60)
    np.testing.assert_allclose(v.T @ v, np.eye(60), atol=1e-10)
    found = of(factors, graph).numpy()
    np.testing.assert_allclose(found, dense @ v, atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(found, axis=0), np.linalg.svd(dense).S, rtol=1e-6, atol=1e-9
    )
    assert (found[0] == 0).all()  # a node without edges


@pytest.mark.parametrize("directed", [False, True])
def test_factors_of_a_larger_graph_are_nearly_the_best(directed):
    graph = community_graph(1, n=400, directed=directed)
    factors = fit(graph)
    assert factors.vectors.shape == (400, 128)
    best = np.square(np.linalg.svd(normalized(graph)).S[:128]).sum()
    assert np.square(of(factors, graph).numpy()).sum() > 0.93 * best


def test_weights_count_in_proportion():
    graph = community_graph(2, n=40, weighted=True)
    a = graph.adjacency
    one, other = fit(graph), fit(Graph(graph.x, 100 * a))
    np.testing.assert_allclose(
        of(other, graph) @ of(other, graph).T, of(one, graph) @ of(one, graph).T, atol=1e-9
    )


@pytest.mark.parametrize("directed", [False, True])
def test_a_new_node_gets_the_product_with_what_is_known(directed):
    """Rows of L V, where L is that of the new graph and V is zero for unknown nodes."""
    whole = community_graph(3, n=50, directed=directed, ids=[f"n{at}" for at in range(50)])
    hidden = ["n4", "n5", "n17"]
    factors = fit(whole.without(hidden))
    order = np.random.default_rng(0).permutation(whole.ids)
    turned = whole.subgraph(order)  # rows have other numbers than in `fit`
    v = np.zeros((50, 47))
    for at, node in enumerate(turned.ids):
        if node not in hidden:
            v[at] = factors.vectors[factors.ids.tolist().index(node)]
    found = of(factors, turned).numpy()
    np.testing.assert_allclose(found, normalized(turned) @ v, atol=1e-12)
    assert (np.abs(found[turned.rows(hidden)]).sum(axis=1) > 0).all()


def test_nodes_without_a_place():
    """Ids 0 and 1 are known; 2 has only unknown neighbors, 5 has none at all."""
    factors = fit(Graph.from_edges(np.eye(2), [(0, 1)]))
    new = Graph.from_edges(np.eye(6), [(0, 2), (2, 3), (3, 4), (1, 0)])
    assert factors.without_place(new).sum() == 2  # 3 and 4
    assert (of(factors, new)[[3, 4, 5]] == 0).all()
    assert (of(factors, new)[[0, 1, 2]].abs().sum(dim=1) > 0).all()
    # An edge j -> i gives i a place, not j.
    directed = fit(Graph.from_edges(np.eye(2), [(0, 1)], directed=True))
    pointing = Graph.from_edges(np.eye(4), [(0, 2), (3, 0)], directed=True)
    assert directed.without_place(pointing).sum() == 1  # 0 attends to 3 only
    assert (np.abs(of(directed, pointing).numpy()).sum(axis=1) > 0).tolist() == [0, 0, 1, 0]


def test_ids_as_they_are_stored():
    integers = np.array([3, 1])
    assert plain_ids(integers) is integers
    ids = Graph(np.eye(5), ids=["a", 7, (1, "b"), 1.5, None]).ids
    found = plain_ids(ids).tolist()
    assert found[:2] == ["a", 7]
    assert len(set(found)) == 5
    clash = Graph(np.eye(4), ids=["(1, 2)", (1, 2), "1.5", 1.5]).ids
    assert len(set(plain_ids(clash).tolist())) == 4
    pairs = Graph(np.eye(2), ids=[(0, 1), (0, 2)]).ids
    assert plain_ids(pairs).shape == (2,)


def test_rows_of_ids():
    assert find_rows(np.array([5, -2, 9]), np.array([9, 4, 5, -2, 10**18, -9])).tolist() == [
        *(2, -1, 0, 1, -1, -1)
    ]
    mixed = plain_ids(Graph(np.eye(3), ids=["a", 7, (1, 2)]).ids)
    wanted = plain_ids(Graph(np.eye(4), ids=[(1, 2), "7", 7, "a"]).ids)
    assert find_rows(mixed, wanted).tolist() == [2, -1, 1, 0]
    assert find_rows(mixed, np.array([7, 8])).tolist() == [1, -1]
    assert find_rows(np.array([7, 8]), mixed).tolist() == [-1, 0, -1]
