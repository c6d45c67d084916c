"""Models of LinearGATE in files: the same bytes come out, and all else is refused."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_graphs import community_graph, word_graph
from safetensors import safe_open
from safetensors.torch import load, save_file
from sklearn.exceptions import NotFittedError

from graphgate import Graph, InputError, LinearGATE
from graphgate.estimators.persistence import EXECUTION, deciding


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def fitted(graph: Graph, **settings) -> LinearGATE:
    return LinearGATE(**{"n_components": 6, "random_state": 0} | settings).fit(graph)


def same_bytes(one: np.ndarray, two: np.ndarray) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


def named(ids: list, **settings) -> Graph:
    return community_graph(1, n=len(ids), ids=ids, **settings)


GRAPHS = {
    "undirected": community_graph(1),
    "directed": community_graph(1, directed=True),
    "weighted": community_graph(1, weighted=True),
    "words": word_graph(1),
    "some hundred words": word_graph(1, f=300),
    "many words": word_graph(1, f=700),
    "odd sizes": community_graph(1, n=131, f=37),
    "more nodes than factors": community_graph(1, n=301, f=5),
    "few edges": community_graph(1, n=20, degree=3),
    "no edges": Graph(community_graph(1).x),
    "edges only": Graph(adjacency=community_graph(1).adjacency),
    "attributes": Graph(
        None,
        community_graph(1).adjacency,
        attributes={"size": np.arange(80.0), "kind": ["a", "b", None, "ä"] * 20},
    ),
}


# --- round trips ---------------------------------------------------------------------------------


@pytest.mark.numerical
@pytest.mark.parametrize(("structure", "dtype"), [(True, "float32"), (False, "float64")])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_loaded_model_is_bit_identical(path, kind, dtype, structure):
    graph = GRAPHS[kind]
    gate = fitted(graph, dtype=dtype, structure=structure)
    gate.save(path)
    loaded = LinearGATE.load(path)
    assert gate.embedding_.dtype == dtype
    assert same_bytes(loaded.transform(graph), gate.embedding_)
    some = graph.subgraph(graph.ids[5:17])
    if structure and graph.n_edges:
        some = some.without(graph.ids[7:9])
    assert same_bytes(loaded.transform(some), gate.transform(some))
    assert same_bytes(loaded.reconstruct(graph), gate.reconstruct(graph))
    assert loaded.report_ == gate.report_
    if gate.decoder_ is not None:
        pairs = np.stack([graph.ids[:-1], graph.ids[1:]], axis=1)
        assert same_bytes(loaded.score_edges(pairs, graph), gate.score_edges(pairs))
        for one, two in zip(loaded.predict_links(graph), gate.predict_links(), strict=True):
            assert one.tolist() == two.tolist()
    again = path.with_name("again")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert same_bytes(loaded.fit(graph).embedding_, gate.embedding_)


def test_every_parameter_that_decides_the_result_is_kept(path):
    changed = {
        "n_components": 5,
        "structure": False,
        "weights": {"own": 2.0, "deep": 0.25},
        "groups": ["a", "b"] * (GRAPHS["undirected"].n_features // 2),
        "scale": False,
        "random_state": 9,
        "dtype": "float64",
    }
    assert [*changed] == deciding(LinearGATE)
    assert changed.keys() == LinearGATE().get_params().keys() - EXECUTION
    gate = LinearGATE(**changed).fit(GRAPHS["undirected"])
    gate.set_params(n_components=99, dtype="float32", structure=True)  # what was not used
    gate.save(path)
    assert LinearGATE.load(path).get_params() == LinearGATE(**changed).get_params()


def test_parameters_may_be_scalars_of_numpy(path):
    gate = fitted(
        GRAPHS["undirected"],
        n_components=np.int64(4),
        structure=np.True_,
        weights={"own": np.float32(2)},
        groups=np.zeros(GRAPHS["undirected"].n_features, dtype=np.int32),
        scale=np.False_,
        random_state=np.int32(3),
        dtype=torch.float64,
    )
    gate.save(path)
    found = LinearGATE.load(path).get_params()
    assert {name: found[name] for name in deciding(LinearGATE)} == {
        "n_components": 4,
        "structure": True,
        "weights": {"own": 2.0},
        "groups": ["0"] * GRAPHS["undirected"].n_features,
        "scale": False,
        "random_state": 3,
        "dtype": "float64",
    }


def test_a_random_seed_is_saved(path):
    gate = fitted(GRAPHS["undirected"], random_state=None)
    gate.save(path)
    assert LinearGATE.load(path).random_state == gate.seed_


def test_notes_are_kept(path):
    gate = fitted(GRAPHS["undirected"])
    gate.notes_ = {"source": "größe", "n": [1, 2]}
    gate.save(path)
    assert LinearGATE.load(path).notes_ == gate.notes_


def test_what_a_loaded_model_holds(path):
    gate = fitted(GRAPHS["undirected"])
    gate.save(path)
    loaded = LinearGATE.load(path)
    assert not hasattr(loaded, "embedding_")
    assert (loaded.seed_, loaded.n_features_in_) == (0, 10)
    assert loaded.get_feature_names_out().tolist() == [f"lineargate{at}" for at in range(6)]
    for use in (lambda: loaded.score_edges([(0, 1)]), loaded.predict_links):
        with pytest.raises(InputError, match="a loaded model holds no graph; pass the graph"):
            use()


IDS = {
    "integers": list(range(-7, 33)),
    "text": [f"node {at}" for at in range(40)],
    "mixed": [at if at % 2 else str(at) for at in range(40)],
    "integers and equal text": [1, "1", 2, "2", *range(100, 136)],
    "tuples": [(at // 5, f"b{at % 5}") for at in range(40)],
    "tuples and equal text": [(1, 2), "(1, 2)", "('(1, 2)',)", *range(37)],
    "numbers": [0.5 + at for at in range(40)],
    "large integers": [2**70 + at for at in range(40)],
    "booleans and none": [True, False, None, *range(2, 39)],
    "unicode": ["", "\0", "größe", "🙂", "\ud800", "\udfff\ud800", "a\nb", *map(str, range(33))],
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_kind_come_back(path, kind):
    graph = named(IDS[kind])
    gate = fitted(graph)
    gate.save(path)
    loaded = LinearGATE.load(path)
    assert loaded.model_.structure.ids.tolist() == gate.model_.structure.ids.tolist()
    turned = graph.subgraph(list(reversed(graph.ids.tolist())))
    assert same_bytes(loaded.transform(turned), gate.transform(turned))
    np.testing.assert_allclose(loaded.transform(turned)[::-1], gate.embedding_, atol=1e-5)


TEXT = st.text(st.characters(exclude_categories=()))  # surrogates included


@settings(max_examples=30)
@given(st.lists(st.integers() | TEXT | st.tuples(st.integers(), TEXT), min_size=2, unique=True))
def test_any_ids_come_back(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("ids", numbered=True) / "model.safetensors"
    ring = [(ids[at - 1], ids[at]) for at in range(len(ids))]
    graph = Graph.from_edges(np.eye(len(ids)), ring, ids=ids)
    gate = fitted(graph)
    gate.save(path)
    assert same_bytes(LinearGATE.load(path).transform(graph), gate.embedding_)


def test_only_a_fitted_model_is_saved(path):
    with pytest.raises(NotFittedError):
        LinearGATE().save(path)
    assert not path.exists()


# --- files that are no model ---------------------------------------------------------------------


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        LinearGATE.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def header_of(path) -> dict:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["graphgate"])


def tensors_of(path) -> dict:
    return load(path.read_bytes())  # load_file would return views of a file that is then replaced


def write(path, header: dict | str, tensors: dict):
    text = header if isinstance(header, str) else json.dumps(header)
    save_file(tensors, path, metadata={"graphgate": text})
    return path


def with_field(path, where: str, value):
    """Another value of a field of the header, by its dotted name."""
    header = header_of(path)
    *outer, name = where.split(".")
    body = header
    for part in outer:
        body = body[int(part) if isinstance(body, list) else part]
    body[int(name) if isinstance(body, list) else name] = value
    return write(path, header, tensors_of(path))


def records(body, name: str = ""):
    """Every object in a header, with its dotted name; encoder, notes and versions are not ours."""
    if isinstance(body, dict):
        yield name, body
        inner = body.items()
    else:
        inner = enumerate(body) if isinstance(body, list) else ()
    for key, value in inner:
        if key not in ("encoder", "notes", "versions"):
            yield from records(value, f"{name}.{key}".removeprefix("."))


@pytest.fixture(scope="module", params=["integer ids", "text ids", "many words"])
def saved(request, tmp_path_factory):
    """The bytes of a good file."""
    graph = {
        "integer ids": GRAPHS["undirected"],
        "text ids": named([f"n{at}" for at in range(80)]),
        "many words": GRAPHS["many words"],
    }[request.param]
    file = tmp_path_factory.mktemp("good") / "model.safetensors"
    fitted(graph, weights=None).save(file)  # others have evidence, see below
    return file.read_bytes()


@pytest.fixture
def good(saved, path):
    path.write_bytes(saved)
    return path


def test_every_field_of_the_header_is_needed(good):
    LinearGATE.load(good)
    header, tensors = header_of(good), tensors_of(good)
    for _, body in records(header):
        for name, value in list(body.items()):
            del body[name]
            refusal(write(good, header, tensors))
            body["extra"] = 1
            refusal(write(good, header, tensors))
            body[name] = value
            refusal(write(good, header, tensors))
            del body["extra"]


@pytest.mark.parametrize("wrong", [None, "x", [], {}, 2.5, True, -(10**400)], ids=str)
def test_every_field_has_its_type(good, wrong):
    header, tensors = header_of(good), tensors_of(good)
    for where, body in records(header):
        for name, value in list(body.items()):
            fits = type(wrong) is type(value) or (type(wrong), type(value)) == (float, int)
            fits |= (where, name) == ("params", "weights") and wrong is None
            if not fits and name not in ("encoder", "notes", "versions"):
                body[name] = wrong
                refusal(write(good, header, tensors))
                body[name] = value


SOURCE = {"name": "x", "n_features": 9, "divisible": True, "unit_rows": False}
SOURCE |= {"scale": 1.0, "weight": 1.0}
EVIDENCE = {"sources": [[[0, 0]] * 4], "alignments": [[0] * 3], "structure": [0, 0]}


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("method", "gate"),
        ("method", "no such method"),
        ("n_features", 0),
        ("n_features", 9),
        ("params.n_components", 0),
        ("params.n_components", 5),  # fewer than the model has
        ("params.structure", False),
        ("params.random_state", -1),
        ("params.random_state", 2**32),
        ("params.random_state", None),
        ("params.dtype", "float64"),
        ("params.dtype", "float16"),
        ("fitted_on.has_edges", False),
        ("fitted_on.content", "edges"),
        ("fitted_on.content", "words"),
        ("params.weights", {"own": -1}),
        ("params.weights", {"no such view": 1.0}),
        ("params.weights", "all"),
        ("params.weights", "auto"),  # there is no evidence
        ("fit.model.coordinates.sources", []),
        ("fit.model.coordinates.sources", [1]),
        ("fit.model.coordinates.sources", [SOURCE]),  # of other features
        ("fit.model.coordinates.sources.0.n_features", 0),
        ("fit.model.coordinates.sources.0.scale", 0),
        ("fit.model.coordinates.sources.0.weight", -1),
        ("fit.model.evidence", EVIDENCE),
        ("fit.model.unit", 0),
        ("fit.model.unit", -1.0),
        ("fit.model.coordinates.shortest", -1e-9),
        ("fit.model.coordinates.unit_from", -1e-9),
        ("fit.model.reconstruction.strength", 0),
        ("fit.model.reconstruction.r2", 1.01),
        ("fit.model.structure", None),
        ("fit.model.weights", {}),
        ("fit.model.weights.own", -1.0),
        ("fit.decoder", None),
        ("fit.decoder.auc", -0.1),
        ("fit.decoder.auc", 1.5),
        ("fit.decoder.reconstruction.strength", -1),
        *((where, 10**400) for where in ("fit.model.unit", "fit.decoder.bias")),
    ],
)
def test_numbers_out_of_range(good, where, value):
    refusal(with_field(good, where, value))


def test_views_in_another_order(good):
    weights = header_of(good)["fit"]["model"]["weights"]
    refusal(with_field(good, "fit.model.weights", dict(reversed(weights.items()))))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("params.weights", None),
        ("params.groups", ["x"]),
        ("params.groups", ["other"] * GRAPHS["undirected"].n_features),
        ("fit.model.evidence", None),
        ("fit.model.evidence", EVIDENCE | {"sources": [1]}),
        ("fit.model.evidence", EVIDENCE | {"sources": []}),
        ("fit.model.evidence", EVIDENCE | {"alignments": []}),
        ("fit.model.evidence", EVIDENCE | {"structure": [0, 0, 0]}),
        ("fit.model.evidence", EVIDENCE | {"structure": [0, "0"]}),
    ],
)
def test_evidence_belongs_to_weights_that_are_chosen(path, where, value):
    fitted(GRAPHS["undirected"], weights="auto").save(path)
    LinearGATE.load(path)
    refusal(with_field(path, where, value))


@pytest.mark.parametrize(
    "groups", [None, ["b", "a"] * 5, ["a"] * 10, ["a", "b", *"ab" * 3, "b", "a"]]
)
def test_groups_are_those_of_the_sources(path, groups):
    fitted(GRAPHS["undirected"], weights="auto", groups=["a", "b"] * 5).save(path)
    LinearGATE.load(path)
    if groups is None:  # any division of features may be that of attributes
        groups = ["a", "b", *"ab" * 3, "a", "a"]
    refusal(with_field(path, "params.groups", groups))


@pytest.mark.numerical
@pytest.mark.parametrize("weights", ["auto", {"own": 2.0}])
@pytest.mark.parametrize("kind", ["words", "attributes", "no edges", "edges only"])
def test_weights_and_evidence_are_kept(path, kind, weights):
    graph = GRAPHS[kind]
    gate = fitted(graph, weights=weights)
    gate.save(path)
    loaded = LinearGATE.load(path)
    assert loaded.weights == weights
    assert loaded.report_ == gate.report_
    assert loaded.model_.evidence == gate.model_.evidence
    assert same_bytes(loaded.transform(graph), gate.embedding_)
    assert same_bytes(loaded.fit(graph).embedding_, gate.embedding_)


@pytest.mark.parametrize(
    "where",
    [
        *(
            f"fit.model.{name}"
            for name in ("unit", "coordinates.shortest", "coordinates.unit_from")
        ),
        *(f"fit.model.reconstruction.{name}" for name in ("strength", "r2")),
        *(f"fit.decoder.{name}" for name in ("bias", "auc", "reconstruction.strength")),
    ],
)
def test_numbers_that_are_not_finite(good, where):
    header, tensors = json.dumps(header_of(with_field(good, where, "HERE"))), tensors_of(good)
    for text in ("1e999", "-1e999", "NaN", "Infinity"):
        refusal(write(good, header.replace('"HERE"', text), tensors))


def test_a_projection_is_needed_or_not(good):
    header, tensors = header_of(good), tensors_of(good)
    coordinates = header["fit"]["model"]["coordinates"]
    if tensors.pop("fit.model.coordinates.components", None) is not None:
        coordinates["components"] = None
    else:
        coordinates.pop("components")
    refusal(write(good, header, tensors))


def test_a_decoder_without_edges(path):
    fitted(GRAPHS["undirected"], structure=False).save(path)
    refusal(with_field(path, "fitted_on.has_edges", False))


@pytest.mark.parametrize("k", [1, 9, 11])
def test_a_decoder_of_another_size(path, k):
    """Its matrix is square, but not of the coordinates of the model."""
    fitted(GRAPHS["undirected"]).save(path)
    header, tensors = header_of(path), tensors_of(path)
    tensors["fit.decoder.reconstruction.weights"] = torch.zeros(k, k)
    assert "contradictory" in refusal(write(path, header, tensors))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("model.projection", lambda m: m[:-1]),
        ("model.projection", lambda m: torch.cat([m, m], dim=1)),
        ("model.reconstruction.weights", lambda m: m[:-1, :-1]),
        ("model.structure.vectors", lambda m: m[:, :-1]),
        ("model.coordinates.center", lambda m: m[:-1]),
        ("model.coordinates.places", lambda m: m + 1),
        ("model.coordinates.places", lambda m: m - 1),
        ("decoder.weights", lambda m: m[:-1]),
    ],
)
def test_matrices_that_do_not_fit_each_other(good, name, change):
    tensors = tensors_of(good)
    name = f"fit.{name}"
    refusal(write(good, header_of(good), tensors | {name: change(tensors[name]).contiguous()}))


def test_a_model_without_structure_knows_no_nodes(path):
    fitted(GRAPHS["undirected"], structure=False).save(path)
    refusal(with_field(path, "fit.model.structure", {}))
    fitted(GRAPHS["undirected"], structure=False).save(path)
    refusal(with_field(path, "params.structure", True))


def test_every_tensor_is_needed_and_no_other(good):
    header, tensors = header_of(good), tensors_of(good)
    for name in tensors:
        refusal(write(good, header, {k: v for k, v in tensors.items() if k != name}))
    refusal(write(good, header, tensors | {"more": torch.zeros(1)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t[:-1],
        lambda t: t[None],
        lambda t: t.half() if t.is_floating_point() else t.to(torch.int32),
        lambda t: torch.cat([t, t]),
        lambda t: t.float() * torch.nan if t.is_floating_point() else t.float(),
    ],
    ids=["shorter", "another dimension", "another type", "twice", "not a number"],
)
def test_every_tensor_has_its_shape_and_type(good, change):
    header, tensors = header_of(good), tensors_of(good)
    for name, tensor in tensors.items():
        refusal(write(good, header, tensors | {name: change(tensor).contiguous()}))


NODE_IDS = "fit.model.structure.ids"


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("ends", 0, -1),
        ("ends", 3, -1),
        ("ends", 3, 10**15),
        ("ends", -1, 0),
        ("ends", 3, 0),
        ("", 0, ord("i")),  # "n0" is no integer
        ("", 0, ord("x")),  # no kind
        ("", 1, 0xFF),  # not UTF-8
        ("", 5, ord("0")),  # the second id becomes the first
    ],
)
def test_damaged_text_ids(path, name, at, value):
    fitted(named([f"n{at}" for at in range(80)])).save(path)
    tensors = tensors_of(path)
    tensors[f"{NODE_IDS}.{name}".removesuffix(".")][at] = value
    assert "its node ids are damaged" in refusal(write(path, header_of(path), tensors))


def test_repeated_integer_ids(path):
    fitted(GRAPHS["undirected"]).save(path)
    tensors = tensors_of(path)
    tensors[NODE_IDS][3] = tensors[NODE_IDS][2]
    assert "its node ids are damaged" in refusal(write(path, header_of(path), tensors))


def test_truncated_at_many_lengths(good):
    whole = good.read_bytes()
    for length in range(0, len(whole), max(len(whole) // 150, 1)):
        good.write_bytes(whole[:length])
        refusal(good)


ALTERED = community_graph(1, n=64, f=3, ids=[f"n{at}" for at in range(64)])


@pytest.fixture(scope="module")
def unaltered(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("unaltered") / "model.safetensors"
    fitted(ALTERED, n_components=2).save(path)
    return path.read_bytes()


@settings(max_examples=150)
@given(data=st.data())
def test_altered_bytes_are_refused_or_harmless(tmp_path_factory, unaltered, data):
    """Any byte may be another: then it is an InputError, or still a model (of other numbers)."""
    path = tmp_path_factory.mktemp("altered", numbered=True) / "model.safetensors"
    content = bytearray(unaltered)
    header = int.from_bytes(content[:8], "little") + 8  # most of the checks are about it
    for _ in range(data.draw(st.integers(1, 3))):
        last = data.draw(st.sampled_from([header, len(content)])) - 1
        content[data.draw(st.integers(0, last))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        gate = LinearGATE.load(path)
    except InputError:
        return
    with np.errstate(all="ignore"):
        try:
            assert gate.transform(ALTERED).shape == (64, 2)
            assert gate.score_edges([("n1", "n2")], ALTERED).shape == (1,)
        except InputError:  # fitted on edges of another kind
            pass
