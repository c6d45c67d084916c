"""A service of a small store on a free port, and requests to it."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from growing import first, grown_graph

from graphgate import LinearGATE, Store
from graphgate.service.server import Listening, serve


def small_store(path: Path, n: int = 60) -> Store:
    gate = LinearGATE(n_components=8, random_state=0, progress=False)
    return Store.create(path, first(grown_graph(80), n), gate)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Client:
    """Requests over a socket, each on a connection of its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = urlsplit(address).port

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Answer:
        pairs = [
            (name, each)
            for name, value in query.items()
            for each in (value if isinstance(value, list) else [value])
        ]
        text = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in pairs)
        return self.ask("GET", f"{path}?{text}" if text else path)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)


@contextmanager
def running(store: Path, **options: Any) -> Iterator[Client]:
    """A service in a thread."""
    started, failed = threading.Event(), []
    found: list[Listening] = []

    def ready(listening: Listening) -> None:
        found.append(listening)
        started.set()

    def run() -> None:
        try:
            serve(store, port=0, ready=ready, **options)
        except Exception as error:
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(60)
    if failed:
        raise failed[0]
    try:
        yield Client(found[0].address)
    finally:
        found[0].stop()
        thread.join(30)
    assert not thread.is_alive()
