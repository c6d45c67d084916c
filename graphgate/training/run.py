"""A run of training: all that decides its course, from the initial weights to the last ones."""

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from graphgate.compute.plan_log import log_plan, log_traffic
from graphgate.compute.processes import Processes
from graphgate.errors import TrainingWarning
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.losses import Loss
from graphgate.nn.svd_start import start_from_features
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.history import History
from graphgate.training.loop import Schedule, train
from graphgate.training.memory import plan_here, training_bytes
from graphgate.training.part_objective import planned_objective, start_graph
from graphgate.training.plan import TrainingPlan


class Start(NamedTuple):
    """A trained network to start from, and the names of its features, where they have names."""

    model: GATEModel
    feature_names: np.ndarray | None

    @torch.no_grad()
    def copy_to(self, model: GATEModel, graph: Graph) -> None:
        """Set weights to those of the network; features that it does not know keep theirs."""
        old = np.arange(self.model.architecture.n_features)
        new = old if graph.n_features == len(old) else np.empty(0, dtype=np.int64)
        if self.feature_names is not None and graph.feature_names is not None:
            names = np.array(graph.feature_names, dtype=object)
            _, new, old = np.intersect1d(names, self.feature_names, return_indices=True)
        known = dict(self.model.named_parameters())
        for name, weight in model.named_parameters():
            if name == "encoder_weight.0":
                weight[torch.from_numpy(new)] = known[name][torch.from_numpy(old)]
            elif name == "decoder_weight.0":
                weight[:, torch.from_numpy(new)] = known[name][:, torch.from_numpy(old)]
            elif weight.shape == known[name].shape:
                weight.copy_(known[name])


@dataclass(frozen=True)
class TrainingRun:
    """Training on one graph. Runs that are equal, on equal graphs, give the same weights.

    scale_free : edge weights count in proportion to their mean.
    """

    plan: TrainingPlan
    loss: Loss
    schedule: Schedule
    seed: int
    scale_free: bool = False

    def identity(self, graph: Graph) -> str:
        """A digest of everything that decides the course of the run; the number of epochs only
        decides its end."""
        what = asdict(self)
        del what["schedule"]["epochs"]
        text = json.dumps([what, graph.fingerprint()], default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def weight_unit(self, graph: Graph) -> float:
        """What edge weights are divided by: their mean, or 1 where there are none."""
        if not (self.scale_free and graph.n_edges):
            return 1.0
        return float(graph.adjacency.data.mean(dtype=np.float64))

    def execute(
        self,
        graph: Graph,
        device: torch.device,
        processes: Processes,
        *,
        checkpoint: Path | None = None,
        checkpoint_every: int = 50,
        limit: int | None = None,
        show_progress: bool = True,
        start: Start | None = None,
    ) -> tuple[GATEModel, History]:
        """The trained network. Processes that share the run get the same one.

        limit : of the memory, as in `plan_here`.
        start : where to start from, as far as its weights fit.
        """
        plan = plan_here(self.plan, processes, device, limit)
        self._announce(plan, processes)
        saving = None
        if checkpoint is not None or processes.size > 1:
            identity = self.identity(graph)
            processes.agree_on("graphs or parameters", identity)
            saving = (
                None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every, identity)
            )
        rng = np.random.default_rng(self.seed)
        model = GATEModel(plan.architecture, rng, dtype=plan.dtype)
        if plan.svd_start:
            # By parts, larger weights lower the loss, but gain nothing on validation nodes.
            loss = None if plan.by_parts else self.loss
            start_from_features(model, start_graph(plan, graph, self.seed), loss, rng)
        if start is not None:
            start.copy_to(model, graph)
        model.to(device)
        weighted = graph.with_weights_in(self.weight_unit(graph))
        history = train(
            dict(model.named_parameters()),
            planned_objective(plan, model, weighted, self.loss, self.seed, processes),
            self.schedule,
            checkpoint=saving,
            show_progress=show_progress,
            processes=processes,
        )
        log_traffic(processes)
        return model, history

    def _announce(self, plan: TrainingPlan, processes: Processes) -> None:
        """Say what the plan is, and warn where processes would have nothing to do."""
        if processes.leads and plan.by_parts and processes.size > plan.parts_per_step:
            warnings.warn(
                f"{processes.size} processes share this run, but parts_per_step is "
                f"{plan.parts_per_step}; raise it, or start fewer processes",
                TrainingWarning,
                stacklevel=4,
            )
        work = plan.work() * (self.schedule.epochs * self.schedule.steps)
        log_plan(processes, plan.sentence(processes.size), training_bytes(plan), work)
