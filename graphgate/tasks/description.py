"""What the nodes of a cluster have in common: words, categories and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import false_discovery_control, hypergeom, norm, rankdata

from graphgate.errors import InputError
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph
from graphgate.io.graph_tables import read_nodes
from graphgate.io.reading_options import ReadingOptions
from graphgate.io.table_files import open_table

FEWEST = 3  # nodes that have a word or a category, for it to be tested


@dataclass(frozen=True)
class Trait:
    """Something that nodes of a cluster have more often, or have more or less of, than others.

    name : the column or the feature.
    value : the word or category; None for numbers.
    inside, outside : the fraction of nodes that have it, in the cluster and elsewhere; for numbers,
        the median.
    p_value : adjusted for the number of traits and clusters that were tested.

    >>> print(Trait("town", "Ulm", 0.8, 0.1, 1e-5))
    town Ulm (80%, elsewhere 10%)
    """

    name: str
    value: Any
    inside: float
    outside: float
    p_value: float

    def __str__(self) -> str:
        if self.value is None:
            way = "high" if self.inside >= self.outside else "low"
            return f"{way} {self.name} (median {self.inside:.4g}, elsewhere {self.outside:.4g})"
        shown = self.name if self.value is True else f"{self.name} {self.value}"
        return f"{shown} ({self.inside:.0%}, elsewhere {self.outside:.0%})"


class _Tests(NamedTuple):
    """One column per trait. p_values, inside, outside : (C, M)."""

    names: list[tuple[str, Any]]
    p_values: np.ndarray
    inside: np.ndarray
    outside: np.ndarray


def describe_clusters(
    described: Graph | Attributes, clusters: Any, *, most: int = 5, alpha: float = 0.01
) -> list[list[Trait]]:
    """What is over-represented in each cluster, the clearest first.

    Parameters
    ----------
    described : a graph, of which labels are not looked at, or a table of attributes.
    clusters : (N,) integers from 0, as in `cluster(…).clusters`.
    most : traits per cluster.
    alpha : false discovery rate over all traits and clusters (Benjamini–Hochberg). A clustering at
        random has no traits, except in a fraction `alpha` of all cases.

    Words, categories, booleans and features of only 0 and 1, or sparse ones, are tested by Fisher's
    exact test, numbers by the rank test of Mann and Whitney. Where clusters were found from the
    same attributes, the tests rank and filter what describes them, but prove nothing.

    Examples
    --------
    >>> table = Attributes.from_columns({"town": ["Ulm"] * 9 + ["Bern"] * 9})
    >>> for traits in describe_clusters(table, [0] * 9 + [1] * 9):
    ...     print(*traits)
    town Ulm (100%, elsewhere 0%)
    town Bern (100%, elsewhere 0%)
    """
    codes = np.asarray(clusters)
    n = described.n_nodes if isinstance(described, Graph) else len(described)
    if codes.shape != (n,) or codes.dtype.kind not in "iu" or codes.min() < 0:
        raise InputError(f"clusters must be {n:,} integers from 0, one per node")
    members = sp.csr_array((np.ones(n), (codes, np.arange(n))), (int(codes.max()) + 1, n))
    tests = [_presence(names, has, members) for names, has in indicators(described)]
    tests += [_rank_test(names, values, members) for names, values in _numbers(described)]
    names = [name for test in tests for name in test.names]
    if not names:
        return [[] for _ in range(members.shape[0])]
    p_values, inside, outside = (
        np.concatenate(arrays, axis=1) for arrays in [*zip(*tests, strict=True)][1:]
    )
    adjusted = false_discovery_control(p_values.ravel()).reshape(p_values.shape)
    clearest = np.lexsort((-np.abs(inside - outside), p_values))
    numbers = np.stack([inside, outside, adjusted], axis=2)
    return [
        [
            Trait(*names[column], *numbers[cluster, column].tolist())
            for column in columns
            if adjusted[cluster, column] <= alpha
        ][:most]
        for cluster, columns in enumerate(clearest)
    ]


def read_attributes(
    path: Path | str, ids: np.ndarray, *, id: str = "id", options: ReadingOptions | None = None
) -> Attributes:
    """The attributes of these nodes from a node table, missing where it has no row for a node.

    options : how the table is read; `id` and the label in it are no attributes.
    """
    table = open_table(Path(path))
    nodes = read_nodes(table, replace(options or ReadingOptions(), id=id))
    attributes = nodes.read().attributes
    if attributes is None:
        raise InputError(f"{path} has no column beside the id to describe clusters by")
    row_of = {str(node): row for row, node in enumerate(nodes.ids.to_pylist())}
    rows = np.array([row_of.get(str(node), len(row_of)) for node in ids.tolist()])
    if (rows == len(row_of)).all():
        raise InputError(f"{path} contains no id of the embedding; pass a table of the same nodes")
    return attributes.padded(1).take(rows)


def _attributes(described: Any) -> Attributes | None:
    return described.attributes if isinstance(described, Graph) else described


def indicators(described: Any) -> Iterator[tuple[list[tuple[str, Any]], sp.csr_array]]:
    """Names and an (N, M) matrix of 0 and 1, for everything that a node has or has not."""
    table = _attributes(described)
    if table is None:
        if described.x is not None and _is_presence(described.x):
            x = sp.csr_array(described.x != 0, dtype=np.float64)
            yield [(name, True) for name in _feature_names(described)], x
        return
    for name in table:
        column = table[name]
        if column.is_counts:
            words = sp.csr_array(column.values > 0, dtype=np.float64)
            yield [(name, word) for word in column.vocabulary], words
        elif column.kind == "category":
            rows = np.flatnonzero(~column.missing)
            shape = (len(column), len(column.vocabulary))
            ones = sp.csr_array((np.ones(len(rows)), (rows, column.values[rows])), shape)
            yield [(name, value) for value in column.vocabulary], ones
        elif column.kind == "boolean":
            both = np.stack([column.values == 1, column.values == 0], axis=1)
            yield [(name, True), (f"not {name}", True)], sp.csr_array(both, dtype=np.float64)


def _numbers(described: Any) -> Iterator[tuple[list[tuple[str, Any]], np.ndarray]]:
    """Names and an (N, M) matrix of numbers, NaN where missing."""
    table = _attributes(described)
    if table is None:
        if described.x is not None and not _is_presence(described.x):
            yield [(name, None) for name in _feature_names(described)], described.x
        return
    for name in table:
        values = table[name].values
        if table[name].kind == "number":
            yield [(name, None)], values[:, None]
        elif table[name].kind == "vector":
            yield [(f"{name}[{at}]", None) for at in range(values.shape[1])], values


def _is_presence(x: Any) -> bool:
    """Sparse features are counts of something; dense ones are, if they are only 0 and 1."""
    return sp.issparse(x) or bool(np.isin(x, (0, 1)).all())


def _feature_names(graph: Graph) -> Sequence[str]:
    return graph.feature_names or [f"feature {column}" for column in range(graph.n_features)]


def _presence(names: list[tuple[str, Any]], has: sp.csr_array, members: sp.csr_array) -> _Tests:
    """Fisher's exact test of "more often in this cluster than elsewhere"."""
    n, totals = has.shape[0], has.sum(axis=0)
    tested = np.flatnonzero((totals >= FEWEST) & (totals < n))
    counts, totals = (members @ has[:, tested]).toarray(), totals[tested]
    sizes = np.diff(members.indptr)[:, None]
    p_values = hypergeom.sf(counts - 1, n, totals, sizes)
    elsewhere = (totals - counts) / np.maximum(n - sizes, 1)
    return _Tests([names[column] for column in tested], p_values, counts / sizes, elsewhere)


def _rank_test(names: list[tuple[str, Any]], values: np.ndarray, members: sp.csr_array) -> _Tests:
    """Two-sided, by the normal approximation with a correction for ties."""
    n_clusters = members.shape[0]
    shape = (n_clusters, values.shape[1])
    p_values, inside, outside = np.ones(shape), np.zeros(shape), np.zeros(shape)
    codes = members.T.tocsr().indices  # one per node
    for trait, column in enumerate(values.T):
        given = ~np.isnan(column)
        numbers, clusters = column[given], codes[given]
        _, ties = np.unique(numbers, return_counts=True)
        n, sizes = len(numbers), np.bincount(clusters, minlength=n_clusters)
        if n < 2 or len(ties) < 2:
            continue
        ranks = np.bincount(clusters, rankdata(numbers), n_clusters)
        others = n - sizes
        variance = sizes * others / 12 * (n + 1 - (ties**3 - ties).sum() / (n * (n - 1)))
        for cluster in np.flatnonzero((sizes > 0) & (others > 0)):
            distance = abs(ranks[cluster] - sizes[cluster] * (n + 1) / 2) - 0.5
            p_values[cluster, trait] = 2 * norm.sf(max(distance, 0) / np.sqrt(variance[cluster]))
            inside[cluster, trait] = np.median(numbers[clusters == cluster])
            outside[cluster, trait] = np.median(numbers[clusters != cluster])
    return _Tests(names, np.minimum(p_values, 1), inside, outside)
