"""Listening on a socket."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from graphgate.errors import InputError
from graphgate.io.files import StrPath
from graphgate.service.access import (
    KEY_VARIABLE,
    RequestLimits,
    allowed_names,
    is_loopback,
    read_key,
)

_CONNECTIONS = 1000


class Listening(NamedTuple):
    """A running service.

    stop : ends it; may be called from another thread.
    """

    address: str
    stop: Callable[[], None]


def serve(
    store: StrPath,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    key_file: StrPath | None = None,
    allowed_hosts: Sequence[str] = (),
    timeout: float = 10.0,
    max_body: int = 8 << 20,
    read_only: bool = False,
    ready: Callable[[Listening], None] | None = None,
) -> None:
    """Serve a store over HTTP until the process is interrupted.

    Parameters
    ----------
    store : folder of a `Store`.
    host, port : where to listen. An address that other machines can reach needs a key, which is
        read from the environment variable GRAPHGATE_KEY or from `key_file`. Port 0 takes a free
        one.
    key_file : file with the key.
    allowed_hosts : further names that a Host header may have, such as that of a reverse proxy.
    timeout : seconds for a request to arrive, and seconds to answer it; adding may take twelve
        times as long.
    max_body : bytes that the body of a request may have.
    read_only : refuse new nodes and edges.
    ready : called with the address when the service is about to answer.

    Examples
    --------
    >>> try:
    ...     serve("people", port=70_000)
    ... except InputError as error:
    ...     print("nothing is served:", type(error).__name__)
    nothing is served: InputError
    """
    try:
        import uvicorn

        from graphgate.service.application import Service
        from graphgate.service.connections import TimedConnection
    except ImportError:
        raise InputError("a service needs FastAPI: pip install 'graphgate[serve]'") from None
    limits = _limits(host, allowed_hosts, key_file, timeout, max_body)
    with _socket(host, port) as listening:
        service = Service(Path(store), limits, read_only=read_only)
        config = uvicorn.Config(
            service.asgi,
            http=TimedConnection,
            ws="none",
            lifespan="on",
            log_level="error",  # a warning per malformed request would fill disks
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=limits.header_bytes,
        )
        server = uvicorn.Server(config)
        if ready is not None:
            number = listening.getsockname()[1]
            name = f"[{host}]" if ":" in host else host
            ready(Listening(f"http://{name}:{number}", lambda: _stop(server)))
        server.run(sockets=[listening])


def _limits(
    host: str,
    allowed_hosts: Sequence[str],
    key_file: StrPath | None,
    timeout: float,
    max_body: int,
) -> RequestLimits:
    if not timeout > 0 or max_body < 1:
        raise InputError(f"timeout and max_body must be positive, got {timeout} and {max_body}")
    key = read_key(None if key_file is None else Path(key_file))
    if key is None and not is_loopback(host):
        raise InputError(
            f"{host or 'an empty host'} can be reached from other machines, so a key is needed; "
            f"set the environment variable {KEY_VARIABLE}, or write the key to a file"
        )
    names = allowed_names(host, allowed_hosts)
    return RequestLimits(names, key, body_bytes=max_body, seconds=timeout, add_seconds=12 * timeout)


def _stop(server: object) -> None:
    server.should_exit = True  # type: ignore[attr-defined]


def _socket(host: str, port: int) -> socket.socket:
    """A socket that listens, so that clients can connect before the first answer."""
    if not 0 <= port <= 65535:
        raise InputError(f"ports are 0 to 65535, got {port}")
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = addresses[0]
        return socket.create_server(address, family=family, backlog=_CONNECTIONS)
    except OSError as error:
        reason = str(error.strerror).partition(" (while attempting")[0]
        raise InputError(f"cannot listen on {host}, port {port}: {reason}") from None
