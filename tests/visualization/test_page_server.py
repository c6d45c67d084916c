"""The local server of a page."""

import http.client
import socket
import struct
import threading
import time
from contextlib import suppress

import pytest

from graphgate import InputError
from graphgate.visualization.page import page_server
from graphgate.visualization.page.page_server import PageServer, serve_page


@pytest.fixture
def server():
    with PageServer(b"<!doctype html>page") as made:
        often = {"poll_interval": 0.01}
        thread = threading.Thread(target=made.serve_forever, kwargs=often, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path="/", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page_is_served_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    answer, body = ask(server)
    assert (answer.status, body) == (200, b"<!doctype html>page")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"path": "/etc/passwd"}, 404),
        ({"path": "/../page.html"}, 404),
        ({"method": "POST"}, 501),
        ({"host": "evil.example"}, 403),
    ],
)
def test_nothing_else_is_served(server, request_, status):
    answer, body = ask(server, **request_)
    assert answer.status == status
    assert b"page</" not in body
    assert b"doctype html>page" not in body


# --- over plain sockets --------------------------------------------------------------------------


def connected(server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=10)


def answer_to(server, request: bytes) -> bytes:
    """All that the server sends until it hangs up."""
    with connected(server) as client:
        client.sendall(request.replace(b"PORT", str(server.server_port).encode()))
        received = b""
        with suppress(ConnectionError):
            while part := client.recv(1 << 16):
                received += part
    return received


GOOD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GOOD, b"200"),
        (GOOD.replace(b"127.0.0.1", b"localhost"), b"200"),
        (b"GET / HTTP/1.1\r\n\r\n", b"403"),
        (GOOD.replace(b"\r\n\r\n", b"\r\nHost: evil.example\r\n\r\n"), b"403"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1:PORT\r\n\r\n", b"403"),
        (GOOD.replace(b"\r\n\r\n", b"\r\nHost: 127.0.0.1:PORT\r\n\r\n"), b"403"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"403"),
        (GOOD.replace(b" / ", b" http://evil.example/ "), b"404"),
        (GOOD.replace(b" / ", b" /%2e%2e/%2e%2e/etc/passwd "), b"404"),
        (GOOD.replace(b" / ", b" //etc/passwd "), b"404"),
        (GOOD.replace(b"GET", b"DELETE"), b"501"),
    ],
)
def test_requests_as_they_are_sent(server, request_, status):
    assert answer_to(server, request_).split(b" ", 2)[1] == status


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        GOOD[:-2] + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
        GOOD[:-2] + b"X: x\r\n" * 20_000 + b"\r\n",
    ],
    ids=["path", "header", "headers"],
)
def test_a_large_request_is_cut_off(server, request_):
    assert b"200" not in answer_to(server, request_)[:20]
    assert ask(server)[0].status == 200


def test_a_client_that_dawdles_is_cut_off(server, monkeypatch):
    """A byte now and then would hold a thread for ever."""
    monkeypatch.setattr(page_server, "REQUEST_SECONDS", 0.3)
    with connected(server) as client:
        began = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - began < 8:
                client.sendall(b"X")
                client.settimeout(0.05)
                with suppress(TimeoutError):
                    if client.recv(1) == b"":
                        break
        assert time.monotonic() - began < 8


def test_too_many_connections_are_closed_at_once(server, monkeypatch):
    idle = [connected(server) for _ in range(page_server.MOST_CONNECTIONS)]
    while server._free._value:  # until all have been accepted
        time.sleep(0.01)
    assert answer_to(server, GOOD) == b""
    for client in idle:
        client.close()
    while not server._free._value:
        time.sleep(0.01)
    assert answer_to(server, GOOD).startswith(b"HTTP/1.0 200")


def test_a_client_that_goes_away_prints_nothing(capfd, monkeypatch):
    with PageServer(b"x" * (1 << 24)) as large:
        thread = threading.Thread(target=large.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        failed = threading.Event()
        monkeypatch.setattr(page_server.logger, "debug", lambda *_, **__: failed.set())
        client = connected(large)
        client.sendall(GOOD.replace(b"PORT", str(large.server_port).encode()))
        client.recv(10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # with a reset
        assert failed.wait(10)
        large.shutdown()
        thread.join()
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken(server):
    with pytest.raises(InputError, match="cannot serve on port"):
        PageServer(b"", server.server_port)
    with pytest.raises(InputError, match="0 to 65535"):
        PageServer(b"", 70_000)


def test_serving_ends_with_an_interrupt(monkeypatch):
    server = PageServer(b"")
    monkeypatch.setattr(server, "serve_forever", _interrupted)
    serve_page(server)
    assert server.socket.fileno() == -1  # closed


def _interrupted():
    raise KeyboardInterrupt
