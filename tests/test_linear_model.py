"""The solved auto-encoder, block by block in dense NumPy."""

import numpy as np
import pytest
import torch
from linear_graphs import (
    averaging,
    community_graph,
    normalized,
    operator,
    same_up_to_sign,
    smoothing,
    unit,
    word_graph,
    workspace,
)

from graphgate import Graph
from graphgate.linear import decomposition
from graphgate.linear.linear_model import LinearModel, block_rows, n_block_columns
from graphgate.linear.linear_plan import EXTRA
from graphgate.linear.node_states import NodeStates, unit_rows

pytestmark = pytest.mark.numerical


def fit(
    graph: Graph, n_components: int = 5, *, structure: bool = True, dtype=torch.float64, **plan
):
    generator = torch.Generator().manual_seed(0)
    model, z = LinearModel.fit(
        graph,
        n_components,
        structure=structure,
        workspace=workspace(graph.n_nodes, **plan),
        generator=generator,
        dtype=dtype,
    )
    return model, states_of(model, graph), z


def states_of(model: LinearModel, graph: Graph) -> NodeStates:
    return model.states(graph, workspace(graph.n_nodes))


def dense_blocks(model: LinearModel, graph: Graph) -> np.ndarray:
    """Own features, reconstruction, two steps, sixteen steps, place."""
    own, step = model.coordinates.transform(graph.x).numpy(), operator(graph, model.unit)
    context = smoothing(step, 10, 0.15) @ own
    parts = [
        0.5 * unit(own),
        unit(context @ model.reconstruction.weights.numpy()),
        unit(smoothing(step, 2, 0.33) @ own),
        unit(averaging(step, 16, 0.05) @ own),
    ]
    if model.structure is not None:
        rows = {node: at for at, node in enumerate(model.structure.ids.tolist())}
        v = np.zeros((graph.n_nodes, model.structure.vectors.shape[1]))
        for at, node in enumerate(graph.ids.tolist()):
            if node in rows:
                v[at] = model.structure.vectors[rows[node]]
        parts.append(unit(normalized(graph) @ v))
    return np.concatenate(parts, axis=1)


def block_weights(graph: Graph, columns: int, structure_weight: float = 0.5) -> np.ndarray:
    """What the blocks are multiplied by before they are projected."""
    return np.where(np.arange(columns) < 4 * graph.n_features, 1.0, structure_weight)


GRAPHS = {
    "undirected": community_graph(1),
    "directed": community_graph(1, directed=True),
    "weighted": community_graph(1, weighted=True),
    "both": community_graph(1, directed=True, weighted=True),
    "words": word_graph(1),
}


LARGE = {"structure_weight": 0.7}  # as in the plan of large graphs


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("kind", GRAPHS)
def test_the_embedding_is_the_projection_of_the_blocks(kind, structure):
    graph = GRAPHS[kind]
    model, states, z = fit(graph, structure=structure)
    blocks = dense_blocks(model, graph)
    found = block_rows(states, model.reconstruction)(slice(0, graph.n_nodes))
    np.testing.assert_allclose(found, blocks, atol=1e-9)
    np.testing.assert_allclose(z, blocks @ model.projection.numpy(), atol=1e-9)
    assert z.shape == (80, 5)
    rank = 80 if structure else 0
    assert blocks.shape[1] == n_block_columns(graph.n_features, rank) == len(model.projection)


@pytest.mark.parametrize(("kind", "plan"), [*((kind, {}) for kind in GRAPHS), ("words", LARGE)])
def test_the_projection_keeps_the_leading_singular_vectors(kind, plan):
    graph = GRAPHS[kind]
    model, _, _ = fit(graph, 3, **plan)
    blocks = dense_blocks(model, graph)
    weights = block_weights(graph, blocks.shape[1], **plan)
    assert model.projection.shape == (blocks.shape[1], 3)
    expected = weights[:, None] * np.linalg.svd(blocks * weights).Vh[:3].T
    same_up_to_sign(model.projection.numpy(), expected, atol=0.02)


def test_the_gram_matrix_gives_the_leading_singular_vectors(monkeypatch):
    """As for a large graph, whose rows are many more than the columns of its blocks."""
    monkeypatch.setattr(decomposition, "_TALL", 0)
    monkeypatch.setattr(decomposition, "_COLUMNS", 50)
    graph = GRAPHS["words"]
    model, _, _ = fit(graph, 3, chunk=30, **LARGE)
    blocks = dense_blocks(model, graph)
    weights = block_weights(graph, blocks.shape[1], **LARGE)
    assert blocks.shape[1] > 4 * (3 + EXTRA)
    expected = weights[:, None] * np.linalg.svd(blocks * weights).Vh[:3].T
    same_up_to_sign(model.projection.numpy(), expected, atol=1e-9)


def test_all_components_keep_all_distances():
    model, _, z = fit(GRAPHS["undirected"], 500)
    blocks = dense_blocks(model, GRAPHS["undirected"])
    blocks *= block_weights(GRAPHS["undirected"], blocks.shape[1])
    assert z.shape == (80, 80)
    np.testing.assert_allclose(z @ z.T, blocks @ blocks.T, atol=1e-9)


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
    assert states.factors is None
    assert model.unit == 1
    own = unit(model.coordinates.transform(graph.x).numpy())
    blocks = np.concatenate([0.5 * own, 0 * own, own, own], axis=1)
    np.testing.assert_allclose(z @ z.T, blocks @ blocks.T, atol=1e-9)


def test_rows_of_length_one():
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-9, 0.0], [2e-3, 0.0]])
    found = unit_rows(rows, 1e-3)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0], [0, 0], [1, 0]], rtol=1e-6)


def test_rounding_is_not_blown_up_to_unit_vectors():
    constant = community_graph(3, x=np.full((80, 6), 1.1), weighted=True)
    model, _, z = fit(constant, dtype=torch.float32, structure=False)
    assert (z == 0).all()
    assert (model.embed(states_of(model, constant)) == 0).all()
