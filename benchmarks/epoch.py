"""Time and peak memory of a training epoch, against other programs of the same model.

    python -m benchmarks epoch --json results/benchmarks/epoch.json

Dimensions (512, 512), the authors' form with the paper's λ; `peers.py` describes the peers. Each is
a process of its own that waits for its turn. A turn is three epochs in a row, as in training, after
one that is not timed and fills the caches again; ratios are of turns in one round. WordNet is left
out unless $GRAPHGATE_WORDNET names its file.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import graphgate.estimators.gate  # noqa: F401  what a user imports counts as library
from benchmarks.inputs import DIMS, has_wordnet, load, loss_of
from benchmarks.peers import make_peer
from benchmarks.processes import Process, isolated
from benchmarks.runner import Measurements, in_turn, ratio_spread, spreads, timed
from graphgate.compute.measure import measured, resident

REPEATS = {"cora": 20, "citeseer": 10, "pubmed": 5, "wordnet": 3}
WARM_UP, EPOCHS_A_TURN = 2, 3
TOLERANCE = 1e-3  # of float32 sums over hundreds of thousands of terms in different orders


def measure(
    datasets: tuple[str, ...] = tuple(REPEATS),
    peers: tuple[str, ...] = ("ours", "plain", "pyg"),
    repeats: int = 0,
) -> Measurements:
    for name in datasets:
        if name != "wordnet" or has_wordnet():
            yield {"dataset": name}, partial(compare, name, peers, repeats or REPEATS[name])


def compare(dataset: str, peers: tuple[str, ...], repeats: int) -> dict[str, Any]:
    """Memory first, because it decides which peers can be timed."""
    graph = load(dataset)
    peaks = {peer: isolated(peak_memory, dataset, peer) for peer in peers}
    fitting = [peer for peer, peak in peaks.items() if peak["status"] == "ok"]
    players = {peer: Process(turns, dataset, peer) for peer in (*fitting, "dense")}
    try:
        ready = {peer: player.next() for peer, player in players.items()}
        losses = {peer: said["losses"] for peer, said in ready.items() if "losses" in said}
        check_same({peer: values for peer, values in losses.items() if peer != "dense"})
        rounds = in_turn({peer: players[peer].next for peer in losses}, repeats)
    finally:
        for player in players.values():
            player.end()
    seconds = {peer: [turn["seconds"] for turn in turns] for peer, turns in rounds.items()}
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "repeats": repeats,
        "epochs_a_turn": EPOCHS_A_TURN,
        "epoch_seconds": spreads(seconds),
        "ratios": ratios(seconds),
        "losses": losses,
        "peak_memory_mb": {peer: peak.get("peak_memory_mb") for peer, peak in peaks.items()},
        "status": {peer: ready.get(peer, peak)["status"] for peer, peak in peaks.items()},
    }


def peak_memory(dataset: str, peer: str) -> dict[str, Any]:
    """The peak of a few epochs, above the imported libraries."""
    if peer == "pyg":
        import benchmarks.pyg_peer  # noqa: F401  imported before memory is noted
    libraries = resident()
    with measured() as cost:
        trained = make_peer(peer, load(dataset), DIMS, loss_of(dataset))
        for _ in range(EPOCHS_A_TURN):
            trained.epoch()
    return {"peak_memory_mb": round(cost.peak_memory_mb - libraries, 1)}


def turns(dataset: str, name: str) -> Iterator[dict[str, Any]]:
    """The first losses, and then the seconds of an epoch, turn by turn."""
    peer = make_peer(name, load(dataset), DIMS, loss_of(dataset))
    yield {"losses": [peer.epoch() for _ in range(WARM_UP)]}
    while True:
        peer.epoch()
        seconds = timed(lambda: [peer.epoch() for _ in range(EPOCHS_A_TURN)])
        yield {"seconds": seconds / EPOCHS_A_TURN}


def check_same(losses: Mapping[str, list[float]]) -> None:
    """The loss at the same start and after one step: peers that differ are not comparable."""
    for name, values in losses.items():
        for ours, other in zip(losses["ours"], values, strict=True):
            if not abs(ours - other) <= TOLERANCE * abs(ours):
                raise SystemExit(f"ours and {name} compute different losses: {ours} and {other}")


def ratios(seconds: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    pairs = [("plain", "ours"), ("pyg", "ours"), ("ours", "dense")]
    return {
        f"{above}/{below}": ratio_spread(seconds[above], seconds[below])
        for above, below in pairs
        if above in seconds and below in seconds
    }
