"""What the contract suites of embedders and classifiers share: graphs, methods, comparisons."""

from __future__ import annotations

import random
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import clone

from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.paper.experiments.experiment import CLASSIFICATION_SETTINGS, find_experiment
from graphgate.paper.experiments.methods import ROWS, find_row
from graphgate.paper.experiments.protocol import embed_nodes, predict_classes

CLASSIFIERS = [name for name, method in ROWS.items() if method.sees.endswith("Y")]
# "gate-edges" is GATE on a dataset without features.
EMBEDDERS = [n for n, method in ROWS.items() if n not in CLASSIFIERS and method.features]
TRANSDUCTIVE = {"deepwalk", "deepwalk-features", "label-propagation", "planetoid-t"}
# Those of the second line are random only with more features than these graphs have.
DETERMINISTIC = {
    *("raw", "label-propagation"),
    *("raw-svd", "smoothing-2", "smoothing-16"),
}
# Replace the parameters of the experiment, where a method has them.
QUICK = {
    **{"epochs": 3, "walks": 2, "length": 8, "iterations": 8},
    **{"label_steps": 4, "graph_steps": 3, "draws": [4, 3]},
    **{"dims": [16, 8], "n_components": 16, "hidden": 16},
}


def inductive(names: list[str]) -> list[str]:
    return [name for name in names if name not in TRANSDUCTIVE]


def in_each_setting(names: list[str]) -> list[tuple[str, str]]:
    """(name, setting), inductive only where the method has it."""
    return [
        (name, setting)
        for name in names
        for setting in CLASSIFICATION_SETTINGS
        if setting == "transductive" or name not in TRANSDUCTIVE
    ]


def quick(name: str, seed: Any = 0):
    """A method with the parameters of its experiment, but little work to do."""
    found = [find_experiment(name, "cora", setting) for setting in CLASSIFICATION_SETTINGS]
    params = next(experiment.candidates()[0] for experiment in found if experiment is not None)
    known = find_row(name).make(params, 0).get_params()
    params |= {key: value for key, value in QUICK.items() if key in known}
    return find_row(name).make(params, seed)


@cache
def blocks(seed: int = 0, n: int = 75, *, dense: bool = False, prefix: str = "n") -> Graph:
    """Three classes, each with edges and words of its own.

    The nodes 0, 4, 7 and 74 have no edges, and 0 and 10 no features. Of fifteen consecutive nodes
    three are in the split "train", three in "val", six in "test" and three in none.
    """
    rng = np.random.default_rng(seed)
    label, part = np.arange(n) % 3, np.arange(n) // 3 % 5
    edges = np.triu(rng.random((n, n)) < np.where(label[:, None] == label, 0.15, 0.02), 1)
    for node in (0, 4, 7, 74):
        edges[node] = edges[:, node] = False
    # Few enough words for methods to take their sparse path.
    words = rng.random((n, 90)) < np.where(np.arange(90) % 3 == label[:, None], 0.08, 0.01)
    x = (words * rng.integers(1, 4, words.shape)).astype(np.float32)
    x[[0, 10]] = 0
    return Graph(
        x if dense else sp.csr_array(x),
        edges,
        ids=[f"{prefix}{i}" for i in range(n)],
        labels=np.array(["red", "green", "blue"])[label],
        splits={"train": part == 0, "val": part == 1, "test": (part == 2) | (part == 3)},
    )


def changed(graph: Graph, *, x=None, adjacency=None, labels=None) -> Graph:
    codes = graph.labels if labels is None else labels
    return Graph(
        graph.x if x is None else x,
        graph.adjacency if adjacency is None else adjacency,
        ids=graph.ids,
        labels=[graph.classes[code] for code in codes],
        splits=graph.splits,
    )


def changes_of(graph: Graph, chosen: np.ndarray) -> list[Graph]:
    """The graph with the features, and with the edges, of these nodes changed."""
    nodes = np.flatnonzero(chosen)
    x, edges = graph.x.toarray(), graph.adjacency.toarray()
    x[nodes] = np.roll(x[nodes], 1, axis=1) + 5 * (np.arange(x.shape[1]) == 7)
    edges[nodes] = edges[:, nodes] = 1
    return [changed(graph, x=sp.csr_array(x)), changed(graph, adjacency=edges)]


def with_attributes(graph: Graph) -> Graph:
    """The same graph with a number and a category per node instead of features."""
    n = graph.n_nodes
    attributes = Attributes.from_columns(
        {"size": np.arange(n) % 7.0, "kind": [f"kind {i % 3}" for i in range(n)]}
    )
    return _redescribed(graph, attributes=attributes)


def with_edges_only(graph: Graph) -> Graph:
    return _redescribed(graph)


def _redescribed(graph: Graph, **description) -> Graph:
    return Graph(
        None,
        graph.adjacency,
        ids=graph.ids,
        labels=[graph.classes[code] for code in graph.labels],
        splits=graph.splits,
        **description,
    )


def is_classifier(name: str) -> bool:
    return name in CLASSIFIERS


def given(name: str, graph: Graph) -> Graph:
    """As the transductive setting hands it to the method."""
    return graph.reveal("train", "val") if is_classifier(name) else graph.reveal()


def output(method, graph: Graph) -> np.ndarray:
    """Of a fitted inductive method, for any graph."""
    graph = graph.reveal()
    return method.predict(graph) if hasattr(method, "predict") else method.transform(graph)


def fitted_output(method, graph: Graph) -> np.ndarray:
    """For the graph that a method was fitted on, which all methods have."""
    return method.predict(graph.reveal()) if hasattr(method, "predict") else method.embedding_


def evaluated(method, graph: Graph, setting: str) -> np.ndarray:
    """What the protocol gets from a method."""
    run = predict_classes if hasattr(method, "predict") else embed_nodes
    return run(method, graph, setting, ("test",))


def learned(thing, name: str = "") -> dict[str, bytes]:
    """All arrays that a method keeps: weights differ where predictions may not."""
    if isinstance(thing, torch.Tensor):
        return {name: thing.detach().numpy().tobytes()}
    if isinstance(thing, np.ndarray):
        return {} if thing.dtype == object else {name: thing.tobytes()}
    if isinstance(thing, float):
        return {name: np.float64(thing).tobytes()}
    if isinstance(thing, torch.nn.Module):
        parts = thing.state_dict()
    elif not name or is_dataclass(thing):
        parts = vars(thing)
    else:
        return {}
    return {k: v for part in parts for k, v in learned(parts[part], f"{name}.{part}").items()}


def same(one: np.ndarray, two: np.ndarray) -> bool:
    return one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes()


class Recorder:
    """Passes everything on, and keeps the graphs that reach the method."""

    def __init__(self, method) -> None:
        self.method = method
        self.graphs: dict[str, Graph] = {}

    def fit(self, graph: Graph) -> Recorder:
        self.graphs["fit"] = graph
        self.method.fit(graph)
        return self

    def __getattr__(self, name: str):
        found = getattr(self.method, name)
        if name not in ("transform", "predict"):
            return found

        def passed_on(graph: Graph) -> np.ndarray:
            self.graphs["later"] = graph
            return found(graph)

        return passed_on


def recorded(name: str, graph: Graph, setting: str) -> dict[str, Graph]:
    recorder = Recorder(quick(name))
    evaluated(recorder, graph, setting)
    return recorder.graphs


# --- checks of both suites -----------------------------------------------------------------------


def check_parameters(name: str) -> None:
    """`get_params`, `set_params` and `clone`, as scikit-learn defines them."""
    method = quick(name, seed=7).fit(given(name, blocks()))
    params = method.get_params()
    assert params["random_state"] == 7
    copy = clone(method)
    assert copy.get_params() == params
    assert type(copy) is type(method)
    assert set(vars(copy)) == set(params)  # nothing learned is copied
    copy.set_params(random_state=8)
    assert (copy.random_state, method.random_state) == (8, 7)
    assert type(method).__name__ in repr(method)
    assert len({method, copy}) == 2


def check_seeds(name: str) -> None:
    """A seed decides every bit, whatever the state of the global generators."""
    graph, found = given(name, blocks()), []
    for seed in (1, 2):
        disturb(seed)
        method = quick(name, 5).fit(graph)
        found.append((fitted_output(method, graph), learned(method)))
    assert same(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    other = quick(name, 6).fit(graph)
    differs = learned(other) != {**found[0][1]}
    assert differs == (name not in DETERMINISTIC)


def check_other_seeds(name: str) -> None:
    """None and a RandomState are seeds too."""
    graph = given(name, blocks())
    quick(name, None).fit(graph)
    one, two = (
        fitted_output(quick(name, np.random.RandomState(3)).fit(graph), graph) for _ in range(2)
    )
    assert same(one, two)


def check_refit(name: str) -> None:
    first, second = given(name, blocks(1, n=84)), given(name, blocks(2))
    again, alone = quick(name).fit(first), quick(name).fit(second)
    assert learned(alone) != learned(again)
    again.fit(second)
    assert same(fitted_output(again, second), fitted_output(alone, second))
    assert learned(again) == learned(alone)


def check_no_side_effects(name: str, graph: Graph) -> None:
    """Neither the graph nor the global random generators change."""
    graph = given(name, graph)
    before = bytes_of(graph)
    disturb(3)
    state = random_state()
    method = quick(name).fit(graph)
    fitted_output(method, graph)
    if name not in TRANSDUCTIVE:
        output(method, graph)
    assert random_state() == state
    assert bytes_of(graph) == before


def check_nothing_unseen_is_learned(name: str) -> None:
    graph, probe = blocks(), blocks(7, prefix="probe")
    results = []
    for other in (graph, *changes_of(graph, graph.splits["test"])):
        method = quick(name)
        evaluated(method, other, "inductive")
        results.append((learned(method), output(method, probe).tobytes()))
    assert results[0] == results[1] == results[2]


def disturb(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  what a method must not use
    random.seed(seed)


def random_state() -> list:
    numpy = np.random.get_state()  # noqa: NPY002
    torchs = torch.get_rng_state().numpy().tobytes()
    return [random.getstate(), numpy[1].tobytes(), numpy[2:], torchs]


def bytes_of(graph: Graph) -> dict[str, bytes]:
    arrays = {f"split {name}": mask for name, mask in graph.splits.items()}
    for name, matrix in (("x", graph.x), ("adjacency", graph.adjacency)):
        parts = ("data", "indices", "indptr") if sp.issparse(matrix) else ("T",)
        arrays |= {f"{name}.{part}": getattr(matrix, part) for part in parts}
    if graph.labels is not None:
        arrays["labels"] = graph.labels
    ids = repr(graph.ids.tolist()).encode()
    return {name: array.tobytes() for name, array in arrays.items()} | {"ids": ids}
