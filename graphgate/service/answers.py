"""The answers of the service, as plain values for JSON."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from graphgate.io.embeddings import Embedding
from graphgate.service import batches, messages
from graphgate.service.guard import Refused
from graphgate.service.metrics import Metrics
from graphgate.service.served import Follower, Served, UnknownNodeError
from graphgate.store.conditions import ConditionError
from graphgate.store.records import LABEL, stored_name

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

_THREADS = 4  # for questions that need the files of the store
_POLL = 2.0  # seconds between looks at the version of the store


class Answers:
    """Answers questions about the version of a store that is served.

    Vectors are compared in one thread, files are read in several, and another one writes.
    """

    def __init__(self, follower: Follower, metrics: Metrics) -> None:
        self._follower, self._metrics = follower, metrics
        self._searcher = ThreadPoolExecutor(1, "search")
        self._readers = ThreadPoolExecutor(_THREADS, "read")
        self._writer = ThreadPoolExecutor(1, "write")
        self._indexer = ThreadPoolExecutor(1, "index")
        self._batches = batches.Batches(self._searcher, metrics)

    @property
    def folders(self) -> frozenset[str]:
        """The names of the store's folder."""
        return self._follower.folders

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

    async def _current(
        self, answer: Callable[[Served], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Answer about the version that is served; once more if the store has a later one.

        Another process may have pruned the version while it was read.
        """
        served = self._follower.served
        try:
            return await answer(served)
        except (Refused, UnknownNodeError, ConditionError):
            raise
        except Exception:
            await self._in(self._readers, self._follower.follow)
            if self._follower.served is served:
                raise
        return await answer(self._follower.served)

    async def nodes(self, ids: Sequence[Any], vectors: bool) -> dict[str, Any]:
        return await self._current(lambda served: self._nodes(served, ids, vectors))

    async def _nodes(self, served: Served, ids: Sequence[Any], vectors: bool) -> dict[str, Any]:
        rows = served.rows(ids)
        found = await self._in(self._readers, lambda: served.store.nodes(served.ids[rows].tolist()))
        described = [_node(row, served) for row in found]
        if vectors:
            for node, vector in zip(described, _numbers(served.vectors[rows]), strict=True):
                node["vector"] = vector
        return {"version": served.version, "nodes": described}

    async def similar(self, asked: messages.SimilarRequest) -> dict[str, Any]:
        return await self._current(lambda served: self._similar(served, asked))

    async def _similar(self, served: Served, asked: messages.SimilarRequest) -> dict[str, Any]:
        given = [name for name in ("ids", "vectors", "nodes") if getattr(asked, name) is not None]
        if len(given) != 1:
            raise Refused(422, "give exactly one of ids, vectors and nodes", "ids")
        if asked.edges and asked.nodes is None:
            raise Refused(422, "edges are those of nodes; give nodes too", "edges")
        if asked.ids is not None:
            own = served.rows(asked.ids)
            return await self._nearest(served, served.ids[own], served.vectors[own], own, asked)
        if asked.vectors is not None:
            vectors = _matrix(asked.vectors, served.vectors.shape[1])
            names = np.arange(len(vectors))
        else:
            embedding = await self._in(self._readers, lambda: _embedded(served, asked))
            names, vectors = embedding.ids, embedding.vectors
        own = np.full(len(vectors), -1)
        return await self._nearest(served, names, vectors, own, asked)

    async def _nearest(
        self,
        served: Served,
        names: np.ndarray,
        vectors: np.ndarray,
        own: np.ndarray,
        asked: messages.SimilarRequest,
    ) -> dict[str, Any]:
        if asked.where is None:
            query = batches.Query(served, vectors, own, asked.k)
            rows, cosines = await self._batches.nearest(query)
        else:
            where, rows_where = asked.where, served.store.rows_where
            rows, cosines = await self._in(
                self._readers,
                lambda: served.index.nearest(vectors, asked.k, own, rows_where(where)),
            )
        return _results(served, names, rows, cosines)

    async def links(self, ids: Sequence[Any], k: int) -> dict[str, Any]:
        """The nearest nodes that have no edge with a node."""
        return await self._current(lambda served: self._links(served, ids, k))

    async def _links(self, served: Served, ids: Sequence[Any], k: int) -> dict[str, Any]:
        own = served.rows(ids)

        def known() -> list[np.ndarray]:
            names = served.ids[own].tolist()
            return [served.positions.rows(served.store.neighbors(name)) for name in names]

        linked = await self._in(self._readers, known)
        most = k + max(len(each) for each in linked)
        query = batches.Query(served, served.vectors[own], own, min(most, len(served.ids)))
        rows, cosines = await self._batches.nearest(query)
        for at, each in enumerate(linked):
            order = np.argsort(np.isin(rows[at], each) | (rows[at] < 0), kind="stable")
            count = int((~np.isin(rows[at], each) & (rows[at] >= 0)).sum())
            rows[at], cosines[at] = rows[at][order], cosines[at][order]
            rows[at, count:] = -1
        results = _results(served, served.ids[own], rows[:, :k], cosines[:, :k])
        return {**results, "ranked_by": "cosine"}

    async def add(self, asked: messages.AddRequest) -> dict[str, Any]:
        if not asked.nodes and not asked.edges:
            raise Refused(422, "there is nothing to add; give nodes, edges or both", "nodes")
        return await self._current(lambda served: self._add(asked))

    async def _add(self, asked: messages.AddRequest) -> dict[str, Any]:
        change = await self._in(self._writer, lambda: self._follower.add(asked.nodes, asked.edges))
        return {
            "version": change.version,
            "added": _vectors(change.added, asked.vectors),
            "changed": _vectors(change.changed, asked.vectors),
            "edges": change.n_edges,
        }

    async def info(self) -> dict[str, Any]:
        return await self._current(lambda served: self._in(self._readers, lambda: _info(served)))

    def health(self) -> dict[str, Any]:
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
    """An extension written in Rust panics by an exception that is not an `Exception`."""
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
    served: Served, names: np.ndarray, rows: np.ndarray, cosines: np.ndarray
) -> dict[str, Any]:
    found = []
    for name, near, values in zip(names.tolist(), rows, cosines.tolist(), strict=True):
        ids = served.ids[near[near >= 0]].tolist()
        pairs = zip(ids, values, strict=False)
        neighbors = [{"id": other, "cosine": round(value, 6)} for other, value in pairs]
        found.append({"id": name, "neighbors": neighbors})
    return {"version": served.version, "results": found}


def _info(served: Served) -> dict[str, Any]:
    summary = served.store.info()
    return {
        **summary._asdict(),
        "accuracy": summary.accuracy(),
        "attributes": served.store.attribute_kinds,
    }


def _node(row: dict[str, Any], served: Served) -> dict[str, Any]:
    names = served.store.attribute_kinds or {}
    attributes = {name: _value(row[stored_name(name)]) for name in names}
    return {"id": row["_id"], "label": row.get(LABEL), "attributes": attributes}


def _value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return {each["word"]: each["count"] for each in value}
    return value


def _vectors(embedding: Embedding, wanted: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"id": name} for name in embedding.ids.tolist()]
    if wanted:
        for each, vector in zip(found, _numbers(embedding.vectors), strict=True):
            each["vector"] = vector
    return found


def _numbers(vectors: np.ndarray) -> list[list[float]]:
    """With as few digits as single precision needs."""
    short = pa.array(vectors.ravel()).cast(pa.string()).cast(pa.float64()).to_numpy()
    return short.reshape(vectors.shape).tolist()
