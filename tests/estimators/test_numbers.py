"""Numbers at the edges of what floats can hold: finite embeddings, or a clear refusal."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgate import GATE, Graph, InputError, LinearGATE

ESTIMATORS = {
    "linear": lambda: LinearGATE(4, random_state=0, progress=False),
    "gate": lambda: GATE((3,), epochs=3, random_state=0, progress=False),
    "paper": lambda: GATE((3,), preset="paper", epochs=3, random_state=0, progress=False),
}
SHAPES = {
    "none": lambda n: [],
    "all": lambda n: [(a, b) for a in range(n) for b in range(a)],
    "hub": lambda n: [(0, b) for b in range(1, n)],
    "path": lambda n: [(a, a + 1) for a in range(n - 1)],
}
VALUES = st.sampled_from([0.0, 1.0, -1.0, 1e30, -1e30, 1e-30, 3.0e38, 1e300, 1e-300, 0.1])
WEIGHTS = st.sampled_from([1.0, 1e300, 1e-300, 1e30, 0.5])


def embedded(name: str, graph: Graph, dtype: str = "float32") -> np.ndarray | None:
    """The embedding, or None where the graph is refused; nothing else may happen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            gate = ESTIMATORS[name]().set_params(dtype=dtype).fit(graph)
        except InputError:
            return None
        assert gate.embedding_.shape[0] == graph.n_nodes
        assert np.isfinite(gate.embedding_).all()
        assert np.isfinite(gate.transform(graph)).all()
    return gate.embedding_


@st.composite
def extreme_graphs(draw):
    n, f = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    x = np.array(draw(st.lists(st.lists(VALUES, min_size=f, max_size=f), min_size=n, max_size=n)))
    for column in draw(st.sets(st.integers(0, f - 1))):
        x[:, column] = x[0, column]
    edges = SHAPES[draw(st.sampled_from(sorted(SHAPES)))](n)
    weights = draw(st.none() | st.lists(WEIGHTS, min_size=len(edges), max_size=len(edges)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Graph.from_edges(x, edges, weights=weights)
    except InputError:  # values that float32 cannot hold
        return None


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=40)
@given(graph=extreme_graphs())
def test_the_embedding_is_finite_or_refused(name, graph):
    if graph is not None:
        embedded(name, graph)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_nodes(name, shape, n):
    graph = Graph.from_edges(np.arange(1.0, 3 * n + 1).reshape(n, 3), SHAPES[shape](n))
    assert embedded(name, graph) is not None


@pytest.mark.parametrize("name", ["linear", "gate"])
def test_many_isolated_nodes(name):
    x = np.random.default_rng(0).random((100_000, 3), dtype=np.float32)
    assert embedded(name, Graph.from_edges(x, [])) is not None


@pytest.mark.parametrize("name", ["linear", "gate"])
def test_an_enormous_hub(name):
    n = 20_000
    x = np.random.default_rng(0).random((n, 3), dtype=np.float32)
    edges = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    assert embedded(name, Graph.from_edges(x, edges)) is not None


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(40),
        np.array([f"n{at}" for at in range(40)]),
        np.array([at if at % 3 else f"n{at}" for at in range(40)], dtype=object),
    ],
    ids=["integers", "text", "both"],
)
@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**16))
def test_shuffled_nodes_give_shuffled_vectors(name, ids, seed):
    """Nodes are recognized by their ids, by which LinearGATE draws what it masks."""
    rng = np.random.default_rng(seed)
    n = 40
    x = rng.normal(size=(n, 6)) * [5, 4, 3, 2, 1, 0.5]
    pairs = np.array([(a, b) for a, b in rng.integers(0, n, (100, 2)) if a != b])
    order = rng.permutation(n)
    graph = Graph.from_edges(x, ids[pairs], ids=ids)
    straight = embedded(name, graph, "float64")
    shuffled = embedded(name, Graph.from_edges(x[order], ids[pairs], ids=ids[order]), "float64")
    np.testing.assert_allclose(shuffled, straight[order], atol=1e-5 * np.abs(straight).max())
