"""Raw features, DeepWalk, label propagation, GAE, VGAE, DGI: against small dense references."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from graphs import random_graph
from sklearn.linear_model import LogisticRegression

from graphgate.baselines.convolution_embedders import DGI, GAE, VGAE, reconstruction_loss
from graphgate.baselines.deepwalk import DeepWalk, DeepWalkFeatures
from graphgate.baselines.inputs import convolution_inputs
from graphgate.baselines.untrained import LabelPropagation, RawFeatures
from graphgate.errors import InputError
from graphgate.graph.graph import Graph
from graphgate.nn.pattern import AttentionPattern


def block_graph(seed: int = 0, n: int = 120, f: int = 40) -> Graph:
    """Three blocks with edges mostly within them and words of their own; ten labels each."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    same = labels[:, None] == labels
    edges = np.triu(rng.random((n, n)) < np.where(same, 0.12, 0.01), 1)
    x = rng.random((n, f)) < np.where(np.arange(f) % 3 == labels[:, None], 0.3, 0.12)
    train = np.arange(n) < 30
    splits = {"train": train, "test": ~train}
    return Graph(sp.csr_array(x, dtype=np.float32), edges, labels=labels, splits=splits)


def dense_convolution(graph: Graph) -> np.ndarray:
    a = (graph.attended.toarray() != 0) + np.eye(graph.n_nodes)
    d = a.sum(axis=1)
    return a / np.sqrt(np.outer(d, d))


def weight(layer) -> np.ndarray:
    return layer.lin.weight.detach().numpy().T


# --- label propagation ---------------------------------------------------------------------------


def labelled(seed: int, **kind) -> Graph:
    """Node 0 has no edges, so no label can reach it."""
    graph = random_graph(seed, n=14, **kind)
    train = np.zeros(14, dtype=bool)
    train[[1, 4, 5, 9]] = True
    labels = np.where(train, np.arange(14) % 3, -1)
    return Graph(
        graph.x,
        graph.adjacency,
        labels=[None if c < 0 else c for c in labels],
        splits={"train": train},
        directed=graph.directed,
    )


@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"directed": True}], ids=str)
def test_label_propagation_converges_to_the_solution_of_the_paper(kind):
    graph = labelled(3, hub=True, **kind)
    found = LabelPropagation(tolerance=1e-12).fit(graph)

    w = graph.adjacency.toarray().astype(float)
    w = (w + w.T if graph.directed else w)[1:, 1:]
    t = w / w.sum(axis=0)
    t /= t.sum(axis=1, keepdims=True)
    known = graph.splits["train"][1:]
    given = np.eye(3)[graph.labels[1:][known]]
    spread = np.linalg.solve(np.eye((~known).sum()) - t[~known][:, ~known], t[~known][:, known])
    np.testing.assert_allclose(found.fractions_[1:][~known], spread @ given, atol=1e-8)
    np.testing.assert_array_equal(found.fractions_[1:][known], given)


def test_an_unreached_node_gets_the_most_frequent_class():
    graph = labelled(3, hub=True)
    frequent = np.bincount(graph.labels[graph.splits["train"]]).argmax()
    found = LabelPropagation().fit(graph)
    assert not found.fractions_[0].any()
    assert found.predict(graph)[0] == frequent


def test_label_propagation_refuses_other_nodes_and_needs_labels():
    graph = labelled(3, hub=True)
    with pytest.raises(InputError, match="only for the nodes that it was fitted on"):
        LabelPropagation().fit(graph.without([2])).predict(graph)
    with pytest.raises(InputError, match="LabelPropagation learns from labels"):
        LabelPropagation().fit(random_graph(1))


# --- graph auto-encoders -------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_inputs_of_convolutions(directed):
    graph = random_graph(5, directed=directed, weighted=True)
    found = convolution_inputs(graph, normalize=True)[1].to_dense().numpy()
    np.testing.assert_allclose(found, dense_convolution(graph), atol=1e-6)

    few = sp.random_array((30, 50), density=0.03, rng=np.random.default_rng(0))
    sparse, dense = Graph(few), Graph(few.toarray())
    for normalize in (False, True):
        kept, _ = convolution_inputs(sparse, normalize=normalize)
        assert kept.layout == torch.sparse_csr
        made, _ = convolution_inputs(dense, normalize=normalize)
        np.testing.assert_allclose(kept.to_dense(), made, atol=1e-6)


def test_sampled_pairs_represent_all_pairs():
    """The mean over many samples is the weighted cross entropy over all N² pairs."""
    graph = random_graph(2, n=40)
    neighbors = AttentionPattern(graph, device=torch.device("cpu"), dtype=torch.float32)
    torch.manual_seed(0)
    z = torch.randn(40, 4)
    target = torch.from_numpy((graph.adjacency.toarray() != 0) + np.eye(40)).float()
    logits = z @ z.T
    together = F.softplus(-logits)[target == 1].mean()
    expected = (together + F.softplus(logits).mean()) / 2
    assert float(reconstruction_loss(z, neighbors, 2_000)) == pytest.approx(
        float(expected), rel=0.02
    )

    # Without the pairs that happen to be neighbors it is the reference implementation's formula.
    count = target.sum()
    formula = F.binary_cross_entropy_with_logits(
        logits, target, pos_weight=(40**2 - count) / count
    ) * (40**2 / (2 * (40**2 - count)))
    exact = (together + F.softplus(logits)[target == 0].mean()) / 2
    assert float(formula) == pytest.approx(float(exact), rel=1e-5)


def test_auto_encoders_are_two_convolutions():
    graph = block_graph()
    a, x = dense_convolution(graph), graph.x.toarray()
    plain = GAE(hidden=8, n_components=5, epochs=3).fit(graph)
    encoder = plain.model_.encoder
    z = a @ np.maximum(a @ x @ weight(encoder.first), 0) @ weight(encoder.outputs["z"])
    np.testing.assert_allclose(plain.embedding_, z, atol=1e-5)

    variational = VGAE(hidden=8, n_components=5, epochs=3).fit(graph)
    encoder = variational.model_.encoder
    mean = a @ np.maximum(a @ x @ weight(encoder.first), 0) @ weight(encoder.outputs["mean"])
    np.testing.assert_allclose(variational.embedding_, mean, atol=1e-5)


# --- deep graph infomax --------------------------------------------------------------------------


def test_infomax_is_one_convolution():
    graph = block_graph()
    found = DGI(n_components=6, epochs=5, length=3.0).fit(graph)
    a, x = dense_convolution(graph), graph.x.toarray()
    x = x / np.maximum(x.sum(axis=1, keepdims=True), 1)
    network = found.network_
    w = network.linear.weight.detach().numpy().T
    h = a @ x @ w + network.infomax.encoder.bias.detach().numpy()
    slope = network.infomax.encoder.activation.weight.item()
    z = np.where(h > 0, h, slope * h)
    z *= 3.0 / np.sqrt(np.square(z).sum(axis=1).mean())
    np.testing.assert_allclose(found.embedding_, z, atol=1e-5)
    np.testing.assert_allclose(found.transform(graph), found.embedding_)


def test_infomax_keeps_the_weights_of_the_lowest_loss():
    """If every step increases the loss, these are the initial weights."""
    graph = block_graph()
    start = DGI(n_components=6, epochs=1).fit(graph)
    found = DGI(n_components=6, learning_rate=1e3, patience=4).fit(graph)
    assert found.epochs_ == 5
    np.testing.assert_array_equal(found.embedding_, start.embedding_)


# --- DeepWalk ------------------------------------------------------------------------------------


def test_deepwalk_separates_unconnected_cliques():
    """Two cliques and an isolated node; walks follow directed edges both ways."""
    n = 13
    edges = np.zeros((n, n))
    edges[:6, :6] = edges[6:12, 6:12] = np.triu(np.ones((6, 6)), 1)
    graph = Graph(np.ones((n, 1)), edges, directed=True)
    z = DeepWalk(n_components=8, walks=60, length=20, window=4).fit(graph).embedding_
    assert z.shape == (n, 8)
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    near = z @ z.T
    assert near[:6, :6].min() > near[:6, 6:12].max()
    assert near[6:12, 6:12].min() > near[6:12, :6].max()


def test_deepwalk_and_features_are_concatenated():
    graph = block_graph()
    few = {"n_components": 4, "walks": 2, "length": 5, "random_state": 3}
    walks = DeepWalk(**few).fit(graph).embedding_
    both = DeepWalkFeatures(**few).fit(graph).embedding_
    for part, whole in ((both[:, :4], walks), (both[:, 4:], graph.x.toarray())):
        lengths = np.linalg.norm(whole, axis=1, keepdims=True)
        np.testing.assert_allclose(part * lengths, whole, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), lengths[:, 0] > 0, rtol=1e-5)


# --- all of them ---------------------------------------------------------------------------------

SMALL = [
    DeepWalk(n_components=16, walks=20, length=20),
    DeepWalkFeatures(n_components=16, walks=20, length=20),
    GAE(hidden=32, n_components=16, learning_rate=1e-2),
    VGAE(hidden=32, n_components=16, learning_rate=1e-2),
    DGI(n_components=32, epochs=100),
]


@pytest.mark.parametrize("method", SMALL, ids=lambda m: type(m).__name__)
def test_embeddings_separate_the_blocks(method):
    graph = block_graph()
    train, test = graph.splits["train"], graph.splits["test"]
    z = method.fit(graph).embedding_
    probe = LogisticRegression(max_iter=1000).fit(z[train], graph.labels[train])
    assert probe.score(z[test], graph.labels[test]) > 0.9


def test_label_propagation_finds_the_blocks():
    graph = block_graph()
    test = graph.splits["test"]
    found = LabelPropagation().fit(graph).predict(graph)
    assert (found == graph.labels)[test].mean() > 0.85


@pytest.mark.parametrize("method", [RawFeatures(), *SMALL], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("n", [1, 4])
def test_graphs_without_edges(method, n):
    graph = Graph(np.eye(n, 3))
    z = method.fit(graph).embedding_
    assert len(z) == n
    assert np.isfinite(z).all()
