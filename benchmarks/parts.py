"""GATE by parts against the whole graph: time, memory, loss and probe.

    python benchmarks/parts.py --graphs pubmed,wordnet --wordnet wordnet.npz --json out.json
    python benchmarks/parts.py --graphs synthetic --nodes 100000,1000000 --whole-below 200000

The whole graph is trained on in the authors' form, with its 200 epochs, or with the paper's number
of epochs and λ for a citation graph (500 and 0.5 for Pubmed); parts in our own form. Losses are
those of the whole graph at the final weights, λ = 1: the feature loss squared per node, and the
structure loss per attended pair. Each fit is in a process of its own. The file is written after
every fit, and fits that it already has are kept, unless --renew.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import isolated
import numpy as np
import torch
from inputs import DIMS, read_wordnet, wordnet_file
from machine import description, listed, use_threads
from synthetic import block_graph

from graphgate.compute.counts import GraphCounts
from graphgate.compute.measure import measured
from graphgate.datasets.citation import NAMES, load_dataset
from graphgate.datasets.splits import random_split
from graphgate.errors import TrainingWarning
from graphgate.estimators.gate import GATE
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json
from graphgate.nn.collapsed import chain
from graphgate.nn.features import FeatureMatrix
from graphgate.nn.pattern import AttentionPattern, dot_on
from graphgate.paper.experiments.experiment import find_experiment
from graphgate.tasks.classification import probe_predictions

FORMS: dict[str, dict[str, Any]] = {
    "whole": {"preset": "authors", "epochs": 200, "batch_size": "full"},
    "parts": {},
}
COMPLETE = (
    "python benchmarks/parts.py --graphs pubmed,wordnet,synthetic --nodes 100000,1000000 "
    "--threads 1 --wordnet wordnet30.npz --json results/benchmarks/parts.json"
)
_SMALL = 50_000  # nodes up to which parts have to be asked for
_COLUMNS = 32  # of the reconstruction at a time


def load(name: str, nodes: int, wordnet: Path | None) -> Graph:
    if name == "synthetic":
        return block_graph(nodes)
    if name == "wordnet":
        path = wordnet_file(wordnet)
        if path is None:
            raise SystemExit("wordnet needs --wordnet FILE")
        return read_wordnet(path)
    return load_dataset(name).graph


@torch.no_grad()
def losses(gate: GATE, graph: Graph) -> dict[str, float]:
    """Of the whole graph, from its embedding and some columns of the reconstruction at a time."""
    x = FeatureMatrix(graph.x, device=torch.device("cpu"), dtype=torch.float32)
    pattern = AttentionPattern(graph, device=x.device, dtype=x.dtype, gradients=False)
    h = torch.from_numpy(gate.embedding_)
    structure = torch.nn.functional.softplus(-dot_on(pattern, h, h)).sum(dtype=torch.float64)
    alphas = [torch.from_numpy(alpha.data) for alpha in gate.attention_.encoder]
    b = chain(list(gate.model_.encoder_weight))
    q, cross = torch.empty_like(h), 0.0
    for start in range(0, h.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        block = h[:, columns].contiguous()
        for alpha in reversed(alphas):
            block = pattern.matrix(alpha) @ block
        cross += float((x.times(b[:, columns].contiguous()) * block).sum(dtype=torch.float64))
        q[:, columns] = block
    gram = (b.T @ b).double()
    moments = sum((rows.double().T @ rows.double() for rows in q.split(8192)), torch.zeros(()))
    square = float(x.square_norms.sum()) - 2 * cross + float((gram * moments).sum())
    return {
        "feature_square_per_node": square / graph.n_nodes,
        "structure_per_pair": float(structure) / len(pattern),
        "loss": max(square, 0.0) ** 0.5 + float(structure),
    }


def accuracy(graph: Graph, vectors: np.ndarray) -> dict[str, float]:
    """Of a probe, in percent, on validation and test nodes."""
    assert graph.labels is not None
    predicted = probe_predictions(vectors, graph.labels, graph.splits["train"])
    return {
        name: round(100 * float((predicted == graph.labels)[graph.splits[name]].mean()), 2)
        for name in ("val", "test")
    }


def published(name: str, form: str) -> dict[str, Any]:
    """The paper's parameters of a citation graph."""
    found = find_experiment("gate", name, "transductive") if name in NAMES else None
    return dict(found.candidates()[0]) if found is not None and form == "whole" else {}


def fit(name: str, form: str, nodes: int, seed: int, wordnet: Path | None) -> dict[str, Any]:
    """In the child: what one fit costs, and what it reaches."""
    graph = load(name, nodes, wordnet)
    with warnings.catch_warnings(), measured() as cost:
        warnings.simplefilter("ignore", TrainingWarning)
        start = time.process_time()
        size = {"batch_size": 4096} if graph.n_nodes <= _SMALL else {}
        settings = size | FORMS[form] | published(name, form)
        gate = GATE(DIMS, random_state=seed, progress=False, **settings).fit(graph)
        cpu = time.process_time() - start
    steps = gate.training_plan(GraphCounts.of(graph)).steps_per_epoch * len(gate.history_)
    found: dict[str, Any] = {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "batch_size": gate.batch_size,
        "seconds": round(cost.seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_memory_mb": round(cost.peak_memory_mb, 1),
        "epochs": len(gate.history_),
        "steps": steps,
        **losses(gate, graph),
    }
    if name == "wordnet":
        assert graph.labels is not None
        graph = graph.with_splits(random_split(graph.labels, 0, per_class=5))
    if name != "synthetic":
        found["accuracy"] = accuracy(graph, gate.embedding_)
    return found


def line(name: str, form: str, found: dict[str, Any]) -> str:
    if found["status"] != "ok":
        return f"{name:>10} {form:>6}: {found['status']}"
    text = f"{name:>10} {form:>6}: {found['cpu_seconds']:8.1f} s CPU, {found['steps']:5} steps"
    text += f", {found['peak_memory_mb']:,.0f} MiB, loss {found['loss']:,.0f}"
    score = found.get("accuracy")
    return text + (f", accuracy {score['val']} / {score['test']}" if score else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default="pubmed", help="of pubmed, wordnet, synthetic, …")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--nodes", default="100000", help="of synthetic graphs")
    parser.add_argument("--whole-below", type=int, default=200_000, help="nodes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--renew", action="store_true", help="measure stored fits again")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    limit = given.limit or isolated.default_limit_gib()
    threads = use_threads(given.threads)
    if given.child:
        arguments = (given.graphs, given.forms, int(given.nodes), given.seed, given.wordnet)
        isolated.answer(lambda: fit(*arguments), limit)
        return
    result = description("parts.py", threads, COMPLETE)
    result |= {"dims": list(DIMS), "forms": FORMS, "fits": []}
    if given.json and given.json.exists():
        result["fits"] = json.loads(given.json.read_text("utf-8"))["fits"]
    common = ["--seed", str(given.seed), "--threads", str(threads), "--limit", str(limit)]
    common += ["--wordnet", str(given.wordnet)] if given.wordnet else []
    for name in listed(given.graphs):
        for nodes in map(int, listed(given.nodes)) if name == "synthetic" else (0,):
            for form in listed(given.forms):
                if form == "whole" and nodes > given.whole_below:
                    continue
                asked = {"graph": name, "form": form, "seed": given.seed}
                asked |= {"nodes": nodes} if nodes else {}
                stored = [fit for fit in result["fits"] if asked.items() <= fit.items()]
                if stored and not given.renew:
                    continue
                result["fits"] = [fit for fit in result["fits"] if fit not in stored]
                options = ["--graphs", name, "--forms", form, "--nodes", str(nodes)]
                found = isolated.run("parts.py", "--child", *options, *common)
                result["fits"].append(asked | found)
                print(line(name, form, found), flush=True)
                if given.json:  # after every fit: a later one takes long
                    write_json(given.json, result)


if __name__ == "__main__":
    main()
