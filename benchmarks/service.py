"""`graphgate serve` under load, and under malformed requests, on the loopback interface.

    python -m benchmarks service --json results/benchmarks/service.json

A store of a synthetic block graph (see `synthetic.py`) with 10 edges per node, by LinearGATE with
128 components. Load: wrk keeps 32 connections busy with `/similar?id=…&k=10` of random nodes, on
the same processors as the service, after a warm-up. Malformed: requests of many kinds that must be
refused, one after the other; resident memory after the first tenth and at the end. `--store FOLDER`
keeps the store for the next run.
"""

import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.runner import Measurements
from benchmarks.synthetic import block_graph
from graphgate import LinearGATE, Store

COMPONENTS, FEATURES, TOP = 128, 256, 10
MOST_WAIT = 600  # seconds until the service has an index
SCRIPT = """
math.randomseed({seed})
request = function()
  return wrk.format("GET", "/similar?id=" .. math.random(0, {last}) .. "&k={top}")
end
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('\\n{{"requests": %d, "requests_per_second": %f, "refused": %d, ' ..
    '"socket_errors": %d, "latency_ms": {{"p50": %f, "p90": %f, "p99": %f}}}}\\n',
    summary.requests, summary.requests / summary.duration * 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3))
end
"""


def measure(
    nodes: int = 100_000,
    seconds: int = 60,
    connections: int = 32,
    malformed: int = 10_000,
    store: str = "",
) -> Measurements:
    subject = {"nodes": nodes, "components": COMPONENTS, "top": TOP}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(store or temporary) / "store"
        if not folder.exists():
            make_store(folder, nodes)
        works = {
            "load": partial(load, n=nodes, seconds=seconds, connections=connections),
            "malformed": partial(attack, count=malformed),
        }
        for name, work in works.items():
            yield {"measured": name, **subject}, partial(served, folder, work)


def served(folder: Path, work: Any) -> dict[str, Any]:
    with serving(folder) as running:
        values: dict[str, Any] = work(running)
    return values


class Running(NamedTuple):
    """A service in a process of its own."""

    port: int
    process: int

    def resident(self) -> int:
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def make_store(folder: Path, n: int) -> None:
    graph = block_graph(n, n_features=FEATURES, per_row=8, seed=0).reveal()
    gate = LinearGATE(n_components=COMPONENTS, random_state=0, progress=False)
    Store.create(folder, graph, gate)


@contextmanager
def serving(folder: Path) -> Iterator[Running]:
    command = [sys.executable, "-m", "graphgate", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if address is None:
            raise SystemExit("the service did not start")
        port = int(address[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=MOST_WAIT)
        connection.request("GET", "/health")
        if connection.getresponse().status != 200:
            raise SystemExit("the service does not answer")
        yield Running(port, process.pid)
    finally:
        process.terminate()
        process.wait(30)


# --- load ----------------------------------------------------------------------------------------


def load(running: Running, *, n: int, seconds: int, connections: int) -> dict[str, Any]:
    """Requests per second and latencies by wrk, which reports them as JSON in its last line."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "similar.lua"
        for duration in (5, seconds):  # the first ones warm up
            script.write_text(SCRIPT.format(seed=duration, last=n - 1, top=TOP))
            command = ["wrk", "-t1", f"-c{connections}", f"-d{duration}s", "--timeout", "10s"]
            command += ["-s", str(script), f"http://127.0.0.1:{running.port}"]
            said = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=duration + 60
            ).stdout
    reported: dict[str, Any] = json.loads(said.splitlines()[-1])
    return {"connections": connections, "seconds": seconds} | reported


# --- malformed requests --------------------------------------------------------------------------


def value(rng: random.Random, depth: int = 0) -> Any:
    """JSON of any kind."""
    if depth == 3 or rng.random() < 0.5:
        kinds = [None, True, -1, 10**400, 1e308, "n1", "\u0000", "☃" * rng.randrange(1, 2000), 0.5]
        return rng.choice(kinds)
    values = [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return rng.choice([values, dict(zip(["id", "k", "x", ""], values, strict=False))])


def malformed(rng: random.Random) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Method, path, body and headers of a request that must be refused."""
    path = rng.choice(["/similar", "/add"])
    json_type = {"Content-Type": "application/json"}
    field = rng.choice(["ids", "vectors", "nodes", "edges", "k", "where", "extra"])
    conditions = ["(" * 400, "a = ", "1/0 = 1", "DROP TABLE nodes", "_id = " + "'" * 333, "\u0000"]
    bodies = [
        rng.randbytes(rng.randrange(1, 2000)),
        b"[" * rng.randrange(1, 100_000),
        b'{"vectors": [[NaN, Infinity]]}',
        b'{"ids": ["\\ud800"]}',
        json.dumps({field: value(rng)}).encode(),
        json.dumps({"vectors": [[0.5] * rng.randrange(1, 100)]}).encode(),
        json.dumps({"ids": [rng.randrange(10**9, 10**12)]}).encode(),
        json.dumps({"ids": [1] * 1001}).encode(),
        json.dumps({"ids": [1], "k": rng.choice([0, -1, 10**9, 1.5, "1"])}).encode(),
        json.dumps({"ids": [1], "where": rng.choice(conditions)}).encode(),
        json.dumps({"edges": [{"source": 1, "target": 10**12}]}).encode(),
        b" " * (9 << 20) if rng.random() < 0.02 else b"{",
    ]
    queries = ["?id=", "?id=x&id=1", "?id=1&k=0", "?id=1&k=x", "?id=1&y=2", "?id=%ff%fe", "?" * 500]
    asked = rng.choice(["/nodes", "/similar", "/links"]) + rng.choice(queries)
    others = [
        ("GET", asked, None, {}),
        (rng.choice(["PUT", "DELETE", "PATCH", "BREW"]), path, b"{}", json_type),
        ("POST", f"/{rng.randbytes(20).hex()}", b"{}", json_type),
        ("GET", "/info", None, {"Host": f"{rng.randbytes(4).hex()}.example"}),
        ("POST", path, b"{}", {"Content-Type": "text/plain"}),
    ]
    return rng.choice([*others, *[("POST", path, rng.choice(bodies), json_type)] * 5])


def raw(port: int, rng: random.Random) -> int:
    """Send bytes that are not HTTP; returns the status of the response, 0 if there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(rng.randbytes(rng.randrange(1, 500)) + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        try:
            answer = connection.recv(100)
        except ConnectionResetError:
            return 0
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


def attack(running: Running, *, count: int) -> dict[str, Any]:
    """Send malformed requests; statuses, and resident memory."""
    rng = random.Random(0)
    statuses: Counter[int] = Counter()
    early = 0
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    for at in range(count):
        if at == count // 10:
            early = running.resident()
        if rng.random() < 0.05:
            statuses[raw(running.port, rng)] += 1
            continue
        method, path, body, headers = malformed(rng)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] += 1
        except (http.client.HTTPException, ConnectionError, TimeoutError):
            statuses[0] += 1
            connection.close()
    late = running.resident()
    return {
        "requests": count,
        "statuses": {str(status): statuses[status] for status in sorted(statuses)},
        "resident_after_tenth": early,
        "resident_at_end": late,
        "growth": late / early - 1,
    }
