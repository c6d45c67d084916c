"""How mistakes are answered: by a status, one sentence, and the part of the request in question."""

from collections.abc import Mapping

from fastapi.responses import JSONResponse

_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


class Refused(Exception):
    """A request that is answered by a status and one sentence."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.field = status, field


def problem(
    status: int, sentence: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer to a mistake."""
    more = {**(headers or {}), **_HEADERS.get(status, {})}
    return JSONResponse({"error": sentence, "field": field}, status, more)
