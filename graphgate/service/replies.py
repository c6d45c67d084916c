"""What the service replies, as plain values for JSON."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from graphgate.io.embeddings import Embedding
from graphgate.service import messages
from graphgate.service.metrics import Metrics
from graphgate.service.problems import Refused
from graphgate.service.searches import Query, Searches
from graphgate.service.served import Follower, Served, UnknownNodeError
from graphgate.store.conditions import ConditionError
from graphgate.store.records import LABEL, stored_name

logger = logging.getLogger(__name__)
Reply = dict[str, Any]
Result = TypeVar("Result")
Asked = ParamSpec("Asked")

_THREADS = 4  # for questions that need the files of the store
_POLL = 2.0  # seconds between looks at the version of the store


def _of_a_version(
    reply: Callable[Concatenate["Replies", Served, Asked], Awaitable[Reply]],
) -> Callable[Concatenate["Replies", Asked], Awaitable[Reply]]:
    """Reply about the version that is served; once more if the store has a later one.

    Another process may have pruned the version while it was read.
    """

    @wraps(reply)
    async def replied(self: "Replies", *args: Asked.args, **kwargs: Asked.kwargs) -> Reply:
        served = self._follower.served
        try:
            return await reply(self, served, *args, **kwargs)
        except (Refused, UnknownNodeError, ConditionError):
            raise
        except Exception:
            await self._in(self._readers, self._follower.follow)
            if self._follower.served is served:
                raise
        return await reply(self, self._follower.served, *args, **kwargs)

    return replied


class Replies:
    """Replies to questions about the version of a store that is served.

    Vectors are compared in one thread, files are read in several, and another one writes.
    """

    def __init__(self, follower: Follower, metrics: Metrics) -> None:
        self._follower, self._metrics = follower, metrics
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

    @_of_a_version
    async def nodes(self, served: Served, ids: Sequence[Any], vectors: bool) -> Reply:
        rows = served.rows(ids)
        names = served.ids[rows].tolist()
        stored = await self._in(self._readers, lambda: served.store.nodes(names))
        nodes = [_node(row, served) for row in stored]
        return {
            "version": served.version,
            "nodes": _with_vectors(nodes, served.vectors[rows]) if vectors else nodes,
        }

    @_of_a_version
    async def similar(self, served: Served, asked: messages.SimilarRequest) -> Reply:
        given = [name for name in ("ids", "vectors", "nodes") if getattr(asked, name) is not None]
        if len(given) != 1:
            raise Refused(422, "give exactly one of ids, vectors and nodes", "ids")
        if asked.edges and asked.nodes is None:
            raise Refused(422, "edges are those of nodes; give nodes too", "edges")
        own = None
        if asked.ids is not None:
            own = served.rows(asked.ids)
            names, vectors = served.ids[own], served.vectors[own]
        elif asked.vectors is not None:
            vectors = _matrix(asked.vectors, served.vectors.shape[1])
            names = np.arange(len(vectors))
        else:
            embedding = await self._in(self._readers, lambda: _embedded(served, asked))
            names, vectors = embedding.ids, embedding.vectors
        query = Query(served, vectors, np.full(len(vectors), -1) if own is None else own, asked.k)
        rows, cosines = await self._nearest(query, asked.where)
        return _results(served, names, rows, cosines)

    async def _nearest(self, query: Query, where: str | None) -> tuple[np.ndarray, np.ndarray]:
        if where is None:
            return await self._searches.nearest(query)
        index, rows_where = query.served.index, query.served.store.rows_where
        return await self._in(
            self._readers,
            lambda: index.nearest(query.vectors, query.n_neighbors, query.own, rows_where(where)),
        )

    @_of_a_version
    async def links(self, served: Served, ids: Sequence[Any], k: int) -> Reply:
        """The nearest nodes that have no edge with a node."""
        own = served.rows(ids)
        names = served.ids[own]

        def linked_rows() -> list[np.ndarray]:
            return [served.positions.rows(served.store.neighbors(name)) for name in names.tolist()]

        linked = await self._in(self._readers, linked_rows)
        most = min(k + max(map(len, linked)), len(served.ids))
        rows, cosines = await self._nearest(Query(served, served.vectors[own], own, most), None)
        for near, neighbors in zip(rows, linked, strict=True):
            near[np.isin(near, neighbors)] = -1
        return {**_results(served, names, rows, cosines, k), "ranked_by": "cosine"}

    @_of_a_version
    async def add(self, served: Served, asked: messages.AddRequest) -> Reply:
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

    @_of_a_version
    async def info(self, served: Served) -> Reply:
        return await self._in(self._readers, lambda: _info(served))

    def health(self) -> Reply:
        served = self._follower.served
        return {"status": "ok", "version": served.version, "nodes": len(served.ids)}

    def metrics_text(self) -> str:
        served = self._follower.served
        gauges = {
            "graphgate_store_version": served.version,
            "graphgate_store_nodes": len(served.ids),
            "graphgate_store_vectors_without_index": len(served.index.fresh),
        }
        return self._metrics.text(gauges)


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


def _embedded(served: Served, asked: messages.SimilarRequest) -> Embedding:
    return served.store.embed(*served.tables(asked.nodes or [], asked.edges))


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


def _info(served: Served) -> Reply:
    summary = served.store.info()
    return {
        **summary._asdict(),
        "accuracy": summary.accuracy(),
        "attributes": served.store.attribute_kinds,
    }


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
