"""Planted outliers of both kinds, and nodes that cannot be judged."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from graphgate import GATE, Graph, InputError, LinearGATE, find_outliers
from graphgate.paper.baselines.deepwalk import DeepWalk

pytestmark = pytest.mark.numerical

N = 240
GATES = {
    "linear": LinearGATE(random_state=0, progress=False),
    "gate": GATE((32, 16), epochs=60, random_state=0, progress=False),
}


def planted(seed: int = 0, *, words: bool) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Three blocks; eight nodes have the features, and eight others edges, of another one."""
    rng = np.random.default_rng(seed)
    block = np.arange(N) % 3
    chosen = rng.choice(N, 16, replace=False)
    odd_features, odd_edges = chosen[:8], chosen[8:]
    seems, wired = block.copy(), block.copy()
    seems[odd_features] = (block[odd_features] + 1) % 3
    chance = np.where(wired[:, None] == wired, 0.15, 0.005)
    for node in odd_edges:
        chance[node] = chance[:, node] = np.where(block == block[node], 0.005, 0.08)
    edges = np.triu(rng.random((N, N)) < chance, 1)
    if words:
        x = rng.random((N, 150)) < np.where(np.arange(150) % 3 == seems[:, None], 0.15, 0.02)
        return Graph(sp.csr_array(x, dtype=np.float32), edges), odd_features, odd_edges
    centers = 3 * rng.normal(size=(3, 8))
    return Graph(centers[seems] + rng.normal(size=(N, 8)), edges), odd_features, odd_edges


def auc(odd: np.ndarray, others: np.ndarray, values: np.ndarray) -> float:
    """How well values tell odd nodes from all but others that are odd too."""
    kept = ~np.isin(np.arange(N), others) & ~np.isnan(values)
    return roc_auc_score(np.isin(np.arange(N), odd)[kept], values[kept])


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize(("method", "least"), [("linear", 0.9), ("gate", 0.7)])
def test_both_kinds_of_planted_outliers_are_found(method, least, words):
    """On average: in a graph this small, few edges are hidden, from which edges are judged."""
    graph, features, edges = planted(words=words)
    by_features, by_edges = [], []
    for seed in range(3):
        outliers = find_outliers(graph, clone(GATES[method]).set_params(random_state=seed))
        by_features.append(auc(features, edges, outliers.features))
        by_edges.append(auc(edges, features, outliers.edges))
        assert {len(values) for values in outliers} == {N}
        top = [node for node, *_ in outliers.top(16)]
        assert np.isin(top, [*features, *edges]).mean() > (0.5 if method == "linear" else 0.3)
    assert min(by_features) > 0.9
    assert np.mean(by_edges) > least


def test_scores_are_fractions():
    graph, *_ = planted(words=False)
    found = find_outliers(graph)
    known = ~np.isnan(found.edges)
    for values in (found.features[known], found.edges[known]):
        assert (values.min(), values.max()) == (0, 1)
    node, features, edges = found.top(1)[0]
    assert node in graph.ids
    assert max(features, edges) == 1


def test_a_fitted_model_is_used_as_it_is():
    graph, *_ = planted(words=False)
    model = LinearGATE(random_state=3).fit(graph)
    before = model.embedding_
    by_fitted = find_outliers(graph, model)
    assert model.embedding_ is before
    np.testing.assert_array_equal(
        by_fitted.features, find_outliers(graph, LinearGATE(random_state=3)).features
    )


def test_labels_are_not_looked_at():
    graph, *_ = planted(words=False)
    labeled = graph.with_labels(np.arange(N) % 2)
    for one, other in zip(find_outliers(graph), find_outliers(labeled), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("directed", [False, True])
def test_nodes_without_edges_and_graphs_without_many(directed):
    x = np.random.default_rng(0).normal(size=(6, 2))
    few = Graph.from_edges(x, [(0, 1), (1, 2), (2, 3)], directed=directed)
    found = find_outliers(few)
    assert np.isnan(found.edges).all()  # too few edges to learn from
    assert np.isnan(found.features).tolist() == [False] * 4 + [True] * 2
    assert len(found.top(10)) == 4


def test_a_method_that_reconstructs_nothing():
    graph, *_ = planted(words=False)
    with pytest.raises(InputError, match="DeepWalk reconstructs nothing"):
        find_outliers(graph, DeepWalk())
