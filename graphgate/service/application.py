"""The application: which requests there are, and how each is answered."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import graphgate
from graphgate.errors import InputError, printable
from graphgate.service import messages
from graphgate.service.access import RequestLimits
from graphgate.service.guard import OPEN, Guard
from graphgate.service.metrics import CONTENT_TYPE, Metrics
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


_QUERY, _BODY = _problems(404, 422), _problems(404, 415, 422)


class Service:
    """A store over HTTP; `asgi` is the application.

    read_only : whether to refuse new nodes and edges.
    """

    def __init__(self, path: Path, limits: RequestLimits, *, read_only: bool = False) -> None:
        follower, metrics = Follower(path), Metrics(PATHS)
        self.replies = Replies(follower, metrics)
        app = FastAPI(
            title="graphgate",
            version=graphgate.__version__,
            description=_DESCRIPTION,
            lifespan=self.lifespan,
            docs_url=None,
            redoc_url=None,
            responses=_problems(),
        )
        _add_questions(app, self.replies)
        _add_changes(app, self.replies, read_only=read_only)
        _add_pages(app, self.replies)
        if limits.key is not None:
            _require_key(app)
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


def _add_questions(app: FastAPI, replies: Replies) -> None:
    """Requests that change nothing."""

    @app.get("/health", response_model=messages.Health)
    async def health() -> Response:
        """Whether the service answers; no key is needed."""
        return _json(replies.health())

    @app.get("/info", response_model=messages.Info)
    async def info() -> Response:
        """What the store holds, and how far its vectors may be off."""
        return _json(await replies.info())

    @app.get("/nodes", response_model=messages.NodesAnswer, responses=_QUERY)
    async def nodes(query: Annotated[messages.NodesQuery, Query()]) -> Response:
        """Attributes, labels and vectors of nodes."""
        return _json(await replies.nodes(query.id, query.vectors))

    @app.get("/similar", response_model=messages.SimilarAnswer, responses=_QUERY)
    async def similar_nodes(query: Annotated[messages.SimilarQuery, Query()]) -> Response:
        """The stored nodes with the largest cosine similarity to stored nodes."""
        asked = messages.SimilarRequest(ids=[*query.id], k=query.k, where=query.where)
        return _json(await replies.similar(asked))

    @app.post("/similar", response_model=messages.SimilarAnswer, responses=_BODY)
    async def similar(asked: messages.SimilarRequest) -> Response:
        """The same for ids, for vectors, or for nodes that are not stored, by their attributes."""
        return _json(await replies.similar(asked))

    @app.get("/links", response_model=messages.LinksAnswer, responses=_QUERY)
    async def links(query: Annotated[messages.LinksQuery, Query()]) -> Response:
        """Suggested edges: the nodes of largest cosine similarity that a node has no edge with.

        The cosine is of the vectors; it is not the probability of an edge.
        """
        return _json(await replies.links(query.id, query.k))


def _add_changes(app: FastAPI, replies: Replies, *, read_only: bool) -> None:
    @app.post("/add", response_model=messages.AddAnswer, responses=_BODY | _problems(403))
    async def add(asked: messages.AddRequest) -> Response:
        """Add nodes and edges, or change them; the batch goes in as a whole or not at all.

        What is stored already changes nothing, so a batch can be sent again.
        """
        if read_only:
            raise Refused(403, "this service is read-only")
        return _json(await replies.add(asked))


def _add_pages(app: FastAPI, replies: Replies) -> None:
    """Answers that are not JSON."""

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts and times of requests, for Prometheus."""
        return Response(replies.metrics_text(), media_type=CONTENT_TYPE)

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        return Response(reference_page(app.openapi()), media_type="text/html", headers=HEADERS)


def _require_key(app: FastAPI) -> None:
    """State in the specification that a key is needed; the guard checks it."""
    plain_openapi = app.openapi

    def openapi() -> dict[str, Any]:
        specification = plain_openapi()
        schemes = {"key": {"type": "http", "scheme": "bearer"}}
        specification["components"]["securitySchemes"] = schemes
        for path, operations in specification["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if path == "/health" else [{"key": []}]
        return specification

    app.openapi = openapi  # type: ignore[method-assign]


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


def _json(content: dict[str, Any]) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")
