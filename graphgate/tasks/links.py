"""Link prediction: how well held-out edges are found among pairs without an edge."""

from collections.abc import Callable
from dataclasses import replace
from statistics import mean, stdev
from typing import Any, Protocol, runtime_checkable

import numpy as np

from graphgate.errors import InputError
from graphgate.estimators.base import inner_products
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.graph.edges import edge_pairs
from graphgate.graph.graph import Graph
from graphgate.graph.link_split import LinkSplit, given_split, node_types_of, split_links
from graphgate.graph.validation import Features
from graphgate.io.progress import progress_bar
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.tasks.hard_negatives import Heuristics, hard_negatives
from graphgate.tasks.link_metrics import link_quality

NEGATIVES = ("random", "heart")
MOST_RANKED = 2000  # held-out edges that are compared with hard non-edges


@runtime_checkable
class PairScorer(Protocol):
    """An estimator that scores pairs of nodes of the graph given to `fit` in its own way."""

    def pair_scores(self, pairs: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class Predictor(Protocol):
    """A classifier of nodes, which has no vectors."""

    def predict(self, X: Any) -> np.ndarray: ...


def evaluate_links(
    graph: Graph,
    estimator: Any = None,
    *,
    val_size: float = 0.05,
    test_size: float = 0.1,
    test_edges: Any = None,
    val_edges: Any = None,
    times: tuple[Any, Any] | None = None,
    negatives: str = "random",
    node_types: Any = None,
    n_splits: int = 1,
    random_state: int = 0,
    progress: bool = True,
) -> dict[str, float | None]:
    """Hold out edges, train on the rest, and score the held-out edges against non-edges.

    Parameters
    ----------
    graph : its labels are hidden from the estimator.
    estimator : unfitted, with `fit(graph)` and `embedding_`; the default is `LinearGATE`.
    val_size, test_size : fractions of the connected pairs to hold out, at random.
    test_edges, val_edges : (M, 2) pairs of node ids to hold out instead.
    times : (M, 2) pairs of node ids and M numbers or dates, the times of the edges. The latest
        edges are held out instead of random ones.
    negatives : "random" draws as many pairs without an edge as there are held-out edges, with which
        all of these are compared. "heart" compares each edge with 500 pairs of its own, in which
        one of its ends is replaced by nodes that resource allocation, personalized PageRank and the
        features find plausible; at most 2,000 edges are compared, drawn at random.
    node_types : (N,) the type of each node; non-edges then join nodes of the types that the edges
        join.
    n_splits : number of splits, whose random seeds are random_state, random_state + 1, …. The
        default estimator has the same seed as the split.
    progress : show a progress bar (on terminals only).

    Returns metrics in percent: "hits@10", "hits@50", "hits@100", "mrr", "auc" and "ap" (average
    precision) of the test edges; prefixed by "connected_", without pairs one of whose nodes lost
    all edges to the split, which hints at the hidden ones; and prefixed by "val_", of the
    validation edges. They are None where there are too few pairs. With several splits, these are
    means, and those with the suffix "_std" the standard deviations.

    Examples
    --------
    >>> ring = Graph.from_edges(np.eye(40), [(i, (i + 1) % 40) for i in range(40)])
    >>> scores = evaluate_links(ring)
    >>> [name for name in scores if "_" not in name]
    ['hits@10', 'hits@50', 'hits@100', 'mrr', 'auc', 'ap']
    """
    if isinstance(estimator, Predictor):
        name = type(estimator).__name__
        raise InputError(f"{name} is a classifier and gives no vectors to score")
    if negatives not in NEGATIVES:
        raise InputError(f"negatives must be one of {', '.join(NEGATIVES)}, got {negatives!r}")
    if test_edges is None and val_edges is not None:
        raise InputError("val_edges are given without test_edges; give both, or neither")
    if test_edges is not None and times is not None:
        raise InputError("give either test_edges or times, not both")
    types = node_types_of(graph, node_types)
    given = None if test_edges is None else edge_pairs(test_edges, graph.ids)
    given_val = None if val_edges is None else edge_pairs(val_edges, graph.ids)
    timed = None if times is None else (edge_pairs(times[0], graph.ids), np.asarray(times[1]))

    def split_of(seed: int) -> LinkSplit:
        if given is not None:
            return given_split(graph, given, given_val, random_state=seed, node_types=types)
        return split_links(
            graph,
            val_size=val_size,
            test_size=test_size,
            random_state=seed,
            times=timed,
            node_types=types,
        )

    runs: list[dict[str, float | None]] = []
    with progress_bar("links", n_splits, show=progress) as advance:
        for seed in range(random_state, random_state + n_splits):
            split = split_of(seed)
            model = LinearGATE(random_state=seed, progress=False)
            model = (model if estimator is None else estimator).fit(split.graph.reveal())
            advance(0.5, note="scoring")
            if negatives == "heart":
                split = with_hard_negatives(split, graph, types, seed, advance)
            runs.append(score_split(model, split))
            advance(0.5 if negatives == "random" else 0)
    return runs[0] if len(runs) == 1 else _summary(runs)


def with_hard_negatives(
    split: LinkSplit,
    graph: Graph,
    node_types: np.ndarray | None = None,
    random_state: int = 0,
    advance: Callable[[float], None] = lambda _: None,
) -> LinkSplit:
    """The split with at most `MOST_RANKED` edges of each kind, and hard non-edges for each.

    graph : with the held-out edges.
    advance : called with fractions that add up to one half.
    """
    rng, heuristics = np.random.default_rng(random_state), Heuristics(split.graph, _features(graph))
    known = _with_edges(graph, split)
    sets: dict[str, Any] = {}
    edges = {"val": split.val_edges, "test": split.test_edges}
    chosen = {
        name: of if len(of) <= MOST_RANKED else of[rng.choice(len(of), MOST_RANKED, replace=False)]
        for name, of in edges.items()
    }
    total = 2 * sum(map(len, chosen.values()))
    for name, of in chosen.items():
        non_edges = np.empty((0, 0, 2), dtype=np.int64)
        if len(of):
            non_edges = hard_negatives(
                heuristics,
                known,
                of,
                random_state=random_state,
                node_types=node_types,
                advance=lambda ends: advance(ends / total / 2),
            )
        sets |= {f"{name}_edges": of, f"{name}_non_edges": non_edges}
    return replace(split, **sets)


def _with_edges(graph: Graph, split: LinkSplit) -> Graph:
    """The graph with all edges of a split, of which it may lack those that were given."""
    edges = np.concatenate([split.val_edges, split.test_edges])
    present = graph.adjacency.tocoo()
    pairs = np.concatenate([np.stack(present.coords, axis=1), edges])
    return Graph.from_edge_index(None, pairs.T, num_nodes=graph.n_nodes, directed=True)


def _features(graph: Graph) -> Features | None:
    if graph.x is not None:
        return graph.x
    if graph.attributes is None:
        return None
    return AttributeEncoder().fit(graph.attributes).transform(graph.attributes)


def score_split(estimator: Any, split: LinkSplit) -> dict[str, float | None]:
    """Metrics of the test pairs and, prefixed as in `evaluate_links`, of others.

    estimator : fitted on `split.graph`. Its own `pair_scores` decide or, where it has none, the
        inner products of its vectors.
    """
    sets = (split.test_edges, split.test_non_edges, split.val_edges, split.val_non_edges)
    pairs = np.concatenate([part.reshape(-1, 2) for part in sets])
    if isinstance(estimator, PairScorer):
        scores = estimator.pair_scores(pairs)
    else:
        scores = inner_products(np.asarray(estimator.embedding_), pairs)
    if not np.isfinite(scores).all():
        raise InputError("the embedding has values that are not finite; links cannot be scored")
    parts = np.split(scores, np.cumsum([part.size // 2 for part in sets])[:-1])
    test, others, val, val_others = (
        part.reshape(pairs.shape[:-1]) for part, pairs in zip(parts, sets, strict=True)
    )
    connected = _still_connected(split)
    kept = connected[split.test_edges].all(axis=1)
    kept_others = np.where(connected[split.test_non_edges].all(axis=-1), others, np.nan)
    if others.ndim == 2:
        kept_others = kept_others[kept]
    of_connected, of_val = link_quality(test[kept], kept_others), link_quality(val, val_others)
    return (
        link_quality(test, others)
        | {f"connected_{name}": value for name, value in of_connected.items()}
        | {f"val_{name}": value for name, value in of_val.items()}
    )


def _still_connected(split: LinkSplit) -> np.ndarray:
    """(N,) whether a node did not lose its last edge to the split."""
    connected = np.ones(split.graph.n_nodes, dtype=bool)
    connected[np.concatenate([split.val_edges, split.test_edges])] = False
    adjacency = split.graph.adjacency
    connected |= np.diff(adjacency.indptr) > 0
    connected[adjacency.indices] = True
    return connected


def _summary(runs: list[dict[str, float | None]]) -> dict[str, float | None]:
    """Means and, with the suffix "_std", standard deviations with n − 1."""
    summary: dict[str, float | None] = {}
    for name in runs[0]:
        values = [run[name] for run in runs]
        known = [value for value in values if value is not None]
        complete = len(known) == len(values)
        summary[name] = round(mean(known), 4) if complete else None
        summary[f"{name}_std"] = round(stdev(known), 4) if complete else None
    return summary
