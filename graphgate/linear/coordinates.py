"""The coordinates of nodes: their features in few columns, in which everything is computed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.decomposition import right_singular_vectors
from graphgate.compute.draws import Draws
from graphgate.compute.sparse_operator import CPU
from graphgate.compute.tall_matrix import row_chunks
from graphgate.graph.validation import Features, NonNegative, Positive
from graphgate.linear.matrices import WeightedFeatures, times
from graphgate.nn.features import FeatureMatrix
from graphgate.preprocessing.column_rules import Rule

AS_THEY_ARE = 256  # features up to which there is nothing to sort by importance
_ROWS = 1 << 16  # weighted at a time
_ROUNDING = 1e-6  # relative length below which a vector is due to rounding, at least


@dataclass(frozen=True)
class FeatureSource:
    """Features that are one source of information: a column of a table, a group, or a matrix.

    divisible : whether its features may say something about each other; those of a category cannot.
    unit_rows : whether its rows are scaled to length 1.
    scale : factor after that, by which sources have equal total variance.
    weight : relative to other sources.
    """

    name: str
    n_features: Annotated[int, (1, inf)]
    divisible: bool = True
    unit_rows: bool = False
    scale: Positive = 1.0
    weight: Positive = 1.0

    def weighted(self, weight: float) -> "FeatureSource":
        return replace(self, weight=weight)


MATRIX = "x"  # name of the source where features are given as a matrix


def sources_of_rules(rules: Sequence[Rule]) -> list[FeatureSource]:
    """The sources that encoded columns of attributes are, one each."""
    return [
        FeatureSource(rule.name, len(rule.feature_names), rule.kind in ("words", "text"))
        for rule in rules
        if rule.feature_names
    ]


def sources_of_groups(groups: Sequence[str]) -> tuple[list[FeatureSource], np.ndarray]:
    """The sources that the groups of features are, and the number of the source of each feature."""
    numbers = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    places = np.array([numbers[name] for name in groups])
    sizes = np.bincount(places).tolist()
    return [FeatureSource(name, n) for name, n in zip(numbers, sizes, strict=True)], places


@dataclass(frozen=True)
class Coordinates:
    """A linear map from features to r centered coordinates.

    Counts and binary features are weighted by the logarithm of their inverse document frequency,
    and every row is scaled to length 1, as is usual for text; other features are used as they are,
    up to one factor. Where there are several sources, that is so for each of them, and they are
    scaled to equal total variance, times their weight. More than 256 features are projected onto
    their leading singular vectors, at most 512 or, of a large graph, 256, so that the first
    coordinates are the most important ones.

    weights : (F,) factor of each feature.
    sources : what features belong together.
    places : (F,) the number of the source of each feature.
    components : (F, r) orthonormal columns; None where features are used one by one.
    center : (r,) mean of the coordinates of the nodes given to `fit`.
    shortest : length below which a row of coordinates is due to rounding.
    unit_from : length from which rows of coordinates are scaled to length 1. Shorter ones keep
        their ratio to it: where one number is nearly all there is, only its sign would be left, and
        a small change could reverse a node.
    """

    weights: Annotated[np.ndarray, "F", np.float64]
    sources: tuple[FeatureSource, ...]
    places: Annotated[np.ndarray, "F", np.int64]
    components: Annotated[Tensor, "F r"] | None
    center: Annotated[Tensor, "r"]
    shortest: NonNegative
    unit_from: NonNegative

    @classmethod
    def fit(
        cls,
        x: Features,
        engine: Columns,
        rank: int,
        draws: Draws,
        sources: Sequence[FeatureSource] = (),
        places: np.ndarray | None = None,
    ) -> tuple["Coordinates", "Source"]:
        """The coordinates learned from (N, F) features, and those of these features.

        rank : the largest number of coordinates.
        sources : names and weights of the sources; by default there is one.
        places : the number of the source of each feature; by default, those of a source are
            adjacent, in the order of the sources.
        """
        sources = tuple(sources) or (FeatureSource(MATRIX, x.shape[1]),)
        if places is None:
            places = np.repeat(np.arange(len(sources)), [s.n_features for s in sources])
        weights, sources = _learned(x, sources, places, engine.dtype)
        weighted = _weighted(x, weights, sources, places, engine.dtype)
        matrix = FeatureMatrix(weighted, device=CPU, dtype=engine.dtype)
        n, f = matrix.shape
        components, rounding = None, _ROUNDING
        center = torch.from_numpy(np.asarray(weighted.mean(axis=0, dtype=np.float64)))
        square = float(matrix.square_norms.sum())
        if f > min(rank, AS_THEY_ARE):
            components, lengths = right_singular_vectors(
                WeightedFeatures(matrix, engine), rank, draws.normal
            )
            square = float(lengths.square().sum())
            # By the products that give coordinates, whose rounding then cancels.
            center = engine.product(lambda m: _mean(times(matrix, m)), components)[0]
            matrix.drop_transpose()
            # Kernels add up the F products of a coordinate in different orders, also for rows of
            # one matrix.
            rounding = max(rounding, 4 * f**0.5 * torch.finfo(engine.dtype).eps)
        shortest = rounding * (square / n) ** 0.5
        center, unit_from = center.to(engine.dtype), _unit_from(weighted)
        coordinates = cls(weights, sources, places, components, center, shortest, unit_from)
        return coordinates, Source(coordinates, matrix, len(center))

    def source(self, x: Features) -> "Source":
        """The coordinates of (N, F) features, to be computed some columns at a time."""
        weighted = _weighted(x, self.weights, self.sources, self.places, self.center.dtype)
        matrix = FeatureMatrix(weighted, device=CPU, dtype=self.center.dtype)
        return Source(self, matrix, len(self.center))

    def transform(self, x: Features) -> Tensor:
        """(N, r), the coordinates of (N, F) features."""
        return self.source(x).block(slice(0, len(self.center)))

    def inverse_transform(self, z: Tensor, x: Features) -> np.ndarray:
        """(N, F) dense features with these coordinates; `x` gives the lengths of the rows."""
        weighted = z + self.center
        if self.components is not None:
            weighted = weighted @ self.components.T
        # A feature without weight does not occur; it is reconstructed as zero.
        back = np.divide(1, self.weights, where=self.weights > 0, out=np.zeros_like(self.weights))
        # Features in double precision may be too large for single precision.
        kind = np.result_type(x.dtype, weighted.numpy().dtype)
        features = weighted.numpy().astype(kind) * back.astype(kind)
        places = self.places
        factors = _factors(self.sources)
        features /= np.where(factors > 0, factors, 1).astype(kind)[places]
        if any(source.unit_rows for source in self.sources):
            plain = _weighted(x, self.weights, (), places, torch.float64)
            lengths = np.where(
                [source.unit_rows for source in self.sources],
                _row_lengths(plain, places, len(self.sources)),
                1,
            )
            features *= lengths.astype(kind)[:, places]
        return features


@dataclass(frozen=True)
class Source:
    """The coordinates z of the nodes of one graph, (N, r), computed when they are asked for.

    matrix : weighted features.
    n_columns : how many of the coordinates are used.
    """

    coordinates: Coordinates
    matrix: FeatureMatrix
    n_columns: int

    def block(self, columns: slice) -> Tensor:
        """(N, c), some of the coordinates."""
        components, center = self.coordinates.components, self.coordinates.center[columns]
        if components is None:
            return self.matrix.columns(columns) - center
        return times(self.matrix, components[:, columns].contiguous()).sub_(center)


def _mean(rows: Tensor) -> Tensor:
    return rows.mean(dim=0, keepdim=True, dtype=torch.float64)


def _values(x: Features) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else x.data


def _factors(sources: Sequence[FeatureSource]) -> np.ndarray:
    """(S,); a source alone needs none, since views have rows of length 1."""
    if len(sources) == 1:
        return np.ones(1)
    return np.array([source.scale * source.weight for source in sources])


def _learned(
    x: Features, sources: tuple[FeatureSource, ...], places: np.ndarray, dtype: torch.dtype
) -> tuple[np.ndarray, tuple[FeatureSource, ...]]:
    """(F,) the factor of each feature; and sources whose rows and scales are chosen."""
    weights, chosen = np.empty(len(places)), []
    for number, source in enumerate(sources):
        part = x[:, places == number] if len(sources) > 1 else x
        words = _are_counts(part)
        scales = _inverse_document_frequency(part) if words else _common_scale(part)
        weights[places == number] = scales
        chosen.append(replace(source, unit_rows=words, scale=1.0))
    if len(sources) > 1:
        plain = [replace(source, weight=1.0) for source in chosen]
        variances = _variances(_weighted(x, weights, plain, places, torch.float64))
        totals = np.bincount(places, variances)
        # What rounding leaves of a constant is not scaled up.
        chosen = [
            replace(source, scale=float(total**-0.5) if total > _ROUNDING**2 else 1.0)
            for source, total in zip(chosen, totals, strict=True)
        ]
    return weights, tuple(chosen)


def _unit_from(x: Features) -> float:
    """The typical length of a row, divided by the number of features that matter.

    That is the participation ratio of their variances v, (Σ v)² / Σ v².
    """
    variances = _variances(x)
    total = float(variances.sum())
    return float(np.square(variances).sum()) / total**1.5 if total > 0 else 0.0


def _variances(x: Features) -> np.ndarray:
    """(F,)"""
    if isinstance(x, np.ndarray):
        return np.var(x, axis=0, dtype=np.float64)
    n, f = x.shape
    sums, squares = (np.bincount(x.indices, v, f) for v in (x.data, np.square(x.data)))
    return np.maximum(squares / n - (sums / n) ** 2, 0)


def _are_counts(x: Features) -> bool:
    """Whether all features are nonnegative integers, and most of them zero: words, tags, links.

    From 2**53 on every number is an integer, so such features are measurements in small units.
    """
    values = _values(x)
    n_values = np.count_nonzero(values)
    return bool(
        0 < 2 * n_values <= x.shape[0] * x.shape[1]
        and values.min() >= 0
        and values.max() < 2**53
        and np.array_equal(values, np.rint(values))
    )


def _inverse_document_frequency(x: Features) -> np.ndarray:
    n, f = x.shape
    occurs = (x != 0).sum(axis=0) if isinstance(x, np.ndarray) else _column_counts(x, f)
    return np.log((1 + n) / (1 + np.asarray(occurs))) + 1


def _column_counts(x: Any, f: int) -> np.ndarray:
    return np.bincount(x.indices[x.data != 0], minlength=f)


def _common_scale(x: Features) -> np.ndarray:
    """(F,) one factor for all features, so that squares neither overflow nor vanish."""
    largest = float(np.abs(_values(x)).max(initial=0))
    smallest = float(np.finfo(np.float64).tiny)  # whose inverse is finite
    return np.full(x.shape[1], 1 / max(largest, smallest) if largest > 0 else 1.0)


def _weighted(
    x: Features,
    weights: np.ndarray,
    sources: Sequence[FeatureSource],
    places: np.ndarray,
    dtype: torch.dtype,
) -> Features:
    """Features times their weights, in double precision until they are of moderate size.

    sources : how rows are scaled after that; without any, they are not.
    """
    kind = np.float64 if dtype == torch.float64 else np.float32
    unit = np.array([source.unit_rows for source in sources], dtype=bool)
    factors = _factors(sources)
    scaled = bool(unit.any() or (factors != 1).any())
    with np.errstate(over="ignore"):  # whoever uses them reports it
        if isinstance(x, np.ndarray):
            weighted: Any = x * weights
            if scaled:
                weighted /= _row_divisors(weighted, places, unit, factors)[:, places]
            return weighted.astype(kind, copy=False)
        values = np.empty(x.nnz, dtype=kind)
        for rows in row_chunks(x.shape[0], max(1, _ROWS // max(1, len(sources)))):
            start, stop = x.indptr[rows.start], x.indptr[rows.stop]
            some = x.data[start:stop] * weights[x.indices[start:stop]]
            if scaled:
                indptr = x.indptr[rows.start : rows.stop + 1] - start
                part = sp.csr_array(
                    (some, x.indices[start:stop], indptr), (rows.stop - rows.start, x.shape[1])
                )
                row = np.repeat(np.arange(part.shape[0]), np.diff(indptr))
                some /= _row_divisors(part, places, unit, factors)[row, places[part.indices]]
            values[start:stop] = some
    return sp.csr_array((values, x.indices, x.indptr), x.shape)


def _row_divisors(x: Any, places: np.ndarray, unit: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """(N, S) by what the features of each source are divided."""
    if not unit.any():
        return np.broadcast_to(1 / factors, (x.shape[0], len(factors)))
    lengths = _row_lengths(x, places, len(factors))
    return np.maximum(np.where(unit, lengths, 1) / factors, 1e-300)


def _row_lengths(x: Any, places: np.ndarray, n_sources: int) -> np.ndarray:
    """(N, S), the lengths of the rows of each source."""
    if n_sources == 1:
        if isinstance(x, np.ndarray):
            return np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
        return np.sqrt(x.multiply(x).sum(axis=1))[:, None]
    if isinstance(x, np.ndarray):
        member = sp.csr_array((np.ones(len(places)), places, np.arange(len(places) + 1)))
        return np.sqrt(x * x @ member)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    at = rows * n_sources + places[x.indices]
    squares = np.bincount(at, x.data * x.data, x.shape[0] * n_sources)
    return np.sqrt(squares).reshape(x.shape[0], n_sources)
