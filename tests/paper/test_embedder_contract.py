"""What every embedder promises: GATE, its variants, and the unsupervised baselines."""

from __future__ import annotations

from functools import cache

import contract
import numpy as np
import pytest
import scipy.sparse as sp
from contract import TRANSDUCTIVE, blocks, evaluated, learned, quick, same
from graphs import random_graph
from rounding import assert_equal_to_rounding
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from graphgate import GATE, Attributes, Graph, InputError, InputWarning
from graphgate.estimators.base import GraphEmbedder
from graphgate.paper.experiments.methods import ROWS, find_row
from graphgate.paper.experiments.protocol import hide

pytestmark = [
    pytest.mark.filterwarnings("ignore::graphgate.errors.TrainingWarning"),
    pytest.mark.filterwarnings("ignore::graphgate.errors.UnknownNodesWarning"),
    pytest.mark.filterwarnings("ignore:.*nodes have the same vector"),
]

# Name -> an estimator with little work to do and a fixed random_state.
EMBEDDERS: dict[str, GraphEmbedder] = {
    "gate, our form": GATE((9, 9), epochs=5, random_state=0, progress=False),
    "gate, nonlinear": GATE((9, 9), activation="tanh", epochs=5, random_state=0, progress=False),
    **{name: quick(name) for name in contract.EMBEDDERS},
}
NEED_EDGES = {name for name in EMBEDDERS if name.startswith("graphsage")}

each = pytest.mark.parametrize("name", EMBEDDERS)
each_inductive = pytest.mark.parametrize("name", [n for n in EMBEDDERS if n not in TRANSDUCTIVE])
each_method = pytest.mark.parametrize("name", contract.EMBEDDERS)
each_inductive_method = pytest.mark.parametrize("name", contract.inductive(contract.EMBEDDERS))
each_setting = pytest.mark.parametrize(
    ("name", "setting"), contract.in_each_setting(contract.EMBEDDERS)
)
sparse_and_dense = pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])

IDS = [f"n{at}" for at in range(12)]


@cache
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


@cache
def fitted(name: str, content: str = "features", **kinds) -> GraphEmbedder:
    """Shared by the tests that only use it."""
    return fresh(name).fit(described(content, **kinds))


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


@pytest.mark.numerical
@each
@each_content
def test_the_same_seed_is_bit_identical(name, content):
    graph = described(content)
    z = fitted(name, content).embedding_
    assert same(fresh(name).fit_transform(graph), z)
    assert same(fresh(name).fit(described("edges", 5)).fit(graph).embedding_, z)
    other = fresh(name, random_state=1).fit(graph).embedding_
    assert same(other, z) == (name in contract.DETERMINISTIC)


@each
def test_labels_splits_and_y_are_not_looked_at(name):
    graph = described("features")
    labels = {"labels": ["x", None, "y"] * 4, "splits": {"train": np.arange(12) < 3}}
    labelled = Graph(graph.x, graph.adjacency, ids=graph.ids, **labels)
    z = fitted(name).embedding_
    assert same(fresh(name).fit(labelled).embedding_, z)
    assert same(fresh(name).fit(graph, np.arange(12)).embedding_, z)


@pytest.mark.numerical
@each
def test_features_with_an_adjacency_are_a_graph(name):
    graph = described("features")
    z = fresh(name).fit(Graph(graph.x, graph.adjacency)).embedding_
    again = fresh(name).fit(graph.x, adjacency=graph.adjacency).embedding_
    assert_equal_to_rounding(again, z, 1000)
    with pytest.raises(InputError, match="either a Graph or adjacency="):
        fresh(name).fit(graph, adjacency=graph.adjacency)


@each
def test_data_frames_are_indexed_by_id(name):
    graph = described("features")
    frame = fresh(name).set_output(transform="pandas").fit_transform(graph)
    assert frame.index.tolist() == IDS
    np.testing.assert_array_equal(frame, fitted(name).embedding_)


# --- other graphs --------------------------------------------------------------------------------


@pytest.mark.numerical
@each_inductive
@each_content
def test_transform_of_the_fitted_graph_is_the_embedding(name, content):
    graph, estimator = described(content), fitted(name, content)
    z = estimator.transform(graph)
    assert_equal_to_rounding(z, estimator.embedding_)
    other = estimator.transform(described(content, 1))
    assert other.shape == estimator.embedding_.shape
    assert same(estimator.transform(graph), z)


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


@each
def test_a_failed_fit_leaves_nothing_fitted(name):
    estimator = fresh(name)
    with pytest.raises(InputError):
        estimator.fit(described("features"), adjacency=np.eye(12))
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    check_is_fitted(estimator.fit(described("features")))


@each_inductive
@each_content
def test_features_attributes_and_edges_are_not_confused(name, content):
    estimator = fitted(name, content)
    for given in {"features", "attributes", "edges"} - {content}:
        with pytest.raises(InputError, match=f"{type(estimator).__name__} was fitted on") as caught:
            estimator.transform(described(given))
        assert caught.value.about == "nodes"


@each_inductive
@each_content
def test_edges_of_another_kind_are_converted_only_when_asked(name, content):
    for both in (True, False):
        kinds = {"directed": both, "weighted": both}
        estimator = fitted(name, content, **kinds)
        for kind in kinds:
            graph = described(content, **kinds | {kind: not both})
            method = f"to_{kind}" if both else f"to_un{kind}"
            with pytest.raises(InputError, match=rf"Graph\.{method}\(\)") as caught:
                estimator.transform(graph)
            assert caught.value.about == "edges"
            assert len(estimator.transform(getattr(graph, method)())) == 12


@each_inductive
def test_edges_are_not_forgotten(name):
    graph, estimator = described("features"), fitted(name)
    with pytest.raises(InputError, match="fitted on a graph with edges"):
        estimator.transform(graph.x)
    assert len(estimator.transform(graph.x, adjacency=sp.csr_array((12, 12)))) == 12
    if name not in NEED_EDGES:
        with pytest.warns(InputWarning, match="is fitted without edges"):
            estimator = fresh(name).fit(graph.x)
        assert len(estimator.transform(graph.x)) == 12


@each_inductive
def test_features_by_number_and_by_name(name):
    graph = described("features")
    with pytest.raises(InputError, match=r"has 3 features, but .* is expecting 6"):
        fitted(name).transform(described("features", f=3))
    named = Graph(graph.x, graph.adjacency, feature_names=list("abcdef"))
    estimator = fresh(name).fit(named)
    turned = Graph(graph.x[:, ::-1], graph.adjacency, feature_names=list("fedcba"))
    assert same(estimator.transform(turned), estimator.embedding_)
    with pytest.raises(InputError, match="lacks the feature 'a'"):
        estimator.transform(Graph(graph.x, graph.adjacency, feature_names=list("bcdefg")))


# --- by the protocol of experiments ----------------------------------------------------------


@cache
def fitted_on_blocks(name: str, *, dense: bool = False) -> GraphEmbedder:
    """Shared by the tests that only use it."""
    return quick(name).fit(blocks(dense=dense).reveal())


def test_the_lists_of_this_suite_are_complete():
    for name in ROWS.keys() - contract.CLASSIFIERS:
        method = quick(name)
        assert not hasattr(method, "predict")
        assert hasattr(method, "transform") == (name not in TRANSDUCTIVE)


@each_method
@sparse_and_dense
def test_sparse_and_dense_features(name, dense):
    z = fitted_on_blocks(name, dense=dense).embedding_
    assert isinstance(z, np.ndarray)
    assert (z.ndim, len(z), z.dtype) == (2, 75, np.float32)
    assert z.shape[1] >= 1
    assert np.isfinite(z).all()
    assert len(np.unique(z, axis=0)) > 60


@each_method
def test_parameters(name):
    contract.check_parameters(name)


@each_inductive_method
def test_nodes_of_another_graph(name):
    """Also a single node, and a graph without edges."""
    method = fitted_on_blocks(name)
    other = blocks(3, n=80, prefix="other").reveal()
    for graph in (other, other.subgraph(["other40"]), other.subgraph(["other0", "other7"])):
        z = method.transform(graph)
        assert z.shape == (graph.n_nodes, method.embedding_.shape[1])
        assert np.isfinite(z).all()


@each_inductive_method
def test_the_graph_of_fit_is_embedded_like_any_other(name):
    graph, method = blocks().reveal(), fitted_on_blocks(name)
    weights = learned(method)
    method.transform(blocks(3, prefix="other").reveal())
    assert same(method.transform(graph), method.embedding_)
    assert learned(method) == weights


@pytest.mark.parametrize("name", [name for name in contract.EMBEDDERS if name in TRANSDUCTIVE])
def test_a_transductive_method_has_no_inductive_setting(name):
    with pytest.raises(InputError, match="no inductive setting"):
        evaluated(quick(name), blocks(), "inductive")


@each_method
def test_seeds(name):
    contract.check_seeds(name)
    contract.check_other_seeds(name)


@each_method
def test_a_second_fit_starts_afresh(name):
    contract.check_refit(name)


@each_method
@sparse_and_dense
def test_no_side_effects(name, dense):
    contract.check_no_side_effects(name, blocks(dense=dense))


@each_inductive_method
def test_no_unseen_node_reaches_training(name):
    graph = blocks()
    reached = contract.recorded(name, graph, "inductive")["fit"]
    rows = np.flatnonzero(~graph.splits["test"])
    assert reached.ids.tolist() == graph.ids[rows].tolist()
    assert (reached.x != graph.x[rows]).nnz == 0
    assert (reached.adjacency != graph.adjacency[rows][:, rows]).nnz == 0


@each_inductive_method
def test_nothing_about_unseen_nodes_is_learned(name):
    contract.check_nothing_unseen_is_learned(name)


@each_inductive_method
def test_changes_to_seen_nodes_are_learned(name):
    """So the test above can fail."""
    graph = blocks()
    kept = [
        learned(quick(name).fit(hide(other, ("test",)).reveal()))
        for other in (graph, *contract.changes_of(graph, graph.splits["train"]))
    ]
    assert (kept[0] != kept[1]) == ("X" in find_row(name).sees)
    assert (kept[0] == kept[2]) == ("A" not in find_row(name).sees)


@each_setting
def test_no_label_reaches_an_embedder(name, setting):
    graph = blocks()
    for reached in contract.recorded(name, graph, setting).values():
        assert reached.labels is None
        assert not reached.splits
    labels = np.random.default_rng(1).permutation(graph.labels)
    one, two = (
        evaluated(quick(name), other, setting)
        for other in (graph, contract.changed(graph, labels=labels))
    )
    assert same(one, two)
