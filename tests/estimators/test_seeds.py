"""The same seed gives the same bits in every process."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from linear_graphs import community_graph, word_graph

from graphgate import GATE, LinearGATE, load_dataset


def gate_digests() -> list[str]:
    """Of vectors of Cora, in three forms with one thread, and in another one with two."""
    graph, found, before = load_dataset("cora").graph, [], torch.get_num_threads()
    forms = [{}, {"tied_weights": False}, {"activation": "tanh", "dims": (32,)}]
    quick = {"preset": "authors", "epochs": 1}  # threads wait for each other on a busy machine
    try:
        for threads, form in [*((1, form) for form in forms), (2, quick)]:
            torch.set_num_threads(threads)
            settings = {"dims": (32, 16), "epochs": 2, "random_state": 0} | form
            gate = GATE(**settings).fit(graph)
            found.append(hashlib.sha256(gate.embedding_.tobytes()).hexdigest())
    finally:
        torch.set_num_threads(before)
    return found


def linear_digests(file: Path) -> list[str]:
    """Of vectors, links and the file of a model, of two graphs."""
    found = []
    for graph in (community_graph(1, weighted=True), word_graph(1, n=300, f=600)):
        gate = LinearGATE(16, random_state=3).fit(graph)
        pairs, scores = gate.predict_links(n=20)
        gate.save(file)
        content = gate.embedding_.tobytes() + pairs.tobytes() + scores.tobytes()
        found.append(hashlib.sha256(content + file.read_bytes()).hexdigest())
    return found


SCRIPT = """
import json, sys
from pathlib import Path
import pytest
import torch
from test_seeds import gate_digests, linear_digests
torch.set_num_threads(1)
print(json.dumps(gate_digests() + linear_digests(Path(sys.argv[1]))))
"""


@pytest.mark.slow
def test_the_same_seed_is_bit_identical_in_every_process(tmp_path):
    other = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "there")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    gate, linear = gate_digests(), linear_digests(tmp_path / "here")
    assert json.loads(other.stdout) == gate + linear
    assert len(set(gate)) == 4
    assert len(set(linear)) == 2
