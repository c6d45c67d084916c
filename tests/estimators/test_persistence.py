"""Models in files: the same bytes come out, and a file that is no model is refused."""

import json
import math
import os
import tracemalloc
from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from attribute_values import VALUES
from graphs import random_graph
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load, save_file
from sklearn.exceptions import NotFittedError

from graphgate import GATE, AttributeEncoder, Attributes, Graph, InputError, InputWarning
from graphgate.estimators.base import GraphKind
from graphgate.estimators.gate_fit import GATEFit
from graphgate.estimators.persistence import EXECUTION, deciding
from graphgate.io import files
from graphgate.nn.autoencoder import Architecture, GATEModel

SEED = {"epochs": 2, "learning_rate": 0.05, "random_state": 3}
FEATURES = GraphKind("features", directed=False, weighted=False, has_edges=True)


def fitted(graph=None, dims=(3, 2), **settings) -> GATE:
    return GATE(dims, **SEED | settings).fit(random_graph(1) if graph is None else graph)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def same_bytes(one: np.ndarray, two: np.ndarray) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


# --- round trips ---------------------------------------------------------------------------------


@pytest.mark.numerical
@pytest.mark.parametrize(
    ("tied", "shared", "attention", "activation"),
    [
        *product([True, False], [True, False], ["softmax", "uniform", "ones"], ["identity"]),
        (True, True, "softmax", "relu"),
        (False, False, "softmax", "tanh"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loaded_model_is_bit_identical(path, tied, shared, attention, activation, dtype):
    graph, unseen = random_graph(1), random_graph(2, n=12)
    gate = fitted(
        graph,
        tied_weights=tied,
        shared_attention=shared,
        attention=attention,
        activation=activation,
        dtype=dtype,
    )
    gate.save(path)
    loaded = GATE.load(path)
    assert gate.embedding_.dtype == dtype
    assert same_bytes(loaded.transform(graph), gate.embedding_)
    assert same_bytes(loaded.transform(unseen), gate.transform(unseen))
    assert same_bytes(loaded.reconstruct(graph), gate.reconstruct(graph))
    assert same_bytes(
        loaded.encode(graph).attention.average.toarray(), gate.attention_.average.toarray()
    )


@pytest.mark.parametrize("dims", [(1,), (4, 1, 3)])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_kinds_of_graphs_and_depths(path, dims, directed, weighted):
    graph = random_graph(4, directed=directed, weighted=weighted, dense=True)
    gate = fitted(graph, dims)
    gate.save(path)
    loaded = GATE.load(path)
    assert loaded.fitted_on_ == GraphKind("features", directed, weighted, has_edges=True)
    assert same_bytes(loaded.transform(graph), gate.embedding_)


def test_every_parameter_that_decides_the_result_is_kept(path):
    """All but where, from what, in how much memory and how visibly; no value is the default."""
    graph = random_graph(1, weighted=True)
    changed = {
        "dims": (4, 3),
        "preset": "paper",
        "activation": "tanh",
        "tied_weights": False,
        "shared_attention": False,
        "attention": "uniform",
        "feature_loss": "frobenius",
        "feature_weight": 0.25,
        "structure_weight": 7.0,
        "epochs": 3,
        "learning_rate": 0.02,
        "clip_norm": math.inf,
        "patience": 2,
        "tolerance": 0.5,
        "batch_size": 3,
        "parts_per_step": 2,
        "scale": False,
        "random_state": 9,
        "dtype": "float64",
    }
    neither = {"device", "memory_limit", "checkpoint", "checkpoint_every", "progress"}
    neither |= {"warm_start"}
    kept = GATE().get_params().keys() - neither
    assert changed.keys() == kept == {*deciding(GATE)}
    assert all(value != GATE().get_params()[name] for name, value in changed.items())
    gate = GATE(**changed, progress=False).fit(graph)
    gate.set_params(epochs=99)  # what was not used is not saved
    gate.save(path)
    loaded = GATE.load(path)
    assert loaded.get_params() == GATE(**changed).get_params()
    assert same_bytes(loaded.fit(graph).embedding_, gate.embedding_)
    GATE(**changed | {"clip_norm": 2.5, "patience": None, "feature_loss": None}).fit(graph).save(
        path
    )
    assert GATE.load(path).clip_norm == 2.5


def test_what_a_loaded_model_holds(path):
    fitted().save(path)
    loaded = GATE.load(path)
    assert (loaded.seed_, loaded.random_state, loaded.n_features_in_) == (3, 3, 6)
    assert not hasattr(loaded, "embedding_")
    assert not hasattr(loaded, "history_")
    assert loaded.get_feature_names_out().tolist() == ["gate0", "gate1"]


def test_saving_a_loaded_model_gives_the_same_file(path, tmp_path):
    fitted().save(path)
    GATE.load(path).save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_a_random_seed_is_saved(path):
    gate = fitted(random_state=None)
    gate.save(path)
    assert GATE.load(path).random_state == gate.seed_


def test_a_loaded_model_can_be_fitted_again(path):
    graph = random_graph(1)
    gate = fitted(graph)
    gate.save(path)
    assert same_bytes(GATE.load(path).fit(graph).embedding_, gate.embedding_)


def test_feature_names_are_kept_and_checked(path):
    x = random_graph(1, f=2, dense=True).x
    fitted(Graph(x, feature_names=["height", "größe"])).save(path)
    loaded = GATE.load(path)
    assert loaded.feature_names_in_.tolist() == ["height", "größe"]
    assert loaded.transform(Graph(x, feature_names=["height", "größe"])).shape == (9, 2)
    assert loaded.transform(Graph(x)).shape == (9, 2)
    with pytest.raises(InputError, match="lacks the feature 'height'"):
        loaded.transform(Graph(x, feature_names=["größe", "weight"]))
    with pytest.raises(InputError, match="3 features, but GATE is expecting 2"):
        loaded.transform(Graph(np.ones((2, 3))))


def test_the_names_of_a_data_frame(path):
    frame = pd.DataFrame(random_graph(1, f=2, dense=True).x, columns=["a", "b"])
    with pytest.warns(InputWarning, match="fitted without edges"):
        gate = GATE((2,), epochs=1, random_state=0).fit(frame)
    gate.save(path)
    loaded = GATE.load(path)
    assert same_bytes(loaded.transform(frame), gate.embedding_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[["b", "a"]])


def attributes_of(data, n: int) -> Attributes:
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3))
    columns = {
        f"c{at}": data.draw(st.lists(VALUES[kind], min_size=n, max_size=n))
        for at, kind in enumerate(kinds)
    }
    chosen = {f"c{at}": kind for at, kind in enumerate(kinds)} | {"size": "number"}
    return Attributes.from_columns(columns | {"size": list(range(n))}, kinds=chosen)


@settings(max_examples=25)
@given(data=st.data())
def test_an_encoder_comes_back_with_its_model(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("encoded", numbered=True) / "model.safetensors"
    n = data.draw(st.integers(1, 5))
    try:
        graph = Graph(attributes=attributes_of(data, n))
        gate = fitted(graph, (2,), epochs=1)
    except InputError:  # features whose names clash
        reject()
    gate.save(path)
    loaded = GATE.load(path)
    assert loaded.encoder_.to_dict() == gate.encoder_.to_dict()
    assert same_bytes(loaded.transform(graph), gate.embedding_)
    GATE.load(path).save(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "settings", [{"epochs": np.int64(2)}, {"learning_rate": np.float32(0.05)}], ids=str
)
def test_settings_may_be_numbers_of_numpy(path, settings):
    gate = fitted(**settings)
    gate.save(path)
    assert same_bytes(GATE.load(path).transform(random_graph(1)), gate.embedding_)


def test_only_a_fitted_model_is_saved(path):
    with pytest.raises(NotFittedError):
        GATE().save(path)
    assert not path.exists()


# --- files that are no model ---------------------------------------------------------------------


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        GATE.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def save_model(path, names=None, dims=(3, 2)) -> None:
    """A model of four features with random weights."""
    gate = GATE(dims, **SEED)
    architecture = Architecture(4, dims)
    gate.fit_ = GATEFit.of(GATEModel(architecture, np.random.default_rng(0)), 1.0)
    gate.n_features_in_, gate.fitted_on_, gate.encoder_, gate.notes_ = 4, FEATURES, None, {}
    if names is not None:
        gate.feature_names_in_ = np.array(names, dtype=object)
    gate._params = gate._deciding_params(dims=dims)
    gate.save(path)


def header_of(path) -> dict:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["graphgate"])


def rewrite(path, tensors=None, drop=(), **fields):
    """Changes the header or the tensors of a model's file; gives its path."""
    header = {k: v for k, v in (header_of(path) | fields).items() if k not in drop}
    kept = {k: v for k, v in (load(path.read_bytes()) | (tensors or {})).items() if k not in drop}
    save_file(kept, path, metadata={"graphgate": json.dumps(header)})
    return path


@pytest.fixture
def good(path):
    """The file of a good model."""
    save_model(path, list("abcd"))
    return path


def test_the_unchanged_model_is_read(good):
    loaded = GATE.load(good)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert loaded.get_params() == GATE((3, 2), **SEED).get_params()
    assert loaded.model_.architecture == Architecture(4, (3, 2))


def test_what_says_how_to_compute_is_not_saved():
    assert {*deciding(GATE)} == GATE().get_params().keys() - EXECUTION


def test_a_checkpoint_is_no_model(path):
    fitted(checkpoint=path)
    assert "its header says 'checkpoint'" in refusal(path)


def test_a_model_is_no_checkpoint(path):
    fitted().save(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a graphgate checkpoint file"):
        fitted(checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "field",
    [
        *("params", "n_features", "feature_names", "encoder", "fitted_on", "method"),
        *("notes", "versions", "fit"),
    ],
)
def test_a_header_without_a_field(good, field):
    assert f"its header lacks {field!r}" in refusal(rewrite(good, drop=[field]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("params", []),
        ("n_features", True),
        ("n_features", 4.0),
        ("feature_names", "abcd"),
        ("encoder", []),
        ("fitted_on", None),
        ("versions", []),
    ],
)
def test_a_header_with_a_field_of_another_type(good, field, value):
    assert f"{field!r} in its header has the wrong type" in refusal(rewrite(good, **{field: value}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dims": []}, "dims must be the sizes"),
        ({"dims": [3, 0]}, "each of dims == "),
        ({"dims": [3, -2]}, "each of dims == "),
        ({"dims": [3, 2.0]}, "in its header has the wrong type"),
        ({"dims": [3, None]}, "in its header has the wrong type"),
        ({"dims": ["3", "2"]}, "in its header has the wrong type"),
        ({"dims": [[3], [2]]}, "in its header has the wrong type"),
        ({"dims": 3}, "'params.dims' in its header has the wrong type"),
        ({"dims": [2, 3]}, "are not those of its network"),
        ({"dims": [3]}, "are not those of its network"),
        ({"dims": [3, 2, 2]}, "are not those of its network"),
        ({"activation": "rm -rf"}, "unknown activation"),
        ({"activation": None}, "'params.activation' in its header has the wrong type"),
        ({"attention": "none"}, "unknown attention"),
        ({"attention": "uniform"}, "are not those of its network"),
        ({"tied_weights": 1}, "'params.tied_weights' in its header has the wrong type"),
        ({"tied_weights": False}, "are not those of its network"),
        ({"shared_attention": False}, "are not those of its network"),
        ({"heads": 8}, "its params has an unknown field 'heads'"),
        ({"epochs": True}, "'params.epochs' in its header has the wrong type"),
        ({"epochs": 2.5}, "'params.epochs' in its header has the wrong type"),
        ({"random_state": None}, "random_state must be an instance of int"),
        ({"feature_loss": 1}, "'params.feature_loss' in its header has the wrong type"),
        ({"learning_rate": "0.1"}, "'params.learning_rate' in its header has the wrong type"),
        ({"dtype": "float16"}, "unknown dtype 'float16'"),
        ({"dtype": ""}, "unknown dtype ''"),
        ({"dtype": "float64"}, "of torch.float32, not of torch.float64"),
    ],
    ids=str,
)
def test_other_params(good, changes, words):
    assert words in refusal(rewrite(good, params=header_of(good)["params"] | changes))


@pytest.mark.parametrize(
    ("f", "words"),
    [(0, "out of range"), (-4, "out of range"), (5, "its feature names do not match its 5")],
)
def test_another_number_of_features(good, f, words):
    assert words in refusal(rewrite(good, n_features=f))


def test_a_layer_of_size_true(path):
    save_model(path, dims=(1,))
    refusal(rewrite(path, params=header_of(path)["params"] | {"dims": [True]}))


@pytest.mark.parametrize("unit", [0.0, -1.0])
def test_an_impossible_unit_of_weights(good, unit):
    fit = header_of(good)["fit"] | {"unit": unit}
    assert "'fit.unit' in its header is out of range" in refusal(rewrite(good, fit=fit))


def test_our_own_form_is_kept_with_its_unit_of_weights(path):
    graph = random_graph(2, weighted=True)
    gate = GATE((3, 2), random_state=0, progress=False).fit(graph)
    gate.save(path)
    loaded = GATE.load(path)
    unset = ("preset", "epochs", "learning_rate", "patience", "tolerance")
    assert {loaded.get_params()[name] for name in unset} == {None}
    assert loaded.weight_unit_ == gate.weight_unit_ == graph.adjacency.data.mean(dtype=float)
    assert same_bytes(loaded.transform(graph), gate.embedding_)
    GATE((3, 2), patience=math.inf, epochs=2, random_state=0).fit(graph).save(path)
    assert GATE.load(path).patience == math.inf


def test_params_without_a_field(good):
    params = header_of(good)["params"]
    for field in params:
        rest = {k: v for k, v in params.items() if k != field}
        assert f"its params lacks {field!r}" in refusal(rewrite(good, params=rest))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "its feature names do not match its 4 features"),
        (["a", "b", "c"], "its feature names do not match its 4 features"),
        (["a", "b", "c", 4], "'feature_names.3' in its header has the wrong type"),
        (["a", "b", "c", None], "'feature_names.3' in its header has the wrong type"),
    ],
)
def test_feature_names_that_do_not_fit(good, names, words):
    assert words in refusal(rewrite(good, feature_names=names))


def test_an_encoder_that_does_not_fit(good):
    encoder = AttributeEncoder().fit(Attributes.from_columns({name: [1, 2] for name in "abcd"}))
    kind = asdict(FEATURES) | {"content": "attributes"}
    changes = {"encoder": encoder.to_dict(), "fitted_on": kind}
    assert GATE.load(rewrite(good, **changes)).encoder_.to_dict() == encoder.to_dict()
    others = AttributeEncoder().fit(Attributes.from_columns({name: [1, 2] for name in "abcx"}))
    words = "its feature names do not match its encoder"
    assert words in refusal(rewrite(good, **changes | {"encoder": others.to_dict()}))
    assert words in refusal(rewrite(good, **changes, feature_names=None))
    assert "has a column of kind 'x'" in refusal(
        rewrite(good, encoder={"scale": True, "columns": [{"kind": "x"}], "weights": []})
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"content": "words"}, "'fitted_on.content' in its header has the wrong type"),
        ({"content": "edges"}, "its encoder does not match the content 'edges'"),
        ({"directed": 0}, "'fitted_on.directed' in its header has the wrong type"),
        ({"has_edges": None}, "'fitted_on.has_edges' in its header has the wrong type"),
        ({"kind": "new"}, "its fitted_on has an unknown field 'kind'"),
    ],
    ids=str,
)
def test_another_kind_of_graph(good, changes, words):
    assert words in refusal(rewrite(good, fitted_on=asdict(FEATURES) | changes))


@pytest.mark.parametrize("drop", ["encoder_weight.0", "encoder_center.1", "encoder_neighbor.0"])
def test_a_missing_tensor(good, drop):
    assert f"its weight {drop!r} is None" in refusal(rewrite(good, drop=[f"fit.weights.{drop}"]))


@pytest.mark.parametrize(
    ("name", "tensor", "words"),
    [
        ("fit.weights.decoder_weight.0", torch.zeros(3, 4), "is (3, 4), not None"),
        ("fit.weights.architecture", torch.zeros(1), "is (1,), not None"),
        ("architecture", torch.zeros(1), "do not match its header ('architecture')"),
        ("fit.weights.encoder_weight.0", torch.zeros(3, 4), "is (3, 4), not (4, 3)"),
        ("fit.weights.encoder_center.0", torch.zeros(3, 1), "is (3, 1), not (3,)"),
        ("fit.weights.encoder_weight.0", torch.zeros(4, 3).double(), "of torch.float64"),
        ("fit.weights.encoder_weight.0", torch.zeros(4, 3).half(), "of torch.float16"),
        ("fit.weights.encoder_weight.1", torch.full((3, 2), torch.nan), "that are not finite"),
    ],
    ids=str,
)
def test_another_tensor(good, name, tensor, words):
    assert words in refusal(rewrite(good, {name: tensor}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dims": []}, "dims must be integers"),
        ({"dims": [3, 0]}, "dims must be integers"),
        ({"dims": [3, True]}, "has the wrong type"),
        ({"dims": [2, 3]}, "is (3,), not (2,)"),
        ({"dims": [3]}, "is (2,), not None"),
        ({"activation": "rm -rf"}, "unknown activation"),
        ({"attention": "uniform"}, "not None"),
        ({"tied_weights": 1}, "has the wrong type"),
        ({"tied_weights": False}, "is None, not"),
        ({"n_features": 5}, "is (4, 3), not (5, 3)"),
        ({"shared_attention": False}, "is None, not"),
        ({"activation": "tanh"}, "its parameters are not those of its network"),
    ],
    ids=str,
)
def test_another_architecture(good, changes, words):
    fit = header_of(good)["fit"]
    refusal_of = refusal(rewrite(good, fit=fit | {"architecture": fit["architecture"] | changes}))
    assert words in refusal_of


HUGE = [[10**9, 10**9], [2**62], [10**400], [3] + [10**6] * 50]


def resized(path, dims, f=4):
    """The file with parameters and an architecture of other sizes; gives its path."""
    header = header_of(path)
    params, fit = header["params"] | {"dims": dims}, header["fit"]
    architecture = fit["architecture"] | {"dims": dims, "n_features": f}
    fields = {"n_features": f, "feature_names": None, "params": params}
    return rewrite(path, **fields, fit=fit | {"architecture": architecture})


@pytest.mark.parametrize("dims", HUGE, ids=lambda dims: f"{len(dims)} layers")
def test_absurd_sizes_are_refused(good, dims):
    refusal(resized(good, dims))


@pytest.mark.parametrize(
    "changes",
    [([2_000_000, 2], 4), ([1] * 10_000, 4), ([3, 2], 2_000_000)],
    ids=["wide", "deep", "features"],
)
def test_sizes_that_do_not_fit_the_file_cost_nothing(good, changes):
    file = resized(good, *changes)
    tracemalloc.start()
    try:
        refusal(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


def test_truncated_at_many_lengths(path):
    fitted().save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        refusal(path)


@settings(max_examples=100)
@given(data=st.data())
def test_altered_bytes_are_refused_or_harmless(tmp_path_factory, data):
    """Any byte may be another: then it is an InputError, or still a model (of other numbers)."""
    path = tmp_path_factory.mktemp("altered", numbered=True) / "model.safetensors"
    save_model(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        gate = GATE.load(path)
    except InputError:
        return
    assert gate.transform(random_graph(0, f=4)).shape == (9, 2)


# --- writing -------------------------------------------------------------------------------------


def test_a_failing_write_keeps_the_old_model(path, tmp_path, monkeypatch):
    gate = fitted()
    gate.save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        fitted(structure_weight=9.0).save(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_missing_folder(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file"):
        fitted().save(tmp_path / "no" / "model.safetensors")
    assert list(tmp_path.iterdir()) == []
