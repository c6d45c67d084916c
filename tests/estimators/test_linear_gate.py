"""LinearGATE as users hold it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from linear_graphs import community_graph, normalized, word_graph
from rounding import assert_equal_to_rounding
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphgate import Graph, InputError, InputWarning, LinearGATE
from graphgate.errors import UnknownNodesError, UnknownNodesWarning

pytestmark = pytest.mark.numerical


def small(**settings) -> LinearGATE:
    return LinearGATE(**{"n_components": 6, "random_state": 0} | settings)


def same_bytes(one: np.ndarray, two: np.ndarray) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


@pytest.mark.filterwarnings("ignore:.*is fitted without edges")
@parametrize_with_checks(
    [LinearGATE(), LinearGATE(4, structure=False, dtype="float64", random_state=0)]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


# --- vectors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_embedding_and_its_shape(dtype):
    graph = community_graph(1)
    gate = small(dtype=dtype).fit(graph)
    assert gate.embedding_.shape == (80, 6)
    assert gate.embedding_.dtype == dtype
    assert_equal_to_rounding(gate.transform(graph), gate.embedding_)
    assert same_bytes(small(dtype=dtype).fit_transform(graph), gate.embedding_)
    assert gate.get_feature_names_out().tolist() == [f"lineargate{at}" for at in range(6)]
    assert (gate.seed_, gate.n_features_in_, gate.encoder_) == (0, 10, None)
    assert LinearGATE().n_components == 128


def test_float32_follows_float64():
    graph = community_graph(2)
    single, double = (small(n_components=500, dtype=d).fit(graph).embedding_
                      for d in ("float32", "float64"))  # fmt: skip
    np.testing.assert_allclose(single @ single.T, double @ double.T, atol=1e-3)


def test_communities_are_found():
    graph = community_graph(3, n=200)
    z = LinearGATE(random_state=0).fit_transform(graph)
    truth = np.arange(200) % 4
    own = LogisticRegression(max_iter=1000).fit(graph.x[:40], truth[:40])
    probe = LogisticRegression(max_iter=1000).fit(z[:40], truth[:40])
    assert probe.score(z[40:], truth[40:]) > 0.9
    assert probe.score(z[40:], truth[40:]) >= own.score(graph.x[40:], truth[40:])


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [100, 1e-3])
def test_the_unit_of_weights_does_not_matter(structure, directed, dtype, factor):
    graph = community_graph(4, weighted=True, directed=directed)
    other = Graph(graph.x, factor * graph.adjacency, directed=directed)
    settings = {"structure": structure, "dtype": dtype}
    one, two = small(**settings).fit(graph), small(**settings).fit(other)
    np.testing.assert_allclose(two.embedding_, one.embedding_, rtol=1e-5, atol=1e-6)
    assert two.report_.edge_auc == pytest.approx(one.report_.edge_auc, abs=1e-6)
    pairs = [(1, 2), (3, 9)]
    np.testing.assert_allclose(two.score_edges(pairs), one.score_edges(pairs), rtol=1e-4)


def test_weights_count():
    graph = community_graph(4, weighted=True)
    plain = small().fit(graph.to_unweighted())
    assert not np.allclose(small().fit(graph).embedding_, plain.embedding_, atol=1e-2)
    equal = sp.csr_array(graph.adjacency.astype(bool)) * 7.0
    np.testing.assert_allclose(
        small().fit(Graph(graph.x, equal)).embedding_, plain.embedding_, atol=1e-5
    )


def test_an_edge_makes_its_target_attend_to_its_source():
    """Changing the features of a node changes the nodes that it points to, and only them."""
    graph = community_graph(5, directed=True)
    gate = small(structure=False).fit(graph)
    x = np.array(graph.x)
    x[7] += 5
    changed = Graph(x, graph.adjacency, directed=True)
    moved = np.abs(gate.transform(changed) - gate.embedding_).max(axis=1) > 1e-6
    reached, reach = np.zeros(80, dtype=bool), graph.adjacency.toarray() > 0
    reached[7] = True
    for _ in range(80):
        reached |= reach[reached].any(axis=0)
    assert moved[7]
    assert moved[reach[7]].all()
    assert not moved[~reached].any()
    assert (~reached).sum() > 1


def test_renumbering_the_nodes_changes_nothing_but_their_order():
    graph = community_graph(6)
    gate = small().fit(graph)
    order = np.random.default_rng(0).permutation(80)
    turned = graph.subgraph(graph.ids[order])
    np.testing.assert_allclose(gate.transform(turned), gate.embedding_[order], atol=1e-5)


@pytest.mark.parametrize("n", [80, 240])
def test_nodes_in_another_order_have_the_same_vectors_and_errors(n):
    """Of 240 nodes, structure factors are found by iteration, from numbers drawn by id."""
    graph = community_graph(6, n=n)
    order = np.random.default_rng(0).permutation(n)
    turned = graph.subgraph(graph.ids[order])
    one, other = (small(dtype="float64").fit(each) for each in (graph, turned))
    # In double precision; gaps between singular values enlarge rounding.
    np.testing.assert_allclose(other.embedding_, one.embedding_[order], atol=1e-7)
    errors, others = (gate.encode(each) for gate, each in ((one, graph), (other, turned)))
    np.testing.assert_allclose(others.feature_errors(), errors.feature_errors()[order], atol=1e-7)


def test_rows_of_some_nodes():
    graph = community_graph(7)
    gate = small().fit(graph)
    assert_equal_to_rounding(gate.transform(graph, nodes=[5, 2]), gate.embedding_[[5, 2]])
    assert gate.transform(graph, nodes=[]).shape == (0, 6)
    with pytest.raises(InputError, match="no node with id 99"):
        gate.transform(graph, nodes=[99])


def test_data_frames_are_indexed_by_id():
    graph = community_graph(7, ids=[f"n{at}" for at in range(80)])
    frame = small().set_output(transform="pandas").fit_transform(graph)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == graph.ids.tolist()
    assert frame.columns[0] == "lineargate0"


def test_features_with_an_adjacency_are_a_graph():
    graph = community_graph(8)
    gate = small().fit(graph.x, adjacency=graph.adjacency)
    assert_equal_to_rounding(gate.embedding_, small().fit(graph).embedding_, 10)
    assert_equal_to_rounding(gate.transform(graph.x, adjacency=graph.adjacency), gate.embedding_)
    sparse = small().fit(sp.csr_array(graph.x), adjacency=graph.adjacency)
    assert_equal_to_rounding(sparse.embedding_, gate.embedding_, 10)


def test_pipeline_and_clone():
    graph, y = community_graph(9), np.arange(80) % 4
    pipeline = Pipeline([("gate", small()), ("probe", LogisticRegression())])
    assert pipeline.fit(graph, y).score(graph, y) > 0.8
    fresh = clone(pipeline.named_steps["gate"])
    assert not hasattr(fresh, "model_")
    assert same_bytes(fresh.fit(graph).embedding_, pipeline.named_steps["gate"].embedding_)


# --- seeds ---------------------------------------------------------------------------------------


def test_random_states():
    graph = community_graph(10)
    one, again, other = (small(random_state=seed).fit(graph) for seed in (3, 3, 4))
    assert same_bytes(one.embedding_, again.embedding_)
    assert not same_bytes(one.embedding_, other.embedding_)
    assert one.report_ == again.report_
    state = np.random.RandomState(1)
    first, second = (small(random_state=state).fit(graph) for _ in range(2))
    assert first.seed_ != second.seed_
    assert same_bytes(small(random_state=first.seed_).fit(graph).embedding_, first.embedding_)
    assert small(random_state=2**32 - 1).fit(graph).predict_links(n=1)[1].shape == (1,)


def test_the_global_generators_are_neither_read_nor_changed():
    graph, found = community_graph(11), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
        gate = small().fit(graph)
        gate.predict_links(n=3)
        found.append(gate.embedding_)
        after = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
        assert before == after
    assert same_bytes(*found)


def test_fitting_again_forgets_everything():
    one, other = community_graph(1), community_graph(2, n=60, f=4, directed=True)
    again = small().fit(one).fit(other)
    assert same_bytes(again.embedding_, small().fit(other).embedding_)
    assert again.report_ == small().fit(other).report_
    assert again.fit(Graph(one.x)).decoder_ is None


def test_labels_and_splits_do_not_reach_fit():
    graph = community_graph(12)
    plain = small().fit(graph)
    mask = np.arange(80) < 20
    labelled = Graph(
        graph.x, graph.adjacency, labels=list("abcd") * 20, splits={"train": mask, "test": ~mask}
    )
    for gate in (small().fit(labelled), small().fit(graph, y=np.arange(80))):
        assert same_bytes(gate.embedding_, plain.embedding_)
        assert gate.report_ == plain.report_


def test_hidden_nodes_do_not_reach_fit():
    graph = community_graph(13)
    hidden = np.arange(60, 80)
    x = np.array(graph.x)
    x[hidden] += 100
    gates = [small().fit(Graph(each, graph.adjacency).without(hidden)) for each in (graph.x, x)]
    assert same_bytes(gates[0].embedding_, gates[1].embedding_)
    assert set(gates[0].model_.structure.ids.tolist()) == set(range(60))


# --- graphs of every kind ------------------------------------------------------------------------


def attributed(**columns) -> Graph:
    rng = np.random.default_rng(0)
    table = {
        "size": rng.normal(5, 2, 80),
        "kind": rng.choice(["a", "b", "c"], 80),
        "words": [[f"w{w}" for w in rng.integers(0, 9, 3)] for _ in range(80)],
        "missing": [None if at % 3 else at for at in range(80)],
        "flag": rng.random(80) < 0.5,
    }
    return Graph(None, community_graph(1).adjacency, attributes=table | columns)


GRAPHS = {
    "attributes": attributed(),
    "edges only": Graph(adjacency=community_graph(1).adjacency),
    "edges only, directed": Graph(adjacency=community_graph(1).adjacency, directed=True),
    "no edges": Graph(community_graph(1).x),
    "words": word_graph(1),
    "words without edges": Graph(word_graph(1).x),
    "one node": Graph([[1.0, 2.0]]),
    "one node without features": Graph(adjacency=[[0]]),
    "two nodes": Graph([[1.0, 2.0], [3.0, 5.0]], [[0, 1], [1, 0]]),
    "two nodes apart": Graph([[1.0, 2.0], [3.0, 5.0]]),
    "one feature": community_graph(1, f=1),
    "constant": community_graph(1, x=np.full((80, 3), 0.1)),
    "zero": community_graph(1, x=np.zeros((80, 3))),
    "zero, sparse": community_graph(1, x=sp.csr_array((80, 600))),
    "huge": community_graph(1, x=1e30 * np.array(community_graph(1).x)),
    "tiny": community_graph(1, x=1e-30 * np.array(community_graph(1).x)),
    "few nodes, many features": community_graph(1, n=5, f=700, degree=2),
    "complete": Graph(np.eye(30), np.ones((30, 30))),
    "one edge, isolated nodes": Graph.from_edges(np.eye(9), [(0, 1)]),
}


@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
@pytest.mark.parametrize(("structure", "dtype"), [(True, "float32"), (False, "float64")])
@pytest.mark.parametrize("kind", GRAPHS)
def test_every_graph_is_embedded(kind, structure, dtype):
    graph = GRAPHS[kind]
    gate = LinearGATE(random_state=0, structure=structure, dtype=dtype).fit(graph)
    z = gate.embedding_
    assert len(z) == graph.n_nodes
    assert z.shape[1] <= min(128, graph.n_nodes)
    assert np.isfinite(z).all()
    assert_equal_to_rounding(gate.transform(graph), z)
    rebuilt = gate.reconstruct(graph)
    assert rebuilt.shape == (graph.n_nodes, gate.n_features_in_)
    assert np.isfinite(rebuilt).all()
    described = graph.x is not None or graph.attributes is not None
    assert (gate.report_.r2 is not None) == described
    assert np.isfinite([gate.report_.r2 or 0, gate.report_.strength]).all()
    assert all(gate.report_.sentences())


@pytest.mark.parametrize("factor", [1e30, 1e-30])
def test_the_unit_of_features_does_not_matter(factor):
    graph = community_graph(1)
    other = Graph(factor * np.array(graph.x), graph.adjacency)
    found = small(n_components=500).fit(other).embedding_
    expected = small(n_components=500).fit(graph).embedding_
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_nodes_with_equal_features_differ_by_their_place():
    plain = community_graph(1, x=np.ones((80, 2)))
    with pytest.warns(InputWarning, match="80 of 80 nodes have the same vector as at least 9"):
        assert (small(structure=False).fit(plain).embedding_ == 0).all()
    assert len(np.unique(small().fit(plain).embedding_.round(4), axis=0)) > 40


def test_attributes_are_encoded_as_learned_in_fit():
    graph = attributed()
    one = small(weights=None).fit(graph)
    x = one.encoder_.transform(graph.attributes)
    encoded = small(weights=None).fit(Graph(x, graph.adjacency))
    assert_equal_to_rounding(encoded.embedding_, one.embedding_, 10)
    gate = small().fit(graph)  # each column counts by itself
    unscaled = small(scale=False).fit(graph)
    assert not same_bytes(unscaled.embedding_, gate.embedding_)
    assert_equal_to_rounding(gate.score_edges([(1, 2)], graph), gate.score_edges([(1, 2)]))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_components": 0}, "n_components == 0, must be >= 1"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_components": None}, "n_components"),
        ({"structure": 1}, "structure must be an instance of"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 2**32}, "random_state == 4294967296, must be <= 4294967295"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_impossible_settings_are_refused_by_fit(wrong, words):
    with pytest.raises(InputError, match=words):
        small(**wrong).fit(community_graph(1))


def test_graphs_of_another_kind_are_refused():
    gate = small().fit(community_graph(1))
    for other, words in [
        (community_graph(1, f=3), "has 3 features, but LinearGATE is expecting 10"),
        (community_graph(1, directed=True), r"Graph\.to_undirected\(\)"),
        (community_graph(1, weighted=True), r"Graph\.to_unweighted\(\)"),
        (attributed(), "fitted on features, but the graph has attributes"),
    ]:
        for use in (gate.transform, gate.reconstruct, gate.predict_links):
            with pytest.raises(InputError, match=words):
                use(other)
        with pytest.raises(InputError, match=words):
            gate.score_edges([(0, 1)], other)


def test_everything_needs_a_fitted_estimator():
    graph, gate = community_graph(1), small()
    for use in (
        lambda: gate.transform(graph),
        lambda: gate.reconstruct(graph),
        lambda: gate.score_edges([(0, 1)]),
        gate.predict_links,
    ):
        with pytest.raises(NotFittedError):
            use()


# --- unseen nodes --------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_a_new_node_with_known_neighbors_has_a_place(directed):
    graph = community_graph(14, directed=directed)
    hidden = [11, 40]
    gate = small(dtype="float64").fit(graph.without(hidden))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownNodesWarning)
        assert gate.transform(graph).shape == (80, 6)
    v = np.zeros((80, 78))
    v[graph.rows(gate.model_.structure.ids)] = gate.model_.structure.vectors
    found = gate._states(graph)["factors"].whole().numpy()
    np.testing.assert_allclose(found, normalized(graph) @ v, atol=1e-12)
    assert (np.abs(found[hidden]).sum(axis=1) > 0).all()


def test_nodes_without_known_neighbors_have_none(recwarn):
    graph = community_graph(14)
    gate = small().fit(graph)
    other = Graph(graph.x, graph.adjacency, ids=[f"new {at}" for at in range(80)])
    message = r"(79 of 80|2 of 2) nodes have no neighbor that the model knows.*use structure=False"
    for use in (
        lambda: gate.transform(other),
        lambda: gate.reconstruct(other),
        lambda: gate.score_edges([("new 1", "new 2")], other),
        lambda: gate.predict_links(other, n=3),
    ):
        with pytest.warns(UnknownNodesWarning, match=message):
            assert np.isfinite(np.asarray(use()[-1])).all()
    states = gate._states(other)
    assert (states["factors"].whole() == 0).all()
    # All but the place is as it was.
    known = gate._states(graph)
    for name in ("own", "context", "shallow", "deep"):
        np.testing.assert_allclose(states[name].whole(), known[name].whole(), atol=1e-6)


def test_only_nodes_that_are_asked_for_are_warned_of():
    graph = community_graph(14)
    gate = small().fit(graph.take(np.arange(75)))
    others = graph.adjacency.toarray()
    others[[78, 79]] = others[:, [78, 79]] = 0
    others[78, 79] = others[79, 78] = 1  # joined to each other only
    new = Graph(graph.x, others)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gate.transform(new, nodes=range(30))
        gate.score_edges([(1, 2)], new)
    with pytest.warns(UnknownNodesWarning, match=r"^1 of 2 nodes have no neighbor"):
        gate.transform(new, nodes=[7, 78])
    with pytest.warns(UnknownNodesWarning, match=r"^2 of 2 nodes"):
        gate.score_edges([(78, 79), (79, 78)], new)


def test_without_structure_other_graphs_are_embedded_without_a_warning():
    graph = community_graph(15)
    gate = small(structure=False).fit(graph)
    other = Graph(graph.x, graph.adjacency, ids=[f"new {at}" for at in range(80)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal_to_rounding(gate.transform(other), gate.embedding_)
        gate.score_edges([("new 1", "new 2")], other)
        gate.predict_links(other)
    assert gate.model_.structure is None


def test_a_model_fitted_without_edges_knows_no_places():
    graph = community_graph(16)
    gate = small().fit(Graph(graph.x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gate.transform(graph).shape == (80, 6)


# --- reconstruction ------------------------------------------------------------------------------


def test_without_edges_the_best_guess_is_the_mean():
    """What PCA without components reconstructs."""
    x = 50 + 20 * np.random.default_rng(0).normal(size=(40, 6))
    graph = Graph(x)
    found = small(dtype="float64").fit(graph).reconstruct(graph)
    pca = PCA(3).fit(x)
    expected = pca.inverse_transform(np.zeros((40, 3)))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_many_features_are_reconstructed_within_their_singular_vectors():
    rng = np.random.default_rng(0)
    x = 7 * rng.normal(size=(40, 5)) @ rng.normal(size=(5, 600))
    graph = Graph(x)
    found = small(dtype="float64").fit(graph).reconstruct(graph)
    svd = TruncatedSVD(5, random_state=0).fit(x)
    mean = svd.inverse_transform(svd.transform(x).mean(axis=0, keepdims=True))
    np.testing.assert_allclose(found, np.repeat(mean, 40, axis=0), atol=1e-8)


@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_reconstructions_are_in_the_units_of_the_features(kind):
    graph = community_graph(17, n=200) if kind == "numbers" else word_graph(17, n=200)
    if kind == "numbers":
        graph = Graph(1000 * np.array(graph.x) + 300, graph.adjacency)
    x = graph.x if kind == "numbers" else graph.x.toarray()
    rebuilt = small().fit(graph).reconstruct(graph)
    assert rebuilt.shape == x.shape
    errors = np.linalg.norm(rebuilt - x)
    assert errors < 0.95 * np.linalg.norm(x - x.mean(axis=0))


def test_a_graph_with_edges_is_reconstructed_from_its_context():
    graph = community_graph(18)
    gate = small(dtype="float64").fit(graph)
    states = gate._states(graph)
    center, scale = graph.x.mean(axis=0), np.abs(graph.x).max()
    # In fit, half of the nodes were masked.
    context = states["context"].whole()
    expected = scale * (0.5 * context @ gate.model_.reconstruction.weights).numpy() + center
    np.testing.assert_allclose(gate.reconstruct(graph), expected, rtol=1e-9)


def test_features_too_large_for_single_precision_come_back():
    x = 1e200 * np.random.default_rng(0).normal(size=(80, 4))
    graph = Graph(x, community_graph(1).adjacency)
    assert np.isfinite(small().fit(graph).reconstruct(graph)).all()


# --- links ---------------------------------------------------------------------------------------


def test_scores_are_probabilities_by_id():
    graph = community_graph(19, n=150, ids=[f"n{at}" for at in range(150)])
    gate = small().fit(graph)
    edges = graph.ids[np.argwhere(np.triu(graph.adjacency.toarray()))]
    others = graph.ids[np.random.default_rng(0).integers(0, 150, (500, 2))]
    scores, random = gate.score_edges(edges), gate.score_edges(others)
    assert scores.shape == (len(edges),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores.mean() > random.mean() + 0.1
    np.testing.assert_allclose(gate.score_edges(edges[:, ::-1]), scores, rtol=1e-5)
    assert_equal_to_rounding(gate.score_edges(edges, graph), scores)
    rows = graph.rows(edges.ravel()).reshape(-1, 2)
    expected = gate.decoder_.probabilities(gate._states(graph, step=True), rows)
    assert_equal_to_rounding(scores, expected)
    assert gate.score_edges([]).shape == (0,)
    assert gate.score_edges([("n1", "n2")]).shape == (1,)


def test_proposed_links_are_missing_edges_and_have_the_scores_of_score_edges():
    graph = community_graph(19, n=150, ids=[f"n{at}" for at in range(150)])
    gate = small().fit(graph)
    pairs, scores = gate.predict_links(n=30)
    assert pairs.shape == (30, 2)
    assert set(pairs.ravel()) <= set(graph.ids)
    np.testing.assert_allclose(scores, gate.score_edges(pairs), rtol=1e-5)
    assert not graph.adjacency.toarray()[tuple(graph.rows(pairs.ravel()).reshape(-1, 2).T)].any()
    assert len(gate.predict_links()[0]) == 100
    same = gate.predict_links(graph, n=30)
    assert_equal_to_rounding(same[1], scores)  # pairs of nearly equal scores may change places


def test_hidden_edges_are_among_the_proposed():
    graph = community_graph(20, n=200, communities=20)
    gate = LinearGATE(random_state=0).fit(graph)
    pairs, _ = gate.predict_links(n=200)
    together = (pairs[:, 0] % 20 == pairs[:, 1] % 20).mean()
    assert together > 0.7  # of random pairs 0.05


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(0, 99)], "no node with id 99"),
        ([(0, "a")], "no node with id 'a'"),
        ([(0, 1, 2)], "edges must be pairs"),
        (np.zeros((2, 5), dtype=int), r"must have shape \(E, 2\)"),
        (np.zeros(4, dtype=int), r"must have shape \(E, 2\)"),
        (5, "must be a list"),
        ("ab", "must be a list"),
        ([0, 1], "edges must be pairs"),
        ([([], {})], "no node with id"),
        ([(True, False)] * 40, "no node with id True"),
        (np.array([[0.5, 1.0]]), "no node with id 0.5"),
    ],
    ids=str,
)
def test_pairs_that_cannot_be_scored(pairs, words):
    gate = small().fit(community_graph(1))
    with pytest.raises(InputError, match=words):
        gate.score_edges(pairs)


def test_pairs_are_ids_where_ids_are_other_integers():
    graph = community_graph(1)
    turned = Graph(graph.x, graph.adjacency, ids=np.arange(80)[::-1])
    gate = small().fit(turned)
    rows = np.array([[0, 1], [5, 70]])
    assert same_bytes(gate.score_edges(79 - rows), gate.pair_scores(rows))
    shifted = small().fit(Graph(graph.x, graph.adjacency, ids=np.arange(80) + 100))
    with pytest.raises(UnknownNodesError, match="no node with id 0"):
        shifted.score_edges(rows)


@pytest.mark.parametrize("n", [0, -1, 2.5, None, "5", True])
def test_impossible_numbers_of_links(n):
    gate = small().fit(community_graph(1))
    with pytest.raises(InputError, match="n "):
        gate.predict_links(n=n)


@pytest.mark.parametrize(
    "graph",
    [
        Graph(np.eye(9)),
        community_graph(1, n=30, degree=5),
        Graph(np.eye(30), np.ones((30, 30))),
    ],
    ids=["no edges", "few edges", "no free pairs"],
)
def test_too_little_to_learn_how_likely_an_edge_is(graph):
    gate = small().fit(graph)
    assert gate.decoder_ is None
    assert gate.report_.edge_auc is None
    for use in (lambda: gate.score_edges([(0, 1)]), gate.predict_links):
        with pytest.raises(InputError, match=r"too few edges, or too few pairs.* 200 edges") as e:
            use()
        assert e.value.about == "edges"


def test_a_complete_graph_has_no_links_to_propose():
    graph = community_graph(1)
    gate = small().fit(graph)
    pairs, scores = gate.predict_links(Graph(graph.x, np.ones((80, 80))))
    assert (pairs.shape, scores.shape) == ((0, 2), (0,))
    assert len(gate.predict_links(n=10**9)[0]) == 80 * 79 // 2 - graph.n_edges


def test_hidden_edges_do_not_describe_nodes_that_have_only_edges():
    """The AUC of the report is that of edges the decoder has not seen in any form."""
    rng = np.random.default_rng(0)
    edges = np.triu(rng.random((120, 120)) < 0.08, 1)  # nothing can be learned from these
    gate = LinearGATE(random_state=0).fit(Graph(None, edges))
    assert gate.report_.edge_auc < 0.7
    assert gate.report_.r2 is None
    assert gate.report_.sentences()[0] == "Nodes are described by their edges alone."
