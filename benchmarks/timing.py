"""Seconds of a training epoch of every peer on one dataset, in turn, in one process.

Called by `epoch.py`. The peers take turns of three epochs (ours, plain, pyg, dense, ours, …), so
that whatever slows the machine for a while slows them all; ratios are of turns in one round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import isolated
from inputs import DIMS, load, loss_of
from machine import listed, ratio_spread, spread, use_threads
from peers import Peer, make_peer

from graphgate.graph import Graph
from graphgate.losses import Loss

WARM_UP = 2
EPOCHS_A_TURN = 3  # in a row, as in training: the first finds the caches full of another's data
TOLERANCE = 1e-3  # of float32 sums over hundreds of thousands of terms in different orders


def measure(
    graph: Graph, names: list[str], loss: Loss, repeats: int, dims: tuple[int, ...] = DIMS
) -> dict[str, Any]:
    peers, losses, statuses = warmed_up(graph, names, loss, dims)
    check_same(losses)
    seconds = in_turn(peers, repeats)
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "repeats": repeats,
        "epoch_seconds": {name: spread(values) for name, values in seconds.items()},
        "ratios": ratios(seconds),
        "losses": losses,
        "statuses": statuses,
    }


def warmed_up(
    graph: Graph, names: list[str], loss: Loss, dims: tuple[int, ...]
) -> tuple[dict[str, Peer], dict[str, list[float]], dict[str, str]]:
    """The peers that fit, each after two epochs, and the losses of these."""
    peers: dict[str, Peer] = {}
    losses: dict[str, list[float]] = {}
    statuses: dict[str, str] = {}
    for name in names:
        try:
            peer = make_peer(name, graph, dims, loss)
            losses[name] = [peer.epoch() for _ in range(WARM_UP)]
        except (MemoryError, RuntimeError) as error:
            if not isolated.is_memory_error(error):
                raise
            statuses[name] = f"{isolated.OUT_OF_MEMORY} beside the others"
            continue
        peers[name], statuses[name] = peer, "ok"
    losses.pop("dense", None)
    return peers, losses, statuses


def check_same(losses: Mapping[str, list[float]], tolerance: float = TOLERANCE) -> None:
    """The loss at the same start and after one step: peers that differ are not comparable."""
    if "ours" not in losses:
        return
    for name, values in losses.items():
        for mine, other in zip(losses["ours"], values, strict=True):
            if not abs(mine - other) <= tolerance * abs(mine):
                raise SystemExit(f"ours and {name} compute different losses: {mine} and {other}")


def in_turn(peers: Mapping[str, Peer], repeats: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(repeats):
        for name, peer in peers.items():
            start = time.perf_counter()
            for _ in range(EPOCHS_A_TURN):
                peer.epoch()
            seconds[name].append((time.perf_counter() - start) / EPOCHS_A_TURN)
    return seconds


def ratios(seconds: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    pairs = [("plain", "ours"), ("pyg", "ours"), ("ours", "dense")]
    return {
        f"{above}/{below}": ratio_spread(seconds[above], seconds[below])
        for above, below in pairs
        if above in seconds and below in seconds
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("peers")
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--limit", type=float, required=True, help="GiB")
    given = parser.parse_args()
    use_threads(given.threads)

    def work() -> dict[str, Any]:
        graph = load(given.dataset, given.wordnet)
        return measure(graph, listed(given.peers), loss_of(given.dataset), given.repeats)

    isolated.answer(work, given.limit)


if __name__ == "__main__":
    main()
