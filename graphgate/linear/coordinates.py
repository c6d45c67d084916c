"""The coordinates of nodes: their features in few columns, in which everything is computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.decomposition import right_singular_vectors
from graphgate.compute.draws import Draws
from graphgate.compute.sparse_operator import CPU
from graphgate.compute.tall_matrix import row_chunks
from graphgate.graph.validation import Features
from graphgate.linear.matrices import WeightedFeatures, times
from graphgate.nn.features import FeatureMatrix

AS_THEY_ARE = 256  # features up to which there is nothing to sort by importance
_ROWS = 1 << 16  # weighted at a time
_ROUNDING = 1e-6  # relative length below which a vector is due to rounding


@dataclass(frozen=True)
class Coordinates:
    """A linear map from features to r centered coordinates.

    Counts and binary features are weighted by the logarithm of their inverse document frequency,
    and every row is scaled to length 1, as is usual for text; other features are used as they are,
    up to one factor. More than 256 features are projected onto their leading singular vectors, at
    most 512 or, of a large graph, 256, so that the first coordinates are the most important ones.

    weights : (F,) factor of each feature.
    unit_rows : whether rows are scaled to length 1 after that.
    components : (F, r) orthonormal columns; None where features are used one by one.
    center : (r,) mean of the coordinates of the nodes given to `fit`.
    shortest : length below which a row of coordinates is due to rounding.
    """

    weights: np.ndarray
    unit_rows: bool
    components: Tensor | None
    center: Tensor
    shortest: float

    @classmethod
    def fit(
        cls, x: Features, engine: Columns, rank: int, draws: Draws
    ) -> tuple["Coordinates", "Source"]:
        """The coordinates learned from (N, F) features, and those of these features.

        rank : the largest number of coordinates.
        """
        counts = _are_counts(x)
        weights = _inverse_document_frequency(x) if counts else _common_scale(x)
        weighted = _weighted(x, weights, counts, engine.dtype)
        matrix = FeatureMatrix(weighted, device=CPU, dtype=engine.dtype)
        n, f = matrix.shape
        components = None
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
        shortest = _ROUNDING * (square / n) ** 0.5
        coordinates = cls(weights, counts, components, center.to(engine.dtype), shortest)
        return coordinates, Source(coordinates, matrix, len(center))

    def source(self, x: Features) -> "Source":
        """The coordinates of (N, F) features, to be computed some columns at a time."""
        weighted = _weighted(x, self.weights, self.unit_rows, self.center.dtype)
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
        if not self.unit_rows:
            return features
        lengths = _row_lengths(_weighted(x, self.weights, unit_rows=False, dtype=torch.float64))
        return features * lengths[:, None].astype(kind)


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


def _weighted(x: Features, weights: np.ndarray, unit_rows: bool, dtype: torch.dtype) -> Features:
    """Features times their weights, in double precision until they are of moderate size."""
    kind = np.float64 if dtype == torch.float64 else np.float32
    with np.errstate(over="ignore"):  # whoever uses them reports it
        if isinstance(x, np.ndarray):
            weighted: Any = x * weights
            if unit_rows:
                weighted /= np.maximum(_row_lengths(weighted), 1e-300)[:, None]
            return weighted.astype(kind, copy=False)
        values = np.empty(x.nnz, dtype=kind)
        for rows in row_chunks(x.shape[0], _ROWS):
            start, stop = x.indptr[rows.start], x.indptr[rows.stop]
            some = x.data[start:stop] * weights[x.indices[start:stop]]
            if unit_rows:
                parts = (some, x.indices[start:stop], x.indptr[rows.start : rows.stop + 1] - start)
                part = sp.csr_array(parts, (rows.stop - rows.start, x.shape[1]))
                some /= np.repeat(np.maximum(_row_lengths(part), 1e-300), np.diff(part.indptr))
            values[start:stop] = some
    return sp.csr_array((values, x.indices, x.indptr), x.shape)


def _row_lengths(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", x, x))
    return np.sqrt(x.multiply(x).sum(axis=1))
