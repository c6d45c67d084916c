"""Solving for one graph: the model, the embedding and the structure decoder, by all processes."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.processes import Processes
from graphgate.compute.scratch import Scratch
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.progress import progress_bar
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.linear_plan import LinearPlan
from graphgate.linear.model import LinearModel, WeightOptions, solve


class Solution(NamedTuple):
    """decoder : None where there are too few edges. embedding : (N, D)."""

    model: LinearModel
    decoder: EdgeDecoder | None
    embedding: Tensor


def solution_of(
    graph: Graph,
    plan: LinearPlan,
    seed: int,
    features: Callable[[Graph], Features],
    options: WeightOptions,
    *,
    processes: Processes,
    scratch: Path | None = None,
    show_progress: bool = True,
) -> Solution:
    """The solution for a graph with features, the same in all processes.

    features : of the nodes of this graph where it has fewer edges.
    scratch : folder of files from which an interrupted call resumes; removed at the end.
    """
    files, structure, dtype = None, plan.structure, plan.dtype
    if processes.size > 1 or scratch is not None:
        named = [[(s.name, s.n_features) for s in options.sources], sorted(options.given.items())]
        settings = [plan.n_components, structure, seed, str(dtype), options.chosen, named]
        run = json.dumps([*settings, graph.fingerprint()])
        processes.agree_on("graphs or parameters", run)
        files = None if scratch is None else _files(scratch, processes, run)
    show = show_progress and processes.leads
    with progress_bar("solving", plan.steps() / processes.size, show=show) as advance:
        engine = Columns(
            graph.n_nodes, dtype, plan.blocks, processes, scratch=files, advance=advance
        )
        model, z = solve(
            graph, plan.n_components, engine, seed, structure=structure, options=options
        )
        decoder = EdgeDecoder.fit(graph, model, engine, features, seed)
    if files is not None:
        files.clear()
    return Solution(model, decoder, z)


def _files(folder: Path, processes: Processes, run: str) -> Scratch:
    digest = hashlib.sha256(f"{processes.size} {run}".encode()).hexdigest()
    return Scratch(folder / f"process-{processes.rank}", digest)
