"""Small labelled graphs for the tests of the baselines, and scores on them."""

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

from graphgate.graph.graph import Graph
from graphgate.paper.baselines.supervised import ReceptiveField


def blocks(n: int = 120, classes: int = 3, *, val: bool = True) -> Graph:
    """Nodes of a class are connected and share words; labels outside train and val are hidden."""
    rng = np.random.default_rng(0)
    label = np.arange(n) % classes
    same = label[:, None] == label
    edges = np.triu(rng.random((n, n)) < np.where(same, 0.1, 0.01), 1)
    words = rng.random((n, 30)) < np.where(np.arange(30) % classes == label[:, None], 0.5, 0.1)
    part = np.arange(n) // classes
    splits = {"train": part < 5, "test": part >= 15}
    if val:
        splits["val"] = (part >= 5) & (part < 15)
    shown = [c if p < 15 else None for c, p in zip(label.tolist(), part, strict=True)]
    return Graph(sp.csr_array(words.astype(float)), edges, labels=shown, splits=splits)


def labelled(graph: Graph) -> Graph:
    """A random graph with two classes, known for the nodes 2, 3 and 4."""
    known = np.isin(np.arange(graph.n_nodes), [2, 3, 4])
    labels = [int(i) % 2 if k else None for i, k in enumerate(known)]
    return Graph(
        graph.x, graph.adjacency, labels=labels, splits={"train": known}, directed=graph.directed
    )


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


def noisy_blocks() -> Graph:
    """Three blocks of 40 nodes; neither features nor edges alone identify them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    same = labels[:, None] == labels
    adjacency = np.triu(rng.random((120, 120)) < np.where(same, 0.12, 0.01), 1)
    x = (rng.random((120, 30)) < 0.1) | (rng.random((120, 30)) < 0.4) & (
        np.arange(30) % 3 == labels[:, None]
    )
    part = rng.permutation(120)
    splits = {"train": part < 30, "val": (part >= 30) & (part < 60), "test": part >= 60}
    return Graph(sp.csr_array(x, dtype=float), adjacency, labels=labels, splits=splits)


def path(n: int, **more) -> Graph:
    return Graph.from_edges(np.eye(n), [(i, i + 1) for i in range(n - 2)], **more)


def scores(model, graph: Graph) -> np.ndarray:
    with torch.no_grad():
        return model.network_(*model._inputs(graph, ReceptiveField.whole(graph))).numpy()


def accuracy(predicted: np.ndarray, graph: Graph) -> float:
    return float((predicted == graph.labels)[graph.splits["test"]].mean())


def probe_accuracy(z: np.ndarray, graph: Graph) -> float:
    """Of a logistic regression on these vectors, trained on "train" and scored on "test"."""
    train, test = graph.splits["train"], graph.splits["test"]
    probe = LogisticRegression(max_iter=1000).fit(z[train], graph.labels[train])
    return probe.score(z[test], graph.labels[test])


def dense_convolution(graph: Graph) -> np.ndarray:
    a = (graph.attended.toarray() != 0) + np.eye(graph.n_nodes)
    d = a.sum(axis=1)
    return a / np.sqrt(np.outer(d, d))
