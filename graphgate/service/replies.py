"""What the service replies, as plain values for JSON."""

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Annotated, Any, TypeVar

import numpy as np
import pyarrow as pa
from fastapi import Query, Response
from fastapi.responses import JSONResponse

from graphgate.io.embeddings import Embedding
from graphgate.service import messages
from graphgate.service.metrics import CONTENT_TYPE, Metrics
from graphgate.service.problems import Refused
from graphgate.service.searches import Search, Searches
from graphgate.service.served import Follower, Served, UnknownNodeError
from graphgate.store.conditions import ConditionError
from graphgate.store.records import LABEL, stored_name

logger = logging.getLogger(__name__)
Reply = dict[str, Any]
Result = TypeVar("Result")

_THREADS = 4  # for questions that need the files of the store
_POLL = 2.0  # seconds between looks at the version of the store


def _of_a_version(
    reply: Callable[..., Awaitable[Reply]],
) -> Callable[..., Awaitable[Response]]:
    """Reply, as JSON, about the version that is served; once more if the store has a later one.

    Another process may have pruned the version while it was read. A request has no parameter
    `served`.
    """

    @wraps(reply)
    async def replied(self: "Replies", **asked: Any) -> Response:
        served = self._follower.served
        try:
            return JSONResponse(await reply(self, served, **asked))
        except (Refused, UnknownNodeError, ConditionError):
            raise
        except Exception:
            await self._in(self._readers, self._follower.follow)
            if self._follower.served is served:
                raise
        return JSONResponse(await reply(self, self._follower.served, **asked))

    plain = inspect.signature(reply)
    asked = [parameter for name, parameter in plain.parameters.items() if name != "served"]
    replied.__signature__ = plain.replace(parameters=asked)  # type: ignore[attr-defined]
    return replied


class Replies:
    """Replies to requests about the version of a store that is served.

    Vectors are compared in one thread, files are read in several, and another one writes. The
    first lines of the methods are those of the specification.

    read_only : whether to refuse new nodes and edges.
    """

    def __init__(self, follower: Follower, metrics: Metrics, *, read_only: bool) -> None:
        self._follower, self._metrics, self._read_only = follower, metrics, read_only
        self._searcher = ThreadPoolExecutor(1, "search")
        self._readers = ThreadPoolExecutor(_THREADS, "read")
        self._writer = ThreadPoolExecutor(1, "write")
        self._indexer = ThreadPoolExecutor(1, "index")
        self._searches = Searches(self._searcher, metrics)

    def close(self) -> None:
        for executor in (self._searcher, self._readers, self._writer, self._indexer):
            executor.shutdown(wait=False, cancel_futures=True)

    async def follow(self) -> None:
        """Notice new versions of the store, until it is cancelled."""
        while True:
            await asyncio.sleep(_POLL)
            try:
                if await self._in(self._writer, self._follower.follow):
                    logger.info("serving version %s", self._follower.served.version)
                await self._in(self._indexer, self._follower.rebuild)
            except Exception:
                logger.exception("the store cannot be followed; trying again")

    async def _in(self, executor: ThreadPoolExecutor, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(executor, _contained, function)

    async def health(self) -> Response:
        """Whether the service answers; no key is needed."""
        served = self._follower.served
        return JSONResponse({"status": "ok", "version": served.version, "nodes": len(served.ids)})

    @_of_a_version
    async def info(self, served: Served) -> Reply:
        """What the store holds, and how far its vectors may be off."""
        summary = await self._in(self._readers, served.store.info)
        kinds = served.store.attribute_kinds
        return {**summary._asdict(), "accuracy": summary.accuracy(), "attributes": kinds}

    @_of_a_version
    async def nodes(self, served: Served, query: Annotated[messages.NodesQuery, Query()]) -> Reply:
        """Attributes, labels and vectors of nodes."""
        rows = served.rows(query.id)
        names = served.ids[rows].tolist()
        stored = await self._in(self._readers, lambda: served.store.nodes(names))
        nodes = [_node(row, served) for row in stored]
        return {
            "version": served.version,
            "nodes": _with_vectors(nodes, served.vectors[rows]) if query.vectors else nodes,
        }

    async def similar_nodes(self, query: Annotated[messages.SimilarQuery, Query()]) -> Response:
        """The stored nodes with the largest cosine similarity to stored nodes."""
        asked = messages.SimilarRequest(ids=[*query.id], k=query.k, where=query.where)
        return await self.similar(asked=asked)

    @_of_a_version
    async def similar(self, served: Served, asked: messages.SimilarRequest) -> Reply:
        """The same for ids, for vectors, or for nodes that are not stored, by their attributes."""
        given = [name for name in ("ids", "vectors", "nodes") if getattr(asked, name) is not None]
        if len(given) != 1:
            raise Refused(422, "give exactly one of ids, vectors and nodes", "ids")
        if asked.edges and asked.nodes is None:
            raise Refused(422, "edges are those of nodes; give nodes too", "edges")
        if asked.ids is not None:
            own = served.rows(asked.ids)
            names, vectors = served.ids[own], served.vectors[own]
        elif asked.vectors is not None:
            vectors = _matrix(asked.vectors, served.vectors.shape[1])
            names = np.arange(len(vectors))
        else:
            embedding = await self._in(
                self._readers,
                lambda: served.store.embed(*served.tables(asked.nodes or [], asked.edges)),
            )
            names, vectors = embedding.ids, embedding.vectors
        own = np.full(len(vectors), -1) if asked.ids is None else own
        rows, cosines = await self._nearest(Search(served, vectors, own, asked.k), asked.where)
        return _results(served, names, rows, cosines)

    async def _nearest(self, query: Search, where: str | None) -> tuple[np.ndarray, np.ndarray]:
        if where is None:
            return await self._searches.nearest(query)
        index, rows_where = query.served.index, query.served.store.rows_where
        return await self._in(
            self._readers,
            lambda: index.nearest(query.vectors, query.n_neighbors, query.own, rows_where(where)),
        )

    @_of_a_version
    async def links(self, served: Served, query: Annotated[messages.LinksQuery, Query()]) -> Reply:
        """Suggested edges: the nodes of largest cosine similarity that a node has no edge with.

        The cosine is of the vectors; it is not the probability of an edge.
        """
        own = served.rows(query.id)
        names = served.ids[own]
        neighbors = await self._in(
            self._readers, lambda: [*map(served.store.neighbors, names.tolist())]
        )
        linked = [served.positions.rows(ids) for ids in neighbors]
        most = min(query.k + max(map(len, linked)), len(served.ids))
        rows, cosines = await self._nearest(Search(served, served.vectors[own], own, most), None)
        for near, others in zip(rows, linked, strict=True):
            near[np.isin(near, others)] = -1
        return {**_results(served, names, rows, cosines, query.k), "ranked_by": "cosine"}

    @_of_a_version
    async def add(self, served: Served, asked: messages.AddRequest) -> Reply:
        """Add nodes and edges, or change them; the batch goes in as a whole or not at all.

        What is stored already changes nothing, so a batch can be sent again.
        """
        if self._read_only:
            raise Refused(403, "this service is read-only")
        if not asked.nodes and not asked.edges:
            raise Refused(422, "there is nothing to add; give nodes, edges or both", "nodes")
        change = await self._in(self._writer, lambda: self._follower.add(asked.nodes, asked.edges))
        return {
            "version": change.version,
            "added": _vectors(change.added, asked.vectors),
            "changed": _vectors(change.changed, asked.vectors),
            "edges": change.n_edges,
            "updated": change.updated,
        }

    async def metrics(self) -> Response:
        """Counts and times of requests, for Prometheus."""
        served = self._follower.served
        gauges = {
            "graphgate_store_version": served.version,
            "graphgate_store_nodes": len(served.ids),
            "graphgate_store_vectors_without_index": len(served.index.fresh),
        }
        return Response(self._metrics.text(gauges), media_type=CONTENT_TYPE)


def _contained(function: Callable[[], Result]) -> Result:
    """Call a function; a panic of a Rust extension, no `Exception`, becomes a RuntimeError."""
    try:
        return function()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _matrix(vectors: list[list[float]], size: int) -> np.ndarray:
    for at, vector in enumerate(vectors):
        if len(vector) != size:
            sentence = f"vectors.{at}: a vector has {size} numbers, got {len(vector)}"
            raise Refused(422, sentence, f"vectors.{at}")
    # One factor per vector does not change cosines, and keeps large numbers finite.
    matrix = np.array(vectors)
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    return (matrix / np.where(largest > 0, largest, 1)).astype(np.float32)


def _results(
    served: Served, names: np.ndarray, rows: np.ndarray, cosines: np.ndarray, k: int | None = None
) -> Reply:
    """The first k neighbors of every query; a row of -1 is none."""
    results = []
    for name, near, values in zip(names.tolist(), rows, cosines, strict=True):
        kept = np.flatnonzero(near >= 0)[:k]
        pairs = zip(served.ids[near[kept]].tolist(), values[kept].tolist(), strict=True)
        neighbors = [{"id": other, "cosine": round(value, 6)} for other, value in pairs]
        results.append({"id": name, "neighbors": neighbors})
    return {"version": served.version, "results": results}


def _node(row: dict[str, Any], served: Served) -> Reply:
    names = served.store.attribute_kinds or {}
    attributes = {name: _value(row[stored_name(name)]) for name in names}
    return {"id": row["_id"], "label": row.get(LABEL), "attributes": attributes}


def _value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return {pair["word"]: pair["count"] for pair in value}
    return value


def _vectors(embedding: Embedding, wanted: bool) -> list[Reply]:
    nodes: list[Reply] = [{"id": name} for name in embedding.ids.tolist()]
    return _with_vectors(nodes, embedding.vectors) if wanted else nodes


def _with_vectors(nodes: list[Reply], vectors: np.ndarray) -> list[Reply]:
    """The nodes with their vectors, in as few digits as single precision needs."""
    short = pa.array(vectors.ravel()).cast(pa.string()).cast(pa.float64()).to_numpy()
    numbers = short.reshape(vectors.shape).tolist()
    return [{**node, "vector": vector} for node, vector in zip(nodes, numbers, strict=True)]
