"""The solved auto-encoder, block by block in dense NumPy."""

import numpy as np
import pytest
import torch
from linear_graphs import (
    averaging,
    community_graph,
    engine_for,
    fitted_model,
    normalized,
    operator,
    same_up_to_sign,
    smoothing,
    unit,
    word_graph,
)

from graphgate import Graph
from graphgate.compute import columns as column_engine
from graphgate.compute import decomposition
from graphgate.compute.decomposition import EXTRA
from graphgate.linear import linear_plan
from graphgate.linear import model as model_module
from graphgate.linear.model import VIEWS, LinearModel, States, unit_rows

pytestmark = pytest.mark.numerical


def fit(graph: Graph, n_components: int = 5, **settings):
    model, z = fitted_model(graph, n_components, **settings)
    return model, states_of(model, graph), z


def states_of(model: LinearModel, graph: Graph) -> States:
    return model.states(graph, engine_for(graph, model.projection.dtype))


def dense_blocks(model: LinearModel, graph: Graph) -> np.ndarray:
    """Own features, reconstruction, two steps, sixteen steps, place; with their weights."""
    own, step = model.coordinates.transform(graph.x).numpy(), operator(graph, model.unit)
    context, unit_from = smoothing(step, 10, 0.15) @ own, model.coordinates.unit_from
    parts = [
        0.5 * unit(own, unit_from),
        unit(context @ model.reconstruction.weights.numpy(), unit_from),
        unit(smoothing(step, 2, 0.33) @ own, unit_from),
        unit(averaging(step, 16, 0.05) @ own, unit_from),
    ]
    if model.structure is not None:
        rows = {node: at for at, node in enumerate(model.structure.ids.tolist())}
        v = np.zeros((graph.n_nodes, model.structure.vectors.shape[1]))
        for at, node in enumerate(graph.ids.tolist()):
            if node in rows:
                v[at] = model.structure.vectors[rows[node]]
        parts.append(model.weights["factors"] * unit(normalized(graph) @ v))
    return np.concatenate(parts, axis=1)


GRAPHS = {
    "undirected": community_graph(1),
    "directed": community_graph(1, directed=True),
    "weighted": community_graph(1, weighted=True),
    "both": community_graph(1, directed=True, weighted=True),
    "words": word_graph(1),
}


@pytest.fixture(params=[False, True], ids=["small", "large"])
def structure_weight(request, monkeypatch) -> float:
    """That of small graphs, and of those with more nodes than `LARGE`."""
    if request.param:
        monkeypatch.setattr(linear_plan, "LARGE", 10)
    return 0.7 if request.param else 0.5


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("kind", GRAPHS)
def test_the_embedding_is_the_projection_of_the_views(kind, structure):
    graph = GRAPHS[kind]
    model, states, z = fit(graph, structure=structure)
    blocks = dense_blocks(model, graph)
    rows = [states[name].whole() for name in model.weights]
    np.testing.assert_allclose(model.views.stacked(*rows), blocks, atol=1e-9)
    np.testing.assert_allclose(z, blocks @ model.projection.numpy(), atol=1e-9)
    np.testing.assert_allclose(model.embed(states), z, atol=1e-9)
    assert z.shape == (80, 5)
    assert blocks.shape[1] == 4 * graph.n_features + 80 * structure == len(model.projection)


def test_weights_are_those_of_the_size(structure_weight):
    model, _, _ = fit(GRAPHS["undirected"])
    weights = {name: view.weight for name, view in VIEWS.items()}
    assert model.weights == weights | {"factors": structure_weight}
    assert fit(GRAPHS["undirected"], structure=False)[0].weights.keys() == weights.keys() - {
        "factors"
    }


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_projection_keeps_the_leading_singular_vectors(kind, structure_weight):
    graph = GRAPHS[kind]
    model, _, _ = fit(graph, 3)
    blocks = dense_blocks(model, graph)
    assert model.projection.shape == (blocks.shape[1], 3)
    same_up_to_sign(model.projection.numpy(), np.linalg.svd(blocks).Vh[:3].T, atol=0.02)


def test_the_gram_matrix_gives_the_leading_singular_vectors(monkeypatch):
    """As for a large graph, whose rows are many more than the columns of its views."""
    monkeypatch.setattr(decomposition, "_TALL", 0)
    monkeypatch.setattr(column_engine, "CHUNK", 30)
    graph = GRAPHS["words"]
    model, _, _ = fit(graph, 3)
    blocks = dense_blocks(model, graph)
    assert blocks.shape[1] > 4 * (3 + EXTRA)
    same_up_to_sign(model.projection.numpy(), np.linalg.svd(blocks).Vh[:3].T, atol=1e-9)


def test_all_components_keep_all_distances():
    model, _, z = fit(GRAPHS["undirected"], 500)
    blocks = dense_blocks(model, GRAPHS["undirected"])
    assert z.shape == (80, 80)
    np.testing.assert_allclose(z @ z.T, blocks @ blocks.T, atol=1e-9)


@pytest.mark.parametrize("structure", [True, False])
def test_a_similarity_is_the_sum_of_what_each_view_contributes(structure):
    graph = GRAPHS["undirected"]
    model, states, z = fit(graph, structure=structure)
    parts = model.contributions({name: states[name].whole() for name in model.weights})
    assert list(parts) == [name for name in VIEWS if structure or name != "factors"]
    np.testing.assert_allclose(sum(parts.values()), z, atol=1e-12)
    split = {name: part[3] @ z[7] for name, part in parts.items()}
    assert float(sum(split.values())) == pytest.approx(float(z[3] @ z[7]))
    own = dense_blocks(model, graph)[:, :10] @ model.projection.numpy()[:10]
    np.testing.assert_allclose(parts["own"], own, atol=1e-12)


def test_a_view_is_one_entry(monkeypatch):
    """A further power of the operator, without a change anywhere else."""
    graph = GRAPHS["words"]
    view = model_module.View("far", 0.3, (0.0, 0.0, 0.0, 1.0))
    monkeypatch.setitem(VIEWS, "far", view)
    monkeypatch.setitem(model_module.POLYNOMIALS, "far", view.polynomial)
    model, states, z = fit(graph)
    own = model.coordinates.transform(graph.x).numpy()
    far = unit(np.linalg.matrix_power(operator(graph, model.unit), 3) @ own)
    far_columns = slice(len(model.projection) - far.shape[1], None)
    parts = model.contributions({name: states[name].whole() for name in model.weights})
    np.testing.assert_allclose(
        parts["far"], 0.3 * far @ model.projection.numpy()[far_columns], atol=1e-9
    )
    np.testing.assert_allclose(sum(parts.values()), z, atol=1e-9)


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_another_graph_is_embedded_in_the_units_of_the_first(structure, weighted):
    whole = community_graph(2, weighted=weighted)
    if weighted:  # other weights than those of the graph that it is fitted on
        whole = Graph(whole.x, 7 * whole.adjacency)
    seen = community_graph(2, weighted=weighted).without([4, 9, 30])
    model, _, _ = fit(seen, structure=structure)
    found = model.embed(states_of(model, whole))
    expected = dense_blocks(model, whole) @ model.projection.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_is_used_without_edges():
    graph = Graph(np.random.default_rng(0).normal(size=(20, 4)))
    model, states, z = fit(graph)
    assert model.structure is None
    assert "factors" not in states
    assert model.unit == 1
    own = unit(model.coordinates.transform(graph.x).numpy(), model.coordinates.unit_from)
    blocks = np.concatenate([0.5 * own, 0 * own, own, own], axis=1)
    np.testing.assert_allclose(z @ z.T, blocks @ blocks.T, atol=1e-9)


def test_rows_of_length_one():
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-9, 0.0], [2e-3, 0.0]])
    found = unit_rows(rows, 1e-3)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, 0], [1, 0]], rtol=1e-6)
    found = unit_rows(rows, 1e-3, unit_from=1.0)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, 0], [2e-3, 0]], rtol=1e-6)


def test_a_number_that_is_nearly_all_there_is_does_not_become_its_sign():
    x = np.random.default_rng(0).normal(size=(80, 6)) * [1, *[0.02] * 5]
    graph = Graph(x)
    model, states, _ = fit(graph, structure=False)
    near = np.abs(x[:, 0] - x[:, 0].mean()) < 0.5
    own = model.views.block("own", states["own"].whole())[near, 0]
    assert np.corrcoef(own, x[near, 0])[0, 1] > 0.999


def test_rounding_is_not_blown_up_to_unit_vectors():
    constant = community_graph(3, x=np.full((80, 6), 1.1), weighted=True)
    model, _, z = fit(constant, dtype=torch.float32, structure=False)
    assert (z == 0).all()
    assert (model.embed(states_of(model, constant)) == 0).all()
