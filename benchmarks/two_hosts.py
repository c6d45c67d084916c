"""A run on two hosts: two network namespaces with a cable (a veth pair) between them.

    python benchmarks/two_hosts.py --json results/benchmarks/two-hosts.json

Needs Linux, root, and iproute2. `torchrun` starts one process in each namespace, which have nothing
but the cable in common; the embedding is compared with that of one process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from large import write_tables
from machine import description, use_threads

from graphgate.io.embeddings import read_embedding
from graphgate.io.files import write_json

HOSTS = {"graphgate-a": "192.0.2.1", "graphgate-b": "192.0.2.2"}  # addresses for documentation
PORT = 29555
METHODS = {
    "linear": [],
    "gate, exact": ["--method", "gate", "--batch-size", "full", "--epochs", "5"],
    "gate, by parts": ["--method", "gate", "--batch-size", "4096", "--epochs", "3"],
}


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def connect() -> None:
    first, second = HOSTS
    for host in HOSTS:
        ip("netns", "add", host)
    ip("link", "add", "cable", "netns", first, "type", "veth", "peer", "cable", "netns", second)
    for host, address in HOSTS.items():
        ip("-n", host, "address", "add", f"{address}/24", "dev", "cable")
        for device in ("cable", "lo"):
            ip("-n", host, "link", "set", device, "up")


def disconnect() -> None:
    for host in HOSTS:
        subprocess.run(["ip", "netns", "delete", host], check=False, stderr=subprocess.DEVNULL)


def sent(host: str) -> int:
    """Bytes that a host has sent over the cable."""
    path = "/sys/class/net/cable/statistics/tx_bytes"
    done = subprocess.run(
        ["ip", "netns", "exec", host, "cat", path], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def embed(folder: Path, out: str, options: list[str]) -> list[str]:
    files = [str(folder / "edges.parquet"), "--nodes", str(folder / "nodes.parquet")]
    return ["-m", "graphgate", "embed", *files, "--out", str(folder / out), *options]


def run_on_both(folder: Path, options: list[str]) -> dict[str, Any]:
    before = [sent(host) for host in HOSTS]
    start = time.perf_counter()
    running = []
    for rank, host in enumerate(HOSTS):
        torchrun = ["-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
        torchrun += [f"--node-rank={rank}", f"--master-addr={HOSTS['graphgate-a']}"]
        command = [sys.executable, *torchrun, f"--master-port={PORT}"]
        environment = os.environ | {"GLOO_SOCKET_IFNAME": "cable", "OMP_NUM_THREADS": "1"}
        command = ["ip", "netns", "exec", host, *command, *embed(folder, "two.parquet", options)]
        running.append(subprocess.Popen(command, env=environment))
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit(f"the processes ended with codes {codes}")
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "bytes_sent": [sent(host) - earlier for host, earlier in zip(HOSTS, before, strict=True)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    result = description("two_hosts.py", use_threads(1)) | {"nodes": given.nodes, "methods": {}}
    disconnect()
    connect()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            result |= write_tables(folder, given.nodes)
            for method, options in METHODS.items():
                parts = ["--parts-per-step", "2"] if "parts" in method else []
                command = [sys.executable, *embed(folder, "one.parquet", [*options, *parts])]
                subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
                found = run_on_both(folder, [*options, *parts])
                one, two = (read_embedding(folder / f"{n}.parquet").vectors for n in ("one", "two"))
                found["difference"] = float(np.linalg.norm(one - two) / np.linalg.norm(one))
                result["methods"][method] = found
                print(method, found, flush=True)
    finally:
        disconnect()
    write_json(given.json, result)


if __name__ == "__main__":
    main()
