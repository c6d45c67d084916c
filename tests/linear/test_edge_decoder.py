"""The structure decoder, against dense cosines and scikit-learn's logistic regression."""

import numpy as np
import pytest
import torch
from linear_graphs import (
    averaging,
    community_graph,
    engine_for,
    fitted_model,
    operator,
    smoothing,
    unit,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphgate import Graph
from graphgate.compute.draws import Draws
from graphgate.graph.link_split import split_links
from graphgate.linear import edge_decoder
from graphgate.linear.edge_decoder import TERMS, EdgeDecoder, pair_terms
from graphgate.linear.model import (
    HIDDEN,
    MASKED,
    POLYNOMIALS,
    LinearModel,
    States,
    propagated,
    ridge,
    structure_factors,
)
from graphgate.linear.propagation import Propagation

pytestmark = pytest.mark.numerical


def model_of(graph: Graph, *, structure: bool = True) -> tuple[LinearModel, States]:
    model, _ = fitted_model(graph, structure=structure)
    return model, model.states(graph, engine_for(graph), step=True)


def fitted(graph: Graph, model: LinearModel, seed: int) -> EdgeDecoder | None:
    return EdgeDecoder.fit(graph, model, engine_for(graph), lambda graph: graph.x, seed)


def decoder_of(graph: Graph, seed: int = 0, **settings) -> EdgeDecoder | None:
    return fitted(graph, model_of(graph, **settings)[0], seed)


def dense_terms(states: States, graph: Graph, weights: np.ndarray, unit_weight: float):
    """(N, N, 10), of all pairs."""
    k = len(weights)
    own = states["own"].whole()[:, :k].numpy()
    step = operator(graph, unit_weight)
    blocks = [
        own,
        step @ own,
        smoothing(step, 2, 0.33) @ own,
        averaging(step, 16, 0.05) @ own,
        smoothing(step, 10, 0.15) @ own @ weights,
    ]
    if "factors" in states:
        factors = states["factors"].whole().numpy()
        blocks += [factors, smoothing(step, 2, 0.33) @ factors]
    else:
        blocks += [np.zeros((len(own), 1))] * 2
    weight = graph.adjacency.toarray() / unit_weight
    degrees = np.log1p(weight.sum(axis=1) + weight.sum(axis=0) * graph.directed)
    terms = [unit(block) @ unit(block).T for block in blocks]
    terms += [np.add.outer(degrees, degrees), np.outer(degrees, degrees)]
    return np.stack([*terms, np.add.outer(degrees == 0, degrees == 0, dtype=float)], axis=2)


def with_isolated_nodes(graph: Graph) -> Graph:
    """The first ten nodes lose their edges."""
    edges = np.argwhere(graph.adjacency.toarray())
    return graph.without_edges(edges[(edges < 10).any(axis=1)])


GRAPHS = {
    "isolated": with_isolated_nodes(community_graph(1, n=100)),
    "undirected": community_graph(1, n=100),
    "directed": community_graph(1, n=100, directed=True),
    "weighted": community_graph(1, n=100, weighted=True),
    "many features": community_graph(1, n=280, f=300),
}


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("kind", GRAPHS)
def test_probabilities_follow_from_ten_terms(kind, structure, monkeypatch):
    graph = GRAPHS[kind]
    model, states = model_of(graph, structure=structure)
    decoder = fitted(graph, model, 0)
    k = min(graph.n_features, 256)  # of at least as many nodes
    assert decoder.reconstruction.weights.shape == (k, k)
    expected = dense_terms(states, graph, decoder.reconstruction.weights.numpy(), model.unit)
    assert expected.shape[2] == len(TERMS) == len(decoder.weights)
    pairs = np.random.default_rng(0).integers(0, 100, (50, 2))
    monkeypatch.setattr(edge_decoder, "_BLOCK", 7)  # pairs are scored in blocks
    found = pair_terms(states, decoder.reconstruction, pairs)
    np.testing.assert_allclose(found, expected[tuple(pairs.T)], atol=1e-6)
    logits = expected[tuple(pairs.T)] @ decoder.weights + decoder.bias
    probabilities = decoder.probabilities(states, pairs)
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-logits)), atol=1e-5)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    turned = decoder.probabilities(states, pairs[:, ::-1])
    np.testing.assert_allclose(turned, probabilities, rtol=1e-12)
    if not structure:
        assert (decoder.weights[5:7] == 0).all()
    assert decoder.probabilities(states, np.empty((0, 2), dtype=np.int64)).shape == (0,)


def by_hand(graph: Graph, seed: int, *, structure: bool = True):
    """Terms and truth of the hidden pairs to fit on, and of those to test on."""
    model, _ = model_of(graph, structure=structure)
    split = split_links(graph, val_size=0.05, test_size=0.05, random_state=seed)
    thinned = split.graph
    n, draws, engine = graph.n_nodes, Draws(seed, graph.id_ranks), engine_for(graph)
    matrices = {}
    if structure:
        matrices["factors"] = structure_factors(thinned, engine, 128, draws)[1]
    operator = Propagation(thinned, model.unit, torch.float64)
    masked, apart = (draws.uniform_by_node(n) < part for part in (MASKED, HIDDEN))
    z = model.coordinates.source(thinned.x)
    matrices |= propagated("edges", engine, operator, z, POLYNOMIALS, masked)
    hidden = States(engine, operator, model.coordinates.shortest, matrices)
    strength = model.reconstruction.strength
    found = ridge(engine, hidden["seen"], hidden["own"], engine.own(apart), strength)
    terms = dense_terms(hidden, thinned, found.weights.numpy(), model.unit)
    return [
        (terms[tuple(np.concatenate(parts).T)], np.repeat([1, 0], len(parts[0])))
        for parts in (
            (split.val_edges, split.val_non_edges),
            (split.test_edges, split.test_non_edges),
        )
    ]


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("kind", ["isolated", "undirected", "directed", "weighted"])
def test_weights_are_a_logistic_regression_on_hidden_edges(kind, structure):
    decoder = decoder_of(GRAPHS[kind], seed=3, structure=structure)
    fitted_on, tested_on = by_hand(GRAPHS[kind], 3, structure=structure)
    assert len(fitted_on[1]) == len(tested_on[1]) == 2 * int(0.05 * GRAPHS[kind].n_edges)
    assert kind != "isolated" or decoder.weights[-1] != 0
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    # The reported AUC is that of weights that have not seen the pairs it is computed on.
    probe.fit(*fitted_on)
    honest = roc_auc_score(tested_on[1], probe.decision_function(tested_on[0]))
    assert decoder.auc == pytest.approx(honest, abs=1e-3)
    both = [np.concatenate(parts) for parts in zip(fitted_on, tested_on, strict=True)]
    probe.fit(*both)
    own_pairs = both[0] @ decoder.weights + decoder.bias
    np.testing.assert_allclose(own_pairs, probe.decision_function(both[0]), atol=2e-2)


def test_the_auc_is_that_of_chance_where_edges_are_random():
    rng = np.random.default_rng(0)
    aucs = []
    for seed in range(6):
        pairs = rng.integers(0, 300, (1500, 2))
        graph = Graph.from_edges(rng.normal(size=(300, 40)), pairs)
        aucs.append(decoder_of(graph, seed).auc)
    assert 0.42 < np.mean(aucs) < 0.58
    assert decoder_of(community_graph(5, n=300)).auc > 0.7


def ring(n: int, *offsets: int, directed: bool = False) -> Graph:
    pairs = [(at, (at + offset) % n) for at in range(n) for offset in offsets]
    x = np.random.default_rng(0).normal(size=(n, 3))
    return Graph.from_edges(x, pairs, directed=directed)


def test_how_many_edges_are_needed():
    graph = ring(100, 1, 2)
    assert graph.n_edges == 200
    assert decoder_of(graph) is not None
    assert decoder_of(graph.without_edges([(0, 1)])) is None
    assert decoder_of(Graph(np.eye(5))) is None
    # Both directions of a pair are hidden together, and count once.
    assert decoder_of(ring(100, 1, -1, directed=True)) is None
    assert decoder_of(ring(100, 1, -1, 2, -2, directed=True)) is not None


def test_a_complete_graph_has_no_pairs_to_compare_with():
    complete = Graph(np.random.default_rng(0).normal(size=(30, 3)), np.ones((30, 30)))
    assert complete.n_edges > 200
    assert decoder_of(complete) is None
    gaps = [(0, at) for at in range(1, 30)] + [(1, at) for at in range(2, 20)]
    assert decoder_of(complete.without_edges(gaps)) is not None  # 47 non-edges, 38 needed
    assert decoder_of(complete.without_edges(gaps[:35])) is None


def test_constant_terms_have_no_weight():
    regular = ring(100, 1, 2, 3)
    plain = Graph(np.ones((100, 2)), regular.adjacency)
    decoder = decoder_of(plain, structure=False)
    assert np.isfinite(decoder.weights).all()
    assert (decoder.weights[:7] == 0).all()  # features say nothing, degrees little
    assert 0 <= decoder.auc <= 1


def test_the_seed_decides_which_edges_are_hidden():
    graph = GRAPHS["undirected"]
    one, again, other = (decoder_of(graph, seed) for seed in (0, 0, 1))
    assert one.weights.tobytes() == again.weights.tobytes() != other.weights.tobytes()
    assert (one.bias, one.auc) == (again.bias, again.auc)
