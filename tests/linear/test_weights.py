"""Sources and views count for what the rest of the data corroborates."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from linear_graphs import community_graph, word_graph
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.planted_graphs import PLANTED, irrelevant_columns
from graphgate import Graph, InputError, LinearGATE
from graphgate.linear.evidence import Evidence, Prediction, SourceEvidence
from graphgate.linear.matrices import neighbor_means
from graphgate.linear.weights import (
    ENOUGH,
    FLOOR,
    LOUDEST,
    QUIETEST,
    averaging,
    ramp,
    supported,
    view_weights,
)

pytestmark = pytest.mark.numerical

BASE = {"own": 0.5, "context": 1.0, "shallow": 1.0, "deep": 1.0, "factors": 0.5}
NOTHING = Prediction(0.0, 0.0)
CLEAR = Prediction(0.3, 100.0)


def fitted(graph: Graph, **settings) -> LinearGATE:
    return LinearGATE(32, random_state=0, progress=False, **settings).fit(graph)


def source_weights(gate: LinearGATE) -> dict[str, float]:
    return {source.name: source.weight for source in gate.model_.coordinates.sources}


def nmi(gate: LinearGATE, groups: np.ndarray) -> float:
    z = gate.embedding_ / np.linalg.norm(gate.embedding_, axis=1, keepdims=True)
    clusters = KMeans(4, n_init=4, random_state=0).fit_predict(z)
    return normalized_mutual_info_score(groups, clusters)


@pytest.mark.parametrize("kind", ["number", "category"])
@pytest.mark.parametrize("n_columns", [1, 5, 30])
def test_irrelevant_columns_do_not_drown_the_edges(n_columns, kind):
    graph, groups = irrelevant_columns(n_columns, kind)
    gate = fitted(graph)
    assert max(source_weights(gate).values()) < 0.1
    assert gate.model_.weights["deep"] < 0.1 < gate.model_.weights["factors"]
    assert nmi(gate, groups) > 0.9


def test_irrelevant_columns_do_not_drown_columns_that_agree():
    graph, groups = irrelevant_columns(30, edges=False, informative=4)
    gate = fitted(graph)
    weights = source_weights(gate)
    assert min(weights[f"good {at}"] for at in range(4)) > 0.9
    assert max(weights[f"noise {at}"] for at in range(30)) < 0.1
    alone = irrelevant_columns(0, edges=False, informative=4)
    assert nmi(gate, groups) > 0.95 * nmi(fitted(alone.graph), alone.groups)


def test_own_features_are_raised_where_edges_join_unlike_nodes():
    unlike = fitted(PLANTED["unlike neighbors"](0).graph).model_.weights
    alike = fitted(PLANTED["missing values"](0).graph).model_.weights
    turned = BASE | {"own": 0.5 * LOUDEST, "context": QUIETEST, "deep": QUIETEST}
    scale = unlike["shallow"]
    assert unlike == pytest.approx(
        {n: scale * w for n, w in turned.items()} | {"factors": 0.5}, rel=0.05
    )
    assert alike == pytest.approx(BASE, rel=0.05)
    for weights in (unlike, alike):  # structure keeps its share
        assert sum(w * w for w in weights.values()) == pytest.approx(
            sum(w * w for w in BASE.values())
        )


def test_weights_may_be_given_by_name():
    graph = irrelevant_columns(2).graph
    gate = fitted(graph, weights={"noise 0": 1, "deep": 0.25, "factors": 2})
    assert source_weights(gate) == {"noise 0": 1.0, "noise 1": FLOOR}
    assert gate.model_.weights["deep"] == 0.25
    assert gate.model_.weights["factors"] == 2
    chosen = fitted(graph).model_.weights
    assert gate.model_.weights["shallow"] > 10 * chosen["shallow"]  # a column is brought back


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"far": 1}, "neither a view nor a column; the names are"),
        ({"own": 0}, "weight of 'own' must be a positive number, not 0"),
        ({"own": "2"}, "must be a positive number"),
        ({"own": True}, "must be a positive number"),
        ({"own": float("nan")}, "must be a positive number"),
        ([1], "must be None, 'auto' or a mapping"),
        ("all", "must be None, 'auto' or a mapping of names to numbers, not 'all'"),
    ],
)
def test_other_weights_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        fitted(irrelevant_columns(1).graph, weights=wrong)


@pytest.mark.parametrize("words", [False, True])
def test_weights_may_be_the_same_for_all_graphs(words, monkeypatch):
    graph = word_graph(1) if words else community_graph(1)
    given = fitted(graph, weights=BASE | {"x": 1}).embedding_

    def refused(*_):
        raise AssertionError("evidence is computed")

    monkeypatch.setattr("graphgate.linear.model.gathered", refused)
    gate = fitted(graph, weights=None)
    assert gate.get_params()["weights"] is None
    assert gate.embedding_.tobytes() == given.tobytes()
    assert gate.model_.weights == BASE
    assert gate.report_.sources == {}


def test_columns_of_attributes_may_be_one_matrix():
    graph = irrelevant_columns(2).graph
    gate = fitted(graph, weights=None)
    encoded = Graph(gate.encoder_.transform(graph.attributes), graph.adjacency, ids=graph.ids)
    assert gate.embedding_.tobytes() == fitted(encoded, weights=None).embedding_.tobytes()
    assert source_weights(gate) == {"x": 1.0}
    assert gate.model_.evidence is None


def grouped(form=np.asarray) -> tuple[Graph, np.ndarray]:
    """Features of which some name the group and the others are noise, in random order."""
    planted = irrelevant_columns(0)
    rng = np.random.default_rng(0)
    good = np.eye(4)[planted.groups] + 0.3 * rng.normal(size=(len(planted.groups), 4))
    noise = 20 * rng.normal(size=(len(good), 5))
    order = rng.permutation(9)
    names = np.array([7] * 4 + [3] * 5)[order]
    x = np.concatenate([good, noise], axis=1)[:, order]
    return Graph(form(x), planted.graph.adjacency), names


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_groups_of_features_are_weighed_one_by_one(form, tmp_path):
    graph, names = grouped(form)
    gate = fitted(graph, groups=names)
    assert source_weights(gate) == {
        "7": pytest.approx(1, abs=0.01),
        "3": pytest.approx(FLOOR, abs=0.01),
    }
    gate.save(tmp_path / "model.safetensors")
    again = LinearGATE.load(tmp_path / "model.safetensors")
    assert again.get_params()["groups"] == [str(name) for name in names]
    assert (again.transform(graph) == gate.transform(graph)).all()
    z = gate.model_.coordinates.transform(graph.x)
    back = gate.model_.coordinates.inverse_transform(z, graph.x)
    truth = graph.x if form is np.asarray else graph.x.toarray()
    np.testing.assert_allclose(back, truth, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"groups": [1, 2]}, "one name or integer per feature, 9 in all, got an array of shape"),
        ({"groups": [0.5] * 9}, "one name or integer per feature"),
        ({"groups": ["a", ["b"]]}, "one name or integer per feature"),
        ({"groups": ["a"] * 9, "weights": None}, "with weights='auto' or some by name"),
    ],
)
def test_other_groups_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        fitted(grouped()[0], **settings)


def test_columns_of_attributes_need_no_groups():
    with pytest.raises(InputError, match="groups= is for features given as a matrix"):
        fitted(irrelevant_columns(1).graph, groups=["a"])


def test_factors_have_no_weight_without_structure():
    with pytest.raises(InputError, match="'factors', which is neither"):
        fitted(irrelevant_columns(1).graph, structure=False, weights={"factors": 1})


def test_structural_attributes_are_no_evidence():
    gate = fitted(irrelevant_columns(0).graph)
    assert gate.model_.evidence is None
    assert gate.model_.weights == BASE


def test_unseen_nodes_get_the_same_weights():
    graph = irrelevant_columns(3, informative=2).graph
    gate = fitted(graph.without(graph.ids[:20]))
    one, other = gate.transform(graph), gate.encode(graph)
    np.testing.assert_allclose(one, other.embedding, atol=1e-6)
    x = torch.from_numpy(np.asarray(gate.features(graph)))
    z = gate.model_.coordinates.transform(x.numpy())
    back = gate.model_.coordinates.inverse_transform(z, x.numpy())
    np.testing.assert_allclose(back, x, atol=1e-4)  # single precision, weights down to 0.02


def test_the_mean_of_neighbors_leaves_out_the_node_itself():
    adjacency = np.array([[1, 2, 0, 0], [2, 0, 6, 0], [0, 6, 0, 0], [0, 0, 0, 1.0]])
    graph = Graph(np.eye(4), adjacency)
    means = neighbor_means(graph, torch.float64).multiply(torch.eye(4, dtype=torch.float64))
    expected = [[0, 1, 0, 0], [0.25, 0, 0.75, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(means, expected)


# --- the rule ------------------------------------------------------------------------------------


def one(own=NOTHING, neighbors=NOTHING, structure=NOTHING, both=NOTHING, between=0.0):
    source = SourceEvidence(own, neighbors, structure, both)
    return Evidence((source,), ((between, 1.0, 1.0),), NOTHING)


@pytest.mark.parametrize("place", range(4))
def test_any_significant_prediction_supports_a_source(place):
    def weight(prediction: Prediction) -> float:
        return supported(SourceEvidence(*[NOTHING] * place, prediction, *[NOTHING] * (3 - place)))

    assert weight(CLEAR) == pytest.approx(1, abs=0.01)
    assert weight(Prediction(0.3, 2.9)) == weight(Prediction(-0.1, 100)) == FLOOR
    assert weight(Prediction(ENOUGH, 100)) == pytest.approx((1 + FLOOR) / 2)


def test_averaging_needs_neighbors_that_add_and_are_alike():
    added = {"own": Prediction(0.2, 9), "neighbors": CLEAR, "both": Prediction(0.4, 9)}
    assert averaging(one(**added, between=0.6), [1.0]) == 1
    assert averaging(one(**added, between=-0.6), [1.0]) == 0
    assert averaging(one(**added | {"own": Prediction(0.4, 9)}, between=0.6), [1.0]) == 0
    assert averaging(one(**added | {"neighbors": Prediction(0.3, 3)}, between=0.6), [1.0]) == 0
    assert averaging(one(), [1.0]) == 0


def test_views_of_features_without_support_give_way_to_structure():
    weights = view_weights(BASE, one(), [FLOOR])
    assert weights["factors"] == BASE["factors"]
    assert weights["deep"] == pytest.approx(FLOOR, rel=0.05)
    assert weights["own"] == pytest.approx(0.5 * FLOOR, rel=0.05)
    alone = {name: weight for name, weight in BASE.items() if name != "factors"}
    weights = view_weights(alone, one(), [FLOOR])  # there is nothing else
    assert sum(w * w for w in weights.values()) == pytest.approx(sum(w * w for w in alone.values()))


def test_rounding_does_not_flip_weights():
    values = np.linspace(-1, 2, 301)
    steps = np.diff([ramp(value, (0.0, 1.0)) for value in values])
    assert (steps >= 0).all()
    assert steps.max() < 1.51 / 100
    assert (ramp(-5, (0, 1)), ramp(5, (0, 1))) == (0, 1)
