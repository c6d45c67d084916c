"""Solving for one graph: the model, the embedding and the structure decoder, by all processes."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.progress import progress_bar
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.linear_model import LinearModel
from graphgate.linear.linear_plan import LinearPlan, LinearSize
from graphgate.linear.scratch import Scratch
from graphgate.linear.workspace import Workspace
from graphgate.training.distributed import Processes
from graphgate.training.plan import GraphCounts
from graphgate.training.plan_log import log_plan, log_traffic, plans_are_shown


class Solution(NamedTuple):
    """decoder : None where there are too few edges. embedding : (N, D)."""

    model: LinearModel
    decoder: EdgeDecoder | None
    embedding: Tensor


@dataclass(frozen=True)
class Problem:
    """What decides the solution for a graph."""

    n_components: int
    structure: bool
    seed: int
    dtype: torch.dtype

    def size(self, counts: GraphCounts) -> LinearSize:
        """What decides the memory and the time for a graph of this size."""
        return LinearSize(counts, self.n_components, self.structure, self.dtype.itemsize)

    def solve(
        self,
        graph: Graph,
        plan: LinearPlan,
        processes: Processes,
        features: Callable[[Graph], Features],
        *,
        scratch: Path | None = None,
        show_progress: bool = True,
    ) -> Solution:
        """The solution for a graph with features, the same in all processes.

        features : of the nodes of this graph where it has fewer edges.
        scratch : folder of files from which an interrupted call resumes; removed at the end.
        """
        run = ""
        if processes.size > 1 or scratch is not None:
            run = json.dumps([*map(str, astuple(self)), graph.fingerprint()])
            processes.agree_on("graphs or parameters", run)
        self._announce(graph, plan, processes)
        steps = plan.steps(graph.n_features, structure=self.structure and graph.n_edges > 0)
        show = show_progress and processes.leads
        with progress_bar("solving", steps / processes.size, show=show) as advance:
            files = None if scratch is None else _files(scratch, processes, run)
            workspace = Workspace(plan, graph.n_nodes, processes, scratch=files, advance=advance)
            model, z = LinearModel.fit(
                graph,
                self.n_components,
                structure=self.structure,
                workspace=workspace,
                generator=torch.Generator().manual_seed(self.seed),
                dtype=self.dtype,
            )

            def describe(thinned: Graph) -> Callable[[slice], Tensor]:
                matrix = model.coordinates.weighted(features(thinned))
                return lambda columns: model.coordinates.block(matrix, columns)

            decoder = EdgeDecoder.fit(graph, model, workspace, describe, self.seed)
        workspace.clear()
        log_traffic(processes)
        return Solution(model, decoder, z)

    def _announce(self, graph: Graph, plan: LinearPlan, processes: Processes) -> None:
        """Say what the plan is."""
        if plans_are_shown(processes):
            size = self.size(GraphCounts.of(graph))
            work = size.work(plan) * (1 / processes.size)
            log_plan(plan.sentence(processes.size), size.bytes(plan), work)


def _files(folder: Path, processes: Processes, run: str) -> Scratch:
    digest = hashlib.sha256(f"{processes.size} {run}".encode()).hexdigest()
    return Scratch(folder / f"process-{processes.rank}", digest)
