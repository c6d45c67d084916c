"""A classifier that holds the graph: scikit-learn's tools, and what it must not see."""

from typing import ClassVar

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from contract import blocks, changed
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from graphgate import GATE, Graph, InputError, InputWarning, LinearGATE, NodeClassifier
from graphgate.paper.baselines.deepwalk import DeepWalk

# Of the nodes of the graph, some have no neighbor in the other folds.
pytestmark = [
    pytest.mark.numerical,
    pytest.mark.filterwarnings("ignore::graphgate.UnknownNodesWarning"),
]

GRAPH = blocks()
IDS, LABELS = np.array(GRAPH.ids.tolist()), np.array(GRAPH.label_values())
EMBEDDER = LinearGATE(6, random_state=0, progress=False)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def test_scores_are_those_of_the_vectors():
    scores = cross_val_score(NodeClassifier(GRAPH, EMBEDDER), IDS, LABELS, cv=FOLDS)
    vectors = LinearGATE(6, random_state=0).fit(GRAPH).embedding_
    np.testing.assert_array_equal(
        scores, cross_val_score(LogisticRegression(), vectors, LABELS, cv=FOLDS)
    )


def test_a_search_over_both_parts_embeds_as_often_as_needed(tmp_path, monkeypatch):
    fits = []
    fit = LinearGATE.fit
    monkeypatch.setattr(LinearGATE, "fit", lambda self, X: fits.append(self) or fit(self, X))
    grid = {"embedder__n_components": [2, 6], "classifier__C": [0.01, 1, 100]}
    model = NodeClassifier(GRAPH, EMBEDDER, LogisticRegression(), memory=str(tmp_path))
    search = GridSearchCV(model, grid, cv=FOLDS).fit(IDS, LABELS)
    assert len(fits) == 2
    assert search.best_params_["embedder__n_components"] == 6
    assert search.best_score_ > 0.7
    assert search.predict(IDS[:3]).shape == (3,)


def test_one_seed_one_result():
    one, two = (NodeClassifier(GRAPH, EMBEDDER).fit(IDS[::2], LABELS[::2]) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(IDS), two.predict_proba(IDS))
    assert one.score(IDS[1::2], LABELS[1::2]) > 0.6
    check_is_fitted(one)
    assert list(one.classes_) == sorted(set(LABELS))


# --- nothing leaks -------------------------------------------------------------------------------


@pytest.mark.parametrize("inductive", [False, True])
def test_labels_of_other_nodes_are_not_seen(inductive):
    """Labels of the graph and of test nodes may be anything."""
    train = np.arange(75) % 3 > 0
    other = changed(GRAPH, labels=np.roll(GRAPH.labels, 1))
    found = [
        NodeClassifier(graph, EMBEDDER, inductive=inductive)
        .fit(IDS[train], LABELS[train])
        .predict_proba(IDS[~train])
        for graph in (GRAPH, other, GRAPH.with_labels(None))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_no_label_reaches_the_embedder():
    class Recorder(LinearGATE):
        graphs: ClassVar[list] = []

        def fit(self, X, y=None, *, adjacency=None):
            self.graphs.append(X)
            return super().fit(X)

    for inductive in (False, True):
        NodeClassifier(GRAPH, Recorder(6, random_state=0), inductive=inductive).fit(IDS, LABELS)
    assert [graph.labels for graph in Recorder.graphs] == [None, None]
    assert not any(graph.splits for graph in Recorder.graphs)


def test_inductive_training_sees_nothing_of_other_nodes():
    train = np.arange(75) % 3 > 0
    x = GRAPH.x.toarray()
    x[~train] += 7
    edges = GRAPH.adjacency.toarray()
    edges[np.ix_(~train, ~train)] = 1
    seen = []
    for graph in (GRAPH, changed(GRAPH, x=sp.csr_array(x)), changed(GRAPH, adjacency=edges)):
        model = NodeClassifier(graph, EMBEDDER, inductive=True).fit(IDS[train], LABELS[train])
        seen.append(model)
    subgraph = GRAPH.take(np.flatnonzero(train))
    vectors = LinearGATE(6, random_state=0).fit(subgraph).embedding_
    expected = LogisticRegression().fit(vectors, LABELS[train])
    for model in seen:
        np.testing.assert_allclose(model.embedder_.embedding_, vectors, atol=1e-5)
        np.testing.assert_allclose(model.classifier_.coef_, expected.coef_, atol=1e-6)


def ratings(seed=0) -> Graph:
    """Movies of two genres, and users who mostly rate movies of one; nodes have no features."""
    rng = np.random.default_rng(seed)
    taste, genre = np.arange(40) % 2, np.arange(60) % 2
    rated = rng.random((40, 60)) < np.where(taste[:, None] == genre, 0.25, 0.03)
    edges = np.argwhere(rated) + np.array([0, 40])
    ids = [f"user {number}" for number in range(40)] + [f"movie {number}" for number in range(60)]
    return Graph.from_edge_index(None, edges.T, ids=ids)


def test_nodes_of_the_context_are_known_in_training():
    graph = ratings()
    users, movies = graph.ids[:40], graph.ids[40:]
    genres = np.array(["drama", "comedy"])[np.arange(60) % 2]
    model = NodeClassifier(graph, EMBEDDER, inductive=True)
    with pytest.raises(
        InputError, match=r"hides 100% of the neighbors of the 40 training .*context="
    ):
        model.fit(movies[:40], genres[:40])
    with_users = sklearn.clone(model).set_params(context=users)
    assert cross_val_score(with_users, movies, genres, cv=FOLDS).mean() > 0.9
    fitted = with_users.fit(movies[:40], genres[:40])
    seen = LinearGATE(6, random_state=0).fit(graph.take(np.arange(80))).embedding_
    np.testing.assert_array_equal(fitted.embedder_.embedding_, seen)
    alone = sklearn.clone(model).set_params(context=[]).fit(movies[:40], genres[:40])
    assert alone.embedder_.embedding_.shape[0] == 40
    with pytest.raises(InputError, match="no node with id 'nobody'"):
        sklearn.clone(model).set_params(context=["nobody"]).fit(movies, genres)
    with pytest.warns(UserWarning, match="1 parameter is ignored: context; pass inductive=True"):
        sklearn.clone(with_users).set_params(inductive=False).fit(movies, genres)


@pytest.mark.parametrize("directed", [False, True])
def test_hiding_half_of_the_neighbors_is_accepted(directed):
    edges = [(0, 1), (2, 3), (0, 4), (5, 2)]
    x = np.eye(6) + 1
    fit = NodeClassifier(
        Graph.from_edges(x, edges, directed=directed), LinearGATE(2, random_state=0), inductive=True
    ).fit
    fit([0, 1, 2, 3], [0, 1, 0, 1])
    with pytest.raises(InputError, match="hides 60%"):
        fit([0, 2, 3], [0, 1, 0])


def test_a_regressor_is_refused():
    for wrong in (LinearRegression(), make_pipeline(LinearRegression()), KMeans(2)):
        with pytest.raises(InputError, match=f"{type(wrong).__name__} is not a classifier; pass"):
            NodeClassifier(GRAPH, EMBEDDER, wrong).fit(IDS, LABELS)
    NodeClassifier(GRAPH, EMBEDDER, make_pipeline(LogisticRegression())).fit(IDS, LABELS)


def test_an_attribute_that_is_the_label_is_warned_of():
    columns = {"color": LABELS.tolist(), "size": np.random.default_rng(0).random(75).tolist()}
    graph = Graph(None, GRAPH.adjacency, attributes=columns, ids=GRAPH.ids)
    renamed = np.array(["x" + label for label in LABELS])
    with pytest.warns(InputWarning, match="'color' is one of those that the vectors were made"):
        NodeClassifier(graph, EMBEDDER).fit(IDS[::2], renamed[::2])
    other = np.random.default_rng(0).permutation(renamed)
    with pytest.warns(InputWarning, match="'size' is one of those"):
        NodeClassifier(graph, EMBEDDER).fit(IDS, pd.Series(other, name="size"))
    NodeClassifier(graph, EMBEDDER).fit(IDS, other)
    NodeClassifier(graph, EMBEDDER).fit(IDS[:4], IDS[:4])  # a label per node, by chance


def test_random_labels_are_not_predicted():
    noise = np.random.default_rng(0).permutation(LABELS)
    for inductive in (False, True):
        model = NodeClassifier(GRAPH, EMBEDDER, inductive=inductive)
        assert cross_val_score(model, IDS, noise, cv=5).mean() < 0.5


# --- what it takes -------------------------------------------------------------------------------


def test_integer_ids_and_columns():
    graph = Graph(GRAPH.x, GRAPH.adjacency)
    model = NodeClassifier(graph, EMBEDDER).fit(np.arange(75)[:, None], LABELS)
    np.testing.assert_array_equal(model.predict([3, 1]), model.predict(np.array([3, 1])))


def test_methods_of_the_classifier():
    svc = NodeClassifier(GRAPH, EMBEDDER, LinearSVC()).fit(IDS, LABELS)
    assert svc.decision_function(IDS).shape == (75, 3)
    assert not hasattr(svc, "predict_proba")
    knn = NodeClassifier(GRAPH, EMBEDDER, KNeighborsClassifier()).fit(IDS, LABELS)
    assert knn.predict_proba(IDS).shape == (75, 3)
    assert not hasattr(knn, "decision_function")


@pytest.mark.parametrize(
    ("graph", "X", "y", "message"),
    [
        (GRAPH, ["n1", "nobody"], ["red", "blue"], "nobody"),
        (GRAPH, GRAPH.x.toarray(), LABELS, "X must be node ids.*the graph has the features"),
        (GRAPH, np.ones(75, bool), LABELS, "got booleans"),
        (GRAPH, IDS, LABELS[1:], r"y has shape \(74,\)"),
        (nx.path_graph(3), [0, 1], [0, 1], "from_networkx"),
        (None, [0, 1], [0, 1], "graph must be a Graph"),
    ],
)
def test_refusals(graph, X, y, message):
    with pytest.raises(InputError, match=message):
        NodeClassifier(graph, EMBEDDER).fit(X, y)


def test_a_transductive_method_is_not_inductive():
    model = NodeClassifier(GRAPH, DeepWalk(random_state=0), inductive=True)
    with pytest.raises(InputError, match="DeepWalk cannot embed nodes that it has not seen"):
        model.fit(IDS, LABELS)


def test_it_shows_itself_in_notebooks():
    assert "NodeClassifier" in NodeClassifier(GRAPH, EMBEDDER)._repr_html_()


# --- pipelines with routed metadata --------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "embedder",
    [EMBEDDER, GATE((6,), epochs=3, random_state=0, progress=False)],
    ids=lambda each: type(each).__name__,
)
def test_a_pipeline_passes_the_adjacency_on(embedder):
    asked = sklearn.clone(embedder)
    asked.set_fit_request(adjacency=True).set_transform_request(adjacency=True)
    pipeline = make_pipeline(asked, LogisticRegression())
    pipeline.fit(GRAPH.x, LABELS, adjacency=GRAPH.adjacency)
    vectors = sklearn.clone(embedder).fit(Graph(GRAPH.x, GRAPH.adjacency)).embedding_
    np.testing.assert_allclose(
        pipeline.predict_proba(GRAPH.x, adjacency=GRAPH.adjacency),
        LogisticRegression().fit(vectors, LABELS).predict_proba(vectors),
        atol=1e-4,
    )
    with pytest.raises(InputError, match="there are none here"):
        pipeline.predict(GRAPH.x)
    with pytest.raises(InputError, match="requests an adjacency, but none has arrived"):
        pipeline.fit(GRAPH.x, LABELS)
