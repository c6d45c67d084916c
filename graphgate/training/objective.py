"""One evaluation of the loss with its gradients, in the form that the plan chooses."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.plan import Form, TrainingPlan

Objective = Callable[[int], Mapping[str, float]]


def training_objective(
    model: GATEModel,
    graph: Graph,
    loss: Loss,
    plan: TrainingPlan | None = None,
    processes: Processes | None = None,
) -> Objective:
    """A function that leaves the gradients in `parameter.grad` and returns the loss parts.

    Its argument, the number of the step, makes no difference here.

    plan : of the whole graph; by default, all columns are computed at once.
    processes : those that share the run, as many as in the plan if it can be shared.
    """
    if plan is None:
        counts, dtype = GraphCounts.of(graph), model.encoder_weight[0].dtype
        plan = TrainingPlan(counts, model.architecture, dtype, bool(loss.feature_weight))
    if plan.reorders_nodes:
        graph = graph.by_locality()
    return make_objective(plan, model, graph, loss, processes)


def make_objective(
    plan: TrainingPlan,
    model: GATEModel,
    graph: Graph,
    loss: Loss,
    processes: Processes | None = None,
) -> Objective:
    """As `training_objective`, with the nodes in the order that they have."""
    weight = model.encoder_weight[0]
    where = {"device": weight.device, "dtype": weight.dtype}
    x = FeatureMatrix(graph.x, **where, dense=plan.dense_features)
    pattern = AttentionPattern(graph, **where)
    if plan.form == "step":
        sharing = processes if plan.processes > 1 else None
        return CollapsedStep(model, x, pattern, loss, plan.blocks, sharing)

    def evaluate(step: int = 0) -> dict[str, float]:
        model.zero_grad(set_to_none=True)
        parts = loss_parts(plan.form, model, x, pattern, loss)
        parts["loss"].backward()
        return {name: part.item() for name, part in parts.items()}

    return evaluate


def loss_parts(
    form: Form, model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> dict[str, Tensor]:
    """The loss for autograd, collapsed or plain: as the paper writes it, with every hidden matrix
    and the reconstruction."""
    encoder = collapsed.fold(model) if form == "collapsed" else model
    encoded = encoder.encode(x, pattern)
    feature = structure = torch.zeros((), dtype=x.dtype, device=x.device)
    if loss.structure_weight:
        structure = loss.structure(encoded.h, pattern)
    if loss.feature_weight and form == "collapsed":
        feature = collapsed.feature_loss(model, encoded, x, pattern, loss)
    elif loss.feature_weight:
        reconstruction = model.decode(encoded, pattern).x
        feature = loss.feature_from_reconstruction(x.to_dense(), reconstruction)
    return loss.parts(feature, structure)
