"""What another library or a file says of a graph: names, edges and columns, not yet checked."""

from __future__ import annotations

import numbers
import re
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from graphgate.errors import InputError, InputWarning
from graphgate.graph.attributes import Attributes
from graphgate.graph.graph import Graph

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Network:
    """Nodes, edges and what is known of the nodes.

    ids : N names.
    edges : (E, 2) row numbers, source and target.
    weights : E numbers, or None.
    columns : name -> N values, None where a node has none.
    kinds : name -> kind of a column, where it is known.
    feature_names : of a column of vectors, if they are known.
    """

    ids: Sequence[Hashable]
    edges: np.ndarray
    weights: Sequence[Any] | np.ndarray | None = None
    directed: bool = False
    columns: Mapping[str, list[Any]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None

    def graph(
        self,
        *,
        attributes: Iterable[str] | str | None = None,
        drop: Iterable[str] | str = (),
        kinds: Mapping[str, str] | None = None,
        label: str | None = None,
        split: str | None = None,
    ) -> Graph:
        """The graph of these; `attributes`, `label` and `split` name columns.

        None for the attributes takes every column that is neither label nor split nor in `drop`,
        none of them ([]) only the edges. `kinds` says what a column is where its values do not.
        Where the only attribute is a vector, it is the features as they are; beside others its
        entries are attributes `name[0]`, `name[1]`, ….
        """
        if not len(self.ids):
            raise InputError("the graph has no nodes; a graph needs at least one")
        left_out = [drop] if isinstance(drop, str) else list(drop)
        for name in left_out:
            self._column(name, "attribute")
        chosen = [name for name in self._chosen(attributes, {label, split}) if name not in left_out]
        known = {**self.kinds, **(kinds or {})}
        features, names = self._features(chosen, known, strict=attributes is not None)
        table = features if isinstance(features, Attributes) else None
        return Graph.from_edge_index(
            features if table is None else None,
            self.edges.reshape(-1, 2).T,
            None if self.weights is None else self._checked_weights(),
            attributes=table,
            ids=self.ids,
            labels=None if label is None else self._column(label, "label"),
            splits=None if split is None else _masks(self._column(split, "split")),
            directed=self.directed,
            feature_names=names,
        )

    def edge_table(self) -> pa.Table:
        """Edges by the names of their ends, spelled out as a text file has them."""
        names = np.array([str(node) for node in self.ids], dtype=object)
        source, target = names[self.edges.reshape(-1, 2)].T
        columns = {"source": pa.array(source, pa.string()), "target": pa.array(target, pa.string())}
        if self.weights is not None:
            columns["weight"] = pa.array(self._checked_weights())
        return pa.table(columns)

    def merged_edges(self) -> int:
        """How many edges lead from u to v as one before them does already.

        The other way round is no repetition: an undirected edge may be given both ways.
        """
        source, target = self.edges.reshape(-1, 2).T
        apart = source != target
        keys = source[apart] * len(self.ids) + target[apart]
        return len(keys) - len(np.unique(keys))

    def _chosen(self, attributes: Iterable[str] | str | None, taken: set[str | None]) -> list[str]:
        if attributes is None:
            return [name for name in self.columns if name not in taken]
        chosen = [attributes] if isinstance(attributes, str) else list(attributes)
        for name in chosen:
            self._column(name, "attribute")
            if name in taken:
                raise InputError(f"{name!r} is asked for as label or split and as an attribute")
        if len(set(chosen)) != len(chosen):
            raise InputError("an attribute is asked for twice; name each once")
        return chosen

    def _column(self, name: str, what: str) -> list[Any]:
        if name not in self.columns:
            there = ", ".join(map(repr, list(self.columns)[:6])) or "none"
            more = ", …" if len(self.columns) > 6 else ""
            raise InputError(f"no node has the {what} {name!r}; the attributes are {there}{more}")
        return self.columns[name]

    def _features(
        self, chosen: list[str], kinds: Mapping[str, str], *, strict: bool
    ) -> tuple[Any, Sequence[str] | None]:
        columns: dict[str, Any] = {}
        for name in chosen:
            values = self.columns[name]
            if _holds_vectors(values):
                matrix = self._matrix(name, values)
                if len(chosen) == 1:
                    return _sparse_if_mostly_zero(matrix), _fitting(self.feature_names, matrix)
                columns |= {f"{name}[{at}]": matrix[:, at] for at in range(matrix.shape[1])}
            elif (odd := _nested(values)) is None:
                columns[name] = values
            elif strict:
                raise InputError(f"the attribute {name!r} has the value {odd!r}; give plain values")
            else:
                warnings.warn(
                    f"the attribute {name!r} is left out: it is nested, such as {_short(odd)}",
                    InputWarning,
                    stacklevel=4,
                )
        if not columns:
            return None, None
        known = {name: kind for name, kind in kinds.items() if name in columns}
        return Attributes.from_columns(columns, kinds=known), None

    def _matrix(self, name: str, values: list[Any]) -> np.ndarray:
        """(N, F) of vectors of the same length, one a node."""
        sizes = [-1 if value is None else len(value) for value in values]
        if -1 in sizes:
            node = self.ids[sizes.index(-1)]
            raise InputError(
                f"node {node!r} has no {name!r}, which is a vector elsewhere; give every node one"
            )
        odd = next((at for at, size in enumerate(sizes) if size != sizes[0]), None)
        if odd is not None:
            raise InputError(
                f"the vector {name!r} has {sizes[0]} entries at node {self.ids[0]!r}, "
                f"but {sizes[odd]} at node {self.ids[odd]!r}; give all the same length"
            )
        return np.stack([np.asarray(value) for value in values])

    def _checked_weights(self) -> np.ndarray:
        assert self.weights is not None
        for at, weight in enumerate(self.weights):
            real = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
            if not real or not 0 <= weight < np.inf:
                source, target = (self.ids[row] for row in self.edges[at].tolist())
                raise InputError(
                    f"the edge between {source!r} and {target!r} has the weight {weight!r}; "
                    "weights must be positive, finite numbers"
                )
        return np.asarray(self.weights, dtype=np.float64)


def numbers_or_text(names: Sequence[Any]) -> list[Any]:
    """Whole numbers if every name is text that spells one as `str` would; else as they are."""
    if all(isinstance(name, str) and _WHOLE.fullmatch(name) for name in names):
        whole = [int(name) for name in names]
        if all(abs(number) < 2**63 for number in whole):
            return whole
    return list(names)


def warn_of_merged_edges(network: Network) -> None:
    """One sentence if edges are parallel; `Graph` has one edge a pair."""
    if merged := network.merged_edges():
        how = "their weights are added" if network.weights is not None else "one of each is kept"
        edges = "edge joins" if merged == 1 else "edges join"
        warnings.warn(
            f"{merged:,} parallel {edges} a pair that is joined already; {how}",
            InputWarning,
            stacklevel=3,
        )


def _masks(names: list[Any]) -> dict[str, np.ndarray]:
    found = dict.fromkeys(str(name) for name in names if name is not None)
    return {split: np.array([str(name) == split for name in names]) for split in found}


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "buif"
    )


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "buif"
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_number, value))


def _holds_vectors(values: list[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(map(_is_vector, given))


def _nested(values: list[Any]) -> Any | None:
    """A value that no kind of attribute has: neither plain, nor words, nor counts of words."""
    for value in values:
        if isinstance(value, Mapping):
            plain = all(isinstance(k, str) and _is_number(v) for k, v in value.items())
        elif isinstance(value, (list, tuple, set, frozenset)):
            plain = all(isinstance(item, str) for item in value)
        else:
            plain = value is None or isinstance(value, (str, numbers.Real, np.generic))
        if not plain:
            return value
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _fitting(names: Sequence[str] | None, matrix: np.ndarray) -> Sequence[str] | None:
    return names if names is not None and len(names) == matrix.shape[1] else None


def _sparse_if_mostly_zero(matrix: np.ndarray) -> np.ndarray | sp.csr_array:
    few = np.count_nonzero(matrix) < 0.2 * matrix.size
    return sp.csr_array(matrix) if few else matrix
