"""HTTP by uvicorn and h11, with a limit on the time that the headers of a request may take."""

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class PatientProtocol(H11Protocol):
    """Closes connections whose next request does not begin, or whose headers do not end."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect()
        else:
            self._relax()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with JSON, as any other mistake."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # in the middle of an answer
            return
        body = json.dumps({"error": "the request is not valid HTTP", "field": None}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason="Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        self.transport.close()

    def _expect(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _relax(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
