"""A local server of one page, reachable from this machine only.

Any program and any web page on this machine may connect, so nothing is taken on trust: connections
are few, a request must arrive soon, and a browser must name this machine as the host. `http.server`
limits lines to 64 KiB and headers to a hundred.
"""

import logging
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from graphgate.errors import InputError

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 32  # at the same time; more are closed at once
REQUEST_SECONDS = 10.0  # until the whole request must have arrived
CHUNK, CHUNK_SECONDS = 1 << 16, 30.0  # of the page, and how long one may take
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
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, page: bytes, port: int = 0) -> None:
        self.page = page
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "ports are 0 to 65535"
            raise InputError(f"cannot serve on port {port}: {reason}; choose another") from None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or takes too long, is not worth a line."""
        logger.debug("a request failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "graphgate"
    sys_version = ""

    def handle(self) -> None:
        # A timeout of the socket would start again with every byte.
        self._deadline = threading.Timer(REQUEST_SECONDS, self._hang_up)
        self._deadline.daemon = True
        self._deadline.start()
        try:
            super().handle()
        finally:
            self._deadline.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._deadline.cancel()
        self.connection.settimeout(CHUNK_SECONDS)
        # Any other Host header belongs to a foreign site whose name resolves to this machine.
        hosts = [[f"{name}:{self.server.server_port}"] for name in (LOOPBACK, "localhost")]
        if self.headers.get_all("Host") not in hosts:
            return self.send_error(403)
        if self.path != "/":
            return self.send_error(404)
        self.send_response(200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.page)))
        self.end_headers()
        page = memoryview(self.server.page)
        for start in range(0, len(page), CHUNK):
            self.wfile.write(page[start : start + CHUNK])

    def log_message(self, format: str, *args: object) -> None:
        """The library prints nothing."""


def serve_page(server: PageServer) -> None:
    """Serve until Ctrl-C."""
    with server, suppress(KeyboardInterrupt):
        server.serve_forever()
