"""Checks of every request, of its Host header, key, size and time, and the count of requests."""

import asyncio
import time
from contextlib import suppress

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphgate.service.access import RequestLimits, host_name, same_key
from graphgate.service.metrics import Metrics
from graphgate.service.problems import Refused, problem

OPEN = frozenset(("/", "/docs", "/openapi.json", "/health"))  # without a key
_CLOSING = (400, 408, 413)  # the rest of the request is not read
_DRAINED = 8  # times the largest body: how much is read of a larger one, so that its answer arrives


class Guard:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, metrics: Metrics) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.in_flight += 1
        try:
            await self._answer(scope, receive, noting)
        except Refused as refused:
            if not status:
                await self._refuse(refused, scope, receive, noting)
        finally:
            self._metrics.in_flight -= 1
            seconds = time.perf_counter() - start
            self._metrics.count(scope["path"], scope["method"], status or 500, seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._check(scope, headers)
        adding = scope["path"] == "/add"
        limit = self._limits.add_seconds if adding else self._limits.seconds
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(headers, Request(scope, receive))
        except TimeoutError:
            sentence = f"the request did not arrive within {self._limits.seconds:g} s"
            raise Refused(408, sentence) from None
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        try:
            async with asyncio.timeout(limit):
                await self._app(scope, replay, send)
        except TimeoutError:
            again = "; the batch may still go in, and can be sent again" * adding
            raise Refused(503, f"there was no answer within {limit:g} s{again}") from None

    async def _refuse(self, refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and let a client that is still sending a body finish.

        A connection that is closed while data arrive is reset, and the client may lose the answer.
        """
        close = {"Connection": "close"} if refused.status in _CLOSING else None
        answer = problem(refused.status, str(refused), refused.field, close)
        start = {"type": "http.response.start", "status": refused.status}
        await send(start | {"headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        if refused.status in (400, 413) and (b"expect", b"100-continue") not in scope["headers"]:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.seconds):
                    await _drain(receive, _DRAINED * self._limits.body_bytes)
        await send({"type": "http.response.body", "body": b""})

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse a request by what is known before its body."""
        lines = [(scope.get("raw_path", b""), scope.get("query_string", b"")), *scope["headers"]]
        if sum(len(a) + len(b) + 4 for a, b in lines) > self._limits.header_bytes:
            most = self._limits.header_bytes
            raise Refused(400, f"the address and the headers have more than {most:,} bytes")
        if {b"content-length", b"transfer-encoding"} <= headers.keys():
            # Servers in between may disagree about where such a request ends.
            raise Refused(400, "a request has either Content-Length or Transfer-Encoding, not both")
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or host_name(hosts[0]) not in self._limits.names:
            raise Refused(421, "the Host header is not one of the names of this service", "Host")
        if (key := self._limits.key) is not None and scope["path"] not in OPEN:
            if b"authorization" not in headers:
                sentence = "a key is needed: send the header Authorization: Bearer KEY"
                raise Refused(401, sentence, "Authorization")
            if not same_key(key, headers[b"authorization"]):
                raise Refused(401, "the key is wrong", "Authorization")
        if self._metrics.in_flight > self._limits.waiting:
            raise Refused(503, f"{self._limits.waiting} requests are waiting; try again later")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if scope["method"] == "POST" and kind != b"application/json":
            raise Refused(415, "the body must be of type application/json", "Content-Type")

    async def _body(self, headers: dict[bytes, bytes], request: Request) -> bytes:
        most, body = self._limits.body_bytes, bytearray()
        too_long = Refused(413, f"the body has more than {most:,} bytes; send several requests")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > most:
            raise too_long
        try:
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_long
        except ClientDisconnect:
            sentence = "the connection was closed before the request was complete"
            raise Refused(400, sentence) from None
        return bytes(body)


async def _drain(receive: Receive, most: int) -> None:
    """Discard what a client sends, up to this many bytes."""
    message: Message = {"more_body": True}
    while most > 0 and message.get("more_body", False):
        message = await receive()
        most -= len(message.get("body", b""))
