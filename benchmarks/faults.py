"""Kills runs at random moments, resumes them, and compares every byte with an undisturbed run.

    python -m benchmarks faults --threads 1 --json results/benchmarks/faults.json

Three kinds: GATE with a checkpoint and LinearGATE with a scratch folder, both of which write an
embedding and a run folder at the end, and the writing of every kind of output over files of an
earlier model. A kill counts if the process was still running.
"""

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, zip_longest
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.runner import Measurements
from benchmarks.synthetic import block_graph
from graphgate import GATE, LinearGATE, write_embedding, write_graph, write_run
from graphgate.__main__ import main as graphgate_main
from graphgate.cli.outputs import Outputs
from graphgate.graph.graph import Graph
from graphgate.linear import linear_plan

Work = Callable[[], object]
INPUTS = {"edges": "edges.csv", "nodes": "nodes.csv"}
EMBED = ["embed", "edges.csv", "--nodes", "nodes.csv", "--words", "words"]
GATE_OPTIONS = ["--method", "gate", "--preset", "authors", "--dims", "32,16"]
OUTPUTS = ["--out", "z.csv", "--run", "run"]
PASSING = ("seconds", "peak_memory_mb")  # metrics of a run that differ every time
RESUMED_FROM = ("c.safetensors", "scratch")
NODES, EPOCHS = 800, 150
# Processes that are forked have imported everything already.
_context = multiprocessing.get_context("fork")


def measure(kills: int = 50, seed: int = 0) -> Measurements:
    torch.set_num_threads(1)  # a forked process has no other threads
    linear_plan._CACHE = NODES * 7  # many small blocks, as a large graph has
    linear_plan._NARROWEST = 4
    LinearGATE()
    rng = np.random.default_rng(seed)
    for name, (first, work) in kinds().items():
        yield {"kind": name}, partial(kill_and_resume, first, work, kills, rng)


def kinds() -> dict[str, tuple[list[Work], Work]]:
    """By name: what is done once beforehand, and what is killed and done again."""
    graph = block_graph(NODES, edges_per_node=3, n_features=60, per_row=8)
    tables = partial(write_graph, ".", graph)
    before, after = (
        GATE((16,), epochs=1, random_state=seed, progress=False).fit(graph) for seed in (0, 1)
    )
    gate = [*EMBED, *GATE_OPTIONS, "--epochs", str(EPOCHS), "--checkpoint", "c.safetensors"]
    linear = [*EMBED, "--components", "16", "--scratch", "scratch"]
    return {
        "GATE, checkpoint": ([tables], partial(command, *gate, *OUTPUTS)),
        "LinearGATE, scratch": ([tables], partial(command, *linear, *OUTPUTS)),
        "writing": (
            [tables, partial(write_files, graph, before)],
            partial(write_all, graph, after),
        ),
    }


def command(*arguments: str) -> None:
    sys.argv = ["graphgate", *arguments]
    graphgate_main()


def write_files(graph: Graph, gate: GATE) -> None:
    outputs = Outputs(Path("z.csv"), Path("m.safetensors"), attention=Path("a.parquet"))
    outputs.write(graph, gate, gate.embedding_, gate.encode(graph))
    for name in ("z.parquet", "z.npz", "z.txt", "z.npy"):
        write_embedding(name, graph.ids, gate.embedding_)


def write_all(graph: Graph, gate: GATE) -> None:
    """Every kind of output; a run folder is never replaced."""
    write_files(graph, gate)
    if not Path("run").exists():
        write_run("run", gate, graph, inputs=INPUTS)


def start(work: Work) -> BaseProcess:
    """The work in a process that prints nothing."""
    process = _context.Process(target=_quietly, args=(work,))
    process.start()
    return process


def _quietly(work: Work) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    work()


def finish(work: Work) -> int | None:
    process = start(work)
    process.join()
    return process.exitcode


def begin(folder: Path, first: list[Work]) -> dict[str, bytes]:
    """A new current folder with the files that the work begins with."""
    folder.mkdir()
    os.chdir(folder)
    for work in first:
        finish(work)
    return contents()


def contents() -> dict[str, bytes]:
    """The files in the current folder and in `run`, without what differs in every run."""
    paths = [path for path in Path().rglob("*") if path.is_file() and "/." not in f"/{path}"]
    files = {str(path): path.read_bytes() for path in paths if path.parts[0] not in RESUMED_FROM}
    if "run/run.json" in files:
        record = json.loads(files["run/run.json"])
        record["metrics"] = {k: v for k, v in record["metrics"].items() if k not in PASSING}
        files["run/run.json"] = json.dumps(record).encode()
    return files


def differing_bits(one: dict[str, bytes], other: dict[str, bytes]) -> int:
    """Bytes that only one side has differ in all their bits."""
    different = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    pairs = (zip_longest(one.get(name, b""), other.get(name, b"")) for name in different)
    return sum(8 if None in pair else (pair[0] ^ pair[1]).bit_count() for pair in chain(*pairs))


def kill_and_resume(
    first: list[Work], work: Work, kills: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Kill the work this many times, each in a folder of its own, and finish it.

    differing_bits : of all files after resuming, against those of an undisturbed run.
    half_written : files with their final name that were not complete after a kill.
    left_by_kill, left_after : hidden files after kills, and after the work was done again.
    """
    names = ("kills", "differing_bits", "half_written", "left_by_kill", "left_after")
    counts = dict.fromkeys(names, 0)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            begin(Path(folder, "whole"), first)
            began = time.perf_counter()
            if finish(work):
                raise SystemExit("the undisturbed run failed")
            duration, whole, attempt = time.perf_counter() - began, contents(), 0
            while counts["kills"] < kills:
                attempt += 1
                old = begin(Path(folder, f"kill-{attempt}"), first)
                process = start(work)
                time.sleep(float(rng.uniform(0, duration)))
                process.kill()
                process.join()
                if process.exitcode != -signal.SIGKILL:
                    continue
                now = contents()
                counts["kills"] += 1
                counts["half_written"] += sum(now[n] not in (whole.get(n), old.get(n)) for n in now)
                counts["left_by_kill"] += len(list(Path().glob(".*")))
                finish(work)  # a command does not replace the run folder, which it writes last
                counts["differing_bits"] += differing_bits(whole, contents())
                counts["left_after"] += len(list(Path().glob(".*")))
        finally:
            os.chdir(here)
    return counts
