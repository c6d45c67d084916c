"""Attributes -> features: rules learned from some nodes, then applied to any."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphgate.errors import InputError, InputWarning, listing, warn_ignored
from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column, Kind
from graphgate.graph.validation import Features, errors_about, first_duplicate, index_type
from graphgate.io.files import check_fields
from graphgate.preprocessing.column_rules import BooleanRule, NumberRule, Rule, VectorRule
from graphgate.preprocessing.vocabulary_rules import CategoryRule, TextRule, WordsRule

RULES: dict[str, type[Rule]] = {
    rule.kind: rule
    for rule in (NumberRule, BooleanRule, VectorRule, CategoryRule, WordsRule, TextRule)
}
SPARSE_BELOW = 0.2  # fraction of values that are not zero
_ROWS, _WIDTH = 2048, 512  # of a block on its way into a dense array: 4 MiB
_ENTRIES = 1 << 20  # of a block on its way into a sparse array


class AttributeEncoder(BaseEstimator):
    """Encodes a table of attributes as features, by rules learned per column.

    How columns of each kind are encoded is described in `graphgate.preprocessing.column_rules` and
    `vocabulary_rules`.

    Parameters
    ----------
    scale : whether numbers are standardized; otherwise they are kept as they are.

    Attributes
    ----------
    rules_ : one rule per column, in order.
    weights_ : factor of the features of each column; empty where all are 1.

    Examples
    --------
    >>> table = Attributes.from_columns({"age": [30, 50], "town": ["Ulm", None]})
    >>> encoder = AttributeEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'town=Ulm']
    >>> encoder.transform(table).tolist()
    [[-1.0, 1.0], [1.0, 0.0]]
    """

    def __init__(self, scale: bool = True) -> None:
        self.scale = scale

    @errors_about("nodes")
    def fit(self, attributes: Attributes, y: Any = None) -> Self:
        """Learn a rule per column."""
        if len(attributes) == 0:
            raise InputError("attributes have 0 rows; give at least one row to learn from")
        return self._set(
            tuple(
                RULES[attributes[name].kind].learn(name, attributes[name], self.scale)
                for name in attributes
            )
        )

    def weighted(self, weights: Sequence[float]) -> Self:
        """The same encoder with a factor per column."""
        check_is_fitted(self)
        return type(self)(self.scale)._set(self.rules_, tuple(weights))

    def _set(self, rules: tuple[Rule, ...], weights: tuple[float, ...] = ()) -> Self:
        names = [name for rule in rules for name in rule.feature_names]
        if not names:
            raise InputError("the attributes yield no features: no column has a value")
        if (twice := first_duplicate(names)) is not None:
            raise InputError(f"two features would be named {twice!r}; rename a column or a value")
        self.rules_, self.weights_, self._names = rules, weights, tuple(names)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """(F,) names of the features."""
        check_is_fitted(self)
        return np.array(self._names, dtype=object)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each column, by name."""
        check_is_fitted(self)
        return {rule.name: rule.kind for rule in self.rules_}

    @errors_about("nodes")
    def transform(self, attributes: Attributes) -> Features:
        """(N, F) float32 features, sparse if less than a fifth of the values are not zero."""
        kinds = self.kinds
        pairs = [(rule, _matched(rule, attributes)) for rule in self.rules_]
        extra = [name for name in attributes if name not in kinds]
        warn_ignored("the attributes", "unknown column", extra)
        for rule, column in pairs:
            if unknown := rule.unknown(column):
                warnings.warn(unknown, InputWarning, stacklevel=2)
        pairs = [(rule, rule.translated(column)) for rule, column in pairs]
        n, f = len(attributes), len(self._names)
        entries = sum(rule.most_entries(column) for rule, column in pairs)
        if entries / max(n * f, 1) < SPARSE_BELOW:
            return self.weigh(_sparse(pairs, (n, f), entries))
        return self.weigh(_dense(pairs, (n, f)))

    def weigh(self, x: Features) -> Features:
        """Features of weight 1 times the weights of their columns."""
        if not self.weights_:
            return x
        sizes = [len(rule.feature_names) for rule in self.rules_]
        factors = np.repeat(np.asarray(self.weights_, dtype=x.dtype), sizes)
        if isinstance(x, np.ndarray):
            return x * factors
        return sp.csr_array((x.data * factors[x.indices], x.indices, x.indptr), x.shape)

    def to_dict(self) -> dict[str, Any]:
        """The fitted encoder as plain JSON."""
        check_is_fitted(self)
        columns = [rule.to_dict() for rule in self.rules_]
        return {"scale": self.scale, "columns": columns, "weights": list(self.weights_)}

    @classmethod
    def from_dict(cls, content: Any, what: str = "this is no encoder") -> Self:
        """The encoder that `to_dict` described; an `InputError` about anything else starts with
        `what`."""
        check_fields(content, {"scale": bool, "columns": list, "weights": list}, what, "encoder")
        rules = tuple(rule_from_dict(body, what) for body in content["columns"])
        weights = tuple(content["weights"])
        if len(weights) not in (0, len(rules)) or not all(map(_is_weight, weights)):
            raise InputError(f"{what}: its encoder needs no weights, or a positive one per column")
        if len({rule.name for rule in rules}) < len(rules):
            raise InputError(f"{what}: its encoder has the same column twice")
        try:
            return cls(content["scale"])._set(rules, weights)
        except InputError as error:
            raise InputError(f"{what}: {error}") from None


def _is_weight(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < np.inf


def rule_from_dict(body: Any, what: str) -> Rule:
    """The rule that `to_dict` described; an `InputError` about anything else starts with `what`."""
    kind = body.get("kind") if isinstance(body, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        raise InputError(f"{what}: its encoder has a column of kind {kind!r}")
    check_fields(body, {"kind": str, "name": str} | dict(RULES[kind].schema), what, "encoder")
    values: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in body.items()}
    del values["kind"]
    try:
        return RULES[kind](**values)
    except (InputError, OverflowError) as error:
        raise InputError(f"{what}: {error}") from None


def _matched(rule: Rule, attributes: Attributes) -> Column:
    """The column that a rule applies to."""
    if rule.name not in attributes:
        raise InputError(
            f"the attributes lack the column {rule.name!r} ({rule.kind}), which the encoder was "
            f"fitted on; the columns are {listing(attributes.names)}"
        )
    column = attributes.column(rule.name)
    if column.kind == rule.kind:
        return column
    if not column.missing.all():
        raise InputError(
            f"the column {rule.name!r} was of kind {rule.kind} in fit, but is of kind "
            f"{column.kind} here; pass it as the same kind"
        )
    # Where every value is missing, the kind was a guess.
    blank = {rule.name: [None] * len(column)}
    return Attributes.from_columns(blank, kinds={rule.name: rule.kind}).column(rule.name)


# --- features, block by block --------------------------------------------------------------------

_Pairs: TypeAlias = Sequence[tuple[Rule, Column]]


def _dense(pairs: _Pairs, shape: tuple[int, int]) -> np.ndarray:
    """Columns become rows in blocks that stay in the cache."""
    out = np.empty(shape, dtype=np.float32)
    for first, last, group in _groups(pairs):
        for start in range(0, shape[0], _ROWS):
            rows = slice(start, min(start + _ROWS, shape[0]))
            vectors = [rule.vectors(column, rows) for rule, column in group]
            out[rows, first:last] = np.concatenate(vectors).T
    return out


def _groups(pairs: _Pairs) -> Iterator[tuple[int, int, _Pairs]]:
    """Adjacent columns of about `_WIDTH` features: first feature, last, and the columns."""
    group: list[tuple[Rule, Column]] = []
    first = last = 0
    for rule, column in pairs:
        width = len(rule.feature_names)
        if group and last + width - first > _WIDTH:
            yield first, last, group
            group, first = [], last
        group.append((rule, column))
        last += width
    yield first, last, group


def _sparse(pairs: _Pairs, shape: tuple[int, int], most: int) -> sp.csr_array:
    n, f = shape
    if len(pairs) == 1 and pairs[0][0].kind == "words" and pairs[0][1].values.has_sorted_indices:
        return sp.csr_array(pairs[0][1].values)  # counts are features: the same memory
    starts = np.cumsum([0, *(len(rule.feature_names) for rule, _ in pairs)])
    step = max(1, min(n, n * _ENTRIES // max(most, 1)))
    kind = index_type(max(most, f))
    indptr, indices = np.zeros(n + 1, dtype=kind), np.empty(most, dtype=kind)
    values = np.empty(most, dtype=np.float32)
    count = 0
    for start in range(0, max(n, 1), step):
        rows = slice(start, min(start + step, n))
        found = [
            (row, feature + first, value)
            for (rule, column), first in zip(pairs, starts.tolist(), strict=False)
            for row, feature, value in [rule.entries(column, rows)]
        ]
        row, feature, value = (np.concatenate(each) for each in zip(*found, strict=True))
        block = sp.coo_array((value, (row, feature)), shape=(rows.stop - start, f)).tocsr()
        block.eliminate_zeros()
        block.sort_indices()
        part = slice(count, count + block.nnz)
        indices[part], values[part] = block.indices, block.data
        indptr[start + 1 : rows.stop + 1] = count + block.indptr[1:]
        count = part.stop
    indices.resize(count, refcheck=False)
    values.resize(count, refcheck=False)
    return sp.csr_array((values, indices, indptr), shape=shape)
