"""The objective that a step by parts minimizes: an estimate of the loss of the whole graph.

Processes share the parts of a step, and add up their losses and gradients.
"""

import torch

from graphgate.compute.counts import GraphCounts
from graphgate.compute.processes import Processes
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.losses import Loss
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
        parameters = list(self.model.parameters())
        sizes = [parameter.numel() for parameter in parameters]
        losses = torch.zeros(2, dtype=torch.float64)
        gradient = parameters[0].new_zeros(sum(sizes))
        for number in range(step * count, (step + 1) * count)[self.processes.share_of(count)]:
            losses += torch.tensor(self._evaluate(number), dtype=torch.float64)
            for parameter, piece in zip(parameters, gradient.split(sizes), strict=True):
                if parameter.grad is not None:
                    piece += parameter.grad.reshape(-1)
        mean = self.processes.sum(gradient).div_(count)
        for parameter, piece in zip(parameters, mean.split(sizes), strict=True):
            parameter.grad = piece.view_as(parameter)
        feature, structure = (self.processes.sum(losses) / count).tolist()
        return self.loss.parts(feature, structure)

    def _evaluate(self, number: int) -> tuple[float, float]:
        """The two losses, estimated from one part; leaves its gradients in `parameter.grad`."""
        part, plan = self.graph.take(self.parts.rows(number)), self.plan.of_part
        scaling = Scaling.of(GraphCounts.of(part), self.plan.counts, self.loss.feature_form)
        losses = make_objective(plan, self.model, part, scaling.loss(self.loss))(0)
        return scaling.feature * losses["feature"], scaling.structure * losses["structure"]


def planned_objective(
    plan: TrainingPlan,
    model: GATEModel,
    graph: Graph,
    loss: Loss,
    seed: int,
    processes: Processes | None = None,
) -> Objective:
    """The objective of a graph as a whole or by parts, which are drawn from the seed."""
    if plan.part_size is None:
        return training_objective(model, graph, loss, plan, processes)
    parts = parts_of(graph, plan.part_size, seed)
    return PartObjective(model, graph, loss, plan, parts, processes or Processes())


def start_graph(plan: TrainingPlan, graph: Graph, seed: int) -> Graph:
    """What the initial weights are computed from: the graph, or a large part of it."""
    if plan.start_nodes == graph.n_nodes:
        return graph
    return graph.take(parts_of(graph, plan.start_nodes, seed).rows(0))
