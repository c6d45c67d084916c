"""The application: which requests there are, and how each is answered."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

import graphgate
from graphgate.errors import InputError, printable
from graphgate.service import messages
from graphgate.service.access import RequestLimits
from graphgate.service.guard import OPEN, Guard
from graphgate.service.metrics import Metrics
from graphgate.service.problems import Refused, problem
from graphgate.service.reference import HEADERS, reference_page
from graphgate.service.replies import Replies
from graphgate.service.served import Follower, UnknownNodeError
from graphgate.store.conditions import ConditionError

logger = logging.getLogger(__name__)
PATHS = OPEN | {"/info", "/metrics", "/nodes", "/similar", "/links", "/add"}
_DESCRIPTION = (
    "Nodes, similar nodes and suggested edges of a graph with one vector per node, and new nodes. "
    "A mistake is answered by one sentence, and by the field that it is about."
)
_PROBLEMS = {
    400: "The request is not valid HTTP or has too large headers, or its body is not JSON.",
    401: "The key is missing or wrong.",
    403: "The service is read-only.",
    404: "There is no such node.",
    408: "The request did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not of type application/json.",
    421: "The Host header is wrong.",
    422: "A value is not as it must be.",
    503: "There was no answer in time, too many requests wait, or the store cannot be used now.",
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The mistakes that a request can make; those given, and those that any request can make."""
    every = sorted((400, 401, 408, 413, 421, 503, *statuses))
    return {
        status: {"model": messages.Problem, "description": _PROBLEMS[status]} for status in every
    }


class Service:
    """A store over HTTP; `asgi` is the application.

    read_only : whether to refuse new nodes and edges.
    """

    def __init__(self, path: Path, limits: RequestLimits, *, read_only: bool = False) -> None:
        follower, metrics = Follower(path), Metrics(PATHS)
        self.replies = Replies(follower, metrics, read_only=read_only)
        app = FastAPI(
            title="graphgate",
            version=graphgate.__version__,
            description=_DESCRIPTION,
            lifespan=self.lifespan,
            docs_url=None,
            redoc_url=None,
            responses=_problems(),
        )
        _add_requests(app, self.replies, keyed=limits.key is not None)
        _handle_errors(app, follower.folders)
        self.asgi = Guard(app, limits, metrics)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """While it runs, new versions of the store are noticed."""
        task = asyncio.create_task(self.replies.follow())
        # A full collection looks at all objects that exist now, which takes about 0.2 s in which
        # nobody is answered.
        gc.collect()
        gc.freeze()
        yield
        gc.unfreeze()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        self.replies.close()


def _add_requests(app: FastAPI, replies: Replies, *, keyed: bool) -> None:
    """All requests; those that need a key say so in the specification, and the guard checks it."""
    query, body = _problems(404, 422), _problems(404, 415, 422)
    with_key = [Depends(HTTPBearer(scheme_name="key", auto_error=False))] if keyed else []
    for path, method, reply, answer, mistakes in (
        ("/health", "GET", replies.health, messages.Health, {}),
        ("/info", "GET", replies.info, messages.Info, {}),
        ("/nodes", "GET", replies.nodes, messages.NodesAnswer, query),
        ("/similar", "GET", replies.similar_nodes, messages.SimilarAnswer, query),
        ("/similar", "POST", replies.similar, messages.SimilarAnswer, body),
        ("/links", "GET", replies.links, messages.LinksAnswer, query),
        ("/add", "POST", replies.add, messages.AddAnswer, body | _problems(403)),
        ("/metrics", "GET", replies.metrics, None, {}),
    ):
        app.add_api_route(
            path,
            reply,
            methods=[method],
            response_model=answer,
            response_class=JSONResponse if answer else Response,
            responses=mistakes,
            dependencies=[] if path in OPEN else with_key,
        )

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        return Response(reference_page(app.openapi()), media_type="text/html", headers=HEADERS)


def _handle_errors(app: FastAPI, folders: frozenset[str]) -> None:
    """Answer errors; folders : the names of the store's folder, which no answer contains."""

    async def answer(request: Request, error: Exception) -> Response:
        status, sentence, field = _described(request, error)
        if any(folder in sentence for folder in folders):  # it is about files, not the request
            logger.error("%s", sentence)
            return problem(503, "the store cannot be used now; the log of the service says why")
        headers = error.headers if isinstance(error, HTTPException) else None
        return problem(status, printable(sentence, 2000), field, headers)

    for kind in (Refused, InputError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _described(request: Request, error: Exception) -> tuple[int, str, str | None]:
    """The status of an error, a sentence, and the part of the request that it is about."""
    match error:
        case Refused():
            return error.status, str(error), error.field
        case UnknownNodeError():
            return 404, str(error), "ids" if request.method == "POST" else "id"
        case ConditionError():
            return 422, str(error), "where"
        case InputError():
            return 422, str(error), error.about
        case RequestValidationError():
            return _mistake(error)
        case HTTPException():
            sentences = {
                404: "there is nothing at this path; see /docs",
                405: f"{printable(request.method, 20)} is not possible here; see /docs",
                400: "the body cannot be read as JSON",
            }
            status = error.status_code
            return status, sentences.get(status, str(error.detail)), None
    return 500, "the service has failed; its log says why", None


def _mistake(error: RequestValidationError) -> tuple[int, str, str | None]:
    first, *others = error.errors()
    if first["type"] == "json_invalid":
        return 400, f"the body is not JSON: {first['ctx']['error']}", None
    field = _field(first, error.body)
    # There is one error for each type that a value may have.
    same = [first, *(other for other in others if _field(other, error.body) == field)]
    text = ", or ".join(dict.fromkeys(each["msg"][:1].lower() + each["msg"][1:] for each in same))
    name = printable(field, 200) or None
    return 422, f"{name or 'the request'}: {printable(text, 500)}", name


def _field(error: Mapping[str, Any], body: Any) -> str:
    """The part of the request that an error is about, such as nodes.0.id.

    Pydantic's location also names the members of unions, which are not in the body.
    """
    source, *parts = error["loc"]
    if source != "body":
        return ".".join(map(str, parts))
    names, value = [], body
    for at, part in enumerate(parts):
        inside = isinstance(value, dict) and part in value
        if inside or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
            names.append(str(part))
        elif error["type"] == "missing" and at == len(parts) - 1:
            names.append(str(part))
    return ".".join(names)
