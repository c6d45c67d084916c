"""Latencies: the help of the command, and the embedding of a few nodes.

    python -m benchmarks commands --json results/benchmarks/commands.json

`graphgate --help` is compared with a Python that does nothing, and `GATE.transform(graph, nodes=…)`
of ten nodes with that of the whole graph: WordNet if $GRAPHGATE_WORDNET names its file, otherwise a
synthetic graph. Both pairs take turns, so that ratios are of the same moments.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inputs import DIMS, has_wordnet, load
from benchmarks.runner import Measurements, ratio_spread, seconds_in_turn, spreads
from graphgate.estimators.gate import GATE

FEW = 10


def measure(
    repeats: int = 20, transform_repeats: int = 7, synthetic_nodes: int = 100_000
) -> Measurements:
    name = "wordnet" if has_wordnet() else "synthetic"
    yield {"measured": "help"}, partial(help_time, repeats)
    transform = partial(transform_time, name, synthetic_nodes, transform_repeats)
    yield {"measured": "transform"}, transform


def help_time(repeats: int) -> dict[str, Any]:
    command = str(Path(sys.executable).with_name("graphgate"))
    calls = {"help": [command, "--help"], "python": [sys.executable, "-c", "pass"]}
    call = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
    seconds = seconds_in_turn(
        {name: partial(call, words) for name, words in calls.items()}, repeats
    )
    ratio = ratio_spread(seconds["help"], seconds["python"])
    return {"seconds": spreads(seconds), "ratio": ratio, "repeats": repeats}


def transform_time(name: str, nodes: int, repeats: int) -> dict[str, Any]:
    """The weights do not matter for time, so the model is trained for one epoch on a few nodes."""
    graph = load(name, nodes=nodes)
    rng = np.random.default_rng(0)
    some = graph.ids[rng.choice(graph.n_nodes, min(1000, graph.n_nodes), replace=False)]
    gate = GATE(DIMS, epochs=1, random_state=0, progress=False).fit(graph.subgraph(some))
    few = some[:FEW]
    whole = gate.transform(graph)[graph.rows(few)]
    if not np.allclose(gate.transform(graph, nodes=few), whole, rtol=1e-4, atol=1e-6):
        raise SystemExit("the vectors of a few nodes differ from those with the whole graph")
    transforms = {
        "few": lambda: gate.transform(graph, nodes=few),
        "whole": lambda: gate.transform(graph),
    }
    seconds = seconds_in_turn(transforms, repeats)
    return {
        "graph": name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "few": len(few),
        "within_two_hops": graph.neighborhood(few, len(DIMS)).n_nodes,
        "seconds": spreads(seconds),
        "ratio": ratio_spread(seconds["whole"], seconds["few"]),
        "repeats": repeats,
    }
