"""Link splits and their scores, from their definitions."""

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgate import Graph, InputError, LinearGATE, evaluate_links
from graphgate.datasets.synthetic import community_graph
from graphgate.estimators.base import inner_products
from graphgate.graph.link_split import given_split, split_links
from graphgate.tasks.link_metrics import METRICS, link_quality
from graphgate.tasks.links import score_split, with_hard_negatives

pytestmark = pytest.mark.numerical


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.tolist()}


@settings(max_examples=80)
@given(graphs(), st.integers(0, 2**20), st.floats(0, 0.4), st.floats(0.05, 0.5))
def test_a_split_is_disjoint_and_complete(graph, seed, val, test):
    adjacency = graph.adjacency.toarray()
    connected = keys(np.argwhere(adjacency))
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - len(connected)
    n_val, n_test = int(val * len(connected)), int(test * len(connected))
    try:
        split = split_links(graph, val_size=val, test_size=test, random_state=seed)
    except InputError:
        assert n_test == 0 or free < n_val + n_test
        return
    parts = [split.val_edges, split.val_non_edges, split.test_edges, split.test_non_edges]
    assert [len(part) for part in parts] == [n_val, n_val, n_test, n_test]
    left = keys(np.argwhere(split.graph.adjacency.toarray()))
    groups = [left, *map(keys, parts)]
    assert sum(map(len, groups)) == len(set().union(*groups))  # pairwise disjoint
    assert left | groups[1] | groups[3] == connected
    assert not (groups[2] | groups[4]) & connected
    for u, v in np.concatenate([split.val_edges, split.test_edges]):
        assert adjacency[u, v] > 0
    for u, v in np.concatenate([split.val_non_edges, split.test_non_edges]):
        assert u != v
    kept = split.graph.adjacency.toarray()
    assert np.array_equal(kept[kept > 0], adjacency[kept > 0])  # other weights are unchanged
    assert (kept == kept.T).all() or graph.directed
    assert split.graph.ids.tolist() == graph.ids.tolist()
    again = split_links(graph, val_size=val, test_size=test, random_state=seed)
    assert np.array_equal(again.val_edges, split.val_edges)
    assert np.array_equal(again.test_non_edges, split.test_non_edges)


def test_non_edges_of_a_large_graph_are_drawn_uniformly():
    n = 400
    ring = Graph.from_edges(np.ones((n, 1)), [(i, (i + 1) % n) for i in range(n)])
    ends = np.concatenate([split_links(ring, random_state=s).test_non_edges for s in range(30)])
    assert len(ends) == 30 * 40
    apart = np.abs(ends[:, 0] - ends[:, 1])
    assert not np.isin(apart, [0, 1, n - 1]).any()
    assert abs(ends.mean() - n / 2) < 10
    assert 0.4 < (ends[:, 0] < ends[:, 1]).mean() < 0.6  # either order is as frequent


def test_links_are_scored_by_inner_products():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20, 3)).astype(np.float32)
    edges, others = rng.integers(0, 20, (30, 2)), rng.integers(0, 20, (25, 2))
    truth = [1] * 30 + [0] * 25
    both = [sum(float(z[u, k]) * float(z[v, k]) for k in range(3)) for u, v in [*edges, *others]]
    found = link_quality(inner_products(z, edges), inner_products(z, others))
    assert found["auc"] == pytest.approx(100 * roc_auc_score(truth, both), abs=1e-4)
    assert found["ap"] == pytest.approx(100 * average_precision_score(truth, both), abs=1e-4)
    wins = [(a > b) + (a == b) / 2 for a in both[:30] for b in both[30:]]
    assert found["auc"] == pytest.approx(100 * np.mean(wins), abs=1e-4)


@pytest.mark.parametrize(
    ("val", "test", "words"),
    [
        (0.5, 0.5, "must be fractions whose sum is below 1"),
        (0.1, 0.0, "test_size must be above 0"),
        (-0.1, 0.5, "val_size=-0.1 and test_size=0.5"),
        (0.0, 0.001, "hold out a larger fraction"),
    ],
)
def test_impossible_fractions(val, test, words):
    with pytest.raises(InputError, match=words):
        split_links(random_graph(0), val_size=val, test_size=test)


def test_a_complete_graph_has_no_non_edges():
    with pytest.raises(InputError, match="only 0 pairs of nodes have no edge"):
        split_links(Graph(np.ones((6, 1)), np.ones((6, 6))), test_size=0.2)


def test_edges_are_removed_in_both_directions():
    graph = Graph.from_edges(np.eye(4), [(0, 1), (1, 0), (1, 2), (2, 3)], directed=True)
    left = graph.without_edges([(1, 0), (3, 2), (0, 3)])
    assert np.argwhere(left.adjacency.toarray()).tolist() == [[1, 2]]
    assert graph.n_edges == 4
    assert left.directed
    assert graph.without_edges(np.empty((0, 2))).n_edges == 4


class Spy:
    """Embeds a node as its row of a fixed matrix, and keeps the graph it was fitted on."""

    z = np.random.default_rng(0).normal(size=(30, 5))

    def fit(self, graph: Graph) -> "Spy":
        self.seen, self.embedding_ = graph, self.z
        return self


def dots(z, pairs):
    return np.einsum("md,md->m", z[pairs[:, 0]], z[pairs[:, 1]], dtype=np.float64)


def labelled() -> Graph:
    edges = np.triu(np.random.default_rng(0).random((30, 30)) < 0.3, 1)
    return Graph(np.eye(30), edges, labels=[0, 1, 2] * 10)


def test_evaluate_links_trains_without_the_held_out_edges_and_labels():
    graph, spy = labelled(), Spy()
    scores = evaluate_links(graph, spy, val_size=0.2, test_size=0.3, random_state=4)
    split = split_links(graph, val_size=0.2, test_size=0.3, random_state=4)
    assert spy.seen.fingerprint() == split.graph.fingerprint()
    assert spy.seen.labels is None
    test = link_quality(dots(Spy.z, split.test_edges), dots(Spy.z, split.test_non_edges))
    val = link_quality(dots(Spy.z, split.val_edges), dots(Spy.z, split.val_non_edges))
    expected = test | {f"val_{name}": value for name, value in val.items()}
    assert {name: scores[name] for name in expected} == expected
    assert evaluate_links(graph, spy, val_size=0)["val_auc"] is None


def test_the_default_estimator_scores_pairs_by_its_structure_decoder():
    graph = community_graph(200, 800, 20)
    split = split_links(graph, random_state=3)
    gate = LinearGATE(random_state=3).fit(split.graph.reveal())
    found = evaluate_links(graph, random_state=3)
    test = link_quality(gate.score_edges(split.test_edges), gate.score_edges(split.test_non_edges))
    assert (found["auc"], found["ap"]) == (test["auc"], test["ap"])


def test_a_classifier_has_no_vectors():
    class Classes(Spy):
        def predict(self, graph):
            return None

    with pytest.raises(InputError, match="Classes is a classifier and gives no vectors"):
        evaluate_links(labelled(), Classes())


# --- metrics -------------------------------------------------------------------------------------


def ranked_by_hand(edges, others, k):
    """Hits@k and MRR of scores, from the rank of every edge among its non-edges."""
    hits, reciprocals = [], []
    for edge, own in zip(edges, others, strict=True):
        above = sum(float(o) > float(edge) for o in own)
        equal = sum(float(o) == float(edge) for o in own)
        hits.append(above + equal < k)
        reciprocals.append(1 / (1 + above + equal / 2))
    return 100 * np.mean(hits), 100 * np.mean(reciprocals)


@pytest.mark.parametrize("own", [False, True])
def test_metrics_are_those_of_a_ranking_by_hand(own):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 40, 60) / 4  # with ties
    others = rng.integers(-5, 30, (60, 120) if own else 120) / 4
    found = link_quality(edges, others)
    each = others if own else [others] * 60
    for k in (10, 50, 100):
        hits, mrr = ranked_by_hand(edges, each, k)
        assert found[f"hits@{k}"] == pytest.approx(hits, abs=1e-3)
        assert found["mrr"] == pytest.approx(mrr, abs=1e-3)
    truth = np.repeat([1, 0], [60, others.size])
    both = np.concatenate([edges, others.ravel()])
    assert found["auc"] == pytest.approx(100 * roc_auc_score(truth, both), abs=1e-3)
    assert found["ap"] == pytest.approx(100 * average_precision_score(truth, both), abs=1e-3)


def test_metrics_without_enough_pairs():
    assert set(link_quality(np.empty(0), np.ones(5)).values()) == {None}
    few = link_quality(np.array([3.0, 1.0]), np.array([2.0] * 10))
    assert few["hits@10"] == 50.0
    assert few["hits@50"] is None
    missing = np.array([2.0, np.nan, 0.5])
    assert link_quality(np.array([1.0]), missing) == link_quality(np.array([1.0]), missing[[0, 2]])


def test_pairs_of_nodes_that_lost_all_edges_are_left_out():
    graph = Graph.from_edges(np.eye(12), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (7, 8)])
    split = given_split(graph, np.array([[7, 8], [0, 1], [2, 3]]))
    spy = Spy()
    spy.embedding_ = np.random.default_rng(1).normal(size=(12, 4))
    found = score_split(spy, split)
    lost = {7, 8, 0}  # 1, 2 and 3 keep an edge; 9, 10 and 11 never had one
    kept = np.array([[2, 3]])
    others = [pair for pair in split.test_non_edges.tolist() if not lost & set(pair)]
    expected = link_quality(
        dots(spy.embedding_, kept), dots(spy.embedding_, np.array(others).reshape(-1, 2))
    )
    assert {name: found[f"connected_{name}"] for name in METRICS} == expected


def test_several_splits_give_means_and_standard_deviations():
    graph = labelled()
    runs = [evaluate_links(graph, Spy(), random_state=seed) for seed in (5, 6, 7)]
    found = evaluate_links(graph, Spy(), random_state=5, n_splits=3)
    for name in METRICS:
        values = [run[name] for run in runs]
        if None in values:
            assert found[name] is found[f"{name}_std"] is None
        else:
            assert found[name] == pytest.approx(np.mean(values), abs=1e-3)
            assert found[f"{name}_std"] == pytest.approx(np.std(values, ddof=1), abs=1e-3)
    assert found["auc_std"] > 0


# --- splits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_the_latest_edges_are_held_out(directed):
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(12) for j in range(i + 1, 12)])
    pairs = rng.permutation(pairs)[:40]
    graph = Graph.from_edges(np.eye(12), pairs, directed=directed)
    days = np.datetime64("2024-01-01") + np.arange(40)
    # Listed again later, and the other way round: the first time counts.
    listed = np.concatenate([pairs, pairs[:1, ::-1]])
    times = np.concatenate([days, [np.datetime64("2030-01-01")]])
    split = split_links(graph, val_size=0.1, test_size=0.25, times=(listed, times))
    assert keys(split.test_edges) == keys(pairs[30:])
    assert keys(split.val_edges) == keys(pairs[26:30])
    spy = Spy()
    evaluate_links(graph, spy, val_size=0.1, test_size=0.25, times=(pairs, days))
    assert spy.seen.fingerprint() == split.graph.fingerprint()
    with pytest.raises(InputError, match="has no time; give one for every edge"):
        split_links(graph, times=(pairs[1:], days[1:]))


def test_given_edges_are_held_out_and_may_have_been_removed_before():
    graph, spy = labelled(), Spy()
    edges = np.argwhere(np.triu(graph.adjacency.toarray()))[[3, 8, 20, 31]]
    evaluate_links(graph, spy, test_edges=edges[:3], val_edges=edges[3:])
    assert spy.seen.fingerprint() == graph.without_edges(edges).reveal().fingerprint()
    removed = graph.without_edges(edges)
    one, other = given_split(graph, edges), given_split(removed, edges)
    assert np.array_equal(one.test_non_edges, other.test_non_edges)
    assert not keys(one.test_non_edges) & keys(np.argwhere(graph.adjacency.toarray()))
    for wrong, words in (
        ([(1, 1)], "joins a node to itself"),
        ([(1, 2), (2, 1)], "listed more than once"),
        (np.empty((0, 2), dtype=int), "test_edges are empty"),
    ):
        with pytest.raises(InputError, match=words):
            evaluate_links(graph, Spy(), test_edges=wrong)


@pytest.mark.parametrize(("people", "things"), [(15, 8), (400, 300)])
@pytest.mark.parametrize("directed", [False, True])
def test_non_edges_join_nodes_of_the_types_that_edges_join(people, things, directed):
    rng = np.random.default_rng(0)
    n = people + things
    types = np.repeat(["person", "thing"], [people, things])
    bought = np.stack([rng.integers(0, people, n), rng.integers(people, n, n)], axis=1)
    knows = rng.integers(0, people, (n, 2))
    graph = Graph.from_edges(np.ones((n, 1)), np.concatenate([bought, knows]), directed=directed)
    split = split_links(graph, val_size=0.2, test_size=0.2, node_types=types)
    for edges, others in (
        (split.val_edges, split.val_non_edges),
        (split.test_edges, split.test_non_edges),
    ):
        assert (types[edges] == types[others]).all()
        assert len(keys(others)) == len(edges)
        assert not keys(others) & keys(np.argwhere(graph.adjacency.toarray()))
        assert (others[:, 0] != others[:, 1]).all()


def test_too_few_pairs_of_the_types():
    full = Graph(np.ones((8, 1)), np.kron([[0, 1], [1, 0]], np.ones((4, 4))))
    with pytest.raises(InputError, match="of the types 'a' and 'b' have no edge"):
        split_links(full, test_size=0.5, node_types=np.repeat(["a", "b"], 4))
    with pytest.raises(InputError, match="give one per node"):
        evaluate_links(full, Spy(), node_types=["a"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"negatives": "hard"}, "negatives must be one of random, heart"),
        ({"val_edges": [(0, 1)]}, "val_edges are given without test_edges"),
        ({"test_edges": [(0, 1)], "times": ([(0, 1)], [3])}, "either test_edges or times"),
    ],
)
def test_contradictory_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        evaluate_links(labelled(), Spy(), **arguments)


def test_hard_negatives_are_scored_per_edge():
    graph, spy = labelled(), Spy()
    found = evaluate_links(graph, spy, negatives="heart", random_state=2)
    split = with_hard_negatives(split_links(graph, random_state=2), graph, None, 2)
    assert split.test_non_edges.ndim == 3
    flat = split.test_non_edges.reshape(-1, 2)
    test = link_quality(
        dots(Spy.z, split.test_edges),
        dots(Spy.z, flat).reshape(split.test_non_edges.shape[:2]),
    )
    assert {name: found[name] for name in METRICS} == test
