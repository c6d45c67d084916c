"""What a user waits for: the command's help, and the embedding of a few nodes.

    python benchmarks/commands.py --json out.json

(a) `graphgate --help` against a Python that does nothing. (b) `GATE.transform(graph, nodes=…)`
of ten nodes against that of the whole graph, on a ready `Graph`: WordNet where
$GRAPHGATE_WORDNET or --wordnet names its file, else a synthetic graph of 100,000 nodes. Both
pairs take turns, so that ratios are of the same moments.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from inputs import DIMS, WORDNET_VARIABLE, read_wordnet, wordnet_file
from machine import description, ratio_spread, spread, use_threads
from synthetic import block_graph

from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json

SYNTHETIC_NODES = 100_000
FEW = 10


def in_turn(
    work: Mapping[str, Callable[[], object]], repeats: int
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Seconds of each, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(repeats + 1):
        for name, do in work.items():
            start = time.perf_counter()
            do()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: spread(values) for name, values in seconds.items()}, seconds


def help_time(repeats: int) -> dict[str, Any]:
    beside = Path(sys.executable).with_name("graphgate")
    command = str(beside) if beside.exists() else shutil.which("graphgate")
    if command is None:
        raise SystemExit("the command graphgate is not installed; pip install -e .")

    def call(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    work = {"help": call(command, "--help"), "python": call(sys.executable, "-c", "pass")}
    found, seconds = in_turn(work, repeats)
    ratio = ratio_spread(seconds["help"], seconds["python"])
    return {"seconds": found, "ratio": ratio, "repeats": repeats}


def transform_time(graph: Graph, name: str, repeats: int) -> dict[str, Any]:
    """The weights do not matter for time, so the model is trained for one epoch on a few nodes."""
    rng = np.random.default_rng(0)
    some = graph.ids[rng.choice(graph.n_nodes, min(1000, graph.n_nodes), replace=False)]
    gate = GATE(DIMS, epochs=1, random_state=0, progress=False).fit(graph.subgraph(some))
    few = some[:FEW]
    whole = gate.transform(graph)[graph.rows(few)]
    if not np.allclose(gate.transform(graph, nodes=few), whole, rtol=1e-4, atol=1e-6):
        raise SystemExit("the vectors of a few nodes differ from those with the whole graph")
    near = graph.neighborhood(few, len(DIMS)).n_nodes
    work = {
        "few": lambda: gate.transform(graph, nodes=few),
        "whole": lambda: gate.transform(graph),
    }
    found, seconds = in_turn(work, repeats)
    return {
        "graph": name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "few": len(few),
        "within_two_hops": near,
        "seconds": found,
        "ratio": ratio_spread(seconds["whole"], seconds["few"]),
        "repeats": repeats,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20, help="of the help")
    parser.add_argument("--transform-repeats", type=int, default=7)
    parser.add_argument("--synthetic-nodes", type=int, default=SYNTHETIC_NODES)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--wordnet", type=Path, help=f"its file, else ${WORDNET_VARIABLE}")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = description("commands.py", use_threads(given.threads))
    result["help"] = found = help_time(given.repeats)
    print(
        f"graphgate --help: {found['seconds']['help']['median']:.3f} s, "
        f"{found['ratio']['median']:.1f} times a Python that does nothing"
    )
    file = wordnet_file(given.wordnet)
    name = "synthetic" if file is None else "wordnet"
    graph = block_graph(given.synthetic_nodes) if file is None else read_wordnet(file)
    result["transform"] = found = transform_time(graph, name, given.transform_repeats)
    print(
        f"transform on {name} ({found['nodes']:,} nodes): {found['few']} nodes "
        f"{found['seconds']['few']['median']:.4f} s, all {found['seconds']['whole']['median']:.3f} "
        f"s, ratio {found['ratio']['median']:.0f}"
    )
    if given.json:
        write_json(given.json, result)


if __name__ == "__main__":
    main()
