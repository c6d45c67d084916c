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
from sklearn.metrics import log_loss, roc_auc_score

from graphgate import Graph
from graphgate.compute.draws import Draws
from graphgate.graph.link_split import split_links
from graphgate.linear import edge_decoder
from graphgate.linear.edge_decoder import (
    STRENGTHS,
    TERMS,
    WEIGHED_TERMS,
    EdgeDecoder,
    pair_columns,
)
from graphgate.linear.linear_plan import COMPARED
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


def dense_columns(states: States, graph: Graph, weights: np.ndarray, unit_weight: float):
    """(N, N, 14), the terms of all pairs; and (N, N, 4 K), the products of their coordinates."""
    k = len(weights)
    own = states["own"].whole()[:, :k].numpy()
    step = operator(graph, unit_weight)
    blocks = {
        "own features": own,
        "one step": step @ own,
        "two steps": smoothing(step, 2, 0.33) @ own,
        "sixteen steps": averaging(step, 16, 0.05) @ own,
        "reconstruction": smoothing(step, 10, 0.15) @ own @ weights,
    }
    factors = np.zeros((len(own), 1))
    if "factors" in states:
        factors = states["factors"].whole().numpy()
    blocks |= {"factors": factors, "smoothed": smoothing(step, 2, 0.33) @ factors}
    blocks = {name: unit(block) for name, block in blocks.items()}
    weight = graph.adjacency.toarray() / unit_weight
    degrees = np.log1p(weight.sum(axis=1) + weight.sum(axis=0) * graph.directed)
    terms = [block @ block.T for block in blocks.values()]
    terms += [np.add.outer(degrees, degrees), np.outer(degrees, degrees)]
    terms += [np.add.outer(degrees == 0, degrees == 0, dtype=float), *common(graph)]
    shown = [blocks[name][:, :COMPARED] for name in WEIGHED_TERMS]
    products = [each[:, None] * each[None] for each in shown]
    return np.stack(terms, axis=2), np.concatenate(products, axis=2)


def common(graph: Graph) -> list[np.ndarray]:
    """What neighborhoods have in common, (N, N) each, from dense products."""
    a = ((graph.adjacency + graph.adjacency.T).toarray() > 0).astype(float)
    d = a.sum(axis=1)
    roots = np.divide(1, np.sqrt(d), where=d > 0, out=np.zeros(len(d)))
    normalized = roots[:, None] * a * roots
    at_least_two = np.maximum(d, 2)
    return [
        np.log1p(a @ a),
        a @ np.diag(1 / np.log(at_least_two)) @ a,
        a @ np.diag(1 / at_least_two) @ a,
        np.log1p(100 * np.linalg.matrix_power(normalized, 3)),
    ]


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
def test_probabilities_follow_from_terms_and_coordinates(kind, structure, monkeypatch):
    graph = GRAPHS[kind]
    model, states = model_of(graph, structure=structure)
    decoder = fitted(graph, model, 0)
    k = min(graph.n_features, 256)  # of at least as many nodes
    assert decoder.reconstruction.weights.shape == (k, k)
    assert decoder.fits(graph.n_features)
    terms, products = dense_columns(
        states, graph, decoder.reconstruction.weights.numpy(), model.unit
    )
    assert terms.shape[2] == len(TERMS) == len(decoder.weights)
    pairs = np.random.default_rng(0).integers(0, 100, (50, 2))
    at = tuple(pairs.T)
    monkeypatch.setattr(edge_decoder, "_BLOCK", 7)  # pairs are scored in blocks
    found, found_products = pair_columns(states, decoder.reconstruction, pairs)
    np.testing.assert_allclose(found, terms[at], atol=1e-6)
    np.testing.assert_allclose(found_products, products[at], atol=1e-6)
    logits = terms[at] @ decoder.weights + decoder.bias
    logits += products[at] @ decoder.coordinates.ravel()
    probabilities = decoder.probabilities(states, pairs)
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-logits)), atol=1e-5)
    parts = dict(decoder.contributions(states, pairs))
    assert set(parts) <= set(TERMS)
    np.testing.assert_allclose(sum(parts.values()) + decoder.bias, logits, atol=1e-5)
    turned = decoder.probabilities(states, pairs[:, ::-1])
    np.testing.assert_allclose(turned, probabilities, rtol=1e-6)
    if not structure:
        assert (decoder.weights[5:7] == 0).all()
    assert decoder.probabilities(states, np.empty((0, 2), dtype=np.int64)).shape == (0,)


def by_hand(graph: Graph, seed: int, *, structure: bool = True):
    """Standardized columns and truth of both halves of the hidden pairs, and the unscaled ones."""
    model, _ = model_of(graph, structure=structure)
    split = split_links(graph, val_size=0.05, test_size=0.05, random_state=seed, per_edge=5)
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
    dense = dense_columns(hidden, thinned, found.weights.numpy(), model.unit)
    parts = [
        np.concatenate(parts)
        for parts in (
            (split.val_edges, split.val_non_edges),
            (split.test_edges, split.test_non_edges),
        )
    ]
    at = tuple(np.concatenate(parts).T)
    terms, products = (columns[at] for columns in dense)
    truth = np.concatenate([np.repeat([1, 0], [len(p) // 6, 5 * len(p) // 6]) for p in parts])
    spread = products.reshape(len(truth), 4, -1).std(axis=(0, 2)).repeat(products.shape[1] // 4)
    scale = np.concatenate([terms.std(axis=0), spread])
    columns = np.hstack([terms - terms.mean(axis=0), products])
    columns = columns / np.where(scale < 1e-9, np.inf, scale)
    return columns, truth, len(parts[0]), np.hstack([terms, products])


def regression(columns: np.ndarray, truth: np.ndarray, strength: float):
    """Scikit-learn's, whose penalty is the same for all columns: these are scaled instead."""
    scale = np.ones(columns.shape[1])
    scale[len(TERMS) :] = (0.1 / strength) ** 0.5
    weights = np.where(truth == 1, 1.0, 0.2)
    probe = LogisticRegression(C=1 / 0.1, tol=1e-8, max_iter=5000)
    probe.fit(columns * scale, truth, sample_weight=weights)
    return lambda others: probe.decision_function(others * scale)


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("kind", ["isolated", "undirected", "directed", "weighted"])
def test_weights_are_a_logistic_regression_on_hidden_edges(kind, structure):
    decoder = decoder_of(GRAPHS[kind], seed=3, structure=structure)
    columns, truth, half, plain = by_hand(GRAPHS[kind], 3, structure=structure)
    assert half == 6 * int(0.05 * GRAPHS[kind].n_edges)
    assert kind != "isolated" or decoder.weights[TERMS.index("nodes without edges")] != 0
    score = regression(columns, truth, decoder.strength)
    own = plain[:, : len(TERMS)] @ decoder.weights + decoder.bias
    own += plain[:, len(TERMS) :] @ decoder.coordinates.ravel()
    np.testing.assert_allclose(own, score(columns), atol=5e-2)
    # The strength, and the AUC, are those of weights that have not seen the pairs they score.
    one, other = slice(None, half), slice(half, None)
    losses, aucs = [], []
    for strength in STRENGTHS:
        loss = auc = 0.0
        for seen, unseen in ((one, other), (other, one)):
            scores = regression(columns[seen], truth[seen], strength)(columns[unseen])
            weights = np.where(truth[unseen] == 1, 1.0, 0.2)
            loss += log_loss(truth[unseen], 1 / (1 + np.exp(-scores)), sample_weight=weights)
            auc += roc_auc_score(truth[unseen], scores) / 2
        losses.append(loss)
        aucs.append(auc)
    chosen = STRENGTHS.index(decoder.strength)
    assert losses[chosen] < min(losses) + 1e-3
    assert decoder.auc == pytest.approx(aucs[chosen], abs=2e-3)


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
    assert (decoder.weights[:7] == 0).all()  # of similarities
    assert (decoder.coordinates == 0).all()  # features say nothing, degrees little
    assert 0 <= decoder.auc <= 1


def test_the_seed_decides_which_edges_are_hidden():
    graph = GRAPHS["undirected"]
    one, again, other = (decoder_of(graph, seed) for seed in (0, 0, 1))
    assert one.weights.tobytes() == again.weights.tobytes() != other.weights.tobytes()
    assert (one.bias, one.auc) == (again.bias, again.auc)
