"""The service: keys, names, limits and time-outs."""

import asyncio
import gc
import inspect
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from services import running, small_store

from graphgate import InputError, Store, serve
from graphgate.errors import InputWarning
from graphgate.service import connections
from graphgate.service.access import allowed_names, host_name, is_loopback, read_key, same_key
from graphgate.service.guard import Guard, RequestLimits
from graphgate.service.metrics import Metrics

KEY = "0123456789abcdef-key"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("access") / "store", 40).path


def test_only_this_machine_needs_no_key(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHGATE_KEY", raising=False)
    assert not [name for name in inspect.signature(serve).parameters if name == "key"]
    for host in ("0.0.0.0", "192.0.2.7", "::", "example.org", ""):
        assert not is_loopback(host)
        with pytest.raises(InputError, match=r"a key is needed; set .* GRAPHGATE_KEY"):
            serve(folder, host=host, port=0)
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    for name, key in (("short", "secret\n"), ("open", KEY)):
        (tmp_path / name).write_text(key)
        (tmp_path / name).chmod(0o600)
    with pytest.raises(InputError, match="short must hold a key of at least 16 printable"):
        serve(folder, port=0, key_file=tmp_path / "short")
    with pytest.raises(InputError, match="key cannot be read: No such file"):
        serve(folder, port=0, key_file=tmp_path / "none")
    assert read_key(tmp_path / "open") == KEY
    for mode in (0o640, 0o604):
        (tmp_path / "open").chmod(mode)
        with pytest.warns(InputWarning, match="open can be read by other users.*; run chmod 600"):
            assert read_key(tmp_path / "open") == KEY
    monkeypatch.setenv("GRAPHGATE_KEY", KEY)
    assert read_key() == KEY
    with pytest.raises(InputError, match="all addresses of this machine; name those"):
        serve(folder, host="0.0.0.0", port=0)


def test_a_key_is_checked(folder, tmp_path):
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "key").chmod(0o600)
    with running(folder, key_file=tmp_path / "key") as client:

        def status(path: str, header: str | None) -> int:
            return client.ask(
                "GET", path, headers={"Authorization": header} if header else {}
            ).status

        assert status("/info", f"Bearer {KEY}") == 200
        assert status("/info", f"bearer {KEY}") == 200
        for wrong in (None, KEY, f"Basic {KEY}", f"Bearer {KEY}x", "Bearer", "Bearer "):
            assert status("/info", wrong) == 401
            assert status("/metrics", wrong) == 401
            assert status("/nothing", wrong) == 401
        assert client.get("/info").headers["www-authenticate"] == "Bearer"
        assert status("/health", None) == status("/docs", None) == 200
        paths = client.get("/openapi.json").json["paths"]
        assert paths["/info"]["get"]["security"] == [{"key": []}]
    assert not same_key(KEY, f"Bearer {KEY[:-1]}é".encode())


def test_names_in_host_headers():
    assert allowed_names("127.0.0.1") == {"127.0.0.1", "localhost", "::1"}
    assert allowed_names("192.0.2.7", ["Graph.example"]) == {"192.0.2.7", "graph.example"}
    assert allowed_names("0.0.0.0", ["a.example"]) == {"a.example"}
    assert host_name(b"LOCALHOST:80") == "localhost"
    assert host_name(b"[::1]:80") == "::1"
    for odd in (
        b"a.example@localhost",
        b"localhost:80@a.example",
        b"localhost:80:80",
        b"localhost:",
        b"localhost:port",
        b"localhost/",
        b"[::1]a.example",
        b"[::1",
        b"localhost\n",
        b"local\xfchost",
        b"",
    ):
        assert host_name(odd) is None, odd


def test_a_port_that_is_taken(folder):
    with running(folder) as client:
        with pytest.raises(InputError, match=f"port {client.port}: Address already in use"):
            serve(folder, port=client.port)
        with pytest.raises(InputError, match="ports are 0 to 65535"):
            serve(folder, port=70_000)
    with pytest.raises(InputError, match="is not a store"):
        serve(folder.parent, port=0)


def raw(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """What is answered to some bytes, until the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        found = b""
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while some := connection.recv(1 << 16):
                found += some
        return found


POST = b"POST /add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_what_takes_too_long(folder, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.4)
    slow = Store.nodes

    def nodes(self, ids):
        time.sleep(1.0)
        return slow(self, ids)

    monkeypatch.setattr(Store, "nodes", nodes)
    with running(folder, timeout=0.5) as client:
        body = raw(client.port, POST + b"Content-Length: 9\r\n\r\n{")
        assert body.startswith(b"HTTP/1.1 408")
        assert b"did not arrive within 0.5 s" in body
        assert raw(client.port, b"GET /health HT") == b""
        assert raw(client.port) == b""
        trickle = [b"GET /health HTTP/1.1\r\n", *[b"X: y\r\n"] * 4]
        assert raw(client.port, *trickle, pause=0.15) == b""
        answer = client.get("/nodes", id="n1")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.json["error"] == "there was no answer within 0.5 s"
        assert client.get("/similar", id="n1").status == 200


def test_a_failure_is_not_explained_to_clients(folder, monkeypatch):
    def nodes(self, ids):
        raise RuntimeError("a secret path")

    monkeypatch.setattr(Store, "nodes", nodes)
    with running(folder) as client:
        answer = client.get("/nodes", id="n1")
        assert answer.status == 500
        assert answer.json == {"error": "the service has failed; its log says why", "field": None}
        assert client.get("/health").status == 200


def test_no_answer_names_a_file(folder, monkeypatch, caplog, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to(folder)
    places = [folder, tmp_path / "link"]

    def nodes(self, ids):
        raise InputError(f"{places.pop()}/nodes.lance/data/1.lance is damaged", about="nodes")

    monkeypatch.setattr(Store, "nodes", nodes)
    with running(Path("link")) as client:
        while places:
            answer = client.get("/nodes", id="n1")
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            sentence = "the store cannot be used now; the log of the service says why"
            assert answer.json == {"error": sentence, "field": None}
    assert caplog.text.count("nodes.lance/data/1.lance is damaged") == 2


def test_a_body_without_a_length_is_limited_too(folder):
    # The service waits for the end of the body, which never comes, as long as for any request.
    with running(folder, max_body=1000, timeout=1) as client:
        chunk = b"1f4\r\n" + b" " * 500 + b"\r\n"
        found = raw(client.port, POST + b"Transfer-Encoding: chunked\r\n\r\n" + 3 * chunk)
        assert found.startswith(b"HTTP/1.1 413")
        assert b"more than 1,000 bytes" in found
        found = raw(client.port, b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 400")
        assert found.endswith(b'{"error":"the request is not valid HTTP","field":null}')
        assert raw(client.port, b"GET /" + b"a" * 70_000).startswith(b"HTTP/1.1 400")


def test_headers_are_limited_and_agree_about_the_end(folder):
    get = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    with running(folder, timeout=1) as client:
        for size, status in ((16_000, 200), (20_000, 400)):
            long = b"X-Long: " + b"a" * size + b"\r\nConnection: close\r\n\r\n"
            assert raw(client.port, get + long).startswith(b"HTTP/1.1 %d " % status)
        path = b"GET /nodes?id=" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert raw(client.port, path).startswith(b"HTTP/1.1 400 ")
        # Whoever takes the length for the end would see a second request in the rest.
        both = b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        for request in (POST + both, get + both, POST + both + get + b"\r\n"):
            found = raw(client.port, request)
            assert found.startswith(b"HTTP/1.1 400 ")
            assert b"either Content-Length or Transfer-Encoding" in found
            assert found.count(b"HTTP/1.1 ") == 1
        for host in (b"localhost:80@evil.com", b"evil.com@localhost", b"localhost:x"):
            close = b"\r\nConnection: close\r\n\r\n"
            asked = raw(client.port, b"GET /health HTTP/1.1\r\nHost: " + host + close)
            assert asked.startswith(b"HTTP/1.1 421 "), host


def test_a_client_that_is_still_sending_gets_the_answer(folder):
    """A connection that is closed too early is reset, and the answer is lost."""
    with running(folder, max_body=1 << 20) as client:
        for _ in range(5):
            answer = client.post("/similar", b" " * (7 << 20))
            assert (answer.status, answer.headers["connection"]) == (413, "close")
        # One that waits before it sends the body, or sends without end, does not keep a connection.
        expecting = b"Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n"
        assert raw(client.port, POST + expecting).startswith(b"HTTP/1.1 413")
        endless = POST + b"Content-Length: 99999999\r\n\r\n" + b" " * (20 << 20)
        raw(client.port, endless)
        assert client.get("/health").status == 200


def test_full_collections_do_not_look_at_what_was_loaded(folder):
    before = gc.get_freeze_count()
    with running(folder) as client:
        assert client.get("/health").status == 200
        assert gc.get_freeze_count() > before + 10_000
    assert gc.get_freeze_count() == 0


def test_too_many_requests_at_once():
    """The third of three is refused while two wait."""

    async def answer(scope, receive, send):
        await asyncio.sleep(0.1)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guard = Guard(answer, RequestLimits(frozenset(["localhost"]), waiting=2), Metrics(frozenset()))
    statuses = []

    async def ask():
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
        await guard(scope, receive, send)

    async def all_three():
        await asyncio.gather(ask(), ask(), ask())

    asyncio.run(all_three())
    assert statuses == [503, 200, 200]
