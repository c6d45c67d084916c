"""One evaluation of the loss with its gradients, in the form that the plan chooses."""

from collections.abc import Callable, Mapping

import torch

from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss, LossParts
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.plan import Form, GraphCounts, TrainingPlan

Objective = Callable[[], Mapping[str, float]]


def training_objective(model: GATEModel, graph: Graph, loss: Loss) -> Objective:
    """A function that leaves the gradients in `parameter.grad` and returns the loss parts."""
    weight = model.encoder_weight[0]
    plan = TrainingPlan(
        GraphCounts.of(graph), model.architecture, weight.dtype, bool(loss.feature_weight)
    )
    if plan.reorders_nodes:
        graph = graph.by_locality()
    where = {"device": weight.device, "dtype": weight.dtype}
    x = FeatureMatrix(graph.x, **where, dense=plan.dense_features)
    return make_objective(plan.form, model, x, AttentionPattern(graph, **where), loss)


def make_objective(
    form: Form, model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> Objective:
    if form == "step":
        return CollapsedStep(model, x, pattern, loss)
    parts_of = collapsed.loss_parts if form == "collapsed" else plain_loss_parts

    def evaluate() -> dict[str, float]:
        model.zero_grad(set_to_none=True)
        parts = parts_of(model, x, pattern, loss)
        parts.total.backward()
        return {
            "loss": parts.total.item(),
            "feature": parts.feature.item(),
            "structure": parts.structure.item(),
        }

    return evaluate


def plain_loss_parts(
    model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> LossParts:
    """The loss as the paper writes it, with every hidden matrix and the reconstruction."""
    encoded = model.encode(x, pattern)
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    structure = loss.structure(encoded.h, pattern) if loss.structure_weight else zero
    if not loss.feature_weight:
        return loss.total(zero, structure)
    reconstruction = model.decode(encoded, pattern).x
    return loss.total(loss.feature_from_reconstruction(x.to_dense(), reconstruction), structure)
