"""Peak memory of a few training epochs of one peer, above the imported libraries.

Called by `epoch.py` in a fresh process: the peak of a process cannot be told apart by peer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import isolated
from inputs import DIMS, load, loss_of
from machine import use_threads
from peers import make_peer

import graphgate.estimators.gate  # noqa: F401  what a user imports counts as library, for every peer
from graphgate.compute.measure import measured, resident

EPOCHS = 3


def peak(dataset: str, peer: str, wordnet: Path | None) -> dict[str, Any]:
    if peer == "pyg":
        import pyg_peer  # noqa: F401  imported before memory is noted
    libraries = resident()
    with measured() as cost:
        trained = make_peer(peer, load(dataset, wordnet), DIMS, loss_of(dataset))
        for _ in range(EPOCHS):
            trained.epoch()
    return {"peak_memory_mb": round(cost.peak_memory_mb - libraries, 1)}


def main() -> None:
    given = isolated.arguments(__doc__)
    use_threads(given.threads)
    isolated.answer(lambda: peak(given.dataset, given.peer, given.wordnet), given.limit)


if __name__ == "__main__":
    main()
