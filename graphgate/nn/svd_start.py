"""Initial weights from the graph itself, instead of random ones.

Without edges and without a structure loss, the optimum of a linear auto-encoder is known: the top
right singular vectors of X. Training that starts there has only to learn what the edges add.

With a structure loss, larger weights are better, up to a factor that can be found without training.
Where they have to grow in training instead, they grow most along what neighbors have in common:
this helps where neighbors are alike, and costs what a node has of its own. The start is a third of
the way.
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch

from graphgate.compute.decomposition import Decomposed, right_singular_vectors
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.nn.attention import constant_coefficients
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.nn.start_scale import BLOCK, best_exponent

_CANDIDATES = 256  # singular vectors to choose from, at least
# Of the logarithm of the best factor. results/gate-defaults.json has others that were tried.
_WAY = 1 / 3
_MOST = 30.0  # logarithm of the largest factor of weights, far from overflow in single precision
_FILL = 0.1  # weights without a singular vector, as a fraction of the random ones


@torch.no_grad()
def start_from_features(
    model: GATEModel, graph: Graph, loss: Loss | None, rng: np.random.Generator
) -> None:
    """Set W(1) to right singular vectors of X, and every further W to the identity.

    In a linear network, all W are then multiplied by one number, if there is a loss to judge it by.

    Where a layer is smaller than the number of singular vectors, those combinations come first that
    averaging over neighbors keeps most of: the principal axes of averaged X. Columns beyond the
    rank of X, or beyond the size of the previous layer, keep small random weights. A decoder with
    weights of its own starts with the encoder's, transposed. Attention starts uniform: all
    attention vectors are zero.
    """
    first, *others = model.encoder_weight
    dims = model.architecture.dims
    dtype = np.float64 if first.dtype == torch.float64 else np.float32
    x = scaled(graph.x, dtype)
    vectors = axes_of_features(x, candidates(dims), rng)
    if min(dims) < vectors.shape[1]:
        squares = _squares(x, vectors, [uniform_attention(graph, dtype)] * len(dims))
        vectors = vectors @ _principal_axes(vectors.T @ squares)[1][:, : dims[0]]
    _set_columns(first, torch.from_numpy(vectors))
    for weight in others:
        _set_columns(weight, torch.eye(weight.shape[0], min(weight.shape)))
    if loss is not None and model.architecture.activation == "identity":
        exponent = _best_exponent(model, graph, x, vectors[:, : min(dims)], loss)
        for weight in model.encoder_weight:
            weight.mul_(math.exp(np.clip(_WAY * exponent / 2 / len(dims), -_MOST, _MOST)))
    for weight, encoder_weight in zip(model.decoder_weight, model.encoder_weight, strict=False):
        weight.copy_(encoder_weight.T)
    for parameter in model.parameters():
        if parameter.ndim == 1:
            parameter.zero_()


def _best_exponent(
    model: GATEModel, graph: Graph, x: Features, vectors: np.ndarray, loss: Loss
) -> float:
    device, dtype = torch.device("cpu"), model.encoder_weight[0].dtype
    features = FeatureMatrix(x, device=device, dtype=dtype)
    pattern = AttentionPattern(graph, device=device, dtype=dtype, gradients=False)
    kind = "ones" if model.architecture.attention == "ones" else "uniform"
    attention = constant_coefficients(pattern, kind, dtype)
    unit, n_layers = _largest(graph.x) or 1.0, len(model.architecture.dims)
    kept = torch.from_numpy(vectors)
    return best_exponent(features, unit, kept, pattern, attention, n_layers, loss)


def candidates(dims: Sequence[int]) -> int:
    """How many singular vectors layers of these sizes choose from."""
    return max(dims[0], _CANDIDATES)


class _Squared(Decomposed):
    """Features after averages over neighbors."""

    def __init__(self, x: Features) -> None:
        self.shape = (int(x.shape[0]), int(x.shape[1]))
        self.dtype = torch.float64 if x.dtype == np.float64 else torch.float32
        self._x = x

    def squares(self, m: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(_squares(self._x, m.numpy()))


def axes_of_features(x: Features, count: int, rng: np.random.Generator) -> np.ndarray:
    """The top right singular vectors of X as columns, (F, k): `count`, or its rank if that is less.

    The random start is in the space of features, so that the order of nodes does not matter.
    """

    def draw(rows: int, columns: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal((rows, columns)))

    vectors, lengths = right_singular_vectors(_Squared(x), count, draw)
    squares = lengths.square()
    rank = int((squares > squares[0] * 10 * np.finfo(x.dtype).eps).sum())
    return vectors[:, :rank].numpy()


def scaled(x: Features, dtype: type) -> Features:
    """X divided by its largest absolute value, as squares of large numbers overflow."""
    return (x / (_largest(x) or 1)).astype(dtype, copy=False)


def _largest(x: Features) -> float:
    return float(np.abs(x if isinstance(x, np.ndarray) else x.data).max(initial=0))


def uniform_attention(graph: Graph, dtype: type) -> sp.csr_array:
    """(N, N): row i is 1/|N_i| on the nodes that node i attends to, itself included."""
    pattern = graph.attended + sp.eye_array(graph.n_nodes, format="csr")
    sizes = np.diff(pattern.indptr)
    values: np.ndarray = np.repeat(1 / sizes, sizes).astype(dtype)
    return sp.csr_array((values, pattern.indices, pattern.indptr), pattern.shape)


def _squares(x: Features, vectors: np.ndarray, averages: Sequence[sp.csr_array] = ()) -> np.ndarray:
    """YᵀY v for every column v, (F, k), where Y is X after the averages."""
    found = np.empty_like(vectors)
    for start in range(0, vectors.shape[1], BLOCK):
        y = x @ vectors[:, start : start + BLOCK]
        for average in averages:
            y = average @ y
        for average in reversed(averages):
            y = average.T @ y
        found[:, start : start + BLOCK] = x.T @ y
    return found


def _principal_axes(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, largest first, and eigenvectors as columns."""
    values, axes = np.linalg.eigh(squares.astype(np.float64))
    return values[::-1], axes[:, ::-1].astype(squares.dtype)


def _set_columns(weight: torch.Tensor, columns: torch.Tensor) -> None:
    weight.mul_(_FILL)
    weight[:, : columns.shape[1]] = columns.to(weight)
