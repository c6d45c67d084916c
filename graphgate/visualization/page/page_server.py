"""A local server of one page, reachable from this machine only."""

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from graphgate.errors import InputError

LOOPBACK = "127.0.0.1"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class PageServer(ThreadingHTTPServer):
    """Answers GET / with one page, and nothing else.

    >>> with PageServer(b"<!doctype html>") as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True

    def __init__(self, page: bytes, port: int = 0) -> None:
        self.page = page
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "ports are 0 to 65535"
            raise InputError(f"cannot serve on port {port}: {reason}; choose another") from None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "graphgate"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        # Any other Host header belongs to a foreign site whose name resolves to this machine.
        hosts = [f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")]
        if self.headers.get("Host") not in hosts:
            return self.send_error(403)
        if self.path != "/":
            return self.send_error(404)
        self.send_response(200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.page)))
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:
        """The library prints nothing."""


def serve_page(server: PageServer) -> None:
    """Serve until Ctrl-C."""
    with server, suppress(KeyboardInterrupt):
        server.serve_forever()
