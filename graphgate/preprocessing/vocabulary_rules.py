"""How categories, words and free text become features.

category : one feature `name=value` per value, in sorted order; a missing value has none of them. Of
    more than 100 values, those that occur once and all but the 1,000 most frequent share what their
    spellings have in common: one feature `name~number` per bucket of character trigrams, weighted
    by inverse document frequency, so that similar and unseen spellings have similar features. If
    values are numbers, the others are one feature, `name: other`.
words : one feature `name=word` per word seen in fit, its count; other words are ignored.
text : one feature `name=word` per word that at least two nodes have, at most 32,768: 1 + ln(count),
    times the inverse document frequency, near 0 for a word that all nodes have; rows of length 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from graphgate.errors import InputError, listing
from graphgate.graph.column_kinds import Column, Kind
from graphgate.io.files import Schema
from graphgate.preprocessing.column_rules import Entries, Rule

FEW_CATEGORIES = 100  # up to which every value is a feature
MOST_CATEGORIES = 1000
MOST_WORDS = 32_768  # of a text
GRAMS = 4096  # buckets of character trigrams
HALF = 0.5**0.5  # length of each of two parts of a row of length 1


@dataclass(frozen=True)
class VocabularyRule(Rule):
    """One feature per entry of the vocabulary that was seen in fit."""

    schema: ClassVar[Schema] = {"vocabulary": list}
    types: ClassVar[tuple[type, ...]]
    vocabulary: tuple[Any, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in self.vocabulary)

    def __post_init__(self) -> None:
        plain = all(isinstance(value, self.types) for value in self.vocabulary)
        finite = plain and all(isinstance(v, str) or abs(v) < math.inf for v in self.vocabulary)
        if not finite or len(set(self.vocabulary)) < len(self.vocabulary):
            raise InputError(
                f"the vocabulary of {self.name!r} ({self.kind}) must be distinct plain values"
            )

    @staticmethod
    def _seen(column: Column, codes: np.ndarray) -> tuple[Any, ...]:
        return tuple(column.vocabulary[code] for code in np.unique(codes).tolist())


@dataclass(frozen=True)
class CategoryRule(VocabularyRule):
    """One feature per frequent value; of many values, also what their spellings have in common.

    grams : the buckets of character trigrams that values have, one feature each.
    gram_weights : the inverse document frequency of each of them.
    other : whether there is a feature for all other values.
    """

    kind: ClassVar[Kind] = "category"
    types: ClassVar[tuple[type, ...]] = (str, bool, int, float)
    schema: ClassVar[Schema] = {
        "vocabulary": list,
        "grams": list,
        "gram_weights": list,
        "other": bool,
    }
    grams: tuple[int, ...] = ()
    gram_weights: tuple[float, ...] = ()
    other: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        buckets = all(type(gram) is int and 0 <= gram < GRAMS for gram in self.grams)
        if not buckets or list(self.grams) != sorted(set(self.grams)):
            raise InputError(f"the grams of {self.name!r} must be distinct numbers below {GRAMS:,}")
        _check_weights(self.name, self.gram_weights, len(self.grams))

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        given = column.values[column.values >= 0]
        counts = np.bincount(given, minlength=len(column.vocabulary))
        seen = np.flatnonzero(counts)
        if len(seen) <= FEW_CATEGORIES:
            return cls(name, tuple(column.vocabulary[code] for code in seen.tolist()))
        repeated = seen[counts[seen] > 1]
        frequent = np.sort(repeated[np.argsort(-counts[repeated], kind="stable")][:MOST_CATEGORIES])
        values = tuple(column.vocabulary[code] for code in frequent.tolist())
        spelled = [column.vocabulary[code] for code in seen.tolist()]
        if not all(isinstance(value, str) for value in spelled):
            return cls(name, values, other=len(frequent) < len(seen))
        grams = trigrams(spelled)
        # How many nodes have a trigram, not how many values.
        occurs = np.bincount(grams.indices, np.repeat(counts[seen], np.diff(grams.indptr)), GRAMS)
        buckets = np.flatnonzero(occurs)
        weights = _rarity(len(given), occurs[buckets])
        return cls(name, values, tuple(buckets.tolist()), tuple(weights.tolist()))

    @property
    def feature_names(self) -> tuple[str, ...]:
        grams = tuple(f"{self.name}~{gram}" for gram in self.grams)
        return super().feature_names + grams + (f"{self.name}: other",) * self.other

    def most_entries(self, column: Column) -> int:
        return int(column.values.nnz if self.grams else (column.values >= 0).sum())

    def unknown(self, column: Column) -> str | None:
        if self.grams or self.other:
            return None
        codes = column.values[column.values >= 0]
        codes = codes[_places(column, self.vocabulary)[codes] < 0]
        if not len(codes):
            return None
        seen = [repr(value) for value in self._seen(column, codes)]
        return (
            f"{len(codes):,} node(s) have values in the column {self.name!r} that were not seen in "
            f"fit and count as missing: {listing(seen, 3)}"
        )

    def translated(self, column: Column) -> Column:
        if self.grams:  # of words: the features of each value, gathered by its code
            return replace(column, values=self._features(column)[column.values])
        places = _places(column, self.vocabulary)
        if self.other:
            places[:-1][places[:-1] < 0] = len(self.vocabulary)
        return Column("category", places[column.values], self.vocabulary)

    def _features(self, column: Column) -> sp.csr_array:
        """(V + 1, F), rows of length 1 or less: the features of each value, last of none."""
        places, v = _places(column, self.vocabulary)[:-1], len(column.vocabulary)
        bucket = np.full(GRAMS, -1)
        bucket[list(self.grams)] = np.arange(len(self.grams))
        weight = np.array(self.gram_weights)
        found = trigrams([str(value) for value in column.vocabulary])
        known = bucket[found.indices] >= 0
        rows = np.repeat(np.arange(v), np.diff(found.indptr))[known]
        at = bucket[found.indices[known]]
        values = weight[at]
        lengths = np.sqrt(np.bincount(rows, values**2, v))
        values = values / np.maximum(lengths[rows], 1e-12) * HALF
        exact = np.flatnonzero(places >= 0)
        entries = (
            np.concatenate([values, np.full(len(exact), HALF)]).astype(np.float32),
            (
                np.concatenate([rows, exact]),
                np.concatenate([at + len(self.vocabulary), places[exact]]),
            ),
        )
        return sp.csr_array(entries, shape=(v + 1, len(self.feature_names)))

    def entries(self, column: Column, rows: slice) -> Entries:
        if self.grams:
            return sparse_entries(column.values[rows])
        feature = column.values[rows]
        row = np.flatnonzero(feature >= 0)
        return row, feature[row], np.ones(len(row), dtype=np.float32)


@dataclass(frozen=True)
class WordsRule(VocabularyRule):
    """One feature per word."""

    kind: ClassVar[Kind] = "words"
    types: ClassVar[tuple[type, ...]] = (str,)

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        return cls(name, cls._seen(column, column.values.indices))

    def most_entries(self, column: Column) -> int:
        return int(column.values.nnz)

    def translated(self, column: Column) -> Column:
        if column.vocabulary == self.vocabulary:
            return column
        counts = column.values
        place = _places(column, self.vocabulary)[counts.indices]
        known = place >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
        shape = (len(column), len(self.vocabulary))
        kept = sp.csr_array((counts.data[known], place[known], indptr), shape=shape)
        return replace(column, values=kept, vocabulary=self.vocabulary)

    def entries(self, column: Column, rows: slice) -> Entries:
        return sparse_entries(column.values[rows])


@dataclass(frozen=True)
class TextRule(WordsRule):
    """One feature per word, sub-linear in its count and weighted by its rarity; rows of length 1.

    rarity : the inverse document frequency of each word.
    """

    kind: ClassVar[Kind] = "text"
    schema: ClassVar[Schema] = {"vocabulary": list, "rarity": list}
    rarity: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_weights(self.name, self.rarity, len(self.vocabulary))

    @classmethod
    def learn(cls, name: str, column: Column, scale: bool) -> Self:
        counts = column.values
        occurs = np.bincount(counts.indices, minlength=counts.shape[1])
        common = np.flatnonzero(occurs > 1)
        if not len(common):
            common = np.flatnonzero(occurs)
        chosen = np.sort(common[np.argsort(-occurs[common], kind="stable")][:MOST_WORDS])
        n_texts = int((np.diff(counts.indptr) > 0).sum())
        rarity = _rarity(n_texts, occurs[chosen])
        return cls(
            name,
            tuple(column.vocabulary[code] for code in chosen.tolist()),
            tuple(rarity.tolist()),
        )

    def translated(self, column: Column) -> Column:
        known = super().translated(column)
        counts = known.values
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (1 + np.log(counts.data)) * np.array(self.rarity, np.float32)[counts.indices]
        values[~(values > 0)] = 0  # counts of less than a word
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, counts.shape[0]))
        values /= np.maximum(lengths, 1e-12)[rows].astype(np.float32)
        weighted = sp.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
        return replace(known, values=weighted)


def trigrams(values: Sequence[str]) -> sp.csr_array:
    """(V, `GRAMS`) of ones: which buckets the character trigrams of each value fall into.

    Values are put into lower case, between two spaces. The buckets are the same on every machine.
    """
    padded = [f" {value.lower()} " for value in values]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    ends = np.cumsum([len(value) for value in padded])
    value = np.repeat(np.arange(len(padded)), np.diff([0, *ends.tolist()]))
    mixed = codes.astype(np.uint64)
    mixed = (mixed[:-2] * np.uint64(0x9E3779B1) + mixed[1:-1]) * np.uint64(0x85EBCA77) + mixed[2:]
    mixed = (mixed ^ (mixed >> np.uint64(15))) * np.uint64(0xC2B2AE3D)
    buckets = ((mixed >> np.uint64(16)) % np.uint64(GRAMS)).astype(np.int64)
    inside = value[:-2] == value[2:]
    keys = np.unique(value[:-2][inside] * GRAMS + buckets[inside])
    indptr = np.searchsorted(keys, np.arange(len(padded) + 1) * GRAMS)
    ones = np.ones(len(keys), dtype=np.float32)
    return sp.csr_array((ones, keys % GRAMS, indptr), shape=(len(padded), GRAMS))


def sparse_entries(block: sp.csr_array) -> Entries:
    """Row, column and value of the entries of a sparse matrix."""
    row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    return row, block.indices, block.data


def _rarity(n: int, occurs: np.ndarray) -> np.ndarray:
    """The inverse document frequency, near 0 for what all of n nodes have."""
    return np.log((1 + n) / (1 + occurs)) + 1 / (1 + n)


def _check_weights(name: str, weights: Sequence[Any], n: int) -> None:
    numbers = all(type(weight) in (int, float) and 0 <= weight < 1e6 for weight in weights)
    if not numbers or len(weights) != n:
        raise InputError(f"the weights of {name!r} must be one positive number per feature")


def _places(column: Column, learned: Sequence[Any]) -> np.ndarray:
    """Position of each entry of the column's vocabulary in the learned one, or -1; last: -1."""
    known = {value: at for at, value in enumerate(learned)}
    return np.array([*(known.get(value, -1) for value in column.vocabulary), -1], dtype=np.int32)
