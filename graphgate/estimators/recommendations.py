"""Recommended neighbors of nodes, and why they are recommended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.graph.graph import Graph
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.model import States

_SHOWN = 5  # common neighbors and traits of a reason


@dataclass(frozen=True)
class Reason:
    """Why a node is recommended.

    terms : what each term of the structure decoder contributes, by its name; with "bias" they add
        up to the logit of the probability.
    common_neighbors : ids, those with fewest neighbors first.
    shared_traits : names of features that both nodes have, rarest first; without names, their
        numbers.
    """

    terms: Mapping[str, float]
    common_neighbors: tuple[Any, ...]
    shared_traits: tuple[Any, ...]


@dataclass(frozen=True)
class Recommendations:
    """The likeliest new neighbors of some nodes: one row each, likeliest first for every node.

    nodes : (M,) ids, each as often as it has recommendations.
    neighbors : (M,) ids.
    probabilities : (M,), as in `LinearGATE.score_edges`.
    reasons : (M,), where they were asked for.

    >>> from graphgate import LinearGATE, load_dataset
    >>> gate = LinearGATE(random_state=0).fit(load_dataset("citeseer").graph)
    >>> gate.recommend(0, among=[1, 2, 3], n=2).nodes
    array([0, 0])
    """

    nodes: np.ndarray
    neighbors: np.ndarray
    probabilities: np.ndarray
    reasons: tuple[Reason, ...] | None = None

    def __len__(self) -> int:
        return len(self.nodes)


def candidate_rows(graph: Graph, among: Any) -> np.ndarray:
    """(C,) increasing rows of a graph with features.

    among : ids, a mask, or one value by the name of a column of categories; None for all nodes.
    """
    if among is None:
        return np.arange(graph.n_nodes)
    if not isinstance(among, Mapping):
        rows = np.unique(graph.rows(among))
    else:
        having = np.ones(graph.n_nodes, dtype=bool)
        names = graph.feature_names or ()
        for column, value in among.items():
            if (wanted := f"{column}={value}") not in names:
                raise InputError(
                    f"no node has the category {value!r} in a column {column!r}; the features are "
                    f"{listing(list(names), 5) or 'without names'}"
                )
            values = graph.x[:, [names.index(wanted)]]
            values = values.toarray() if sp.issparse(values) else values
            having &= values[:, 0] > 0
        rows = np.flatnonzero(having)
    if not len(rows):
        raise InputError("among names no node; name those that may be recommended")
    return rows


def reasons_of(
    decoder: EdgeDecoder, states: States, graph: Graph, pairs: np.ndarray
) -> tuple[Reason, ...]:
    """Why each of (M, 2) pairs of rows is likely."""
    terms = dict(decoder.contributions(states, pairs))
    both = (graph.adjacency + graph.adjacency.T).tocsr()
    degrees = np.diff(both.indptr)
    x = sp.csr_array(graph.x)
    frequency = np.bincount(x.indices[x.data > 0], minlength=graph.n_features)
    names = graph.feature_names or range(graph.n_features)
    reasons = []
    for at, (left, right) in enumerate(pairs.tolist()):
        common = _shared(both, left, right)
        traits = _shared(x, left, right)
        reasons.append(
            Reason(
                {name: float(values[at]) for name, values in terms.items()}
                | {"bias": decoder.bias},
                tuple(graph.ids[_first(common, degrees)].tolist()),
                tuple(names[trait] for trait in _first(traits, frequency).tolist()),
            )
        )
    return tuple(reasons)


def _shared(matrix: sp.csr_array, left: int, right: int) -> np.ndarray:
    """The columns in which both rows are positive."""
    one, other = (
        matrix.indices[ends][matrix.data[ends] > 0]
        for ends in (slice(*matrix.indptr[row : row + 2]) for row in (left, right))
    )
    return np.intersect1d(one, other)


def _first(items: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return items[np.argsort(counts[items], kind="stable")[:_SHOWN]]
