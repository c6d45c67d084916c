"""What similarities are made of, against dense products with one source at a time."""

import numpy as np
import pytest
from linear_graphs import community_graph, operator, word_graph
from rounding import assert_equal_to_rounding

from benchmarks.planted_graphs import irrelevant_columns
from graphgate import Graph, InputError, LinearGATE
from graphgate.linear.attribution import STRUCTURE, SimilarityParts, contributions
from graphgate.linear.model import VIEWS

pytestmark = pytest.mark.numerical


def fitted(graph: Graph, **settings) -> LinearGATE:
    settings = {"dtype": "float64", "random_state": 0, "progress": False} | settings
    return LinearGATE(16, **settings).fit(graph)


def table(directed: bool = False) -> Graph:
    graph = irrelevant_columns(2, informative=2, n_nodes=120).graph
    if not directed:
        return graph
    pairs = np.argwhere(graph.adjacency.toarray())
    kept = np.random.default_rng(0).random(len(pairs)) < 0.7
    return Graph.from_edges(None, pairs[kept], attributes=graph.attributes, directed=True)


@pytest.mark.parametrize(
    "graph", [table(), table(directed=True), word_graph(1), community_graph(1)]
)
@pytest.mark.parametrize("structure", [True, False])
def test_contributions_add_up_to_vectors(graph, structure):
    gate = fitted(graph, structure=structure)
    rows = np.array([5, 0, 17])
    parts = contributions(gate.model_, gate._known_graph(None), rows)
    assert_equal_to_rounding(sum(parts.values()).numpy(), gate.embedding_[rows])
    assert (STRUCTURE in {source for _, source in parts}) is structure


@pytest.mark.parametrize("directed", [False, True])
def test_a_source_is_what_its_columns_are_without_the_others(directed):
    graph = table(directed)
    gate = fitted(graph, structure=False)
    model, encoded = gate.model_, gate._known_graph(None)
    coordinates = model.coordinates
    assert len(coordinates.sources) == 4
    assert coordinates.components is None
    z = coordinates.transform(encoded.x).numpy()
    step = operator(encoded)
    view = VIEWS["deep"]
    smooth = sum(c * np.linalg.matrix_power(step, k) for k, c in enumerate(view.polynomial))
    rows = np.array([3, 40])
    lengths = np.linalg.norm(smooth @ z, axis=1)
    at = [VIEWS[name] for name in model.weights].index(view)
    projection = model.projection.numpy()[at * z.shape[1] : (at + 1) * z.shape[1]]
    parts = contributions(model, encoded, rows)
    for number, source in enumerate(coordinates.sources):
        alone = np.where(coordinates.places == number, z, 0)
        expected = model.weights["deep"] * (smooth @ alone / lengths[:, None])[rows] @ projection
        assert_equal_to_rounding(parts["deep", source.name].numpy(), expected)


def test_similarities_are_sums_of_parts():
    graph = table()
    gate = fitted(graph)
    similar = gate.explain_similarity(7, [3, 90])
    unit = gate.embedding_ / np.linalg.norm(gate.embedding_, axis=1, keepdims=True)
    for parts, other in zip(similar, (3, 90), strict=True):
        assert parts.cosine == pytest.approx(unit[7] @ unit[other])
        for sums in (parts.parts, parts.views, parts.sources):
            assert sum(sums.values()) == pytest.approx(parts.cosine)
        assert list(parts.views) == list(gate.model_.weights)
        assert set(parts.sources) == {*graph.attributes.names, STRUCTURE}
    (turned,) = gate.explain_similarity(3, [7])
    assert turned.parts == pytest.approx(similar[0].parts)


def test_columns_that_count_little_contribute_little():
    graph = irrelevant_columns(1, informative=3).graph
    gate = fitted(graph)
    found = gate.explain_similarity(0, list(range(1, 50)))
    noise = [abs(parts.sources["noise 0"]) for parts in found]
    good = [abs(parts.sources["good 0"]) for parts in found]
    assert max(noise) < 0.05 < max(good)


def test_a_loaded_model_needs_the_graph(tmp_path):
    graph = table()
    gate = fitted(graph)
    gate.save(tmp_path / "model")
    loaded = LinearGATE.load(tmp_path / "model")
    with pytest.raises(InputError, match="holds no graph"):
        loaded.explain_similarity(0, [1])
    (one,), (other,) = (each.explain_similarity(0, [1], graph) for each in (gate, loaded))
    assert one.parts == pytest.approx(other.parts)


def test_parts_in_words():
    parts = {("own", "age"): 0.25, ("deep", "age"): -0.5, ("factors", STRUCTURE): 0.5}
    words = str(SimilarityParts(0.25, parts))
    assert words == "deep -0.50, factors +0.50, own +0.25; (structure) +0.50, age -0.25"
    many = {("own", name): value for name, value in zip("abcdefg", range(7, 0, -1), strict=True)}
    assert str(SimilarityParts(28.0, many)).endswith("e +3.00, others +3.00")
