"""A run on two hosts: two network namespaces with a cable (a veth pair) between them.

    python -m benchmarks two_hosts --threads 1 --json results/benchmarks/two_hosts.json

Needs Linux, root, and iproute2. `torchrun` starts one process in each namespace; they have nothing
but the cable in common. The embedding is compared with that of one process.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large import write_tables
from benchmarks.runner import Measurements
from graphgate.io.embeddings import read_embedding

HOSTS = {"graphgate-a": "192.0.2.1", "graphgate-b": "192.0.2.2"}  # addresses for documentation
PORT = 29555
METHODS = {
    "linear": [],
    "gate, exact": ["--method", "gate", "--batch-size", "full", "--epochs", "5"],
    "gate, by parts": ["--method", "gate", "--batch-size", "4096", "--epochs", "3"],
}


def measure(nodes: int = 20_000) -> Measurements:
    with tempfile.TemporaryDirectory() as name, connected():
        sizes = write_tables(Path(name), nodes)
        for method, options in METHODS.items():
            work = partial(compare, Path(name), options)
            yield {"method": method, **sizes}, work


def ip(*arguments: str, check: bool = True) -> str:
    command = ["ip", *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


@contextmanager
def connected() -> Iterator[None]:
    first, second = HOSTS
    try:
        for host in HOSTS:
            ip("netns", "delete", host, check=False)
            ip("netns", "add", host)
        ip("link", "add", "cable", "netns", first, "type", "veth", "peer", "cable", "netns", second)
        for host, address in HOSTS.items():
            ip("-n", host, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("cable", "lo"):
                ip("-n", host, "link", "set", device, "up")
        yield
    finally:
        for host in HOSTS:
            ip("netns", "delete", host, check=False)


def sent() -> list[int]:
    """Bytes that each host has sent over the cable."""
    path = "/sys/class/net/cable/statistics/tx_bytes"
    return [int(ip("netns", "exec", host, "cat", path)) for host in HOSTS]


def compare(folder: Path, options: list[str]) -> dict[str, Any]:
    # By parts, one process does what two do.
    alone = [*options, "--parts-per-step", "2"] if "4096" in options else options
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *embed(folder, "one", alone)], check=True, env=environment)
    before, start = sent(), time.perf_counter()
    running = []
    for rank, host in enumerate(HOSTS):
        torchrun = ["-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
        torchrun += [f"--node-rank={rank}", f"--master-addr={HOSTS['graphgate-a']}"]
        command = ["ip", "netns", "exec", host, sys.executable, *torchrun, f"--master-port={PORT}"]
        command += embed(folder, "two", alone)
        running.append(subprocess.Popen(command, env=environment | {"GLOO_SOCKET_IFNAME": "cable"}))
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit(f"the processes ended with codes {codes}")
    seconds = round(time.perf_counter() - start, 2)
    one, two = (read_embedding(folder / f"{name}.parquet").vectors for name in ("one", "two"))
    return {
        "seconds": seconds,
        "bytes_sent": [now - earlier for now, earlier in zip(sent(), before, strict=True)],
        "difference": float(np.linalg.norm(one - two) / np.linalg.norm(one)),
    }


def embed(folder: Path, out: str, options: list[str]) -> list[str]:
    files = [str(folder / "edges.parquet"), "--nodes", str(folder / "nodes.parquet")]
    return ["-m", "graphgate", "embed", *files, "--out", str(folder / f"{out}.parquet"), *options]
