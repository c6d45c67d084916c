"""Vectors of a new model in the space of the old one, so that what was learned from them holds."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.linalg import svd
from sklearn.base import clone

from graphgate.errors import InputError
from graphgate.estimators.gate import GATE
from graphgate.estimators.linear_gate import LinearGATE
from graphgate.estimators.loading import Estimator
from graphgate.graph.graph import Graph


def refitted(estimator: Estimator, graph: Graph, n_components: int) -> Estimator:
    """An estimator with the same parameters, fitted on a graph; a GATE starts from its weights.

    n_components : the size of the old vectors, which the new ones keep.
    """
    fresh: Any = clone(estimator)
    if isinstance(fresh, LinearGATE):
        fresh.set_params(n_components=n_components)
    else:
        if tuple(fresh.dims)[-1] != n_components:
            raise InputError(
                f"the vectors of the store have size {n_components}, but those of dims="
                f"{fresh.dims} would have another; let dims end with {n_components}"
            )
        fresh.__dict__.update(estimator.__dict__)
        fresh.set_params(warm_start=True)
    fresh.fit(graph)
    fresh.notes_ = dict(estimator.notes_)
    return fresh


def rotation_onto(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """(D, D') with orthonormal rows: the R for which ‖new R - old‖ is smallest.

    This is orthogonal Procrustes, also where the new vectors are shorter than the old ones.
    """
    left, _, right = svd(new.astype(np.float64).T @ old.astype(np.float64), full_matrices=False)
    found: np.ndarray = left @ right
    return found


def can_rotate(estimator: Estimator) -> bool:
    """Whether a rotation of the vectors is one of the weights: not with a nonlinear activation."""
    return isinstance(estimator, LinearGATE) or estimator.activation == "identity"


@torch.no_grad()
def rotate(estimator: Estimator, rotation: np.ndarray) -> None:
    """Change a fitted estimator so that its vectors are multiplied by a rotation."""
    turn = torch.from_numpy(rotation)
    if isinstance(estimator, LinearGATE):
        model = estimator.model_
        projection = (model.projection.double() @ turn).to(model.projection.dtype).contiguous()
        estimator.model_ = replace(model, projection=projection)
    else:
        _rotate_network(estimator, turn)


def _rotate_network(estimator: GATE, turn: torch.Tensor) -> None:
    """The last layer: its weights, what attention compares with, and what the decoder starts with.

    A tied decoder has the transposed weights, so it undoes the rotation.
    """
    model = estimator.model_
    turn = turn.to(model.encoder_weight[-1].dtype)
    model.encoder_weight[-1].copy_(model.encoder_weight[-1] @ turn)
    if len(model.encoder_center):
        model.encoder_center[-1].copy_(turn.T @ model.encoder_center[-1])
        model.encoder_neighbor[-1].copy_(turn.T @ model.encoder_neighbor[-1])
    if len(model.decoder_weight):
        model.decoder_weight[-1].copy_(turn.T @ model.decoder_weight[-1])
    estimator.refresh_encoder()
