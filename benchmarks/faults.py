"""Kills runs at random moments, resumes them, and compares every byte with an undisturbed run.

    python benchmarks/faults.py --kills 50 --json results/benchmarks/faults.json

Three kinds: GATE with a checkpoint and LinearGATE with a scratch folder, both of which write an
embedding and a run folder at the end, and the writing of every kind of output over files of an
earlier model. A kill counts if the process was still running.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from synthetic import block_graph

from graphgate import GATE, LinearGATE, write_embedding, write_graph, write_run
from graphgate.__main__ import main as graphgate_main
from graphgate.cli.outputs import Outputs
from graphgate.graph.graph import Graph
from graphgate.io.files import write_json
from graphgate.io.provenance import versions
from graphgate.linear import linear_plan

Work = Callable[[], object]
INPUTS = {"edges": "edges.csv", "nodes": "nodes.csv"}
EMBED = ["embed", "edges.csv", "--nodes", "nodes.csv", "--words", "words", "--components", "16"]
GATE_OPTIONS = ["--method", "gate", "--preset", "authors", "--dims", "32,16"]
OUTPUTS = ["--out", "z.csv", "--run", "run"]
PASSING = ("seconds", "peak_memory_mb")  # metrics of a run that differ every time
RESUMED_FROM = ("c.safetensors", "scratch")


@dataclass
class Found:
    """What came of the kills.

    differing_bits : of all files after resuming, against those of an undisturbed run.
    half_written : files with their final name that were not complete after a kill.
    left_by_kill, left_after : hidden files after kills, and after the work was done again.
    """

    kills: int = 0
    differing_bits: int = 0
    half_written: int = 0
    left_by_kill: int = 0
    left_after: int = 0


def kinds(nodes: int, epochs: int) -> dict[str, tuple[list[Work], Work]]:
    """By name: what is done once beforehand, and what is killed and done again."""
    graph = block_graph(nodes, edges_per_node=3, n_features=60, per_row=8)
    tables: Work = lambda: write_graph(".", graph)  # noqa: E731
    gate = [part for part in EMBED if part not in ("--components", "16")] + GATE_OPTIONS
    before, after = (
        GATE((16,), epochs=1, random_state=seed, progress=False).fit(graph) for seed in (0, 1)
    )
    return {
        "GATE, checkpoint": (
            [tables],
            command(*gate, "--epochs", str(epochs), *OUTPUTS, "--checkpoint", "c.safetensors"),
        ),
        "LinearGATE, scratch": ([tables], command(*EMBED, *OUTPUTS, "--scratch", "scratch")),
        "writing": ([tables, lambda: write_files(graph, before)], lambda: write_all(graph, after)),
    }


def command(*arguments: str) -> Work:
    def work() -> None:
        sys.argv = ["graphgate", *arguments]
        graphgate_main()

    return work


def write_files(graph: Graph, gate: GATE) -> None:
    outputs = Outputs(Path("z.csv"), Path("m.safetensors"), attention=Path("a.parquet"))
    outputs.write(graph, gate, gate.embedding_, lambda: gate.encode(graph))
    for name in ("z.parquet", "z.npz", "z.txt", "z.npy"):
        write_embedding(name, graph.ids, gate.embedding_)


def write_all(graph: Graph, gate: GATE) -> None:
    """Every kind of output; a run folder is never replaced."""
    write_files(graph, gate)
    if not Path("run").exists():
        write_run("run", gate, graph, inputs=INPUTS)


def start(work: Work) -> int:
    """The work in a child of this process, which has imported everything."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            torch.set_num_threads(1)  # the other threads of the parent are not there
            work()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os._exit(code)
    return pid


def finish(work: Work) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(start(work), 0)[1])


def contents() -> dict[str, bytes]:
    """The files in the current folder and in `run`, without what differs in every run."""
    paths = [path for path in Path().rglob("*") if path.is_file() and not hidden(path)]
    found = {str(path): path.read_bytes() for path in paths if path.parts[0] not in RESUMED_FROM}
    if "run/run.json" in found:
        record = json.loads(found["run/run.json"])
        record["metrics"] = {k: v for k, v in record["metrics"].items() if k not in PASSING}
        found["run/run.json"] = json.dumps(record).encode()
    return found


def hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def differing_bits(one: dict[str, bytes], other: dict[str, bytes]) -> int:
    """Files that only one side has differ in all their bits."""
    total = 0
    for name in one.keys() | other.keys():
        a, b = one.get(name, b""), other.get(name, b"")
        size = max(len(a), len(b))
        if a != b:
            pair = [np.frombuffer(each.ljust(size, b"\0"), dtype=np.uint8) for each in (a, b)]
            total += int(np.unpackbits(pair[0] ^ pair[1]).sum()) + 8 * abs(len(a) - len(b))
    return total


def kill_and_resume(
    first: list[Work], work: Work, kills: int, rng: np.random.Generator, folder: Path
) -> Found:
    """Kill the work `kills` times, each in a folder of its own, and finish it."""
    found, here = Found(), Path.cwd()

    def begin(name: str) -> dict[str, bytes]:
        (folder / name).mkdir()
        os.chdir(folder / name)
        for each in first:
            finish(each)
        return contents()

    try:
        begin("whole")
        began = time.perf_counter()
        if finish(work):
            raise SystemExit("the undisturbed run failed")
        duration, whole = time.perf_counter() - began, contents()
        attempt = 0
        while found.kills < kills:
            attempt += 1
            old = begin(f"kill-{attempt}")
            pid = start(work)
            time.sleep(float(rng.uniform(0, duration)))
            os.kill(pid, signal.SIGKILL)
            if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != -signal.SIGKILL:
                continue
            found.kills += 1
            now = contents()
            found.half_written += sum(now[n] not in (whole.get(n), old.get(n)) for n in now)
            found.left_by_kill += len(list(Path().glob(".*")))
            # A command does not replace the run folder, which it writes last.
            finish(work)
            found.differing_bits += differing_bits(whole, contents())
            found.left_after += len(list(Path().glob(".*")))
    finally:
        os.chdir(here)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    linear_plan._CACHE = 800 * 7  # many small blocks, as a large graph has
    linear_plan._NARROWEST = 4
    LinearGATE()
    rng, results = np.random.default_rng(given.seed), {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (first, work)) in enumerate(kinds(800, 150).items()):
            (place := Path(folder, str(number))).mkdir()
            results[name] = asdict(kill_and_resume(first, work, given.kills, rng, place))
            print(name, results[name], flush=True)
    if given.json:
        about: dict[str, Any] = {
            "command": f"python benchmarks/faults.py --kills {given.kills} --seed {given.seed}",
            "versions": versions(),
        }
        write_json(given.json, about | {"kinds": results})


if __name__ == "__main__":
    main()
