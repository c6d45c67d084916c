"""HTTP connections, by uvicorn and h11, that are closed if a request does not begin in time."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphgate.service.problems import problem

HEADER_SECONDS = 10.0


class TimedConnection(H11Protocol):
    """A connection on which the headers of each request must arrive in time.

    Uvicorn has no setting for this. It takes any asyncio protocol, but only this one of its own can
    be extended.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start_timer()
        else:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP like any other mistake."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # not in the middle of an answer
            answer = problem(400, "the request is not valid HTTP", headers={"Connection": "close"})
            start = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
            for event in (start, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
        self.transport.close()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
