"""One evaluation of the loss with its gradients, by the cheaper of the exact forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn import collapsed_step as step
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss, LossParts
from graphgate.nn.pattern import AttentionPattern

ORDERED_ABOVE = 8192  # nodes; what is smaller is in the caches whatever its order

Objective = Callable[[], Mapping[str, float]]


def plain_loss_parts(
    model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> LossParts:
    """The loss as the paper writes it, with every hidden matrix and the reconstruction."""
    encoding = model.encode(x, pattern)
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    structure = loss.structure(encoding.h, pattern) if loss.structure_weight else zero
    if not loss.feature_weight:
        return loss.total(zero, structure)
    reconstruction = model.decode(encoding, pattern).x
    return loss.total(loss.feature_from_reconstruction(x.dense(), reconstruction), structure)


def prefers_collapsed(model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern) -> bool:
    """Whether the collapsed form applies and takes less work."""
    if model.architecture.activation != "identity":
        return False
    size = (model.architecture, x.shape[0], x.nnz, len(pattern))
    return collapsed.work(*size, collapsed=True) < collapsed.work(*size, collapsed=False)


def make_objective(
    model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> Objective:
    """A function that leaves the gradients in `parameter.grad` and returns the loss parts."""
    if prefers_collapsed(model, x, pattern) and step.applies_to(model.architecture):
        return step.CollapsedStep(model, x, pattern, loss)
    form = collapsed.loss_parts if prefers_collapsed(model, x, pattern) else plain_loss_parts

    def evaluate() -> dict[str, float]:
        model.zero_grad(set_to_none=True)
        parts = form(model, x, pattern, loss)
        parts.total.backward()
        return {
            "loss": parts.total.item(),
            "feature": parts.feature.item(),
            "structure": parts.structure.item(),
        }

    return evaluate


def training_objective(model: GATEModel, graph: Graph, loss: Loss) -> Objective:
    """The objective of a whole graph; one too large for the caches is put into a better order."""
    if graph.n_nodes > ORDERED_ABOVE:
        graph = graph.by_locality()
    weight = model.encoder_weight[0]
    x = FeatureMatrix(graph.x, device=weight.device, dtype=weight.dtype, densify=True)
    pattern = AttentionPattern(graph, device=weight.device, dtype=weight.dtype)
    return make_objective(model, x, pattern, loss)
