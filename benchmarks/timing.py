"""Seconds of a training epoch of every peer on one dataset, in turn.

Each peer is a process of its own that waits until its turn comes: so neither allocator nor
threads of one bear on another, and whatever slows the machine for a while slows them all. A turn
is three epochs in a row, as in training, after one that is not timed and fills the caches anew;
ratios are of turns in one round.

    python benchmarks/timing.py cora ours     is such a process: a line in, seconds out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import isolated
from inputs import DIMS, load, loss_of
from machine import ratio_spread, spread, use_threads
from peers import Peer, make_peer

WARM_UP = 2
EPOCHS_A_TURN = 3
TOLERANCE = 1e-3  # of float32 sums over hundreds of thousands of terms in different orders


def measure(dataset: str, names: list[str], repeats: int, options: list[str]) -> dict[str, Any]:
    """Times, ratios, first losses, and what became of each peer."""
    players = {name: Player(dataset, name, options) for name in names}
    try:
        statuses = {name: player.hello["status"] for name, player in players.items()}
        ready = [name for name in names if statuses[name] == "ok"]
        losses = {name: players[name].hello["losses"] for name in ready if name != "dense"}
        check_same(losses)
        seconds: dict[str, list[float]] = {name: [] for name in ready}
        for _ in range(repeats):
            for name in ready:
                seconds[name].append(players[name].turn())
    finally:
        for player in players.values():
            player.end()
    return {
        "repeats": repeats,
        "epochs_a_turn": EPOCHS_A_TURN,
        "epoch_seconds": {name: spread(values) for name, values in seconds.items()},
        "ratios": ratios(seconds),
        "losses": losses,
        "statuses": statuses,
    }


class Player:
    """The parent's end of a peer's process; `hello` is what it said when it was ready."""

    def __init__(self, dataset: str, name: str, options: list[str]) -> None:
        command = [sys.executable, __file__, dataset, name, *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self._line()
        self.hello: dict[str, Any] = (
            json.loads(line) if line else {"status": isolated.OUT_OF_MEMORY}
        )

    def turn(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        if not (line := self._line()):
            raise SystemExit(f"{' '.join(map(str, self.process.args))} died")  # type: ignore[arg-type]
        return float(line)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def check_same(losses: Mapping[str, list[float]], tolerance: float = TOLERANCE) -> None:
    """The loss at the same start and after one step: peers that differ are not comparable."""
    if "ours" not in losses:
        return
    for name, values in losses.items():
        for mine, other in zip(losses["ours"], values, strict=True):
            if not abs(mine - other) <= tolerance * abs(mine):
                raise SystemExit(f"ours and {name} compute different losses: {mine} and {other}")


def ratios(seconds: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    pairs = [("plain", "ours"), ("pyg", "ours"), ("ours", "dense")]
    return {
        f"{above}/{below}": ratio_spread(seconds[above], seconds[below])
        for above, below in pairs
        if above in seconds and below in seconds
    }


def play(peer: Peer) -> None:
    """In the child: three epochs for every line, and the seconds of one."""
    for _ in sys.stdin:
        peer.epoch()
        start = time.perf_counter()
        for _ in range(EPOCHS_A_TURN):
            peer.epoch()
        print((time.perf_counter() - start) / EPOCHS_A_TURN, flush=True)


def main() -> None:
    given = isolated.arguments(__doc__)
    use_threads(given.threads)
    made: list[Peer] = []

    def work() -> dict[str, Any]:
        graph = load(given.dataset, given.wordnet)
        made.append(make_peer(given.peer, graph, DIMS, loss_of(given.dataset)))
        return {"losses": [made[0].epoch() for _ in range(WARM_UP)]}

    isolated.answer(work, given.limit)
    if made:
        play(made[0])


if __name__ == "__main__":
    main()
