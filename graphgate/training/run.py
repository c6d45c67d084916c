"""A run of training: all that decides its course, from the initial weights to the last ones."""

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from graphgate.compute.plan_log import Plan
from graphgate.compute.processes import Processes
from graphgate.compute.speed import Work
from graphgate.errors import TrainingWarning
from graphgate.graph.graph import Graph
from graphgate.nn.autoencoder import GATEModel
from graphgate.nn.losses import Loss
from graphgate.nn.svd_start import start_from_features
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.history import History
from graphgate.training.loop import Schedule, train
from graphgate.training.memory import fitting_dims, training_bytes
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
class TrainingRun(Plan):
    """Training on a graph of a given size. Equal runs from one seed, on equal graphs, are the same.

    scale_free : edge weights count in proportion to their mean.
    """

    plan: TrainingPlan
    loss: Loss
    schedule: Schedule
    scale_free: bool = False

    @property
    def bytes(self) -> int:
        return training_bytes(self.plan)

    @property
    def disk_bytes(self) -> int:
        """Q, see `CollapsedStep`."""
        plan = self.plan
        spilled = plan.blocks is not None and plan.blocks.spilled and plan.feature_loss
        return spilled * plan.counts.nodes * plan.architecture.dims[-1] * plan.dtype.itemsize

    @property
    def epochs(self) -> int:
        return self.schedule.epochs

    @property
    def remedy(self) -> str:
        return "use smaller dims"

    def sentence(self, processes: int = 1) -> str:
        """The plan in words."""
        return self.plan.sentence(processes)

    def work(self) -> Work:
        """All epochs, and the start."""
        return self.plan.work() * (self.schedule.epochs * self.schedule.steps) + self.plan.start()

    def fitting_dims(self, room: int | None) -> tuple[int, ...]:
        """The sizes of layers, halved until they fit."""
        return fitting_dims(self.plan, room)

    def identity(self, graph: Graph, seed: int) -> str:
        """A digest of everything that decides the course of the run; the number of epochs only
        decides its end, and blocks of columns only how it is computed."""
        what = asdict(replace(self, plan=replace(self.plan, blocks=None, processes=1)))
        del what["schedule"]["epochs"]
        text = json.dumps([what, seed, graph.fingerprint()], default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def weight_unit(self, graph: Graph) -> float:
        """What edge weights are divided by: their mean, or 1 where there are none."""
        if not (self.scale_free and graph.n_edges):
            return 1.0
        return float(graph.adjacency.data.mean(dtype=np.float64))

    def execute(
        self,
        graph: Graph,
        seed: int,
        device: torch.device,
        processes: Processes,
        *,
        checkpoint: Path | None = None,
        checkpoint_every: int = 50,
        show_progress: bool = True,
        start: Start | None = None,
    ) -> tuple[GATEModel, History]:
        """The trained network. Processes that share the run get the same one.

        start : where to start from, as far as its weights fit.
        """
        plan, saving = self.plan, None
        if processes.leads and plan.by_parts and processes.size > plan.parts_per_step:
            warnings.warn(
                f"{processes.size} processes share this run, but parts_per_step is "
                f"{plan.parts_per_step}; raise it, or start fewer processes",
                TrainingWarning,
                stacklevel=4,
            )
        if checkpoint is not None or processes.size > 1:
            identity = self.identity(graph, seed)
            processes.agree_on("graphs or parameters", identity)
            if checkpoint is not None:
                saving = Checkpoint(checkpoint, checkpoint_every, identity)
        rng = np.random.default_rng(seed)
        model = GATEModel(plan.architecture, rng, dtype=plan.dtype)
        if plan.svd_start:
            # By parts, larger weights lower the loss, but gain nothing on validation nodes.
            loss = None if plan.by_parts else self.loss
            start_from_features(model, start_graph(plan, graph, seed), loss, rng)
        if start is not None:
            start.copy_to(model, graph)
        model.to(device)
        weighted = graph.with_weights_in(self.weight_unit(graph))
        history = train(
            dict(model.named_parameters()),
            planned_objective(plan, model, weighted, self.loss, seed, processes),
            self.schedule,
            checkpoint=saving,
            show_progress=show_progress,
            processes=processes,
        )
        return model, history
