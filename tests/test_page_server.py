"""The local server of a page."""

import http.client
import threading

import pytest

from graphgate import InputError
from graphgate.visualization.page.page_server import PageServer, serve_page


@pytest.fixture
def server():
    with PageServer(b"<!doctype html>page") as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
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
