"""Weights chosen from the graph against fixed ones, on validation nodes and planted groups.

    python -m benchmarks source_weights --graphs FOLDER --threads 1 \
        --json results/benchmarks/source_weights.json

For every graph, five kinds of vectors of equal width: `LinearGATE` with fixed weights and with
those chosen from the graph, and its coordinates without and with smoothing, reduced to as many
columns. 10 % of the nodes train the probe of the comparison and another 10 % choose its strength
and scaling, on `splits` random splits, so that accuracies of the same split can be compared; test
nodes are never looked at. Clusters are those of k-means, of several seeds, and are compared with
the classes of the validation nodes of all splits. The AUC is of validation edges of the
comparison's split, which are hidden together with its test edges. With `--planted 1`, also the
clusters of graphs with planted groups (`benchmarks.planted_graphs`), of five seeds.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score
from sklearn.preprocessing import normalize

from benchmarks.inputs import graph_names, load
from benchmarks.planted_graphs import N_GROUPS, PLANTED, Planted, irrelevant_columns
from benchmarks.runner import Measurements
from graphgate import LinearGATE
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import split_links
from graphgate.paper.baselines.smoothing import RawSVD, Smoothing
from graphgate.paper.experiments.quality import random_probe
from graphgate.tasks.clustering import cluster_vectors

COMPLETE = "--graphs FOLDER --planted 1 --threads 1 --json results/benchmarks/source_weights.json"
WIDTH = 128
OTHER_SPLITS = 1000  # number of the first one, not among those of the comparison
VECTORS: dict[str, Callable[[int], Any]] = {
    "fixed": lambda seed: LinearGATE(WIDTH, weights=None, random_state=seed, progress=False),
    "chosen": lambda seed: LinearGATE(WIDTH, weights="auto", random_state=seed, progress=False),
    "raw": lambda seed: RawSVD(random_state=seed),
    "smoothing-2": lambda seed: Smoothing(steps=2, random_state=seed),
    "smoothing-16": lambda seed: Smoothing(steps=16, random_state=seed),
}
OURS = ("fixed", "chosen")


def measure(
    graphs: str = "",
    names: tuple[str, ...] = (),
    vectors: tuple[str, ...] = tuple(VECTORS),
    splits: int = 20,
    k_means: int = 4,
    links: int = 1,
    planted: int = 0,
) -> Measurements:
    for name in graph_names(names, graphs):
        for kind in vectors:
            work = partial(compare, name, graphs, kind, splits, k_means, links)
            yield {"graph": name, "vectors": kind}, work
    for subject, make in planted_graphs() if planted else ():
        for kind in OURS:
            if kind in vectors:
                yield subject | {"vectors": kind}, partial(recovered, make, kind)


def compare(
    name: str, folder: str, kind: str, splits: int, k_means: int, links: int
) -> dict[str, Any]:
    """Accuracy by split, NMI by seed of k-means, and AUC by seed, in percent."""
    graph = load(name, folder=folder)
    assert graph.labels is not None
    method = VECTORS[kind](0).fit(graph)
    z = reduced(np.asarray(method.embedding_, dtype=np.float64))
    result: dict[str, Any] = {}
    numbers = range(OTHER_SPLITS, OTHER_SPLITS + splits)
    accuracies = [random_probe(z, graph.labels, at)["val_accuracy"] for at in numbers]
    result["accuracy"] = [round(value, 3) for value in accuracies]
    result["nmi"] = [round(value, 3) for value in _nmi(z, graph, numbers, k_means)]
    if kind in OURS:
        aucs = (_auc(graph, kind, seed) for seed in range(links))
        result["auc"] = [round(value, 3) for value in aucs]
        result["weights"] = {view: round(w, 4) for view, w in method.model_.weights.items()}
        result["sources"] = {
            source.name: source.weight for source in method.model_.coordinates.sources
        }
    return result


def reduced(z: np.ndarray) -> np.ndarray:
    """The leading directions of vectors that are wider than those of `LinearGATE`."""
    if z.shape[1] <= WIDTH:
        return z
    return z @ np.linalg.eigh(z.T @ z)[1][:, -WIDTH:]


def _nmi(z: np.ndarray, graph: Graph, splits: range, k_means: int) -> Iterator[float]:
    """The mean NMI on the validation nodes of the splits, for each seed of k-means."""
    labels = graph.labels
    assert labels is not None
    parts = [validation_nodes(labels, at) for at in splits]
    for seed in range(k_means):
        clusters = cluster_vectors(normalize(z), len(graph.classes), random_state=seed)
        values = [normalized_mutual_info_score(labels[part], clusters[part]) for part in parts]
        yield 100 * float(np.mean(values))


def validation_nodes(labels: np.ndarray, split: int) -> np.ndarray:
    """Those of `random_probe`."""
    order = np.random.default_rng(split).permutation(np.flatnonzero(labels >= 0))
    return order[len(order) // 10 : len(order) // 5]


def _auc(graph: Graph, kind: str, seed: int) -> float:
    split = split_links(graph, random_state=seed)
    method = VECTORS[kind](seed).fit(split.graph)
    pairs = np.concatenate([split.val_edges, split.val_non_edges])
    truth = np.repeat([1, 0], [len(split.val_edges), len(split.val_non_edges)])
    return 100 * float(roc_auc_score(truth, method.pair_scores(pairs)))


def planted_graphs() -> Iterator[tuple[dict[str, Any], Callable[[int], Planted]]]:
    """Graphs with planted groups, by what they are."""
    for edges, informative in ((True, 0), (True, 3), (False, 3), (False, 5)):
        for n_columns in (0, 1, 5, 30):
            for kind in ("number", "category"):
                if n_columns or kind == "number":
                    subject = {
                        "planted": f"{n_columns} irrelevant columns",
                        "kind": kind,
                        "edges": edges,
                        "informative": informative,
                    }
                    yield (
                        subject,
                        partial(_irrelevant, n_columns, kind, edges=edges, informative=informative),
                    )
    for name, make in PLANTED.items():
        yield {"planted": name}, make


def _irrelevant(n_columns: int, kind: str, seed: int, **settings: Any) -> Planted:
    return irrelevant_columns(n_columns, kind, random_state=seed, **settings)


def recovered(make: Callable[[int], Planted], kind: str, seeds: int = 5) -> dict[str, Any]:
    """NMI of clusters and planted groups, by seed, in percent."""
    values = []
    for seed in range(seeds):
        graph, groups = make(seed)
        method = VECTORS[kind](seed).fit(graph)
        clusters = cluster_vectors(normalize(method.embedding_), N_GROUPS, random_state=seed)
        values.append(round(100 * float(normalized_mutual_info_score(groups, clusters)), 2))
    return {"nmi": values}
