"""How two versions of a store differ: vectors, nearest nodes, and attributes."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from graphgate.compute.neighbors import nearest_units, unit_vectors
from graphgate.graph.attributes import Attributes
from graphgate.graph.column_kinds import Column
from graphgate.io.embeddings import Embedding
from graphgate.preprocessing.attribute_encoder import AttributeEncoder
from graphgate.preprocessing.vocabulary_rules import CategoryRule, VocabularyRule

# Beyond these, a model is said to be outdated.
MANY_CHANGED = 3.0  # of the ten nearest nodes
MANY_UNKNOWN = 0.05  # fraction of the values of a column
FAR_SHIFTED = 0.5  # standard deviations
_SAMPLE, _NEAREST, _MOST = 1000, 10, 10


class AttributeShift(NamedTuple):
    """How an attribute differs from what the older model was fitted on.

    unknown : fraction of the values that the model does not know, of categories and words.
    shift : of the mean, in standard deviations, of numbers and booleans.
    """

    name: str
    unknown: float
    shift: float

    @property
    def notable(self) -> bool:
        return self.unknown > MANY_UNKNOWN or abs(self.shift) > FAR_SHIFTED

    def sentence(self) -> str:
        if self.unknown:
            return f"{self.unknown:.1%} of the values of {self.name!r} are unknown to the model"
        return f"the mean of {self.name!r} has shifted by {self.shift:+.2f} standard deviations"


@dataclass(frozen=True)
class Drift:
    """What has changed from one version of a store to a later one.

    before, after : the versions.
    refitted : whether they have different models.
    n_shared, n_added, n_removed : numbers of nodes.
    moved : (n_shared,) cosine distance between the two vectors of each shared node, sorted.
    most_moved : ids of the nodes that moved most, and their distances.
    neighbors_changed : how many of the ten nearest shared nodes are others, on average.
    attributes : how each attribute has shifted, the largest shifts first.
    """

    before: int
    after: int
    refitted: bool
    n_shared: int
    n_added: int
    n_removed: int
    moved: np.ndarray
    most_moved: list[tuple[Any, float]]
    neighbors_changed: float
    attributes: list[AttributeShift]

    @property
    def needed(self) -> bool:
        """Whether a refit is needed, or was."""
        return bool(self._reasons())

    def _reasons(self) -> list[str]:
        reasons = [shift.sentence() for shift in self.attributes if shift.notable]
        if self.neighbors_changed > MANY_CHANGED:
            reasons.append(f"{self.neighbors_changed:.1f} of the ten nearest nodes have changed")
        return reasons

    def sentences(self) -> list[str]:
        """The report as text; the last sentence says whether a refit is needed."""
        distances = np.quantile(self.moved, [0.5, 0.95, 1.0]) if len(self.moved) else [0, 0, 0]
        verb = "was" if self.refitted else "is"
        reasons = self._reasons()
        verdict = (
            f"a refit {verb} needed: {', '.join(reasons)}"
            if reasons
            else f"a refit {verb} not needed: attributes and nearest nodes are much the same"
        )
        return [
            f"versions {self.before} to {self.after}: {self.n_shared:,} nodes in both, "
            f"{self.n_added:,} added, {self.n_removed:,} removed",
            "cosine distance between old and new vectors: "
            f"median {distances[0]:.4f}, 95 % below {distances[1]:.4f}, largest {distances[2]:.4f}",
            f"{self.neighbors_changed:.1f} of the ten nearest nodes have changed on average",
            *(
                shift.sentence()
                for shift in self.attributes[:_MOST]
                if shift.unknown or shift.shift
            ),
            verdict,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON."""
        quantiles = np.quantile(self.moved, [0.5, 0.95, 1.0]).tolist() if len(self.moved) else []
        return asdict(self) | {
            "moved": dict(zip(("median", "95 %", "largest"), quantiles, strict=False)),
            "most_moved": [[str(node), distance] for node, distance in self.most_moved],
            "attributes": [shift._asdict() for shift in self.attributes],
            "needed": self.needed,
            "sentences": self.sentences(),
        }


class Side(NamedTuple):
    """One of two versions: numbers, sorted, with vectors and content in the same order.

    model : the name of its file.
    encoder : that of the model; None where nodes have features.
    """

    version: int
    model: str
    encoder: AttributeEncoder | None
    numbers: np.ndarray
    embedding: Embedding
    content: Any


def drift_between(before: Side, after: Side) -> Drift:
    """What has changed from one version to a later one."""
    shared, left, right = np.intersect1d(before.numbers, after.numbers, return_indices=True)
    old = unit_vectors(before.embedding.vectors[left])
    new = unit_vectors(after.embedding.vectors[right])
    moved = np.clip(1 - np.einsum("nd,nd->n", old, new), 0, 2)
    order = np.argsort(-moved, kind="stable")
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(len(shared), min(len(shared), _SAMPLE), replace=False))
    changed = 0.0
    if len(shared) > 1:
        first, second = (
            nearest_units(each, _NEAREST, each[sample], sample)[0] for each in (old, new)
        )
        gone = [np.isin(a, b, invert=True).mean() for a, b in zip(first, second, strict=True)]
        changed = _NEAREST * float(np.mean(gone))
    return Drift(
        before.version,
        after.version,
        before.model != after.model,
        len(shared),
        len(after.numbers) - len(shared),
        len(before.numbers) - len(shared),
        np.sort(moved),
        [(after.embedding.ids[right[at]], float(moved[at])) for at in order[:_MOST]],
        changed,
        _attribute_shifts(before.content, after.content, before.encoder),
    )


def _attribute_shifts(
    before: Any, after: Any, encoder: AttributeEncoder | None
) -> list[AttributeShift]:
    """The shift of every attribute or feature, the largest first."""
    if encoder is None:
        means = enumerate(_mean_shifts(before, after))
        shifts = [AttributeShift(f"feature {at}", 0.0, shift) for at, shift in means]
    else:
        shifts = [
            AttributeShift(
                rule.name,
                _unknown(after[rule.name], rule) if isinstance(rule, VocabularyRule) else 0.0,
                _mean_shift(before[rule.name], after[rule.name]),
            )
            for rule in encoder.rules_
            if isinstance(after, Attributes)
        ]
    return sorted(shifts, key=lambda each: -max(each.unknown / MANY_UNKNOWN, abs(each.shift)))


def _unknown(column: Column, rule: VocabularyRule) -> float:
    """The fraction of the values of a column that a rule does not know."""
    if isinstance(rule, CategoryRule) and (rule.grams or rule.other):  # unseen values have features
        return 0.0
    learned = set(rule.vocabulary)
    known = np.array([value in learned for value in column.vocabulary], dtype=bool)
    codes = (
        column.values[column.values >= 0] if column.kind == "category" else column.values.indices
    )
    return float(1 - known[codes].mean()) if len(codes) else 0.0


def _mean_shift(before: Column, after: Column) -> float:
    """Of numbers and booleans, in standard deviations before; 0 for the other kinds."""
    if before.kind not in ("number", "boolean"):
        return 0.0
    old, new = (column.values[~column.missing].astype(np.float64) for column in (before, after))
    if not len(old) or not len(new) or old.std() == 0:
        return 0.0
    return float((new.mean() - old.mean()) / old.std())


def _mean_shifts(before: Any, after: Any) -> list[float]:
    """Of every feature, in standard deviations before."""

    def moments(x: Any) -> tuple[np.ndarray, np.ndarray]:
        square = x.multiply(x) if sp.issparse(x) else x * x
        return np.asarray(x.mean(axis=0)).ravel(), np.asarray(square.mean(axis=0)).ravel()

    (old, squares), (new, _) = moments(before), moments(after)
    deviations = np.sqrt(np.maximum(squares - old**2, 0))
    return np.divide(new - old, deviations, where=deviations > 0, out=np.zeros(len(old))).tolist()
