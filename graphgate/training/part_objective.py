"""The objective that a step by parts minimizes: an estimate of the loss of the whole graph.

Processes share the parts of a step. Gradients are added in the order of the parts, so their number
does not change a bit of the result.
"""

import torch
from torch import Tensor

from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.losses import Loss
from graphgate.nn.pattern import AttentionPattern
from graphgate.training.objective import Objective, make_objective, training_objective
from graphgate.training.parts import Parts, Scaling, parts_of
from graphgate.training.plan import TrainingPlan


class PartObjective:
    """Call it with the number of a step: leaves the mean gradients of its parts in
    `parameter.grad`, and returns the mean losses.

    plan : of the whole graph, by parts.
    parts : of the same graph.
    """

    def __init__(
        self,
        model: GATEModel,
        graph: Graph,
        loss: Loss,
        plan: TrainingPlan,
        parts: Parts,
        processes: Processes,
    ) -> None:
        self.model, self.graph, self.loss, self.plan = model, graph, loss, plan
        self.parts, self.processes = parts, processes

    def __call__(self, step: int) -> dict[str, float]:
        count = self.plan.parts_per_step
        share = self.processes.share_of(count)
        parameters = list(self.model.parameters())
        most = -(-count // self.processes.size)
        losses = torch.zeros(most, 2, dtype=torch.float64)
        gradients = parameters[0].new_zeros(most, sum(p.numel() for p in parameters))
        for row, number in enumerate(range(step * count, (step + 1) * count)[share]):
            losses[row] = torch.tensor(self._evaluate(number), dtype=torch.float64)
            found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
            torch.cat([gradient.reshape(-1) for gradient in found], out=gradients[row])
        mean = self._of_all(gradients).mean(dim=0)
        pieces = mean.split([p.numel() for p in parameters])
        for parameter, piece in zip(parameters, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)
        feature, structure = self._of_all(losses).mean(dim=0).tolist()
        return self.loss.parts(feature, structure)

    def _evaluate(self, number: int) -> tuple[float, float]:
        """The two losses, estimated from one part; leaves its gradients in `parameter.grad`."""
        part, plan = self.graph.take(self.parts.rows(number)), self.plan.of_part
        weight = self.model.encoder_weight[0]
        where = {"device": weight.device, "dtype": weight.dtype}
        x = FeatureMatrix(part.x, **where, dense=plan.dense_features)
        pattern = AttentionPattern(part, **where)
        scaling = Scaling.of(GraphCounts.of(part), self.plan.counts, self.loss.feature_form)
        found = make_objective(plan.form, self.model, x, pattern, scaling.loss(self.loss))(0)
        return scaling.feature * found["feature"], scaling.structure * found["structure"]

    def _of_all(self, own: Tensor) -> Tensor:
        """The rows of all parts of a step, in their order, from those of each process."""
        shares = self.processes.shares(self.plan.parts_per_step)
        found = self.processes.gathered(own)
        return torch.cat([rows[: s.stop - s.start] for rows, s in zip(found, shares, strict=True)])


def planned_objective(
    plan: TrainingPlan,
    model: GATEModel,
    graph: Graph,
    loss: Loss,
    seed: int,
    processes: Processes | None = None,
    *,
    limit: int | None = None,
) -> Objective:
    """The objective of a graph as a whole or by parts, which are drawn from the seed.

    limit : of the memory, as in `training_objective`.
    """
    if plan.part_size is None:
        return training_objective(model, graph, loss, limit=limit)
    parts = parts_of(graph, plan.part_size, seed)
    return PartObjective(model, graph, loss, plan, parts, processes or Processes())


def start_graph(plan: TrainingPlan, graph: Graph, seed: int) -> Graph:
    """What the initial weights are computed from: the graph, or a large part of it."""
    if plan.start_nodes == graph.n_nodes:
        return graph
    return graph.take(parts_of(graph, plan.start_nodes, seed).rows(0))
