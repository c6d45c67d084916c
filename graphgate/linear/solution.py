"""Solving for one graph: the model, the embedding and the structure decoder, by all processes."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from graphgate.compute.columns import Columns
from graphgate.compute.counts import GraphCounts
from graphgate.compute.draws import Draws
from graphgate.compute.processes import Processes
from graphgate.compute.scratch import Scratch
from graphgate.graph.graph import Graph
from graphgate.graph.validation import Features
from graphgate.io.progress import progress_bar
from graphgate.linear.coordinates import Coordinates, FeatureSource
from graphgate.linear.edge_decoder import EdgeDecoder
from graphgate.linear.linear_plan import LinearPlan, Sizes
from graphgate.linear.model import LinearModel, WeightOptions, solve, structure_factors
from graphgate.linear.weights import gathered, source_weights


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


def column_weights(
    graph: Graph, sources: Sequence[FeatureSource], processes: Processes, seed: int = 0
) -> list[float]:
    """The weights of sources of features as `solve` chooses them, without solving."""
    blocks = LinearPlan.of(GraphCounts.of(graph), 1, weighed=True).blocks
    engine = Columns(graph.n_nodes, torch.float32, blocks, processes)
    sizes, draws = Sizes.of(graph.n_nodes), Draws(seed, graph.id_ranks)
    coordinates, z = Coordinates.fit(graph.x, engine, sizes.coordinates, draws, sources)
    factors = None
    if graph.n_edges:
        _, factors = structure_factors(graph, engine, sizes.factors, draws)
    evidence = gathered(graph, engine, z, factors, Draws(seed, graph.id_ranks))
    engine.release()
    return source_weights(coordinates.sources, evidence, {})
