"""What every embedder promises, whatever its method; another method is one line in EMBEDDERS."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from graphs import random_graph
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from graphgate import GATE, Attributes, Graph, InputError
from graphgate.estimators.base import GraphEmbedder

pytestmark = pytest.mark.filterwarnings("ignore::graphgate.errors.TrainingWarning")

# Name -> an estimator with little work to do and a fixed random_state.
EMBEDDERS: dict[str, GraphEmbedder] = {
    "gate": GATE((6, 4), epochs=5, learning_rate=0.01, random_state=0),
    "gate, nonlinear": GATE((6, 4), activation="tanh", epochs=5, random_state=0),
}
# Those without `transform`: they know no nodes but those of `fit`.
TRANSDUCTIVE: set[str] = set()
# Those whose result does not depend on random_state.
CERTAIN: set[str] = set()

each = pytest.mark.parametrize("name", EMBEDDERS)
each_inductive = pytest.mark.parametrize("name", [n for n in EMBEDDERS if n not in TRANSDUCTIVE])

IDS = [f"n{at}" for at in range(12)]


def described(content: str, seed: int = 0, n: int = 12, **options) -> Graph:
    """A graph of 12 named nodes with features, with attributes, or with edges only."""
    plain = random_graph(seed, n=n, **options)
    fields = {"ids": IDS[:n], "directed": plain.directed}
    if content == "features":
        return Graph(plain.x, plain.adjacency, **fields)
    if content == "edges":
        return Graph(None, plain.adjacency, **fields)
    rng = np.random.default_rng(seed)
    columns = {"size": rng.normal(5, 2, n), "town": rng.choice(["Ulm", "Bern", None], n)}
    table = Attributes.from_columns(columns, kinds={"town": "category"})
    return Graph(None, plain.adjacency, attributes=table, **fields)


each_content = pytest.mark.parametrize("content", ["features", "attributes", "edges"])


def fresh(name: str, **params) -> GraphEmbedder:
    return clone(EMBEDDERS[name]).set_params(**params)


def same(one: np.ndarray, two: np.ndarray) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


@each
def test_parameters_are_scikit_learns(name):
    estimator = fresh(name)
    assert "random_state" in estimator.get_params()
    before = estimator.get_params()
    estimator.fit(described("features"))
    assert estimator.get_params() == before
    assert clone(estimator).get_params() == before
    assert fresh(name, random_state=7).random_state == 7
    with pytest.raises(ValueError, match="no_such_parameter"):
        estimator.set_params(no_such_parameter=1)


@each
@each_content
def test_one_finite_vector_per_node(name, content):
    graph = described(content)
    estimator = fresh(name)
    assert estimator.fit(graph) is estimator
    z = estimator.embedding_
    assert z.shape[0] == 12
    assert z.dtype.kind == "f"
    assert np.isfinite(z).all()
    assert len(np.unique(z, axis=0)) > 6
    assert len(estimator.get_feature_names_out()) == z.shape[1]
    assert (estimator.encoder_ is None) == (content == "features")
    assert estimator.fitted_on_.content == content


@each
@each_content
def test_the_same_seed_gives_the_same_bytes(name, content):
    graph = described(content)
    z = fresh(name).fit(graph).embedding_
    assert same(fresh(name).fit(graph).embedding_, z)
    assert same(fresh(name).fit_transform(graph), z)
    assert same(fresh(name).fit(described("edges", 5)).fit(graph).embedding_, z)
    other = fresh(name, random_state=1).fit(graph).embedding_
    assert same(other, z) == (name in CERTAIN)


@each
def test_labels_splits_and_y_are_not_looked_at(name):
    graph = described("features")
    labels = {"labels": ["x", None, "y"] * 4, "splits": {"train": np.arange(12) < 3}}
    labelled = Graph(graph.x, graph.adjacency, ids=graph.ids, **labels)
    z = fresh(name).fit(graph).embedding_
    assert same(fresh(name).fit(labelled).embedding_, z)
    assert same(fresh(name).fit(graph, np.arange(12)).embedding_, z)


@each
def test_features_with_an_adjacency_are_a_graph(name):
    graph = described("features")
    z = fresh(name).fit(Graph(graph.x, graph.adjacency)).embedding_
    assert same(fresh(name).fit(graph.x, adjacency=graph.adjacency).embedding_, z)
    with pytest.raises(InputError, match="either a Graph or adjacency="):
        fresh(name).fit(graph, adjacency=graph.adjacency)


@each
def test_data_frames_are_indexed_by_id(name):
    graph = described("features")
    frame = fresh(name).set_output(transform="pandas").fit_transform(graph)
    assert frame.index.tolist() == IDS
    np.testing.assert_array_equal(frame, fresh(name).fit(graph).embedding_)


# --- other graphs --------------------------------------------------------------------------------


@each_inductive
@each_content
def test_transform_of_the_fitted_graph_is_the_embedding(name, content):
    graph = described(content)
    estimator = fresh(name).fit(graph)
    assert same(estimator.transform(graph), estimator.embedding_)
    other = estimator.transform(described(content, 1))
    assert other.shape == estimator.embedding_.shape
    assert same(estimator.transform(graph), estimator.embedding_)


@each_inductive
@each_content
def test_nodes_never_seen(name, content):
    graph = described(content)
    estimator = fresh(name).fit(graph.without(["n3", "n7"]))
    z = estimator.transform(graph)
    assert z.shape == (12, estimator.embedding_.shape[1])
    assert np.isfinite(z).all()


@each_inductive
def test_only_what_was_fitted_transforms(name):
    for X in (described("features"), np.eye(3), described("attributes").attributes):
        with pytest.raises(NotFittedError):
            fresh(name).transform(X)


@each_inductive
@each_content
@pytest.mark.parametrize("given", ["features", "attributes", "edges"])
def test_features_attributes_and_edges_are_not_confused(name, content, given):
    estimator = fresh(name).fit(described(content))
    if given == content:
        return
    with pytest.raises(InputError, match=f"{type(estimator).__name__} was fitted on") as caught:
        estimator.transform(described(given))
    assert caught.value.about == "nodes"


@each_inductive
@each_content
@pytest.mark.parametrize("kind", ["directed", "weighted"])
@pytest.mark.parametrize("fitted", [True, False])
def test_edges_of_another_kind_are_converted_only_when_asked(name, content, kind, fitted):
    estimator = fresh(name).fit(described(content, **{kind: fitted}))
    graph = described(content, **{kind: not fitted})
    method = f"to_{kind}" if fitted else f"to_un{kind}"
    with pytest.raises(InputError, match=rf"Graph\.{method}\(\)") as caught:
        estimator.transform(graph)
    assert caught.value.about == "edges"
    assert len(estimator.transform(getattr(graph, method)())) == 12


@each_inductive
def test_edges_are_not_forgotten(name):
    graph = described("features")
    estimator = fresh(name).fit(graph)
    with pytest.raises(InputError, match="fitted on a graph with edges"):
        estimator.transform(graph.x)
    assert len(estimator.transform(graph.x, adjacency=sp.csr_array((12, 12)))) == 12
    assert len(fresh(name).fit(graph.x).transform(graph.x)) == 12


@each_inductive
def test_features_by_number_and_by_name(name):
    graph = described("features")
    estimator = fresh(name).fit(graph)
    with pytest.raises(InputError, match=r"has 3 features, but .* is expecting 6"):
        estimator.transform(described("features", f=3))
    named = Graph(graph.x, graph.adjacency, feature_names=list("abcdef"))
    estimator.fit(named)
    turned = Graph(graph.x[:, ::-1], graph.adjacency, feature_names=list("fedcba"))
    assert same(estimator.transform(turned), estimator.embedding_)
    with pytest.raises(InputError, match="lacks the feature 'a'"):
        estimator.transform(Graph(graph.x, graph.adjacency, feature_names=list("bcdefg")))
