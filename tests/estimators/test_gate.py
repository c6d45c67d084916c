"""GATE as users hold it."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from graphs import graphs, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import assert_equal_to_rounding
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.planted_graphs import irrelevant_columns
from graphgate import (
    GATE,
    AttributeEncoder,
    Attributes,
    Graph,
    InputWarning,
    LinearGATE,
    load_dataset,
)
from graphgate.errors import DivergenceError, InputError, TrainingWarning
from graphgate.estimators.hyperparameters import PRESETS
from graphgate.nn.autoencoder import GATEModel
from graphgate.training.loop import train
from graphgate.training.objective import training_objective

# Most fits here stop long before the loss has settled.
pytestmark = [
    pytest.mark.numerical,
    pytest.mark.filterwarnings("ignore:the loss was still falling"),
]


def small(**settings) -> GATE:
    return GATE(
        **{"dims": (6, 4), "epochs": 15, "learning_rate": 0.01, "random_state": 0} | settings
    )


@pytest.mark.filterwarnings("ignore:.*is fitted without edges")
@pytest.mark.filterwarnings("ignore:.*nodes have the same vector")
@parametrize_with_checks(
    [GATE(dims=(8, 4), epochs=10), GATE(dims=(3,), activation="tanh", epochs=5)]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def test_embedding_attention_history_and_their_shapes():
    graph = random_graph(1, n=12)
    gate = small(patience=math.inf).fit(graph)
    assert gate.embedding_.shape == (12, 4)
    assert gate.embedding_.dtype == np.float32
    assert len(gate.attention_.encoder) == len(gate.attention_.decoder) == 2
    for alpha in (*gate.attention_.encoder, gate.attention_.average):
        np.testing.assert_allclose(alpha.sum(axis=1), 1, rtol=1e-5)
        assert (alpha.toarray() > 0).sum() == graph.adjacency.nnz + 12
    assert len(gate.history_) == 15
    np.testing.assert_allclose(
        gate.history_["loss"], np.add(gate.history_["feature"], gate.history_["structure"])
    )
    assert gate.history_["loss"][-1] < gate.history_["loss"][0]
    assert gate.get_feature_names_out().tolist() == ["gate0", "gate1", "gate2", "gate3"]


def test_the_average_attention_is_over_layers_of_encoder_and_decoder():
    gate = small(shared_attention=False).fit(random_graph(2))
    layers = [a.toarray() for a in (*gate.attention_.encoder, *gate.attention_.decoder)]
    assert not np.allclose(layers[0], layers[2])
    np.testing.assert_allclose(gate.attention_.average.toarray(), np.mean(layers, axis=0))
    np.testing.assert_array_equal(gate.attention_.encoder[0].toarray(), layers[0])  # as before


def test_reconstruct_is_the_decoder():
    graph = random_graph(3, n=15, f=5)
    gate = small(dims=(8, 5), epochs=500, structure_weight=0.0, learning_rate=0.01).fit(graph)
    rebuilt = gate.reconstruct(graph)
    assert rebuilt.shape == (15, 5)
    # Trained on features alone it comes closer than predicting nothing.
    x = graph.x.toarray()
    assert np.linalg.norm(rebuilt - x) < 0.7 * np.linalg.norm(x)
    np.testing.assert_allclose(np.linalg.norm(rebuilt - x), gate.history_["feature"][-1], rtol=1e-2)


@settings(max_examples=25, deadline=None)
@given(graphs(), st.sampled_from(["identity", "tanh"]), st.integers(0, 99))
def test_embeddings_move_with_the_nodes(graph, activation, seed):
    """Renumbering the nodes renumbers the rows of the embedding, and nothing else.

    Where training starts from singular vectors, these are equal up to rotations only.
    """
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    settings = {"preset": "authors", "epochs": 1, "activation": activation, "dtype": "float64"}
    whole = small(**settings).fit(graph)
    turned = small(**settings).fit(graph.subgraph(graph.ids[order]))
    np.testing.assert_allclose(turned.embedding_, whole.embedding_[order], rtol=1e-7, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(graphs(), st.sampled_from(["identity", "relu"]), st.integers(1, 3), st.data())
def test_a_few_nodes_need_only_their_neighborhood(graph, activation, layers, data):
    gate = small(dims=(5, 4, 3)[:layers], epochs=1, activation=activation).fit(graph)
    assert_equal_to_rounding(gate.transform(graph), gate.embedding_)
    some = data.draw(st.lists(st.sampled_from(graph.ids.tolist()), min_size=1, max_size=3))
    found = gate.transform(graph, nodes=some)
    np.testing.assert_allclose(found, gate.embedding_[graph.rows(some)], rtol=1e-5, atol=1e-6)
    near = graph.neighborhood(some, layers)
    np.testing.assert_allclose(gate.transform(near)[near.rows(some)], found, rtol=1e-5, atol=1e-6)


def test_unseen_nodes_are_embedded():
    graph = random_graph(5, n=30)
    seen = graph.without([3, 7, 29])
    gate = small().fit(seen)
    embedding = gate.transform(graph)
    assert embedding.shape == (30, 4)
    assert np.isfinite(embedding).all()
    assert np.abs(embedding[[3, 7, 29]]).sum() > 0


def test_features_with_an_adjacency_are_a_graph():
    graph = random_graph(6)
    for x in (graph.x, graph.x.toarray()):
        for adjacency in (graph.adjacency, graph.adjacency.toarray()):
            gate = small().fit(x, adjacency=adjacency)
            expected = small().fit(graph).embedding_
            np.testing.assert_allclose(gate.embedding_, expected, rtol=1e-4, atol=1e-5)
            assert_equal_to_rounding(gate.transform(x, adjacency=adjacency), gate.embedding_)
    with pytest.raises(InputError, match="either a Graph or adjacency"):
        small().fit(graph, adjacency=graph.adjacency)
    with pytest.raises(InputError, match=r"the adjacency has shape \(2, 2\)"):
        small().fit(graph.x, adjacency=np.eye(2))


def test_isolated_nodes_and_empty_rows_give_finite_embeddings():
    graph = Graph(sp.csr_array((5, 3)))
    for preset in (None, *PRESETS):
        gate = small(preset=preset).fit(graph)
        assert (gate.embedding_ == 0).all()
        assert np.isfinite(gate.history_["loss"]).all()
    one = small().fit(Graph([[2.0, 1.0]]))
    assert np.isfinite(one.embedding_).all()


def test_labels_do_not_reach_the_embedder():
    graph = random_graph(8)
    plain = small().fit(graph).embedding_
    labelled = Graph(graph.x, graph.adjacency, labels=["a", "b", None] * 3)
    assert small().fit(labelled).embedding_.tobytes() == plain.tobytes()
    assert small().fit(graph, y=np.arange(9)).embedding_.tobytes() == plain.tobytes()


def test_pipeline_and_clone():
    graph = random_graph(9, n=20)
    y = np.arange(20) % 2
    pipeline = Pipeline([("gate", small()), ("probe", LogisticRegression())])
    assert pipeline.fit(graph, y).predict(graph).shape == (20,)
    fitted = pipeline.named_steps["gate"]
    fresh = clone(fitted)
    assert not hasattr(fresh, "model_")
    assert fresh.get_params() == fitted.get_params()
    assert fresh.fit(graph).embedding_.tobytes() == fitted.embedding_.tobytes()


def test_presets_match_the_documentation():
    assert (PRESETS["authors"].feature_loss, PRESETS["authors"].clip_norm) == ("frobenius", 5.0)
    assert (PRESETS["paper"].feature_loss, PRESETS["paper"].clip_norm) == ("rows", math.inf)
    graph = random_graph(10)
    authors, paper = (small(preset=name).fit(graph) for name in ("authors", "paper"))
    explicit = small(preset="authors", feature_loss="rows", clip_norm=math.inf).fit(graph)
    assert explicit.embedding_.tobytes() == paper.embedding_.tobytes()
    assert authors.embedding_.tobytes() != paper.embedding_.tobytes()
    x, rebuilt = graph.x.toarray(), None
    start = small(preset="paper", learning_rate=1e-30, epochs=1).fit(graph)
    rebuilt = start.reconstruct(graph)
    assert start.history_["feature"][0] == pytest.approx(
        np.linalg.norm(x - rebuilt, axis=1).sum(), rel=1e-4
    )
    start = small(preset="authors", learning_rate=1e-30, epochs=1).fit(graph)
    assert start.history_["feature"][0] == pytest.approx(np.linalg.norm(x - rebuilt), rel=1e-4)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_have_the_published_settings(preset):
    """A random start, 200 epochs at 1e-4, all of them, and λ = 1."""
    graph = random_graph(10, weighted=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        bare = GATE((6, 4), preset=preset, random_state=0).fit(graph)
        given = {"epochs": 200, "learning_rate": 1e-4, "patience": math.inf, "tolerance": 1e-4}
        explicit = GATE((6, 4), preset=preset, random_state=0, structure_weight=1.0, **given).fit(
            graph
        )
    assert len(bare.history_) == 200
    assert bare.weight_unit_ == 1
    assert bare.embedding_.tobytes() == explicit.embedding_.tobytes()
    architecture, loss, schedule = bare.checked_settings(6)
    model = GATEModel(architecture, np.random.default_rng(0))
    parameters = dict(model.named_parameters())
    history = train(parameters, training_objective(model, graph, loss), schedule)
    assert history == bare.history_
    for name, parameter in bare.model_.named_parameters():
        assert torch.equal(parameters[name], parameter)


# --- our own form --------------------------------------------------------------------------------


def own(dims=(6, 4), **settings) -> GATE:
    return GATE(dims, **{"random_state": 0, "progress": False} | settings)


@pytest.mark.parametrize("directed", [True, False])
def test_weights_count_in_proportion(directed):
    graph = random_graph(3, n=30, weighted=True, directed=directed)
    larger = Graph(graph.x, 100 * graph.adjacency, directed=directed)
    gate, hundred = (own(dtype="float64").fit(each) for each in (graph, larger))
    np.testing.assert_allclose(hundred.embedding_, gate.embedding_, rtol=1e-6, atol=1e-9)
    assert hundred.weight_unit_ == pytest.approx(100 * gate.weight_unit_)
    np.testing.assert_allclose(
        hundred.attention_.average.toarray(), gate.attention_.average.toarray(), rtol=1e-6
    )
    # The unit is that of training: a few nodes, or others, have the same vectors.
    some = graph.ids[5:9]
    found = gate.transform(graph, nodes=some)
    np.testing.assert_allclose(found, gate.embedding_[5:9], rtol=1e-6, atol=1e-9)
    assert not np.allclose(gate.transform(larger), gate.embedding_)
    # With a preset they are used as they are.
    authors = [small(preset="authors").fit(each).embedding_ for each in (graph, larger)]
    assert not np.allclose(*authors, rtol=1e-3)


def test_weights_that_are_all_equal_are_no_weights():
    graph = random_graph(3, n=30)
    weighted = Graph(graph.x, 7 * graph.adjacency)
    assert_equal_to_rounding(own().fit(weighted).embedding_, own().fit(graph).embedding_, 100)


def test_our_form_stops_by_the_loss_and_keeps_the_best_weights():
    graph = random_graph(4, n=40, f=12)
    gate = own(epochs=500, patience=5, tolerance=0.01).fit(graph)
    losses = gate.history_["loss"]
    assert gate.history_.stopped == "patience"
    assert min(losses[-5:]) > 0.99 * min(losses[:-5])
    assert all(
        min(losses[at - 5 : at]) <= 0.99 * min(losses[: at - 5]) for at in range(6, len(losses))
    )
    assert len(own(patience=math.inf, epochs=70).fit(graph).history_) == 70
    at_best = own(epochs=1 + int(np.argmin(losses)), patience=math.inf).fit(graph)
    assert at_best.embedding_.tobytes() == gate.embedding_.tobytes()


def test_the_learning_rate_fits_the_sizes():
    rates = [own(dims).checked_settings(1433)[2].learning_rate for dims in ((512, 512), (64, 32))]
    assert rates[0] == pytest.approx(1.5e-3, rel=0.02)
    assert rates[1] == pytest.approx(rates[0] * math.sqrt(8))
    assert own((2,)).checked_settings(3)[2].learning_rate == 0.01
    assert own(learning_rate=0.5).checked_settings(3)[2].learning_rate == 0.5


@pytest.mark.parametrize("activation", ["identity", "tanh"])
@pytest.mark.parametrize(
    "settings",
    [{"dims": (40, 50)}, {"dims": (2,)}, {"tied_weights": False}, {"shared_attention": False}],
)
def test_our_form_has_any_size_and_shape(settings, activation):
    graph = random_graph(5, n=20, f=6)
    gate = own(**{"activation": activation} | settings).fit(graph)
    assert np.isfinite(gate.embedding_).all()
    assert gate.embedding_.shape == (20, gate.dims[-1])
    assert min(gate.history_["loss"]) < gate.history_["loss"][0]
    assert_equal_to_rounding(gate.transform(graph), gate.embedding_)


def test_a_graph_without_edges_is_close_to_its_principal_components():
    """Alone, the features leave nothing to learn: what is kept spans the singular vectors."""
    x = random_graph(6, n=40, f=12).x.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        gate = own((4,), structure_weight=0.0).fit(Graph(x))
    rebuilt, vectors = gate.reconstruct(Graph(x)), np.linalg.svd(x)[2][:4]
    np.testing.assert_allclose(
        np.linalg.norm(x - rebuilt), np.linalg.norm(x - x @ vectors.T @ vectors), rtol=1e-4
    )


@pytest.mark.parametrize("part", ["feature", "structure"])
def test_a_loss_can_be_switched_off(part):
    gate = small(**{f"{part}_weight": 0.0}).fit(random_graph(11))
    assert set(gate.history_[part]) == {0.0}
    assert gate.history_["loss"][-1] < gate.history_["loss"][0]


@pytest.mark.parametrize("attention", ["uniform", "ones"])
def test_attention_can_be_switched_off(attention):
    graph = random_graph(12)
    gate = small(attention=attention).fit(graph)
    neighbors = graph.adjacency.toarray().astype(bool) | np.eye(9, dtype=bool)
    expected = neighbors / neighbors.sum(axis=1, keepdims=True)
    expected = expected if attention == "uniform" else neighbors
    np.testing.assert_allclose(gate.attention_.average.toarray(), expected, rtol=1e-6)


def test_gate_warns_when_more_epochs_would_help():
    graph = random_graph(13, n=20)
    with pytest.warns(TrainingWarning, match="still falling after 15 epochs"):
        small(preset="authors", learning_rate=0.05).fit(graph)
    with pytest.warns(TrainingWarning, match="still falling after 2 epochs"):
        own(epochs=2, structure_weight=100.0, learning_rate=1.0).fit(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(epochs=3000, learning_rate=0.05, patience=200, tolerance=1e-3).fit(graph)


def test_float32_follows_float64():
    graph = random_graph(14, n=25)
    single, double = (small(dtype=dtype).fit(graph) for dtype in ("float32", "float64"))
    assert double.embedding_.dtype == np.float64
    np.testing.assert_allclose(single.embedding_, double.embedding_, rtol=1e-3, atol=1e-4)


def test_random_states():
    graph = random_graph(15)
    assert small(random_state=3).fit(graph).seed_ == 3
    state = np.random.RandomState(1)
    first, second = small(random_state=state).fit(graph), small(random_state=state).fit(graph)
    assert first.seed_ != second.seed_
    again = small(random_state=first.seed_).fit(graph)
    assert again.embedding_.tobytes() == first.embedding_.tobytes()
    assert small(random_state=None).fit(graph).seed_ >= 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dims": ()}, "dims"),
        ({"dims": (4, 0)}, "dims"),
        ({"dims": "512"}, "dims"),
        ({"dims": (2.5,)}, "dims"),
        ({"preset": "ours"}, "unknown preset 'ours'; use one of authors, paper"),
        ({"activation": "sine"}, "activation"),
        ({"attention": None}, "attention"),
        ({"feature_loss": "l1"}, "feature loss"),
        ({"structure_weight": -1}, "structure_weight"),
        ({"structure_weight": "1"}, "structure_weight"),
        ({"epochs": 0}, "epochs == 0, must be >= 1"),
        ({"epochs": True}, "epochs must be a number, got True"),
        ({"learning_rate": math.nan}, "learning_rate must not be NaN"),
        ({"tied_weights": 1}, "tied_weights must be an instance of"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"clip_norm": -5}, "clip_norm"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "seed"}, "random_state"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
        ({"device": "meta"}, "device 'meta' cannot be used"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64"),
        ({"checkpoint": "c.safetensors", "random_state": None}, "needs a fixed random_state"),
        ({"checkpoint": "c.safetensors", "checkpoint_every": 0}, "checkpoint_every"),
    ],
)
def test_impossible_settings_are_refused_by_fit(wrong, words):
    gate = small(**wrong)
    with pytest.raises(InputError, match=words):
        gate.fit(random_graph(0))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_an_unavailable_device_is_a_clear_error():
    with pytest.raises(InputError, match=r"device 'cuda' cannot be used: .*; use device='cpu'"):
        small(device="cuda").fit(random_graph(0))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("activation", ["identity", "tanh"])
def test_cuda_follows_the_cpu(activation, tmp_path):
    graph = random_graph(0, n=40, weighted=True)
    there = small(device="cuda", activation=activation).fit(graph)
    here = small(activation=activation).fit(graph)
    np.testing.assert_allclose(there.embedding_, here.embedding_, rtol=1e-3, atol=1e-4)
    there.save(tmp_path / "m.safetensors")
    loaded = GATE.load(tmp_path / "m.safetensors")
    np.testing.assert_allclose(loaded.transform(graph), here.embedding_, rtol=1e-3, atol=1e-4)


def test_divergence_is_an_error_with_a_remedy():
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        small(preset="paper", learning_rate=1e6, epochs=50).fit(random_graph(0))


def test_features_that_overflow_float32_are_refused():
    with pytest.raises(InputError, match=r"overflow; .*float64"):
        small().fit(Graph([[1e300], [1.0]]))


def test_transform_needs_a_fitted_model_and_the_same_features():
    graph = random_graph(0)
    with pytest.raises(NotFittedError):
        small().transform(graph)
    gate = small().fit(graph)
    with pytest.raises(InputError, match="has 3 features, but GATE is expecting 6"):
        gate.transform(random_graph(0, f=3))
    with pytest.raises(InputError, match="no node with id 99"):
        gate.transform(graph, nodes=[99])
    named = Graph(np.eye(2), feature_names=["a", "b"])
    gate = small().fit(named)
    with pytest.raises(InputError, match="lacks the feature 'a'; it has c, b"):
        gate.transform(Graph(np.eye(2), feature_names=["c", "b"]))
    with pytest.raises(InputError, match="has 3 features, but GATE is expecting 2"):
        gate.transform(Graph(np.eye(3)))


def test_named_features_are_found_in_any_order():
    graph = random_graph(7, f=3)
    gate = small().fit(Graph(graph.x, graph.adjacency, feature_names=list("abc")))
    turned = Graph(graph.x[:, [2, 0, 1]], graph.adjacency, feature_names=list("cab"))
    assert_equal_to_rounding(gate.transform(turned), gate.embedding_)
    more = Graph(sp.hstack([graph.x] * 2).tocsr(), graph.adjacency, feature_names=list("abcdef"))
    with pytest.warns(InputWarning, match=r"3 unknown features are ignored: d, e, f"):
        found = gate.transform(more)
    assert_equal_to_rounding(found, gate.embedding_)


# --- attributes ----------------------------------------------------------------------------------


def with_attributes(n: int = 20, seed: int = 0, **columns) -> Graph:
    rng = np.random.default_rng(seed)
    table = {
        "size": rng.normal(5, 2, n),
        "kind": rng.choice(["a", "b", "c"], n),
        "words": [[f"w{w}" for w in rng.integers(0, 9, 3)] for _ in range(n)],
    }
    attributes = Attributes.from_columns(table | columns)
    return Graph.from_edges(None, [(u, (u + 1) % n) for u in range(n)], attributes=attributes)


def test_attributes_are_encoded_as_learned_from_the_fitted_nodes():
    graph = with_attributes(kind=["a", "b", "c", "only here"] * 5)
    seen = graph.without([at for at in range(20) if at % 4 == 3])
    gate = small().fit(seen)
    assert gate.encoder_.rules_ == AttributeEncoder().fit(seen.attributes).rules_
    assert gate.encoder_.rules_ != AttributeEncoder().fit(graph.attributes).rules_
    assert "kind=only here" not in gate.feature_names_in_
    plain = Graph(gate.encoder_.transform(seen.attributes), seen.adjacency)
    assert_equal_to_rounding(small().fit(plain).embedding_, gate.embedding_, 100)
    with pytest.warns(InputWarning, match="5 node"):
        everyone = gate.transform(graph)
    with pytest.warns(InputWarning, match="5 node"):
        x = gate.encoder_.transform(graph.attributes)
    same = small().fit(plain).transform(Graph(x, graph.adjacency))
    assert_equal_to_rounding(everyone, same, 100)


def test_every_way_to_use_a_model_encodes(tmp_path):
    graph, other = with_attributes(), with_attributes(12, seed=1)
    gate = small().fit(graph)
    gate.save(tmp_path / "m.safetensors")
    loaded = GATE.load(tmp_path / "m.safetensors")
    assert loaded.encoder_.to_dict() == gate.encoder_.to_dict()
    x = gate.encoder_.transform(other.attributes)
    named = Graph(x, other.adjacency, feature_names=gate.encoder_.get_feature_names_out())
    for model in (gate, loaded):
        for same in (other, named):
            assert_equal_to_rounding(model.transform(same), gate.transform(other))
            assert_equal_to_rounding(model.reconstruct(same), gate.reconstruct(other))
            attention = model.encode(same).attention.average.toarray()
            expected = gate.encode(other).attention.average.toarray()
            assert_equal_to_rounding(attention, expected)
    few = gate.transform(other, nodes=[3, 1])
    np.testing.assert_allclose(few, gate.transform(other)[[3, 1]], rtol=1e-5, atol=1e-6)


def test_attributes_with_an_adjacency_are_a_graph():
    graph = with_attributes()
    gate = small().fit(graph.attributes, adjacency=graph.adjacency)
    assert gate.embedding_.tobytes() == small().fit(graph).embedding_.tobytes()
    again = gate.transform(graph.attributes, adjacency=graph.adjacency)
    assert_equal_to_rounding(again, gate.embedding_)


def test_features_attributes_and_edges_are_not_confused():
    graph = with_attributes()
    x = AttributeEncoder().fit(graph.attributes).transform(graph.attributes)
    features, edges = Graph(x, graph.adjacency), Graph(adjacency=graph.adjacency)
    by_features, by_attributes, by_edges = (small().fit(each) for each in (features, graph, edges))
    for gate, other, words in [
        (by_features, graph, "fitted on features, but .* attributes; pass its 13 features as x"),
        (by_features, edges, "fitted on features, but .* edges only; pass its 13 features as x"),
        (by_attributes, edges, "on attributes, but .* edges only; pass the attributes size, kind"),
        (
            by_attributes,
            features,
            "on attributes, but the graph has features; pass the attributes size",
        ),
        (by_edges, graph, "fitted on edges only, but the graph has attributes; pass the edges wi"),
        (by_edges, features, "on edges only, but the graph has features; pass the edges without"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            gate.transform(other)
        assert caught.value.about == "nodes"
    with pytest.raises(InputError, match=r"features; pass the attributes size"):
        by_attributes.transform(x, adjacency=graph.adjacency)
    # A model fitted again forgets what it knew.
    assert by_attributes.fit(Graph(x)).encoder_ is None


def test_new_nodes_are_encoded_as_learned_in_fit(tmp_path):
    """25 nodes of 25 categories, all of them known; and one whose only value is missing."""
    towns = [f"town {at}" for at in range(25)]
    graph = Graph.from_edges(
        None, [(at, at + 1) for at in range(99)], attributes={"town": towns * 4}
    )
    gate = small().fit(graph)
    new = Graph.from_edges(None, [(at, at + 1) for at in range(24)], attributes={"town": towns})
    x = gate.encoder_.transform(new.attributes)
    np.testing.assert_array_equal(x.toarray(), np.eye(25)[np.argsort(np.argsort(towns))])
    same = small().fit(Graph(gate.encoder_.transform(graph.attributes), graph.adjacency))
    assert_equal_to_rounding(gate.transform(new), same.transform(Graph(x, new.adjacency)), 100)
    gate.save(tmp_path / "m.safetensors")
    loaded = GATE.load(tmp_path / "m.safetensors")
    unknown = Graph(attributes={"town": [None]})
    for model in (gate, loaded):
        assert model.transform(new).shape == (25, 4)
        assert model.transform(unknown).tolist() == [[0, 0, 0, 0]]


def test_prepare_gives_what_fit_learns_from():
    graph = with_attributes()
    gate = small()
    prepared = gate.prepare(graph)
    assert prepared.graph.feature_names == tuple(prepared.encoder.get_feature_names_out())
    with pytest.raises(NotFittedError):
        gate.transform(graph)
    gate.fit(prepared)
    assert gate.fitted_on_.content == "attributes"
    assert_equal_to_rounding(gate.transform(graph), small().fit(graph).embedding_, 100)
    assert gate.encoder_ is prepared.encoder
    assert gate.encode(prepared).embedding.tobytes() == gate.embedding_.tobytes()
    # Another graph with features is one with features.
    gate.prepare(graph)
    assert gate.fit(random_graph(0)).encoder_ is None


def test_numbers_are_scaled_unless_scale_is_false():
    graph = with_attributes()
    plain = small(scale=False).fit(graph)
    alone = AttributeEncoder(scale=False).fit(graph.attributes).to_dict()
    assert plain.encoder_.to_dict() | {"weights": []} == alone
    assert plain.embedding_.tobytes() != small().fit(graph).embedding_.tobytes()
    with pytest.raises(InputError, match="scale must be an instance of"):
        small(scale="yes").fit(graph)


# --- rows and ids of the output ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_nodes_give_an_empty_array(dtype):
    graph = random_graph(1)
    gate = small(dtype=dtype).fit(graph)
    for none in ([], np.array([], dtype=np.int64), np.zeros(9, dtype=bool)):
        z = gate.transform(graph, nodes=none)
        assert (z.shape, z.dtype) == ((0, 4), dtype)


def test_data_frames_are_indexed_by_id():
    graph = random_graph(1)
    named = Graph(graph.x, graph.adjacency, ids=[f"n{at}" for at in range(9)])
    gate = small().set_output(transform="pandas")
    for frame in (gate.fit_transform(named), gate.transform(named)):
        assert frame.index.tolist() == named.ids.tolist()
        assert frame.columns.tolist() == ["gate0", "gate1", "gate2", "gate3"]
        np.testing.assert_array_equal(frame, gate.embedding_)
    some = gate.transform(named, nodes=["n5", "n1"])
    assert some.index.tolist() == ["n5", "n1"]
    assert gate.transform(named, nodes=[]).shape == (0, 4)
    # Rows of a data frame keep their index, rows of an array their numbers.
    x = graph.x.toarray()
    frame = pd.DataFrame(x, index=list("abcdefghi"), columns=list("uvwxyz"))
    gate = small().set_output(transform="pandas").fit(frame, adjacency=graph.adjacency)
    assert gate.transform(frame, adjacency=graph.adjacency).index.tolist() == list("abcdefghi")
    some = gate.transform(frame, adjacency=graph.adjacency, nodes=[3, 1])
    assert some.index.tolist() == ["d", "b"]
    gate.fit(x, adjacency=graph.adjacency)
    assert gate.transform(x, adjacency=graph.adjacency, nodes=[3, 1]).index.tolist() == [3, 1]


def test_of_a_few_nodes_only_the_neighborhood_is_encoded(monkeypatch):
    graph = with_attributes()
    gate = small().fit(graph)
    seen = []
    transform = AttributeEncoder.transform
    monkeypatch.setattr(
        AttributeEncoder, "transform", lambda self, a: seen.append(len(a)) or transform(self, a)
    )
    gate.transform(graph, nodes=[7])
    assert seen == [5]  # two hops on a ring


# --- edges ---------------------------------------------------------------------------------------

KINDS = {
    "undirected": {},
    "directed": {"directed": True},
    "weighted": {"weighted": True},
    "directed and weighted": {"directed": True, "weighted": True},
}


@pytest.mark.parametrize("fitted", KINDS)
@pytest.mark.parametrize("given", KINDS)
def test_edges_of_another_kind_are_refused_with_the_conversion(fitted, given, tmp_path):
    gate = small().fit(random_graph(1, **KINDS[fitted]))
    gate.save(tmp_path / "m.safetensors")
    graph = random_graph(1, **KINDS[given])
    for model in (gate, GATE.load(tmp_path / "m.safetensors")):
        converted, kind = graph, model.fitted_on_
        for name in ("directed", "weighted"):  # as many conversions as the errors name
            if getattr(graph, name) != getattr(kind, name):
                method = f"to_{name}" if getattr(kind, name) else f"to_un{name}"
                with pytest.raises(InputError, match=rf"Graph\.{method}\(\)") as caught:
                    model.transform(converted)
                assert caught.value.about == "edges"
                converted = getattr(converted, method)()
        assert (converted is graph) == (fitted == given)
        assert np.isfinite(model.transform(converted)).all()
    nodes_alone = Graph(graph.x)  # without edges there is nothing to confuse
    assert gate.transform(nodes_alone).shape == (9, 4)


def test_in_an_adjacency_a_weight_of_one_is_a_weight():
    graph = random_graph(1, weighted=True)
    gate = small().fit(graph.x, adjacency=graph.adjacency)
    ones = graph.adjacency.copy()
    ones.data[:] = 1
    weighted = Graph(graph.x, ones).to_weighted()
    assert_equal_to_rounding(gate.transform(graph.x, adjacency=ones), gate.transform(weighted))
    unweighted = small().fit(graph.x, adjacency=ones)
    with pytest.raises(InputError, match=r"Graph\.to_unweighted\(\)"):
        unweighted.transform(graph.x, adjacency=graph.adjacency)


def test_a_pipeline_does_not_predict_without_the_edges():
    graph = random_graph(9, n=20)
    x, y = graph.x.toarray(), np.arange(20) % 2
    pipeline = Pipeline([("gate", small()), ("probe", LogisticRegression())])
    pipeline.fit(x, y, gate__adjacency=graph.adjacency)
    with pytest.raises(InputError, match=r"fitted on a graph with edges.* pass a Graph to fit"):
        pipeline.predict(x)
    gate = pipeline.named_steps["gate"]
    with pytest.raises(InputError, match="or pass adjacency="):
        gate.transform(with_attributes().attributes)
    # The remedies.
    expected = pipeline.named_steps["probe"].predict(gate.embedding_)
    again = Pipeline([("gate", small()), ("probe", LogisticRegression())]).fit(graph, y)
    np.testing.assert_array_equal(again.predict(graph), expected)
    assert gate.transform(x, adjacency=np.zeros((20, 20))).shape == (20, 4)
    with config_context(enable_metadata_routing=True):
        gate = small().set_fit_request(adjacency=True).set_transform_request(adjacency=True)
        routed = Pipeline([("gate", gate), ("probe", LogisticRegression())])
        routed.fit(x, y, adjacency=graph.adjacency)
        np.testing.assert_array_equal(routed.predict(x, adjacency=graph.adjacency), expected)


def test_a_graph_without_attributes_is_embedded():
    """Nodes of two dense parts that are joined by one edge lie apart, unseen ones as well."""
    rng = np.random.default_rng(0)
    side = np.arange(40) % 2
    chance = np.where(side[:, None] == side, 0.5, 0.0)
    chance[0, 1] = 1
    graph = Graph(adjacency=np.triu(rng.random((40, 40)) < chance, 1).astype(float))
    seen = graph.without([2, 3])
    gate = GATE((16, 8), epochs=300, learning_rate=0.01, random_state=0).fit(seen)
    z = gate.transform(graph)
    probe = LogisticRegression().fit(gate.embedding_, side[seen.ids])
    assert probe.score(z, side) == 1.0
    near = gate.transform(graph, nodes=[2, 7])
    np.testing.assert_allclose(near, z[[2, 7]], rtol=1e-4, atol=1e-5)


def test_a_checkpoint_knows_the_attributes(tmp_path):
    path = tmp_path / "run.safetensors"
    small(checkpoint=path).fit(with_attributes())
    other = with_attributes(size=np.arange(20.0))
    found = small(checkpoint=path).fit(other).embedding_  # nothing of the first run is in it
    assert found.tobytes() == small().fit(other).embedding_.tobytes()


def test_a_resumed_fit_is_bit_identical(tmp_path, caplog):
    caplog.set_level("INFO", "graphgate")
    graph = random_graph(16)
    path = tmp_path / "run.safetensors"
    settings = {"patience": math.inf}
    whole = small(epochs=30, **settings).fit(graph)
    small(epochs=12, checkpoint=path, checkpoint_every=5, **settings).fit(graph)
    resumed = small(epochs=30, checkpoint=path, **settings).fit(graph)
    assert f"resuming the checkpoint {path} after epoch 12 of 30" in caplog.text
    assert resumed.embedding_.tobytes() == whole.embedding_.tobytes()
    assert resumed.history_ == whole.history_
    assert resumed.history_.stopped == "epochs"


def test_thread_counts_agree_to_rounding():
    """They need not agree bit for bit: libraries split sums by threads (docs/paper.md)."""
    graph = load_dataset("cora").graph
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            found.append(GATE(dims=(64, 32), epochs=3, random_state=0).fit(graph).embedding_)
        finally:
            torch.set_num_threads(before)
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-5)


def test_a_warm_start_continues_from_the_last_weights():
    graph = Graph.from_edges(np.eye(6), [(at, at + 1) for at in range(5)])
    gate = GATE((4, 2), epochs=20, patience=20, random_state=0, progress=False).fit(graph)
    last = gate.history_["loss"][-1]
    cold = GATE((4, 2), epochs=1, random_state=0, progress=False).fit(graph).history_["loss"][0]
    warm = gate.set_params(epochs=1, warm_start=True).fit(graph).history_["loss"][0]
    assert warm <= last < cold


def test_a_warm_start_keeps_the_weights_of_features_with_the_same_name():
    edges = [(at, at + 1) for at in range(5)]
    gate = GATE((4, 2), epochs=5, random_state=0, progress=False, warm_start=True)
    gate.fit(Graph.from_edges(np.eye(6), edges, feature_names=list("abcdef")))
    known = gate.model_.encoder_weight[0].detach().clone()
    more = Graph.from_edges(np.eye(6, 7)[:, ::-1].copy(), edges, feature_names=list("gfedcba"))
    gate.set_params(learning_rate=1e-12).fit(more)
    found = gate.model_.encoder_weight[0].detach()
    np.testing.assert_allclose(found.flip(0)[:6], known, atol=1e-6)


# --- columns of attributes -----------------------------------------------------------------------


def column_factors(gate: GATE) -> dict[str, float]:
    names = [rule.name for rule in gate.encoder_.rules_]
    return dict(zip(names, gate.encoder_.weights_, strict=True))


def test_columns_count_as_much_as_those_of_linear_gate(tmp_path):
    graph = irrelevant_columns(3, informative=2).graph
    gate = GATE(dims=(8,), epochs=2, random_state=1, progress=False).fit(graph)
    linear = LinearGATE(8, random_state=0, progress=False).fit(graph)
    expected = {source.name: source.weight for source in linear.model_.coordinates.sources}
    assert column_factors(gate) == pytest.approx(expected)
    assert expected["noise 0"] < 0.1 < 0.9 < expected["good 0"]
    names = gate.feature_names_in_.tolist()
    plain = AttributeEncoder().fit(graph.attributes).transform(graph.attributes)
    at = names.index("noise 0")
    np.testing.assert_allclose(
        np.asarray(gate.features(graph))[:, at], plain[:, at] * expected["noise 0"], rtol=1e-5
    )
    gate.save(tmp_path / "model")
    loaded = GATE.load(tmp_path / "model")
    assert column_factors(loaded) == column_factors(gate)
    assert_equal_to_rounding(loaded.transform(graph), gate.embedding_)
    prepared = GATE(dims=(8,), epochs=2, random_state=1, progress=False)
    assert prepared.fit(prepared.prepare(graph)).embedding_.tobytes() == gate.embedding_.tobytes()


@pytest.mark.parametrize("preset", ["authors", "paper"])
def test_presets_take_columns_as_they_are(preset):
    graph = irrelevant_columns(1, informative=2).graph
    gate = GATE(dims=(8,), preset=preset, epochs=2, random_state=1, progress=False).fit(graph)
    assert gate.encoder_.weights_ == ()
