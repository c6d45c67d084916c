"""Killed, terminated, without disk space or memory, twice at the same time: nothing is lost."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_lines import amended
from forks import Fork, fork, hidden_files, largest_file

from benchmarks import faults
from graphgate import rerun
from graphgate.compute.scratch import Scratch
from graphgate.datasets import download
from graphgate.io import replacement
from graphgate.io.embeddings import read_embedding
from graphgate.linear import linear_plan
from graphgate.training.checkpoint import Checkpoint
from graphgate.training.history import History

pytestmark = pytest.mark.slow

N = 300
LINEAR = ["embed", "edges.csv", "--nodes", "nodes.csv", "--components", "8"]
GATE = [*LINEAR[:-2], "--method", "gate", "--preset", "authors", "--dims", "8,4"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Two tables of a graph, and a current folder with nothing else."""
    rng = np.random.default_rng(0)
    edges = "".join(f"{a},{b}\n" for a, b in rng.integers(0, N, (3 * N, 2)) if a != b)
    nodes = "".join(f"{at},{x:.3f},{y:.3f}\n" for at, (x, y) in enumerate(rng.random((N, 2))))
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    (tmp_path / "nodes.csv").write_text("id,p,q\n" + nodes)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left() -> set[str]:
    return set(os.listdir()) - {"edges.csv", "nodes.csv"}


def refused(*arguments, **options) -> str:
    """The one sentence of a command that fails and leaves nothing."""
    before = left()
    done = fork(*arguments, **options)
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    assert left() == before
    return done.err.splitlines()[-1]


# --- killed --------------------------------------------------------------------------------------


def test_killed_runs_resume_bit_identically(tmp_path):
    """A few of the kills of benchmarks/faults.py, by a process of its own, which forks."""
    command = [sys.executable, "-m", "benchmarks", "faults", "--kills", "2", "--json"]
    subprocess.run(
        [*command, tmp_path / "f.json"],
        cwd=Path(__file__).parents[2],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=200,
    )
    kinds = json.loads((tmp_path / "f.json").read_text())["measurements"]
    assert [kind["kind"] for kind in kinds] == list(faults.kinds())
    for kind in kinds:
        assert kind["kills"] == 2
        assert (kind["differing_bits"], kind["half_written"], kind["left_after"]) == (0, 0, 0)


def test_the_comparison_counts_bits():
    assert faults.differing_bits({"a": b"\x00\x0f"}, {"a": b"\x00\x0f"}) == 0
    assert faults.differing_bits({"a": b"\x00"}, {"a": b"\x81"}) == 2
    assert faults.differing_bits({"a": b"\x00"}, {}) == 8


# --- terminated ----------------------------------------------------------------------------------


def test_sigterm_in_training_saves_the_checkpoint(folder):
    command = [*GATE, "--epochs", "60", "--checkpoint", "c.safetensors", "--out"]

    def terminated_after_epoch_five():
        append, seen = History.append, []

        def spy(self, parts):
            append(self, parts)
            seen.append(1)
            if len(seen) == 5:
                os.kill(os.getpid(), signal.SIGTERM)

        History.append = spy

    done = fork(*command, "z.csv", prepare=terminated_after_epoch_five)
    assert (done.code, done.err.splitlines()[-1]) == (143, "terminated")
    assert "Traceback" not in done.err
    assert left() == {"c.safetensors"}
    assert "after epoch 5 of 60" in fork(*command, "resumed.csv").err
    assert fork(*command[:-3], "--out", "straight.csv").code == 0
    assert Path("resumed.csv").read_bytes() == Path("straight.csv").read_bytes()


def test_sigterm_while_writing_leaves_nothing(folder):
    def terminated_by_writing():
        replacement.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGTERM)

    done = fork(*LINEAR, "--out", "z.csv", prepare=terminated_by_writing)
    assert (done.code, done.err.splitlines()[-1]) == (143, "terminated")
    assert left() == set()


# --- disk and memory -----------------------------------------------------------------------------

OUTPUTS = [
    ["--out", "z.csv"],
    ["--out", "z.parquet"],
    ["--out", "z.npz"],
    ["--out", "z.txt"],
    ["--out", "z.npy"],
    ["--out", "z.csv", "--model", "m.safetensors"],
    ["--run", "run"],
]


@pytest.mark.parametrize("outputs", OUTPUTS, ids=" ".join)
def test_a_full_disk_is_one_sentence(folder, outputs):
    said = refused(*LINEAR, *outputs, prepare=largest_file(5000))
    assert "cannot be written: " in said


def test_a_full_disk_keeps_the_last_checkpoint(folder):
    command = [*GATE, "--epochs", "120", "--checkpoint", "c.safetensors", "--out"]

    def full_after_the_first_save():
        save = Checkpoint.save

        def once(self, *arguments, **options):
            save(self, *arguments, **options)
            largest_file(500)()

        Checkpoint.save = once

    done = fork(*command, "z.csv", prepare=full_after_the_first_save)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("graphgate: c.safetensors cannot be written")
    assert left() == {"c.safetensors"}
    assert "after epoch 50 of 120" in fork(*command, "resumed.csv").err
    assert fork(*command[:-3], "--out", "straight.csv").code == 0
    assert Path("resumed.csv").read_bytes() == Path("straight.csv").read_bytes()


def test_a_full_disk_for_intermediate_results(folder):
    def small_and_on_disk():
        linear_plan._IN_MEMORY = 0
        largest_file(100)()

    said = refused(*LINEAR, "--out", "z.csv", prepare=small_and_on_disk)
    assert "intermediate results cannot be written" in said


def test_too_little_memory_is_one_sentence(folder):
    """The limit is on address space, as `ulimit -v` sets it; there is room for all but the model.

    With next to no room at all, Arrow and OpenBLAS abort the process before they can tell us.
    """

    def limited():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 29)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    wide = amended(GATE, "--dims", "3000000", "--force", "--out", "z.csv")
    said = refused(*wide, prepare=limited)
    assert "not enough memory" in said


# --- two at the same time ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::graphgate.InputWarning")
def test_two_processes_and_one_run_folder(folder):
    both = [Fork(*LINEAR, "--run", "run", "--out", f"{at}.csv") for at in range(2)]
    ended = [each.wait() for each in both]
    assert sorted(each.code for each in ended) in ([0, 2], [0, 0])
    for each in ended:
        assert "Traceback" not in each.err
    assert rerun("run").identical
    assert hidden_files() == []


def test_two_processes_and_one_scratch_folder(folder):
    other = Scratch(Path("s/process-0"), "run")
    assert "is in use by another process" in refused(*LINEAR, "--scratch", "s", "--out", "z.csv")
    del other
    Path("s/process-0/progress.json").unlink(missing_ok=True)
    assert fork(*LINEAR, "--scratch", "s", "--out", "z.csv").code == 0


def test_two_processes_and_one_cache(folder, fake_cora, monkeypatch):
    def received(url, timeout, advance):
        return (fake_cora / url.rpartition("/")[2]).read_bytes()

    monkeypatch.setattr(download, "_received", received)
    both = [Fork("data", "fetch", "cora", "--folder", "cache") for _ in range(3)]
    for each in both:
        ended = each.wait()
        assert ended.code == 0, ended.err
    assert sorted(os.listdir("cache")) == sorted(os.listdir(fake_cora))
    for name in os.listdir("cache"):
        assert Path("cache", name).read_bytes() == (fake_cora / name).read_bytes()


# --- strange surroundings ------------------------------------------------------------------------


def test_nobody_at_home(folder, tmp_path, run):
    """A user without a home folder, in one that cannot be written, in the C locale."""
    out = tmp_path / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    run(*LINEAR, "--out", "out/z.csv")  # imports what nobody might not be allowed to read
    os.remove("out/z.csv")
    for parent in tmp_path.parents[:3]:
        parent.chmod(0o755)
    tmp_path.chmod(0o555)

    def nobody():
        for name in ("HOME", "XDG_CACHE_HOME", "GRAPHGATE_DATA", "LANG"):
            os.environ.pop(name, None)
        os.environ["LC_ALL"] = "C"
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    try:
        done = fork(*LINEAR, "--out", "out/z.csv", prepare=nobody)
        assert done.code == 0, done.err
        assert len(read_embedding("out/z.csv").ids) == N
        assert "no permission to write" in refused(*LINEAR, "--out", "z.csv", prepare=nobody)
        assert "no permission to write" in refused(*LINEAR, "--run", "r", prepare=nobody)
    finally:
        tmp_path.chmod(0o755)


def test_results_of_the_kills_are_stored():
    stored = Path(__file__).parents[2] / "results/benchmarks/faults.json"
    for found in json.loads(stored.read_text())["measurements"]:
        assert found["kills"] >= 50
        assert found["differing_bits"] == found["half_written"] == found["left_after"] == 0
