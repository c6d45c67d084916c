"""The layers of the encoder after a graph has changed, from the layers before and the change alone.

A node attends by h_i = Σ_j e_ij m_j / Z_i, where e_ij = exp(Sigmoid(·)), Z_i = Σ_j e_ij, and m_j is
the input of node j times the weights. With h and Z of every layer, a node whose neighbors have
changed needs the terms of these neighbors only, before and after; all terms are needed only where
its own input has changed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphgate.compute.sparse_operator import csr_tensor, index_tensor
from graphgate.nn.attention import ACTIVATIONS
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern


class Layer(NamedTuple):
    """h : (N, d) output of a layer. z : (N,) sum of the terms that attention divides by."""

    h: Tensor
    z: Tensor


class Attended(NamedTuple):
    """The pairs (center, neighbor) that attend, self-loops included, and their weights A_ji."""

    centers: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, attended: sp.csr_array) -> "Attended":
        pairs = attended.tocoo()
        return cls(pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data)

    def select(self, mask: np.ndarray) -> "Attended":
        return Attended(*(part[mask] for part in self))


@torch.no_grad()
def layer_states(model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern) -> list[Layer]:
    """All layers of a whole graph."""
    found: list[Layer] = []
    weights = None if pattern.weights is None else pattern.weights
    for k in range(model.n_layers):
        m = _inputs(model, k, x if k == 0 else found[-1].h)
        raised = _terms(model, k, m, m, pattern.centers, pattern.neighbors, weights)
        total = _total(model, pattern.row_sums(raised))
        h = pattern.multiply(raised, m, torch.empty_like(m)) / total[:, None]
        found.append(Layer(h, total))
    return found


@torch.no_grad()
def updated_layers(
    model: GATEModel,
    layers: Sequence[Layer],
    x: tuple[FeatureMatrix, FeatureMatrix],
    attended: tuple[sp.csr_array, sp.csr_array],
    changed: np.ndarray,
) -> list[Layer]:
    """The layers of some nodes after a change; see `graphgate.estimators.region` for which nodes.

    Parameters
    ----------
    layers : before the change; anything for nodes that are new.
    x : (m, F) features before and after; needed of nodes whose edges or features have changed,
        and of neighbors of the latter.
    attended : (m, m) weights before and after, with self-loops; row i lists what i attends to.
    changed : (m,) which nodes are new or have other features.
    """
    n = len(changed)
    before, after = (Attended.of(each) for each in attended)
    difference = (attended[1] - attended[0]).tocoo()
    other = difference.row[difference.data != 0].astype(np.int64) * n
    other += difference.col[difference.data != 0]
    found: list[Layer] = []
    for k, (h, z) in enumerate(layers):
        old, new = (
            _inputs(model, k, x[at] if k == 0 else each[k - 1].h)
            for at, each in enumerate((layers, found))
        )
        whole = changed  # rows of which every term has changed
        parts = []
        for pairs in (before, after):
            touched = changed[pairs.neighbors] | np.isin(pairs.centers * n + pairs.neighbors, other)
            keep = whole[pairs.centers] if pairs is after else np.zeros(len(touched), dtype=bool)
            parts.append(pairs.select(keep | (touched & ~whole[pairs.centers])))
        rows = torch.from_numpy(whole)
        top = torch.where(rows[:, None], 0.0, h * z[:, None])
        total = torch.where(rows, 0.0, z)
        for sign, m, some in ((-1.0, old, parts[0]), (1.0, new, parts[1])):
            terms, matrix = _matrix(model, k, m, some, n)
            top += sign * (matrix @ m)
            total = total.index_add(0, torch.from_numpy(some.centers), sign * terms)
        total = _total(model, total)
        moved = whole.copy()
        for some in parts:
            moved[some.centers] = True
        h = torch.where(total[:, None] > 0, top / total.clamp_min(1e-30)[:, None], 0.0)
        found.append(Layer(torch.where(torch.from_numpy(moved)[:, None], h, layers[k].h), total))
        changed = moved
    return found


def _inputs(model: GATEModel, k: int, h: FeatureMatrix | Tensor) -> Tensor:
    """m of layer k, (N, d)."""
    weight = model.encoder_weight[k]
    found = h.times_by_blocks(weight) if isinstance(h, FeatureMatrix) else h @ weight
    return ACTIVATIONS[model.architecture.activation](found)


def _terms(
    model: GATEModel,
    k: int,
    centers: Tensor,
    neighbors: Tensor,
    rows: Tensor,
    columns: Tensor,
    weights: Tensor | None,
) -> Tensor:
    """e of the pairs (rows, columns), (E,)."""
    if model.architecture.attention != "softmax":
        return centers.new_ones(len(rows))
    logit = (centers @ model.encoder_center[k]).index_select(0, rows)
    logit = logit + (neighbors @ model.encoder_neighbor[k]).index_select(0, columns)
    return torch.exp(torch.sigmoid(logit if weights is None else logit * weights))


def _total(model: GATEModel, sums: Tensor) -> Tensor:
    return torch.ones_like(sums) if model.architecture.attention == "ones" else sums


def _matrix(model: GATEModel, k: int, m: Tensor, pairs: Attended, n: int) -> tuple[Tensor, Tensor]:
    """The terms of sorted pairs, and the (n, n) matrix of them."""
    rows, columns = (torch.from_numpy(part) for part in (pairs.centers, pairs.neighbors))
    weights = torch.from_numpy(pairs.weights).to(m.dtype)
    terms = _terms(model, k, m, m, rows, columns, weights)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(pairs.centers, minlength=n))])
    device = torch.device("cpu")
    return terms, csr_tensor(
        index_tensor(indptr, device), index_tensor(pairs.neighbors, device), terms, (n, n)
    )
