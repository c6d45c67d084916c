"""Time and peak memory of a training epoch, against other programs of the same model.

    python benchmarks/epoch.py --datasets cora,citeseer,pubmed,wordnet --json out.json

Dimensions (512, 512), the authors' form with the paper's λ. What the peers are stands in
`peers.py`. WordNet is skipped where $GRAPHGATE_WORDNET or --wordnet names no file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import isolated
import timing
from inputs import DIMS, WORDNET_VARIABLE, load, wordnet_file
from isolated import OUT_OF_MEMORY
from machine import description, has_geometric, listed, use_threads
from peers import NAMES, estimated_gib

from graphgate.io.files import write_json

REPEATS = {"cora": 20, "citeseer": 10, "pubmed": 5, "wordnet": 3}


def measure(dataset: str, peers: list[str], repeats: int, limit: float, rest: list[str]) -> Any:
    """One dataset: memory first, for it says which peers can be timed."""
    options = ["--limit", str(limit), *rest]
    given_file = rest[rest.index("--wordnet") + 1] if "--wordnet" in rest else None
    graph = load(dataset, Path(given_file) if given_file else None)
    status: dict[str, str] = {}
    memory: dict[str, float | None] = {}
    for peer in peers:
        memory[peer] = None
        if peer == "pyg" and not has_geometric():
            status[peer] = "not installed"
        elif estimated_gib(peer, graph, DIMS) > limit:
            status[peer] = f"{OUT_OF_MEMORY} by estimate"
        else:
            found = isolated.run("memory.py", dataset, peer, *options)
            status[peer], memory[peer] = found["status"], found.get("peak_memory_mb")
        print(f"{dataset} {peer}: {status[peer]}, peak {_megabytes(memory[peer])}", flush=True)
    fitting = [peer for peer in peers if status[peer] == "ok"]
    found = timing.measure(dataset, [*fitting, "dense"], repeats, options)
    status |= found.pop("statuses")
    status.pop("dense")
    counts = {"nodes": graph.n_nodes, "edges": graph.n_edges, "features": graph.n_features}
    return counts | found | {"peak_memory_mb": memory, "status": status}


def table(datasets: dict[str, Any]) -> str:
    lines = [f"{'':10}{'peer':8}{'s/epoch':>10}{'quartiles':>20}{'times ours':>12}{'peak':>12}"]
    for name, found in datasets.items():
        for peer in (*found["status"], "dense"):
            seconds = found["epoch_seconds"].get(peer)
            ratio = found["ratios"].get(f"{peer}/ours")
            peak = found["peak_memory_mb"].get(peer)
            times = f"{ratio['median']:.2f}" if ratio else "1" if peer == "ours" else ""
            told = found["status"].get(peer, "ok")
            if seconds is None:
                lines.append(f"{name:10}{peer:8}{told:>30}")
                continue
            quartiles = f"{seconds['low']:.4f}–{seconds['high']:.4f}"
            lines.append(
                f"{name:10}{peer:8}{seconds['median']:10.4f}{quartiles:>20}"
                f"{times:>12}{_megabytes(peak) if peak else '':>12}"
            )
    for name, found in datasets.items():
        above = found["ratios"].get("ours/dense")
        if above:
            lines.append(
                f"{name}: an epoch takes {above['median']:.2f} times its dense products alone "
                f"({above['low']:.2f}–{above['high']:.2f})"
            )
    return "\n".join(lines)


def _megabytes(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=",".join(REPEATS))
    parser.add_argument("--peers", default="ours,plain,pyg", help="the dense products always run")
    parser.add_argument("--repeats", type=int, help=f"rounds of timing; by default {REPEATS}")
    parser.add_argument("--threads", type=int, help="by default torch's own choice")
    parser.add_argument("--wordnet", type=Path, help=f"its file, else ${WORDNET_VARIABLE}")
    parser.add_argument("--limit", type=float, help="GiB that a measured process may take")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    names, peers = listed(given.datasets), listed(given.peers)
    if wrong := [*(set(names) - set(REPEATS)), *(set(peers) - set(NAMES[:-1]))]:
        parser.error(f"unknown: {', '.join(wrong)}")
    if "ours" not in peers:
        peers.insert(0, "ours")  # what the others are compared with
    limit = given.limit or isolated.default_limit_gib()
    result = description("epoch.py", use_threads(given.threads))
    result |= {"memory_limit_gib": limit, "datasets": {}, "skipped": {}}
    rest = ["--threads", str(given.threads)] if given.threads else []
    wordnet = wordnet_file(given.wordnet)
    if wordnet is not None:
        rest += ["--wordnet", str(wordnet)]
    for name in names:
        if name == "wordnet" and wordnet is None:
            result["skipped"][name] = f"no file: set ${WORDNET_VARIABLE} or give --wordnet"
            print(f"wordnet is skipped: {result['skipped'][name]}", flush=True)
            continue
        repeats = given.repeats or REPEATS[name]
        result["datasets"][name] = measure(name, peers, repeats, limit, rest)
        if given.json:  # after every dataset: a later one may take long
            write_json(given.json, result)
    if given.json:
        write_json(given.json, result)
    print(table(result["datasets"]))


if __name__ == "__main__":
    main()
