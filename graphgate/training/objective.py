"""One evaluation of the loss with its gradients, in the form that the plan chooses."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from graphgate.compute.counts import GraphCounts
from graphgate.compute.machine import available_bytes, shortage
from graphgate.compute.processes import current_processes
from graphgate.errors import MemoryLimitError
from graphgate.graph.graph import Graph
from graphgate.nn import collapsed
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.collapsed_step import CollapsedStep
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.blocked_step import BlockedStep
from graphgate.training.memory import fitting_plan, training_bytes
from graphgate.training.plan import Form, TrainingPlan

Objective = Callable[[int], Mapping[str, float]]


def training_objective(
    model: GATEModel, graph: Graph, loss: Loss, *, limit: int | None = None
) -> Objective:
    """A function that leaves the gradients in `parameter.grad` and returns the loss parts.

    Its argument, the number of the step, makes no difference here.

    limit : bytes that training may take in addition to what the process has; None is what is free.
    """
    weight = model.encoder_weight[0]
    plan = TrainingPlan(
        GraphCounts.of(graph), model.architecture, weight.dtype, bool(loss.feature_weight)
    )
    processes, room = current_processes(), limit
    if room is None and weight.device.type == "cpu":
        free = available_bytes()
        room = None if free is None else free // processes.local_size
    room = processes.least(room)  # one width for all, by the process with least memory
    plan = fitting_plan(plan, room, processes.size)
    if limit is not None and (needed := training_bytes(plan)) > limit:
        raise MemoryLimitError(
            f"training {shortage(needed, limit, limited=True)}, or use smaller dims",
            needed=needed,
            available=limit,
        )
    if plan.blocks and processes.size > 1:
        what = (graph.fingerprint(), model.architecture, weight.dtype, loss)
        processes.agree_on("graphs or settings", repr(what))
    if plan.reorders_nodes:
        graph = graph.by_locality()
    where = {"device": weight.device, "dtype": weight.dtype}
    x = FeatureMatrix(graph.x, **where, dense=plan.dense_features)
    pattern = AttentionPattern(graph, **where)
    if plan.blocks is None:
        return make_objective(plan.form, model, x, pattern, loss)
    width, spilled = plan.blocks.width, plan.blocks.spilled
    return BlockedStep(
        *(model, x, pattern, loss), width=width, spilled=spilled, processes=processes
    )


def make_objective(
    form: Form, model: GATEModel, x: FeatureMatrix, pattern: AttentionPattern, loss: Loss
) -> Objective:
    if form == "step":
        return CollapsedStep(model, x, pattern, loss)

    def evaluate(step: int = 0) -> dict[str, float]:
        model.zero_grad(set_to_none=True)
        parts = loss_parts(form, model, x, pattern, loss)
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
