"""The command line and Python under `torchrun`, as users start them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from linear_graphs import community_graph

from graphgate import read_embedding, write_graph

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def torchrun(folder: Path, *command: str, options: tuple[str, ...] = ()):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path.cwd())}
    return subprocess.run(
        [*TORCHRUN, *options, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torchrun")
    graph = community_graph(1, n=120, f=12)
    write_graph(folder, graph)
    return folder


def test_embed_is_shared_and_only_one_process_writes_and_prints(folder):
    embed = ["-m", "graphgate", "embed", "edges.csv", "--nodes", "nodes.csv"]
    done = torchrun(folder, *embed, "--out", "two.csv", "--dtype", "float64")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("wrote 120 vectors") == 1
    assert done.stderr.count("plan: linear") == 1
    assert "shared by 2 processes" in done.stderr
    alone = subprocess.run(
        [sys.executable, *embed, "--out", "one.csv", "--dtype", "float64"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    assert alone.returncode == 0
    one, two = (read_embedding(folder / f"{name}.csv") for name in ("one", "two"))
    assert one.ids.tolist() == two.ids.tolist()
    np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-10)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("embed", "missing.csv", "--out", "z.csv"), "missing.csv"),
        (("cluster", "one.csv"), "only `graphgate embed` is shared by processes; omit torchrun"),
    ],
)
def test_what_is_wrong_is_said_once(folder, command, words):
    done = torchrun(folder, "-m", "graphgate", *command)
    assert done.returncode != 0
    said = [
        line for line in done.stderr.splitlines() if line.startswith(("graphgate: ", "graphgate ("))
    ]
    assert len(said) == 1
    assert words in said[0]


DYING = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from linear_graphs import community_graph
from graphgate import GATE, LinearGATE
from graphgate.linear.propagation import Propagation
from graphgate.linear import linear_plan
from graphgate.training import loop

# One process dies in the middle, the first time that it is started.
original, walk, calls = loop.clip_gradients, Propagation.walk, [0]

def dies(function):
    def called(*args):
        calls[0] += 1
        first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        if calls[0] == 7 and os.environ["RANK"] == "1" and first and sys.argv[3] == "dies":
            os._exit(1)
        return function(*args)
    return called

graph = community_graph(1, n=120, f=12)
if sys.argv[2] == "gate":
    loop.clip_gradients = dies(original)
    settings = {"dims": (8, 4), "epochs": 10, "batch_size": 40, "parts_per_step": 2}
    gate = GATE(**settings, random_state=0, checkpoint="c.safetensors", checkpoint_every=2)
else:
    linear_plan._CACHE, linear_plan._NARROWEST, linear_plan._IN_MEMORY = 240, 2, 0
    Propagation.walk = dies(walk)
    gate = LinearGATE(8, random_state=0, scratch="scratch")
z = gate.fit(graph).embedding_
Path(f"{sys.argv[2]}-{os.environ['RANK']}.bin").write_bytes(z.tobytes())
"""


@pytest.mark.parametrize("method", ["gate", "linear"])
def test_all_are_restarted_and_resume_to_the_same_bytes(tmp_path, method):
    found = {}
    for how in ("dies", "lives"):
        (tmp_path / how).mkdir()
        (tmp_path / how / "dying.py").write_text(DYING)
        arguments = ("dying.py", str(Path(__file__).parent), method, how)
        done = torchrun(tmp_path / how, *arguments, options=("--max-restarts=3",))
        assert done.returncode == 0, done.stderr
        files = [tmp_path / how / f"{method}-{rank}.bin" for rank in range(2)]
        found[how] = [file.read_bytes() for file in files]
    assert found["dies"] == found["lives"]
    assert len(set(found["dies"])) == 1


def test_without_restarts_all_end_with_one_sentence(tmp_path):
    (tmp_path / "dying.py").write_text(DYING)
    done = torchrun(tmp_path, "dying.py", str(Path(__file__).parent), "gate", "dies")
    assert done.returncode != 0
    assert not list(tmp_path.glob("gate-*.bin"))
