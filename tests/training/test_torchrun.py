"""The command line and Python under `torchrun`, as users start them."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from forks import Fork
from linear_graphs import community_graph
from processes import run_in_processes

from graphgate import GATE, LinearGATE, read_embedding, write_graph
from graphgate.cli import program
from graphgate.linear import linear_plan

pytestmark = pytest.mark.slow
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


def test_embed_is_shared_and_only_one_process_writes_and_prints(folder, run, monkeypatch):
    embed = ["embed", "edges.csv", "--nodes", "nodes.csv", "--dtype", "float64"]
    done = torchrun(folder, "-m", "graphgate", *embed, "--out", "two.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("wrote 120 vectors") == 1
    assert done.stderr.count("plan: linear") == 1
    assert "shared by 2 processes" in done.stderr
    monkeypatch.chdir(folder)
    assert run(*embed, "--out", "one.csv")[0] == 0
    one, two = (read_embedding(f"{name}.csv") for name in ("one", "two"))
    assert one.ids.tolist() == two.ids.tolist()
    np.testing.assert_allclose(two.vectors, one.vectors, atol=1e-10)


def errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("graphgate: ", "graphgate ("))]


def test_what_is_wrong_is_said_once(folder):
    done = torchrun(folder, "-m", "graphgate", "embed", "missing.csv", "--out", "z.csv")
    assert done.returncode != 0
    (said,) = errors(done.stderr)
    assert "missing.csv" in said


def test_other_commands_are_refused_once():
    """By two processes with the variables that `torchrun` sets."""

    def as_rank(rank: int) -> None:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        program._GRACE = 0

    both = [Fork("cluster", "one.csv", prepare=partial(as_rank, rank)) for rank in range(2)]
    ended = [process.wait() for process in both]
    assert [each.code for each in ended] == [2, 2]
    (said,) = errors("".join(each.err for each in ended))
    assert "only `graphgate embed` is shared by processes; omit torchrun" in said


def fit_gate() -> np.ndarray:
    settings = {"dims": (8, 4), "epochs": 10, "batch_size": 40, "parts_per_step": 2}
    gate = GATE(**settings, random_state=0, checkpoint="c.safetensors", checkpoint_every=2)
    return gate.fit(community_graph(1, n=120, f=12)).embedding_


def fit_linear() -> np.ndarray:
    linear_plan._CACHE, linear_plan._NARROWEST, linear_plan._IN_MEMORY = 240, 2, 0
    gate = LinearGATE(8, random_state=0, scratch="scratch")
    return gate.fit(community_graph(1, n=120, f=12)).embedding_


def undisturbed(processes, folder: Path) -> list[bytes]:
    os.chdir(folder)
    return [fit_gate().tobytes(), fit_linear().tobytes()]


# Where the script finds these functions and what they import.
SOURCES = [str(Path(__file__).parents[0]), str(Path(__file__).parents[1])]
DYING = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:]
from graphgate.linear.propagation import Propagation
from graphgate.training import loop
from test_torchrun import fit_gate, fit_linear

rank, start = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]

def dies(function, first):
    # One process dies in the middle, at one of its starts.
    calls = [0]
    def called(*args):
        calls[0] += 1
        if (calls[0], rank, start) == (7, "1", first):
            Path(f"died-{first}").touch()
            os._exit(1)
        return function(*args)
    return called

loop.clip_gradients = dies(loop.clip_gradients, "0")
Propagation.walk = dies(Propagation.walk, "1")
for name, fit in (("gate", fit_gate), ("linear", fit_linear)):
    Path(f"{name}-{rank}.bin").write_bytes(fit().tobytes())
"""


def test_all_are_restarted_and_resume_to_the_same_bytes(tmp_path):
    """GATE's processes die at the first start, LinearGATE's at the second."""
    for name in ("dies", "lives"):
        (tmp_path / name).mkdir()
    script = tmp_path / "dies" / "dying.py"
    script.write_text(DYING)
    done = torchrun(script.parent, script.name, *SOURCES, options=("--max-restarts=3",))
    assert done.returncode == 0, done.stderr
    assert len(list(script.parent.glob("died-*"))) == 2
    expected = run_in_processes(2, undisturbed, tmp_path / "lives")
    for rank in range(2):
        found = [(script.parent / f"{name}-{rank}.bin").read_bytes() for name in ("gate", "linear")]
        assert found == expected[0] == expected[1]


def test_without_restarts_all_end(tmp_path):
    (tmp_path / "dying.py").write_text(DYING)
    done = torchrun(tmp_path, "dying.py", *SOURCES)
    assert done.returncode != 0
    assert (tmp_path / "died-0").exists()
    assert not list(tmp_path.glob("gate-*.bin"))
