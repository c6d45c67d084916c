"""A local server of one page, reachable from this machine only."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from graphgate.errors import InputError

LOOPBACK = "127.0.0.1"


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

    @property
    def hosts(self) -> tuple[str, str]:
        """Accepted Host headers; others belong to foreign sites whose name resolves to here."""
        return f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "graphgate"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(403)
            return
        if self.path != "/":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:
        """The library prints nothing."""


def serve_page(server: PageServer, *, open_browser: bool = False) -> None:
    """Serve until Ctrl-C; opens a browser only on request."""
    if open_browser:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
